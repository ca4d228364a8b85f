#!/usr/bin/env bash
# The viewer of the report page: `install` gets its packages, `generate` writes what is made of sources: the types of the record in
# TypeScript, and the bundled page; `check` has its types checked. Exit status 2 where there is no npm.
set -euo pipefail

cd "$(dirname "$0")/../viewer"

if ! command -v npm >/dev/null; then
    echo "viewer: there is no npm; install it with: tools/install-deps.sh viewer" >&2
    exit 2
fi

case ${1-} in
    install)
        # Only where they are not there already: the lock file is older than what was made of it.
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
