#!/bin/sh
# Makes the inputs of the exam's commands in the current directory, which is empty.
# The same inputs on every machine; nothing is downloaded. Takes about ten seconds.
set -eu
exam=$(dirname "$(readlink -f "$0")")

python3 "$exam/inputs.py"

mkdir zipped
for part in parts/*; do gzip -1 -c "$part" >"zipped/${part#parts/}.gz"; done
xz -3 -k -c --block-size=1MiB text10 >text10.xz
zstd -q -3 text40 -o text40.zst
