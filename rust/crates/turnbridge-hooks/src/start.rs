//! Defines the `main` of a hook executable.
//!
//! On Linux with glibc it is the C `main`, not Rust's. Before Rust's `main`, std prepares guard
//! pages for stack overflows, for which glibc parses `/proc/self/maps` with `scanf`. This costs a
//! short program more than all of its work, and 100 KB. Elsewhere it is Rust's `main`.

/// Defines the `main` of a hook executable. On Linux with glibc its file has `#![no_main]`.
#[macro_export]
macro_rules! main {
    ($run:path) => {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        #[unsafe(no_mangle)]
        extern "C" fn main() -> i32 {
            $crate::start::without_runtime($run)
        }

        #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
        fn main() -> std::process::ExitCode {
            std::process::ExitCode::from($run())
        }
    };
}

/// Does the part of std's start that a hook needs. glibc itself passes the arguments to std.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn without_runtime(run: fn() -> u8) -> i32 {
    // SAFETY: no other thread runs yet; none of these calls touches memory of the program.
    unsafe {
        // A host that has closed its end of a pipe must not kill the hook with a signal.
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        // The first file that the hook opens must not become stderr, to which other code writes.
        for standard in 0..3 {
            if libc::fcntl(standard, libc::F_GETFD) == -1 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            }
        }
    }
    i32::from(run())
}
