#!/usr/bin/env bash
# Runs the tests that need root, BPF and control groups on a kernel with all of these: Debian's,
# with four CPUs and cgroup version 2. The machine sees this host's file system, read-only under a
# layer in memory. Fails if fewer tests than the floor ran: a kernel on which the BPF tests skip
# themselves proves nothing. After the build it takes 12 minutes in emulation, and less under KVM.
#
#     tools/vm-cargo-test.sh [CARGO TEST OPTION...]
set -euo pipefail

cd "$(dirname "$0")/.."
# Least number of tests in the default choice that pass and do not skip themselves. Raise it with
# the tests.
floor=${FLOOR:-185}

# Builds test programs, and prints one line for each: the folder in which cargo starts the program,
# and the program.
build() {
    cargo test --no-run --locked --message-format=json "$@" |
        sed -n 's/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"profile":{[^}]*"test":true}.*"executable":"\([^"]*\)".*/\1 \2/p'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"
cp tools/vm-cargo-init.sh "$root/init"
echo virtio_pci 9pnet_virtio 9p overlay >"$root/modules"
if [[ $# -gt 0 ]]; then
    build "$@"
else
    build -p morecores-trace --test live --test detached --test perf --test hotplug
    build -p morecores-machine -p morecores-measure --lib --test taskstats --test doctor
    build -p morecores --test restore --test accounting --test kernel_locks --test lock_holds --test traced \
        --test quota --test memory --test cold
fi >"$root/programs"
[[ -s $root/programs ]] || {
    echo "vm-cargo-test: cargo built no test${1:+; run: cargo test --no-run $*}" >&2
    exit 1
}

echo "vm-cargo-test: $(wc -l <"$root/programs") test programs on 4 CPUs, cgroup version 2"
status=0
LIMIT=${LIMIT:-3000} tools/vm-boot.sh "$root" -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap |
    tee "$work/log" || status=$?
if [[ $status -eq 3 ]]; then
    echo "skipped: vm-cargo-test: $(tail -n 1 "$work/log")"
    # Continuous integration must run these tests, so a skip fails there.
    [[ -z ${CI-} ]]
    exit
fi
read -r passed failed < <(
    awk '/^test result: / { p += $4; f += $6 } /^skipped: / { p-- } END { print p + 0, f + 0 }' "$work/log"
)
echo "$passed passed, $failed failed, at least $floor expected to pass"
grep -q '^all ran$' "$work/log" && [[ $failed -eq 0 && $passed -ge $floor ]]
