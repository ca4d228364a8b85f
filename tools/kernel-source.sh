# Sourced by the scripts that build a kernel: Debian's linux-source, unpacked into .bench/ and built once with
# tinyconfig. Leaves the shell in .bench/, since the commands that are measured name paths relative to it, and sets
#
#   root           the repository
#   build          the build directory
#   kernel_make    the words of the make command
#
# Functions: say, die.
# shellcheck shell=bash
# The scripts that source this have `set -e`.
# shellcheck disable=SC2164

me=$(basename "$0" .sh)
say() { echo "$me: $*" >&2; }
die() {
    say "$*"
    exit 2
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
bench=$root/.bench
build=$bench/kernel-build

# The newest of the sources installed.
tarball=$(compgen -G '/usr/src/linux-source-*.tar.xz' | sort -V | tail -n 1) ||
    die "there is no /usr/src/linux-source-*.tar.xz; install it with: tools/install-deps.sh kernel-study"
# Debian updates the contents under the same name, so the directory carries the size and the time of the file.
source=$bench/$(basename "$tarball" .tar.xz)-$(stat -c %s-%Y "$tarball")
if [[ ! -d $source ]]; then
    say "unpacking $tarball (2 GB in 80,000 files)"
    mkdir -p "$bench"
    rm -rf "$source.part"
    mkdir "$source.part"
    tar -xJf "$tarball" -C "$source.part" --strip-components=1
    # Renamed when complete: an interrupted unpacking is not taken for a source.
    mv "$source.part" "$source"
    rm -rf "$build"
fi

# The same kernel whenever and wherever it is built.
export KBUILD_BUILD_TIMESTAMP='1999-01-01' KBUILD_BUILD_USER=morecores KBUILD_BUILD_HOST=morecores
# A make that started this script must not lend its job slots to the build that is measured.
unset MAKEFLAGS MAKELEVEL MFLAGS

# Paths relative to .bench/, where all of this runs: the command stands in the study, and says nothing of this machine.
cd "$bench"
ln -sfn "$(basename "$source")" linux-source
kernel_make=(make -s -C linux-source O=../kernel-build)
if [[ ! -e $build/vmlinux ]]; then
    say "building once with tinyconfig on all CPUs, to see that it builds"
    mkdir -p "$build"
    log=$bench/kernel-build.log
    { "${kernel_make[@]}" tinyconfig && "${kernel_make[@]}" "-j$(nproc)" vmlinux; } >"$log" 2>&1 ||
        die "the kernel does not build; $log says why: $(tail -n 1 "$log")"
fi
