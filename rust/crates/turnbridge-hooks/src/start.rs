//! How a hook executable starts.
//!
//! On Linux with glibc it has the C `main`, not Rust's: what std does before `main` there (guard
//! pages for stack overflows, for which glibc parses `/proc/self/maps` with `scanf`) costs a
//! short program more than all of its own work, and 100 KB. Elsewhere `main` is Rust's own.

/// The `main` of a hook executable. On Linux with glibc its file has `#![no_main]`.
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

/// What std's own start does that a hook needs. glibc itself hands std the arguments.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn without_runtime(run: fn() -> u8) -> i32 {
    // SAFETY: nothing else runs yet; none of these calls touches memory of ours.
    unsafe {
        // A host that has closed its end of a pipe must not kill us with a signal.
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        // The first file we open must not become what others write to as stderr.
        for standard in 0..3 {
            if libc::fcntl(standard, libc::F_GETFD) == -1 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            }
        }
    }
    i32::from(run())
}
