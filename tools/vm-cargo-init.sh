#!/bin/busybox sh
# shellcheck shell=dash
# First program of the machine that tools/vm-cargo-test.sh boots: runs the test programs, and
# switches the machine off. Lines for the outside begin with `vm: `.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
while read -r module; do insmod "/lib/modules/$module"; done </modules
mkdir /host /layer /machine
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=512000,cache=loose host /host || echo 'vm: no file system of the host'
mount -t tmpfs -o size=1500m layer /layer
mkdir /layer/upper /layer/work
mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work machine /machine || echo 'vm: no layer'
mount -t proc proc /machine/proc
mount -t sysfs sys /machine/sys
mount -t devtmpfs dev /machine/dev
mkdir -p /machine/dev/pts /machine/dev/shm
mount -t devpts pts /machine/dev/pts
mount -t tmpfs tmp /machine/tmp
mount -t tmpfs run /machine/run
mount -t tmpfs shm /machine/dev/shm
mount -t tracefs trace /machine/sys/kernel/tracing
mount -t cgroup2 cgroup /machine/sys/fs/cgroup
ip link set lo up

# As on a system with systemd: controllers at the top, the tests in a cgroup of their own.
top=/machine/sys/fs/cgroup
echo '+cpu +cpuset +memory +io +pids' >$top/cgroup.subtree_control
mkdir $top/session
echo $$ >$top/session/cgroup.procs

cp /programs /machine/tmp/
cat >/machine/tmp/tests.sh <<'EOF'
export HOME=/root MORECORES_SKIPPED=/tmp/skipped PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
: >/tmp/skipped
while read -r folder program; do
    cd "$folder" || exit
    echo "vm: ${program##*/}"
    "$program" --test-threads=1 2>&1 | sed -u 's/^/vm: /'
done </tmp/programs
sort -u /tmp/skipped | sed 's/^/vm: /'
echo 'vm: all ran'
EOF
chroot /machine /bin/bash /tmp/tests.sh
poweroff -f
