//! Compiles the BPF programs and generates the Rust types of their maps and variables.

use std::path::PathBuf;
use std::{env, ffi::OsStr};

use libbpf_cargo::SkeletonBuilder;

/// Directory of the programs and their own headers. They use libbpf's headers besides, and none of
/// the system's C library.
const SOURCES: &str = "src/bpf";

fn main() {
    let directory = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let out = directory.join("trace.skel.rs");
    let built = SkeletonBuilder::new()
        // A path without a program disables formatting. With a minimal toolchain, rustup's
        // `rustfmt` on the PATH exists but fails.
        .rustfmt(directory.join("no-rustfmt"))
        .source(format!("{SOURCES}/trace.bpf.c"))
        .clang_args([OsStr::new("-I"), OsStr::new(SOURCES), OsStr::new("-Wall"), OsStr::new("-Werror")])
        .build_and_generate(&out);
    if let Err(error) = built {
        println!(
            "cargo::error=cannot build the BPF programs (Debian: apt-get install clang libelf-dev zlib1g-dev): {error:#}"
        );
    }
    println!("cargo::rerun-if-changed={SOURCES}");
}
