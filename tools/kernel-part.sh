#!/usr/bin/env bash
# Builds a part of a kernel that is long enough to measure and short enough to repeat: mm/, lib/ and
# kernel/sched/ of a tinyconfig.
#
#   tools/kernel-part.sh prepare     unpacks and builds the part's requirements once (some minutes)
#   tools/kernel-part.sh clean       removes the part's objects
#   tools/kernel-part.sh build N     builds the part with N jobs
#   tools/kernel-part.sh build N DIR builds one of its directories
set -euo pipefail

# shellcheck source=tools/kernel-source.sh
. "$(dirname "$0")/kernel-source.sh"
part=(mm lib kernel/sched)

case ${1:-} in
    prepare) ;;
    clean)
        # Removes make's outputs, but not the programs and tables that it generated: make builds
        # those one by one.
        for dir in "${part[@]}"; do
            find "${build:?}/$dir" -type f \( -name '*.o' -o -name '*.a' \) -delete
        done
        ;;
    build)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "how many jobs? usage: $0 build N"
        [[ -z ${3:-} ]] || part=("$3")
        # `exec` replaces this shell, which is not part of a build.
        exec "${kernel_make[@]}" "-j$2" "${part[@]/%//}"
        ;;
    *) die "usage: $0 prepare|clean|build N" ;;
esac
