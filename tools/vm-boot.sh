#!/usr/bin/env bash
# Boots Debian's kernel with four CPUs and with the directory ROOT as its initial file system, whose
# /init is the first program. Prints the text behind `vm: ` in the output. Status 3 and a line with
# the missing item if it cannot be booted; otherwise 0.
#
# The machine runs under KVM with ACCELERATOR=kvm; otherwise it is emulated by one thread. With a
# thread for each of its CPUs, Debian 12's QEMU can miss that one CPU has patched the kernel's code
# while another runs it. That CPU then spins in `handle_softirqs` for ever. Attaching a program to a
# tracepoint patches such code.
#
#     tools/vm-boot.sh ROOT [QEMU OPTION...]
set -euo pipefail

root=$1
shift
kernel=${KERNEL:-$(compgen -G '/boot/vmlinuz-*-amd64' | sort -V | tail -n 1 || true)}
for need in qemu-system-x86_64 busybox cpio; do
    command -v "$need" >/dev/null || {
        echo "no $need; install it with: tools/install-deps.sh vm-test"
        exit 3
    }
done
[[ -r $kernel ]] || {
    echo "no kernel in /boot; install it with: tools/install-deps.sh vm-test"
    exit 3
}

initrd=$(mktemp)
trap 'rm -f "$initrd"' EXIT
mkdir -p "$root"/{bin,dev,proc,run,sys,tmp}
cp "$(command -v busybox)" "$root/bin/"
# The modules that the first program requests, in loading order.
if [[ -r $root/modules ]]; then
    release=${kernel##*/vmlinuz-}
    mkdir -p "$root/lib/modules"
    for module in $(<"$root/modules"); do
        modprobe -S "$release" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
    done | awk '!seen[$0]++' >"$root/modules.files"
    while read -r file; do
        cp "$file" "$root/lib/modules/"
        basename "$file"
    done <"$root/modules.files" >"$root/modules"
fi
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$initrd"

accelerator=(-accel 'tcg,thread=single')
if [[ ${ACCELERATOR-} == kvm ]]; then accelerator=(-accel kvm -cpu host); fi
timeout "${LIMIT:-600}" qemu-system-x86_64 "${accelerator[@]}" -smp 4 -m 3072 -nographic -no-reboot \
    -kernel "$kernel" -initrd "$initrd" -append 'console=ttyS0 quiet panic=-1' "$@" 2>&1 |
    sed -un 's/\r//g; s/^.*vm: //p'
