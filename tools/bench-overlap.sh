#!/usr/bin/env bash
# Compares `morecores overlap -- make` with `make -j2` and `make` on two CPUs: lua, zlib, bzip2 and
# libpng from Debian's sources, the kernel's lib/, and a generated project of 40 files. The three
# builds of a round run one after the other, and rounds are repeated: ROUNDS=5.
#
# Prints the median speedup over `make` of each, and the median ratio of the two within a round.
set -euo pipefail

cd "$(dirname "$0")/.."
root=$PWD
overlap=$root/target/release/morecores-overlap
rounds=${ROUNDS:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS

say() { echo "bench-overlap: $*" >&2; }

# Fetches sources of Debian packages by the machine's own configuration of apt.
fetch_sources() {
    local apt=$work/apt
    mkdir -p "$apt/parts" "$apt/lists/partial"
    sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/*.sources >"$apt/parts/source.sources"
    local options=(-qq -o "Dir::Etc::sourceparts=$apt/parts" -o Dir::Etc::sourcelist=/dev/null
        -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache::srcpkgcache=" -o "Dir::Cache::pkgcache="
        -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    # Of the release itself: its archive keeps the sources.
    local codename
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    (cd "$work" && apt-get "${options[@]}" --download-only source "${@/%//$codename}" >&2)
}

generate_project() {
    mkdir "$work/generated"
    local file function
    for file in {1..40}; do
        for function in {1..150}; do
            echo "int f${file}_$function(int x)"
            echo "{ int s = 0; for (int j = 0; j < x; j++) { s += j * $function; if (s > 100) s ^= x; } return s; }"
        done >"$work/generated/a$file.c"
    done
    echo 'int main(void) { return 0; }' >"$work/generated/main.c"
    cat >"$work/generated/Makefile" <<'MAKEFILE'
OBJECTS = $(patsubst %.c,%.o,$(sort $(wildcard *.c)))
prog: $(OBJECTS)
	$(CC) -o $@ $(OBJECTS)
%.o: %.c
	$(CC) -O2 -c -o $@ $<
clean:
	rm -f *.o prog
MAKEFILE
}

# elapsed COMMAND...: seconds of one run, silent. A failure ends the bench.
elapsed() {
    local start=$EPOCHREALTIME
    "$@" >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; say "$* failed"; return 1; }
    awk -v from="$start" -v to="$EPOCHREALTIME" 'BEGIN { print to - from }'
}

# bench NAME CLEAN COMMAND...: the rounds of one project, in its directory.
bench() {
    local name=$1 clean=$2 round serial parallel overlapped
    shift 2
    for ((round = 0; round < rounds; round++)); do
        $clean >/dev/null 2>&1
        serial=$(elapsed taskset -c 0,1 "$@")
        $clean >/dev/null 2>&1
        parallel=$(elapsed taskset -c 0,1 "$@" -j2)
        $clean >/dev/null 2>&1
        overlapped=$(elapsed taskset -c 0,1 "$overlap" --jobs 2 -- "$@")
        echo "$serial $parallel $overlapped"
    done | awk -v name="$name" '
        function median(values, count,    i, j, swap) {
            for (i = 1; i <= count; i++)
                for (j = i + 1; j <= count; j++)
                    if (values[j] < values[i]) { swap = values[i]; values[i] = values[j]; values[j] = swap }
            return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
        }
        { serial[NR] = $1; parallel[NR] = $1 / $2; overlapped[NR] = $1 / $3; ratio[NR] = $2 / $3 }
        END {
            printf "%-12s make %6.2f s   make -j2 %.2f times   overlap %.2f times   overlap to -j2", \
                name, median(serial, NR), median(parallel, NR), median(overlapped, NR)
            middle = median(ratio, NR)
            printf " %.3f (%.3f to %.3f in %d rounds)\n", middle, ratio[1], ratio[NR], NR
        }'
}

say "fetching and configuring the sources"
fetch_sources lua5.4 zlib bzip2 libpng1.6
cd "$work"
for archive in *.orig.tar.*; do tar -xf "$archive"; done
(cd zlib-* && chmod +x configure && ./configure >/dev/null)
(cd libpng-* && ./configure >/dev/null 2>&1)
generate_project

(cd generated && bench generated "make clean" make)
(cd lua-*/src && bench lua "make clean" make linux)
(cd zlib-* && bench zlib "make clean" make)
(cd bzip2-* && bench bzip2 "make clean" make)
(cd libpng-* && bench libpng "make clean" make)

# Sets kernel_make, and stays in .bench/.
cd "$root"
# shellcheck source=tools/kernel-source.sh
. tools/kernel-source.sh
bench "kernel lib/" "$root/tools/kernel-part.sh clean" "${kernel_make[@]}" lib/
