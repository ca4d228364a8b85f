#!/usr/bin/env bash
# Studies a kernel build: Debian's linux-source, tinyconfig, `make -j{n} vmlinux` on one and two
# CPUs, six rounds and one traced run of each. The other CPUs are taken away by affinity and then by
# hotplug (as root). Takes about 40 minutes on two CPUs.
#
#   tools/study-kernel.sh [affinity] [hotplug]      both if none is named
#
# The studies go to studies/<date>-<host>/kernel-<limit>.study, or below the directory STUDY_DIR. A
# second call resumes an interrupted study, with an equal STUDY_DIR also on another day. The source
# and the build lie in .bench/, which git ignores. MORECORES names the program,
# `target/release/morecores` by default.
set -euo pipefail

cd "$(dirname "$0")/.."
morecores=$(realpath -m "${MORECORES:-target/release/morecores}")
studies=${STUDY_DIR:-studies/$(date +%F)-$(hostname -s)}
cpus=1,2
rounds=6

# Defined here too, for the checks before kernel-source.sh is sourced.
die() {
    echo "study-kernel: $*" >&2
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

# shellcheck source=tools/kernel-source.sh
. tools/kernel-source.sh

mkdir -p "$root/$studies"
for limit in "${limits[@]}"; do
    study=$root/$studies/kernel-$limit.study
    resume=()
    if [[ -e $study ]]; then
        say "$studies/kernel-$limit.study is there; going on with it"
        resume=(--resume)
    fi
    "$morecores" run "${resume[@]}" -o "$study" --limit "$limit" --cpus "$cpus" --runs "$rounds" --warmup 0 --max-time 0 \
        --prepare "${kernel_make[*]@Q} clean" -- "${kernel_make[@]}" '-j{n}' vmlinux
done
say "done; the studies are in $studies; they want a README.md beside them that says what they show"
