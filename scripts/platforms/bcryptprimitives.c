/* wine 8 has no bcryptprimitives.dll, and every Rust program imports ProcessPrng from it: without
   this the program ends with code 53 and says nothing. RtlGenRandom (SystemFunction036) is the
   same source of random bytes under an older name; it takes 32-bit lengths, hence the loop. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
    while (length > 0) {
        ULONG part = length > 0x40000000 ? 0x40000000 : (ULONG)length;
        if (!SystemFunction036(buffer, part))
            return FALSE;
        buffer += part;
        length -= part;
    }
    return TRUE;
}
