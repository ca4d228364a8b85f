#!/usr/bin/env bash
# Tests what this machine may not have: a kernel with cgroup version 2 alone, four CPUs, CPU hotplug. Boots Debian's kernel
# under qemu's emulation with nothing but busybox and morecores in memory, and runs tools/vm-init.sh as its first
# program. Only for behaviour, never for timings. About a minute.
set -euo pipefail

cd "$(dirname "$0")/.."
kernel=${KERNEL:-$(compgen -G '/boot/vmlinuz-*-amd64' | sort -V | tail -n 1 || true)}
for need in qemu-system-x86_64 busybox cpio; do
    command -v "$need" >/dev/null || {
        echo "skipped: vm-test: no $need; install it with: tools/install-deps.sh vm-test"
        exit 0
    }
done
[[ -r $kernel ]] || {
    echo "skipped: vm-test: no kernel in /boot; install it with: tools/install-deps.sh vm-test"
    exit 0
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,dev,proc,run,sys,tmp}
cp tools/vm-init.sh "$root/init"
cp "$(command -v busybox)" target/release/morecores target/release/morecores-work "$root/bin/"
# The libraries where the programs look for them.
ldd target/release/morecores target/release/morecores-work | grep -o '/[^ :]*\.so[^ ]*' | sort -u |
    while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initrd.gz"

echo "vm-test: $kernel, 4 CPUs, cgroup version 2"
timeout 600 qemu-system-x86_64 -accel tcg,thread=multi -smp 4 -m 1024 -nographic -no-reboot \
    -kernel "$kernel" -initrd "$work/initrd.gz" -append 'console=ttyS0 quiet panic=-1' 2>&1 |
    tr -d '\r' | sed -n 's/^.*vm: //p' | tee "$work/log"
grep -q '^[0-9]* passed, 0 failed$' "$work/log"
