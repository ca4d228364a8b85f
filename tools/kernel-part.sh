#!/usr/bin/env bash
# A part of a kernel build that is long enough to be measured and short enough to be repeated: mm/, lib/ and
# kernel/sched/ of a tinyconfig.
#
#   tools/kernel-part.sh prepare     unpacks and builds once what the part needs (some minutes, the first time)
#   tools/kernel-part.sh clean       takes the part's objects away
#   tools/kernel-part.sh build N     builds it with N jobs
#   tools/kernel-part.sh build N DIR builds one of its directories
set -euo pipefail

# shellcheck source=tools/kernel-source.sh
. "$(dirname "$0")/kernel-source.sh"
part=(mm lib kernel/sched)

case ${1:-} in
    prepare) ;;
    clean)
        # What make left, but not the programs and tables that it generated: they are built one by one.
        for dir in "${part[@]}"; do
            find "${build:?}/$dir" -type f \( -name '*.o' -o -name '*.a' \) -delete
        done
        ;;
    build)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "how many jobs? usage: $0 build N"
        [[ -z ${3:-} ]] || part=("$3")
        # In the place of this shell, which is no part of a build.
        exec "${kernel_make[@]}" "-j$2" "${part[@]/%//}"
        ;;
    *) die "usage: $0 prepare|clean|build N" ;;
esac
