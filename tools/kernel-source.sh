# Unpacks Debian's linux-source into .bench/ and builds it once with tinyconfig. The scripts that
# build a kernel source this file. The shell stays in .bench/, because the measured commands name
# paths relative to it. Sets:
#
#   root           the repository
#   build          the build directory
#   kernel_make    the words of the make command
#
# Functions: say, die.
# shellcheck shell=bash
# The sourcing scripts have `set -e`.
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

# The newest of the installed sources.
tarball=$(compgen -G '/usr/src/linux-source-*.tar.xz' | sort -V | tail -n 1) ||
    die "there is no /usr/src/linux-source-*.tar.xz; install it with: tools/install-deps.sh kernel-study"
# Debian updates the contents under an unchanged name, so the directory name holds the size and the
# time of the file.
source=$bench/$(basename "$tarball" .tar.xz)-$(stat -c %s-%Y "$tarball")
if [[ ! -d $source ]]; then
    say "unpacking $tarball (2 GB in 80,000 files)"
    mkdir -p "$bench"
    rm -rf "$source.part"
    mkdir "$source.part"
    tar -xJf "$tarball" -C "$source.part" --strip-components=1
    # Renamed when complete, so that an interrupted unpacking never counts as a source.
    mv "$source.part" "$source"
    rm -rf "$build"
fi

# These values make the kernel identical at any time and on any machine.
export KBUILD_BUILD_TIMESTAMP='1999-01-01' KBUILD_BUILD_USER=morecores KBUILD_BUILD_HOST=morecores
# A make that started this script must not lend its job slots to the measured build.
unset MAKEFLAGS MAKELEVEL MFLAGS

# Paths are relative to .bench/: the study holds the command, which must not contain paths of this
# machine.
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
