#!/usr/bin/env bash
# README's picture: what `morecores show STUDY` prints on a terminal, as docs/demo.png.
#
#   tools/picture.sh STUDY
set -euo pipefail

cd "$(dirname "$0")/.."
study=${1:?name a study, for example the one that \`make demo\` left}
tools/install-deps.sh picture
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo run -q --release --locked -p morecores --example picture -- "$study" >"$work/picture.svg"
size=$(sed -n 's/^<svg width="\([0-9]*\)px" height="\([0-9]*\)px".*/\1,\2/p' "$work/picture.svg")
# Twice the pixels, for screens that have them. Nothing is fetched; the flags keep the browser from trying.
chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync \
    --disable-component-update --user-data-dir="$work/profile" --hide-scrollbars --force-device-scale-factor=2 \
    --default-background-color=00000000 --window-size="$size" --screenshot="$PWD/docs/demo.png" \
    "file://$work/picture.svg" 2>"$work/log" || {
    cat "$work/log" >&2
    exit 1
}
echo "picture: docs/demo.png of $study"
