#!/usr/bin/env bash
# Draws README's pictures: the terminal output of `morecores show STUDY` as docs/demo.png, and the
# upper part of a report page as docs/page.png.
#
#   tools/picture.sh terminal STUDY
#   tools/picture.sh page STUDY
set -euo pipefail

cd "$(dirname "$0")/.."
kind=${1:?terminal or page}
study=${2:?name a study, for example the one that \`make demo\` left}
tools/install-deps.sh picture browser
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ $kind == page ]]; then
    tools/viewer.sh install
    cargo run -q --release --locked -p morecores -- report "$study" -o "$work/page.html"
    node viewer/picture.mjs "$work/page.html" docs/page.png
    echo "picture: docs/page.png of $study"
    exit
fi
cargo run -q --release --locked -p morecores --example picture -- "$study" >"$work/picture.svg"
size=$(sed -n 's/^<svg width="\([0-9]*\)px" height="\([0-9]*\)px".*/\1,\2/p' "$work/picture.svg")
# Twice the pixels, for screens of high resolution. Nothing is fetched; the flags keep the browser
# from trying.
chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync \
    --disable-component-update --user-data-dir="$work/profile" --hide-scrollbars --force-device-scale-factor=2 \
    --default-background-color=00000000 --window-size="$size" --screenshot="$PWD/docs/demo.png" \
    "file://$work/picture.svg" 2>"$work/log" || {
    cat "$work/log" >&2
    exit 1
}
echo "picture: docs/demo.png of $study"
