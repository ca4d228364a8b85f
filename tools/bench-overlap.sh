#!/usr/bin/env bash
# Compares `morecores overlap -- make` with `make -j2` and `make` on two CPUs: lua, zlib, bzip2,
# libpng and cdparanoia from Debian's sources, the kernel's lib/, and a generated project of 40
# files. Debian builds cdparanoia without -j. The builds of a round run one after the other, in
# random order, and rounds are repeated: ROUNDS=12. ONLY=zlib selects projects by a part of their
# names.
#
# Prints the speedup of each over `make`, by medians; the median ratio of the two within a round,
# with its interval; the ratio of the fastest runs, which a host with other guests disturbs less;
# how many CPUs each keeps busy, which is the CPU time of all processes divided by the elapsed time;
# and how much more CPU time overlap takes.
#
# Before that it compares the CPU time of `make` and of overlap with one job on one CPU: of two
# projects whose commands are deferred, and of one whose commands are not. COST_ROUNDS=40.
#
# First of all it prints the time of one shown call: by itself, under a listener in C that does
# nothing but let it go on, and under overlap. ONLY=call.
set -euo pipefail

cd "$(dirname "$0")/.."
root=$PWD
overlap=${CARGO_TARGET_DIR:-$root/target}/release/morecores-overlap
rounds=${ROUNDS:-12}
cost_rounds=${COST_ROUNDS:-40}
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

# generate_project NAME FUNCTIONS: 40 files with as many functions each.
generate_project() {
    mkdir "$work/$1"
    local file function
    for file in {1..40}; do
        for ((function = 1; function <= $2; function++)); do
            echo "int f${file}_$function(int x)"
            echo "{ int s = 0; for (int j = 0; j < x; j++) { s += j * $function; if (s > 100) s ^= x; } return s; }"
        done >"$work/$1/a$file.c"
    done
    echo 'int main(void) { return 0; }' >"$work/$1/main.c"
    cat >"$work/$1/Makefile" <<'MAKEFILE'
OBJECTS = $(patsubst %.c,%.o,$(sort $(wildcard *.c)))
prog: $(OBJECTS)
	$(CC) -o $@ $(OBJECTS)
%.o: %.c
	$(CC) -O2 -c -o $@ $<
clean:
	rm -f *.o prog
MAKEFILE
}

# A project of which nothing is deferred: a script interpreter converts texts, and writes, reads and
# removes files meanwhile.
generate_undeferred() {
    mkdir "$work/undeferred"
    local page line
    for page in {1..40}; do
        for line in {1..1500}; do echo "Page *$page* holds line $line of _text_ & <numbers>."; done >"$work/undeferred/$page.txt"
    done
    cat >"$work/undeferred/convert.pl" <<'PERL'
my ($source, $page) = @ARGV;
open my $text, '<', $source or die;
my @lines = <$text>;
my (%count, @parts);
while (my @part = splice @lines, 0, 100) {
    for (@part) {
        s/&/&amp;/g; s/</&lt;/g; s/>/&gt;/g;
        s{\*(\w+)\*}{<b>$1</b>}g; s{_(\w+)_}{<i>$1</i>}g;
        $count{lc $_}++ for /\w+/g;
    }
    my $name = "$page." . @parts;
    open my $file, '>', $name or die;
    print $file @part;
    close $file;
    push @parts, $name;
}
open my $html, '>', $page or die;
for my $name (@parts) {
    -s $name or die;
    open my $part, '<', $name or die;
    print $html "<p>\n", <$part>;
    unlink $name;
}
print $html "$_ $count{$_}\n" for sort keys %count;
PERL
    cat >"$work/undeferred/Makefile" <<'MAKEFILE'
all: $(patsubst %.txt,%.html,$(sort $(wildcard *.txt)))
%.html: %.txt convert.pl
	perl convert.pl $< $@
clean:
	rm -f *.html
MAKEFILE
}

# timed COMMAND...: elapsed seconds of one run, and the CPU seconds of the command and of everything
# that it and its children waited for; silent. A failure ends the bench.
timed() {
    local TIMEFORMAT='%3R %3U %3S'
    { time "$@" >"$work/log" 2>&1; } 2>"$work/time" || { tail -n 5 "$work/log" >&2; say "$* failed"; return 1; }
    awk '{ print $1, $2 + $3 }' "$work/time"
}

# Shared by the tables.
median='
    function median(values, count,    i, j, swap) {
        for (i = 1; i <= count; i++)
            for (j = i + 1; j <= count; j++)
                if (values[j] < values[i]) { swap = values[i]; values[i] = values[j]; values[j] = swap }
        return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
    }
    function least(values, count,    i, found) {
        found = values[1]
        for (i = 2; i <= count; i++) if (values[i] < found) found = values[i]
        return found
    }
    # Rank of the lower end of an interval of at least 95% for the median, by the binomial
    # distribution of the values below it. The upper end has the same rank from above. Below six
    # values the interval is their range, and less certain.
    function low(count,    rank, probability, sum) {
        sum = probability = 0.5 ^ count
        for (rank = 0; sum <= 0.025; sum += probability) {
            probability *= (count - rank) / (rank + 1)
            rank++
        }
        return rank < 1 ? 1 : rank
    }'

# bench NAME CLEAN COMMAND...: the rounds of one project on two CPUs, in its directory.
bench() {
    local name=$1 clean=$2 round kind kinds serial parallel overlapped failures=0
    shift 2
    [[ $name == *"${ONLY:-}"* ]] || return 0
    for ((round = 0; round < rounds; round++)); do
        # Builds in series are long, and only the speedups need them.
        kinds=(parallel overlapped)
        ((round % 3)) || kinds+=(serial)
        for kind in $(shuf -e "${kinds[@]}"); do
            $clean >/dev/null 2>&1
            case $kind in
                serial) serial=$(timed taskset -c 0,1 "$@") ;;
                parallel)
                    # Of cdparanoia it fails now and then.
                    until parallel=$(timed taskset -c 0,1 "$@" -j2); do
                        failures=$((failures + 1))
                        $clean >/dev/null 2>&1
                    done
                    ;;
                overlapped) overlapped=$(timed taskset -c 0,1 "$overlap" --jobs 2 -- "$@") ;;
            esac
        done
        echo "$serial $parallel $overlapped $failures"
    done | awk -v name="$name" "$median"'
        {
            if (NR % 3 == 1) serial[++serials] = $1
            parallel[NR] = $3; overlapped[NR] = $5; ratio[NR] = $3 / $5
            busy_parallel[NR] = $4 / $3; busy_overlapped[NR] = $6 / $5
            busy_ratio[NR] = busy_overlapped[NR] / busy_parallel[NR]; more[NR] = 100 * ($6 / $4 - 1)
        }
        END {
            make = median(serial, serials)
            # Before the medians sort them.
            fastest = least(parallel, NR) / least(overlapped, NR)
            printf "%-12s make %6.2f s   make -j2 %.2f times   overlap %.2f times   overlap to -j2", \
                name, make, make / median(parallel, NR), make / median(overlapped, NR)
            middle = median(ratio, NR); rank = low(NR)
            printf " %.3f (95%% %.3f to %.3f, %d rounds)", middle, ratio[rank], ratio[NR + 1 - rank], NR
            printf "   fastest runs %.3f", fastest
            if ($7) printf "   make -j2 failed %d times", $7
            printf "   busy CPUs: -j2 %.2f, overlap %.2f (ratio %.2f)   CPU time %+.1f%%\n", \
                median(busy_parallel, NR), median(busy_overlapped, NR), median(busy_ratio, NR), median(more, NR)
        }'
}

# cost NAME CLEAN COMMAND...: CPU time of one project on one CPU, in series and under overlap.
cost() {
    local name=$1 clean=$2 round kind serial overlapped calls
    shift 2
    [[ $name == *"${ONLY:-}"* ]] || return 0
    for ((round = 0; round < cost_rounds; round++)); do
        for kind in $(shuf -e serial overlapped); do
            $clean >/dev/null 2>&1
            if [ "$kind" = serial ]; then
                serial=$(timed taskset -c 0 "$@")
            else
                overlapped=$(timed taskset -c 0 "$overlap" --jobs 1 -- "$@")
                calls=$(sed -n 's/^overlap: .*\. \([0-9]*\) commands deferred.* \([0-9]*\) calls seen.*/\1 \2/p' "$work/log")
            fi
        done
        echo "$serial $overlapped $calls"
    done | awk -v name="$name" "$median"'
        {
            serial[NR] = $2; more[NR] = 100 * ($4 / $2 - 1); more_elapsed[NR] = 100 * ($3 / $1 - 1)
            deferred = $5; calls[NR] = $6 / $2; overlapped[NR] = $4
        }
        END {
            fastest = 100 * (least(overlapped, NR) / least(serial, NR) - 1)
            middle = median(more, NR); rank = low(NR)
            printf "%-12s 1 CPU: make %6.2f s of CPU time   overlap %+.1f%% (95%% %+.1f%% to %+.1f%%, %d rounds)", \
                name, median(serial, NR), middle, more[rank], more[NR + 1 - rank], NR
            printf "   fastest runs %+.1f%%   elapsed %+.1f%%   %d commands deferred, %d calls seen a second\n", \
                fastest, median(more_elapsed, NR), deferred, median(calls, NR)
        }'
}

# call_cost: elapsed time of one call that the filter shows and nothing delays, on one CPU.
call_cost() {
    [[ call == *"${ONLY:-}"* ]] || return 0
    local program round kind alone bare overlapped
    for program in stat-calls bare-listener; do
        cc -O2 -o "$work/$program" "$root/crates/overlap/benches/$program.c"
    done
    local calls=("$work/stat-calls" 50000)
    for ((round = 0; round < 11; round++)); do
        for kind in $(shuf -e alone bare overlapped); do
            case $kind in
                alone) alone=$(taskset -c 0 "${calls[@]}") ;;
                bare) bare=$(taskset -c 0 "$work/bare-listener" "${calls[@]}") ;;
                overlapped) overlapped=$(taskset -c 0 "$overlap" --jobs 1 -- "${calls[@]}" 2>/dev/null) ;;
            esac
        done
        echo "$alone $bare $overlapped"
    done | awk "$median"'
        { alone[NR] = $1; bare[NR] = $2; overlapped[NR] = $3; more[NR] = $3 - $2 }
        END {
            middle = median(more, NR); rank = low(NR)
            printf "one call     1 CPU: alone %.2f us   bare listener %.2f us   overlap %.2f us", \
                median(alone, NR), median(bare, NR), median(overlapped, NR)
            printf "   overlap beyond the listener %.2f us (95%% %.2f to %.2f, %d rounds)\n", \
                middle, more[rank], more[NR + 1 - rank], NR
        }'
}

call_cost
[[ ${ONLY:-} != call ]] || exit 0

say "fetching and configuring the sources"
fetch_sources lua5.4 zlib bzip2 libpng1.6 cdparanoia
cd "$work"
for archive in *.orig.tar.*; do tar -xf "$archive"; done
(cd zlib-* && chmod +x configure && ./configure >/dev/null)
(cd libpng-* && ./configure >/dev/null 2>&1)
# Its debian/rules forbids a parallel build (`dh --no-parallel`), and sets these flags.
(
    cd cdparanoia-*
    tar -xf ../cdparanoia_*.debian.tar.*
    while read -r patch; do patch -s -p1 <"debian/patches/$patch"; done <debian/patches/series
    cp configure.guess config.guess
    cp configure.sub config.sub
    CFLAGS='-g -O2 -fPIC' LDFLAGS=-fPIC sh ./configure >/dev/null 2>&1
)
generate_project generated 60
generate_project small 8
generate_undeferred

(cd small && cost generated "make clean" make)
(cd bzip2-* && cost bzip2 "make clean" make libbz2.a bzip2 bzip2recover)
(cd undeferred && cost undeferred "make clean" make)

(cd generated && bench generated "make clean" make)
(cd lua-*/src && bench lua "make clean" make linux)
(cd zlib-* && bench zlib "make clean" make)
(cd bzip2-* && bench bzip2 "make clean" make)
(cd libpng-* && bench libpng "make clean" make)
(cd cdparanoia-* && bench cdparanoia "make clean" make)

# Sets kernel_make, and stays in .bench/.
cd "$root"
# shellcheck source=tools/kernel-source.sh
. tools/kernel-source.sh
bench "kernel lib/" "$root/tools/kernel-part.sh clean" "${kernel_make[@]}" lib/
