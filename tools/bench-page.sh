#!/usr/bin/env bash
# Measures the page of a traced kernel build: the time to its first picture and to its timeline, and
# the frames per second while the timeline is panned. Repeats this for a timeline of a million
# stretches.
set -euo pipefail

cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target/release/morecores report studies/2026-11-21-build/kernel-affinity.study -o "$work/page.html"
echo "the viewer alone: $(($(stat -c %s viewer/dist/page.html) / 1024)) KiB; at most 600"
echo "first picture within 1000 ms, 30 frames a second:"
node viewer/tests/speed.mjs "$work/page.html"
echo "with its timeline within 3000 ms:"
node viewer/tests/speed.mjs "$work/page.html" 1000000
