//! Writes into the shared library by which name programs ask for it at run time.

/// Raised whenever a program that was built with an older header would go wrong with the library: a size, the bytes of an `INIT`, or what a
/// function does.
const ABI: u32 = 0;

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmorecores_locks.so.{ABI}");
    println!("cargo::rerun-if-changed=build.rs");
}
