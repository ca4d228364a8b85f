#!/usr/bin/env bash
# Tests features that this machine may not have: a kernel with cgroup version 2 alone, four CPUs,
# CPU hotplug. Boots Debian's kernel with only busybox and morecores in memory, and runs
# tools/vm-init.sh as its first program. Tests behaviour, never timings. Takes about a minute.
set -euo pipefail

cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root/bin"
cp tools/vm-init.sh "$root/init"
cp target/release/morecores target/release/morecores-work "$root/bin/"
# The libraries, at the paths where the programs look for them.
ldd target/release/morecores target/release/morecores-work | grep -o '/[^ :]*\.so[^ ]*' | sort -u |
    while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done

echo "vm-test: 4 CPUs, cgroup version 2"
status=0
tools/vm-boot.sh "$root" | tee "$work/log" || status=$?
if [[ $status -eq 3 ]]; then
    echo "skipped: vm-test: $(tail -n 1 "$work/log")"
    exit 0
fi
grep -q '^[0-9]* passed, 0 failed$' "$work/log"
