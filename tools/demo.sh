#!/usr/bin/env bash
# Runs the demo: a study of the built-in program `soften` on this machine. A study is never
# overwritten, so a second demo gets another name. Arguments go to `morecores run`.
set -euo pipefail

cd "$(dirname "$0")/.."
# Nothing here asks make for jobs. Without these variables morecores does not report that it removes
# them from the command's environment.
unset MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKELEVEL
study=demo.study
for ((number = 2; ; number++)); do
    [[ -e $study ]] || break
    study=demo-$number.study
done
echo "demo: target/release/morecores run -o $study -- target/release/morecores-work soften --threads {n}"
# At most two and a half minutes of runs, so that the demo ends within three on any machine.
exec target/release/morecores run -o "$study" --max-time 150s "$@" -- \
    target/release/morecores-work soften --threads '{n}'
