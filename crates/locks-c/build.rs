//! Sets the name in the shared library by which programs request it at run time.

/// ABI number. It is raised whenever a program that was built with an older header would fail with
/// the library: by a change of a size, of the bytes of an `INIT`, or of a function's effect.
const ABI: u32 = 0;

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmorecores_locks.so.{ABI}");
    println!("cargo::rerun-if-changed=build.rs");
}
