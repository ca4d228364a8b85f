#!/usr/bin/env bash
# Installs the lock library for C from the folder BUILT: tools/install-locks.sh BUILT PREFIX.
# DESTDIR precedes PREFIX, as packagers expect.
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

# Reads a field from [workspace.package] in the workspace's Cargo.toml, where each field stands
# once.
field() {
    sed -n "s/^$1 = \"\(.*\)\"\$/\1/p" "$repository/Cargo.toml"
}
# The version in the library's own name, by which programs load the library.
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

# The loader finds a library in a system folder only after ldconfig has cached it. Nothing runs from
# a DESTDIR, and a user other than root cannot write the cache.
if [[ -z ${DESTDIR-} && $(id -u) -eq 0 ]] && command -v ldconfig >/dev/null; then
    ldconfig
fi
