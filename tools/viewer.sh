#!/usr/bin/env bash
# Maintains the viewer of the report page. `install` gets its packages. `generate` writes the
# generated files: the types of the record in TypeScript, and the bundled page. `check` checks its
# types. Exit status 2 without npm.
set -euo pipefail

cd "$(dirname "$0")/../viewer"

if ! command -v npm >/dev/null; then
    echo "viewer: there is no npm; install it with: tools/install-deps.sh viewer" >&2
    exit 2
fi

case ${1-} in
    install)
        # Only if they are missing or older than the lock file.
        [[ node_modules/.package-lock.json -nt package-lock.json ]] || npm ci --ignore-scripts --silent
        ;;
    generate)
        ../tools/viewer.sh install
        rm -rf src/record
        cargo run -q --locked -p morecores-view --features typescript --example typescript -- "$PWD/src/record"
        npm run --silent check
        npm run --silent bundle
        ;;
    check)
        ../tools/viewer.sh install
        npm run --silent check
        ;;
    *)
        echo "usage: tools/viewer.sh install|generate|check" >&2
        exit 2
        ;;
esac
