#!/usr/bin/env bash
# Runs all tests and sums them up. Arguments go to `cargo test`: `tools/test.sh -p morecores-locks`.
#
# Some tests need programs besides those that build morecores: browser, servers, raytrace, kernel-build, c-library, which
# are groups of tools/packages. Without arguments their packages are installed first, where that can be (as root or through
# sudo, with a network); where it cannot, those tests are skipped. SKIP=browser,servers leaves groups out: nothing is
# installed for them, and their tests are skipped.
#
# A test that cannot run here (no root, no cgroup, one CPU) must not pass silently. It appends one line
#
#     skipped: NAME: REASON
#
# to the file that MORECORES_SKIPPED names, and returns; where the variable is not set, it prints the line. cargo
# counts such a test as passed, so the sum below takes it off again. Tests with #[ignore] count as skipped too.
#
# The last line is alone on a line: `N passed, N failed`, and `, N skipped` where there were any.
set -euo pipefail

cd "$(dirname "$0")/.."
groups=(browser servers raytrace kernel-build c-library)

# The groups that are left out, which the tests read (crates/testkit/src/group.rs).
read -ra left_out <<<"${SKIP:+${SKIP//,/ }}"
for name in "${left_out[@]}"; do
    if [[ " ${groups[*]} " != *" $name "* ]]; then
        echo "test: SKIP=$name: there is no such group of tests; there are: ${groups[*]}" >&2
        exit 2
    fi
done
MORECORES_LEFT_OUT=$(IFS=, && echo "${left_out[*]}")
export MORECORES_LEFT_OUT

# Installs what the groups need that are not left out: all at once, or, where one of them fails, each for itself.
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

# Signals as a login shell has them: what ignores some, as nohup does, or a script's `&`, passes that on, and the tests
# that interrupt a study would wait in vain.
status=0
env --default-signal=HUP --default-signal=INT --default-signal=QUIT --default-signal=TERM \
    cargo test --workspace --locked --no-fail-fast "$@" 2>&1 | tee "$work/output" || status=$?
# The command line without its tracer is another program. Arguments choose among the tests above.
if [[ $# -eq 0 ]]; then
    cargo test --locked -p morecores --no-default-features --test without_tracer 2>&1 |
        tee -a "$work/output" || status=$?
fi

# The types of the viewer are made of the record's by a feature of their own.
if [[ $# -eq 0 ]]; then
    cargo test --locked -p morecores-view --features typescript --test typescript 2>&1 |
        tee -a "$work/output" || status=$?
fi

# Orders in which two or three threads can meet in a lock, within bounds, on loom's machine, for which the crate is built anew.
if [[ $# -eq 0 ]]; then
    RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/loom \
        cargo test --release --locked -p morecores-locks --lib models 2>&1 |
        tee -a "$work/output" || status=$?
fi

# `test result: ok. 18 passed; 0 failed; 1 ignored; ...`, one line for each test binary and crate's documentation.
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
# A test binary that crashed or a part that did not build has no result line, but a status.
if [[ $status -ne 0 && $failed -eq 0 ]]; then
    echo "test: cargo ended with status $status though no test failed; see above" >&2
    failed=1
fi
skipped=$((noted + ignored))
echo "$((passed - noted)) passed, $failed failed$([[ $skipped -eq 0 ]] || echo ", $skipped skipped")"
exit "$status"
