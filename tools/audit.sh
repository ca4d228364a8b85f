#!/usr/bin/env bash
# Audits the dependencies against deny.toml without the network: licences, bans and sources. Also
# checks for known vulnerabilities if a copy of the advisory database is on this machine. Installs
# cargo-deny if it is missing. This needs the network, and two to five minutes on two cores.
set -euo pipefail

cd "$(dirname "$0")/.."

# The version for which deny.toml is written.
version=0.20.2
if ! cargo deny --version >/dev/null 2>&1; then
    echo "audit: installing cargo-deny $version; building it takes two to five minutes on two cores"
    # Not into this project's target directory: each change of the toolchain's flags would rebuild
    # it.
    if ! env -u CARGO_TARGET_DIR cargo install --quiet --locked "cargo-deny@$version"; then
        echo "audit: cargo-deny could not be installed; try: cargo install --locked cargo-deny@$version" >&2
        exit 2
    fi
    # `cargo` finds it in its own bin directory, even if this directory is not on the PATH.
fi

# The only step that may use the network, and only if a crate of Cargo.lock is missing here.
cargo fetch --quiet --locked
cargo deny --offline --log-level warn check licenses bans sources

databases=${CARGO_HOME:-$HOME/.cargo}/advisory-dbs
if compgen -G "$databases/*" >/dev/null; then
    cargo deny --offline --log-level warn check advisories
else
    echo "skipped: advisories: no advisory database in $databases; fetch it with: cargo deny fetch db"
fi
