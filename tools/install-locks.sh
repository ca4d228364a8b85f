#!/usr/bin/env bash
# Installs the lock library for C: tools/install-locks.sh BUILT PREFIX, with what was built in the folder BUILT. DESTDIR is put in front
# of PREFIX, as packagers want it.
set -euo pipefail

if [[ $# -ne 2 ]]; then
    echo "usage: tools/install-locks.sh BUILT PREFIX, for example target/release /usr/local" >&2
    exit 2
fi
built=$1 prefix=$2
root=${DESTDIR-}$prefix
repository=$(cd "$(dirname "$0")/.." && pwd)
crate=$repository/crates/locks-c

for library in "$built"/libmorecores_locks_c.{so,a}; do
    if [[ ! -f $library ]]; then
        echo "$library is not built yet: run make build first" >&2
        exit 2
    fi
done

# In the [workspace.package] of the workspace's Cargo.toml, where there is one of each.
field() {
    sed -n "s/^$1 = \"\(.*\)\"\$/\1/p" "$repository/Cargo.toml"
}
# By the name that the library says programs will ask for.
abi=$(sed -n 's/^const ABI: u32 = \([0-9]*\);$/\1/p' "$crate/build.rs")

install -D -m 644 -t "$root/include" "$crate"/include/*.h
install -D -m 644 -t "$root/share/morecores" "$crate"/valgrind/morecores_locks.supp
install -D -m 644 "$built/libmorecores_locks_c.a" "$root/lib/libmorecores_locks.a"
install -D -m 644 "$built/libmorecores_locks_c.so" "$root/lib/libmorecores_locks.so.$abi"
ln -sf "libmorecores_locks.so.$abi" "$root/lib/libmorecores_locks.so"

install -d "$root/lib/pkgconfig"
sed -e "s|@PREFIX@|$prefix|" -e "s|@URL@|$(field repository)|" -e "s|@VERSION@|$(field version)|" \
    "$crate/morecores-locks.pc.in" >"$root/lib/pkgconfig/morecores-locks.pc"
chmod 644 "$root/lib/pkgconfig/morecores-locks.pc"

# Programs find a library in a folder of the system's own only once the cache of those knows it. Into a DESTDIR nothing is run from,
# and who is not root has no such folder.
if [[ -z ${DESTDIR-} && $(id -u) -eq 0 ]] && command -v ldconfig >/dev/null; then
    ldconfig
fi
