#!/usr/bin/env bash
# Runs all tests and sums up their results. Arguments go to `cargo test`, for example
# `tools/test.sh -p morecores-locks`.
#
# Some tests need more programs than the build. These tests form groups: browser, servers, raytrace,
# kernel-build, c-library, shake, which are groups of tools/packages. Without arguments the script
# first installs their packages if it can (as root or through sudo, with a network). Otherwise it
# skips those tests. SKIP=browser,servers leaves groups out: nothing is installed for them, and
# their tests are skipped.
#
# A test that cannot run here (no root, no cgroup, one CPU) must not pass silently. It appends one
# line
#
#     skipped: NAME: REASON
#
# to the file that MORECORES_SKIPPED names, and returns. Without this variable it prints the line.
# cargo counts the test as passed, so the sum below subtracts it again. Tests with #[ignore] also
# count as skipped.
#
# The last line of the output is `N passed, N failed`, and `, N skipped` if tests were skipped.
set -euo pipefail

cd "$(dirname "$0")/.."
groups=(browser servers raytrace kernel-build c-library shake)

# The groups to leave out. The tests read them (crates/testkit/src/group.rs).
read -ra left_out <<<"${SKIP:+${SKIP//,/ }}"
for name in "${left_out[@]}"; do
    if [[ " ${groups[*]} " != *" $name "* ]]; then
        echo "test: SKIP=$name: there is no such group of tests; there are: ${groups[*]}" >&2
        exit 2
    fi
done
MORECORES_LEFT_OUT=$(IFS=, && echo "${left_out[*]}")
export MORECORES_LEFT_OUT

# Installs the packages of the groups that are not left out: all at once, or one by one if this
# fails.
install_packages() {
    local wanted=() name
    for name in "${groups[@]}"; do
        [[ " ${left_out[*]} " == *" $name "* ]] || wanted+=("$name")
    done
    [[ ${#wanted[@]} -gt 0 ]] || return 0
    if ! tools/install-deps.sh "${wanted[@]}"; then
        for name in "${wanted[@]}"; do
            tools/install-deps.sh "$name" >/dev/null 2>&1 ||
                echo "test: tests of the group $name are skipped where they lack a program; SKIP=$name leaves them out"
        done
    fi
    [[ " ${wanted[*]} " != *" browser "* ]] || tools/viewer.sh install ||
        echo "test: tests in a browser are skipped; SKIP=browser leaves them out"
}
if [[ $# -eq 0 ]]; then
    tools/install-deps.sh build
    install_packages
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MORECORES_SKIPPED=$work/skipped
: >"$MORECORES_SKIPPED"

# Default signals, as in a login shell. A parent that ignores some (nohup, or a script's `&`) passes
# this on, and the tests that interrupt a study would wait forever.
status=0
env --default-signal=HUP --default-signal=INT --default-signal=QUIT --default-signal=TERM \
    cargo test --workspace --locked --no-fail-fast "$@" 2>&1 | tee "$work/output" || status=$?
# Without its tracer the command line is another program. Arguments select among the tests above.
if [[ $# -eq 0 ]]; then
    cargo test --locked -p morecores --no-default-features --test without_tracer 2>&1 |
        tee -a "$work/output" || status=$?
fi

# A feature of its own generates the viewer's types from the record.
if [[ $# -eq 0 ]]; then
    cargo test --locked -p morecores-view --features typescript --test typescript 2>&1 |
        tee -a "$work/output" || status=$?
fi

# Checks the orders in which two or three threads can meet in a lock, within bounds, on loom's
# machine. The crate needs a build of its own for loom.
if [[ $# -eq 0 ]]; then
    RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/loom \
        cargo test --release --locked -p morecores-locks --lib models 2>&1 |
        tee -a "$work/output" || status=$?
fi

# `test result: ok. 18 passed; 0 failed; 1 ignored; ...`, one line for each test binary and for each
# crate's documentation.
read -r binaries passed failed ignored < <(
    awk '/^test result: / { n++; p += $4; f += $6; i += $8 } END { print n + 0, p + 0, f + 0, i + 0 }' "$work/output"
)
if [[ $binaries -eq 0 ]]; then
    echo "test: nothing ran; the lines above say why" >&2
    exit "$((status > 0 ? status : 1))"
fi

noted=$(grep -c '^skipped: ' "$MORECORES_SKIPPED" || true)
echo
sort -u "$MORECORES_SKIPPED"
if [[ $ignored -gt 0 ]]; then
    sed -n 's/^test \(.*\) \.\.\. ignored\(, \)\{0,1\}\(.*\)$/skipped: \1: \3/p' "$work/output" |
        sed 's/: $/: marked #[ignore]/'
fi
# A crashed test binary or a failed build has no result line, but a status.
if [[ $status -ne 0 && $failed -eq 0 ]]; then
    echo "test: cargo ended with status $status though no test failed; see above" >&2
    failed=1
fi
skipped=$((noted + ignored))
echo "$((passed - noted)) passed, $failed failed$([[ $skipped -eq 0 ]] || echo ", $skipped skipped")"
exit "$status"
