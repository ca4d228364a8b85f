#!/usr/bin/env bash
# Measures the cost of a study of 10,000 runs for morecores itself: the peak of its memory, and the
# time to show the study. Prints both with their targets. Exit status 1 if a target is missed. Takes
# about 15 seconds.
#
#   tools/bench-memory.sh [RUNS]
#
# morecores measures itself: the outer process reads the kernel's count of the inner one's largest
# resident set (getrusage, ru_maxrss). This count includes the reading and summing up at the end.
# MORECORES names the program, `target/release/morecores` by default.
set -euo pipefail

cd "$(dirname "$0")/.."
morecores=$(realpath "${MORECORES:-target/release/morecores}")
runs=${1:-10000}
# The targets: memory in MiB, time in seconds.
most_memory=20
most_time=0.5

if [[ ! -x $morecores ]]; then
    echo "bench-memory: $morecores is not there; build it with: cargo build --release --locked" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Prints a column of the only row of a study's table.
column() {
    "$morecores" show "$1" --csv | awk -F , -v name="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i }
        NR == 2 { print $column }'
}

"$morecores" run -q --trace off -o memory --cpus 1 --runs 1 --warmup 0 -- \
    "$morecores" run --max-time 0 --trace off -o study --cpus 1 --runs "$runs" --warmup 0 --precision 0 -- true
"$morecores" run -q --max-time 0 -o time --cpus 1 --runs 10 --precision 0 -- "$morecores" show study

made=$(wc -l <study/runs.jsonl)
if [[ $made -ne $runs ]]; then
    echo "bench-memory: the study holds $made runs, not $runs" >&2
    exit 2
fi
awk -v runs="$runs" -v bytes="$(column memory max_rss_bytes)" -v seconds="$(column time elapsed_median_s)" \
    -v most_memory="$most_memory" -v most_time="$most_time" '
    function verdict(is_met) { if (!is_met) missed = 1; return is_met ? "met" : "MISSED" }
    BEGIN {
        memory = bytes / 1024 / 1024
        printf "memory of `morecores run` over %d runs: %.1f MiB (at most %d MiB: %s)\n",
            runs, memory, most_memory, verdict(memory <= most_memory)
        printf "`morecores show` of that study: %.3f s, median of 10 (below %.1f s: %s)\n",
            seconds, most_time, verdict(seconds < most_time)
        exit missed
    }'
