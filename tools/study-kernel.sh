#!/usr/bin/env bash
# The study of a kernel build: Debian's linux-source, tinyconfig, `make -j{n} vmlinux` on one and two CPUs, six
# rounds, the other CPUs taken away by affinity and then by hotplug (as root). Some 35 minutes on two CPUs.
#
#   tools/study-kernel.sh [affinity] [hotplug]      both if none is named
#
# The studies go to studies/<date>-<host>/kernel-<limit>.study, or below the directory that STUDY_DIR names. Run again,
# it goes on where it was stopped: with the same STUDY_DIR also on another day. The source and the build lie in
# .bench/, which git ignores; MORECORES is the program to use, `target/release/morecores` by default.
set -euo pipefail

cd "$(dirname "$0")/.."
root=$PWD
morecores=$(realpath -m "${MORECORES:-$root/target/release/morecores}")
studies=${STUDY_DIR:-studies/$(date +%F)-$(hostname -s)}
bench=$root/.bench
build=$bench/kernel-build
cpus=1,2
rounds=6

say() { echo "study-kernel: $*"; }
die() {
    say "$*" >&2
    exit 2
}

limits=("$@")
[[ ${#limits[@]} -gt 0 ]] || limits=(affinity hotplug)
for limit in "${limits[@]}"; do
    case $limit in
        affinity) ;;
        hotplug) [[ $(id -u) -eq 0 ]] || die "hotplug takes CPUs offline, which needs root; leave it out with: $0 affinity" ;;
        *) die "'$limit' is neither affinity nor hotplug" ;;
    esac
done
[[ -x $morecores ]] || die "$morecores is not there; build it with: cargo build --release --locked"

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

mkdir -p "$root/$studies"
for limit in "${limits[@]}"; do
    study=$root/$studies/kernel-$limit.study
    resume=()
    if [[ -e $study ]]; then
        say "$studies/kernel-$limit.study is there; going on with it"
        resume=(--resume)
    fi
    "$morecores" run "${resume[@]}" -o "$study" --limit "$limit" --cpus "$cpus" --runs "$rounds" --warmup 0 \
        --prepare "${kernel_make[*]@Q} clean" -- "${kernel_make[@]}" '-j{n}' vmlinux
done
say "done; the studies are in $studies; they want a README.md beside them that says what they show"
