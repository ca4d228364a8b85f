#!/bin/busybox sh
# shellcheck shell=dash
# First program of the machine that tools/vm-test.sh boots: makes checks, one line each, and
# switches the machine off. Lines for the outside begin with `vm: `.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t cgroup2 cgroup /sys/fs/cgroup
cd /tmp || exit

# As on a system with systemd: controllers at the top, the shell in a cgroup of its own.
top=/sys/fs/cgroup
echo '+cpu +cpuset +memory +io +pids' >$top/cgroup.subtree_control
mkdir $top/session
echo $$ >$top/session/cgroup.procs

passed=0
failed=0
check() { # NAME COMMAND...
    name=$1
    shift
    if "$@" >/tmp/check.log 2>&1; then
        passed=$((passed + 1))
        echo "vm: ok      $name"
    else
        failed=$((failed + 1))
        echo "vm: FAILED  $name"
        sed 's/^/vm:           /' /tmp/check.log
    fi
}
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; false; }; }
clean() { # Checks that the system is unchanged.
    same "$(cat /sys/devices/system/cpu/online)" 0-3 && same "$(ls -d $top/morecores* $top/session/morecores* 2>/dev/null)" '' &&
        same "$(ls /run/morecores 2>/dev/null)" ''
}
# The very first run reads the programs and takes as long as many later runs: --incremental says
# that this is known.
run() { rm -rf study && morecores run -q --trace off --incremental -o study --runs 1 --warmup 0 "$@"; }
fails() { ! "$@"; }
allowed='sed -n "s/Cpus_allowed_list:.//p" /proc/self/status'

check 'affinity holds a command to its CPUs' run --cpus 1,2,4 --shell -- "$allowed >allowed.{n}"
check '  and the CPUs are the first ones' same "$(cat allowed.1 allowed.2 allowed.4 | tr '\n' ' ')" '0 0-1 0-3 '
check '  user and system time are the cgroup'\''s' grep -q '"estimator":"cgroup"' study/runs.jsonl
check '  the tree has a peak of memory' grep -q peak_memory_bytes study/runs.jsonl
check '  and block I/O' grep -q '"block_read_bytes":[0-9]*,"block_written_bytes":[0-9]*}' study/runs.jsonl
check '  the system is as it was' clean

check 'a cpuset holds a command to its CPUs' run --limit cpuset --cpus 1,2,4 --shell -- "$allowed >allowed.{n}"
check '  and the CPUs are the first ones' same "$(cat allowed.1 allowed.2 allowed.4 | tr '\n' ' ')" '0 0-1 0-3 '
check '  the command cannot widen it' run --limit cpuset --cpus 1 --shell -- "taskset -p f \$\$; $allowed >allowed"
check '  it is still one CPU' same "$(cat allowed)" 0
check '  the system is as it was' clean

trace() { rm -rf study && morecores trace -o study --json "$@" >trace.json; }
figure() { # NAME: a number of the trace
    sed -n "s/.*\"$1\": *\(-\{0,1\}[0-9.e-]*\).*/\1/p" trace.json | head -n 1
}
between() { awk -v value="$2" -v low="$1" -v high="$3" 'BEGIN { if (value == "" || value < low || value > high) { print value; exit 1 } }'; }
# shellcheck disable=SC2016 # The measured shell expands it.
two='i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done & i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; wait'
check 'this kernel lets itself be traced' trace --cpus 4 --shell -- "$two; sleep 0.2"
check '  by BPF programs' grep -q '"source": *"bpf"' trace.json
check '  with user stacks' fails grep -q '"what": *"user stacks"' trace.json
check '  nothing is lost' same "$(figure lost_events)" 0
check '  the loops are work' between 0.05 "$(figure user_work_s)" 20
check '  the sleep is a timer on four CPUs' between 0.7 "$(figure idle_timer_s)" 1.2
check '  nothing is unexplained' between -0.05 "$(figure unexplained_s)" 0.05
check 'one CPU is traced while three are offline' trace --cpus 1 --limit hotplug --shell -- "$two"
check '  its second loop waits for no CPU but that one' between 0 "$(figure idle_scheduling_s)" 0.05
check '  the system is as it was' clean
check 'system calls are traced' trace --cpus 2 --syscalls -- dd if=/dev/zero of=/dev/null bs=1 count=20000
check '  each of them' between 40000 "$(figure events)" 1e9
check 'all holds of locks are counted' trace --cpus 2 --locks exact -- morecores topology
check '  by function' grep -q '"lock_holds": *\[' trace.json

echo '50000 100000' >$top/session/cpu.max
check 'a quota is seen' sh -c 'morecores topology | grep -q "quota of own cgroup"'
check '  the command does not escape it' run --cpus 1 --shell -- "cat $top\$(sed s/0::// /proc/self/cgroup)/cpu.max >max"
check '  its limit is ours' same "$(cat max)" '50000 100000'
echo max >$top/session/cpu.max

check 'a run gets a quota of its own' run --limit quota --quota 0.5,1.5 --shell -- "cat $top\$(sed s/0::// /proc/self/cgroup)/cpu.max >>quotas; $two"
check '  each as it was asked for' same "$(sort quotas | tr '\n' ' ')" '150000 100000 50000 100000 '
check '  its use is kept' grep -q '"bandwidth":{"periods":[0-9]*,"throttled_periods":[1-9]' study/runs.jsonl
echo '100000 100000' >$top/session/cpu.max
check '  one above ours is refused' sh -c 'morecores run -o refused --limit quota --quota 0.5,1.5 -- true 2>&1 | grep -q "which is 1: give at most that"'
echo max >$top/session/cpu.max
check '  the system is as it was' clean

# A service with a small share, throttled clocks and slow disks.
shares='cpu.weight cpu.idle cpu.uclamp.min cpu.uclamp.max io.weight io.max'
echo 10 >$top/session/cpu.weight
[ -e $top/session/cpu.uclamp.max ] && echo 50 >$top/session/cpu.uclamp.max
[ -e $top/session/io.weight ] && echo 'default 20' >$top/session/io.weight
for disk in /sys/block/*/dev; do
    [ -e "$disk" ] && echo "$(cat "$disk") wbps=1048576" >$top/session/io.max && break
done 2>/dev/null
# shellcheck disable=SC2086 # A list of names.
mine=$(cd $top/session && cat $shares 2>/dev/null)
check 'the command has the share of its cgroup' run --cpus 1,4 --shell -- \
    "cd $top\$(sed s/0::// /proc/self/cgroup) && cat $shares >/tmp/shares 2>/dev/null; true"
check '  in every file' same "$(cat shares)" "$mine"
check '  which is not the usual one' sh -c 'head -n 1 shares | grep -qx 10'
echo 1 >$top/session/cpu.idle
check '  also where it only gets what is left' run --cpus 1 --shell -- \
    "cat $top\$(sed s/0::// /proc/self/cgroup)/cpu.idle >idle"
check '  as idle as ours' same "$(cat idle)" 1
echo 0 >$top/session/cpu.idle
echo 100 >$top/session/cpu.weight

echo 200M >$top/session/memory.max
check 'a command is killed for memory' fails run --cpus 1 --shell -- 'head -c 400000000 /dev/zero | tail -n 1'
check '  which is counted' grep -q '"killed_for_memory":{"count":1' study/runs.jsonl
check '  beside the limit' grep -q '"memory_limit_bytes":209715200' study/runs.jsonl
echo max >$top/session/memory.max

check 'hotplug takes the other CPUs away' run --limit hotplug --cpus 1,2,4 --shell -- 'cat /sys/devices/system/cpu/online >online.{n}'
check '  all of them' same "$(cat online.1 online.2 online.4 | tr '\n' ' ')" '0 0-1 0-3 '
check '  the system is as it was' clean

morecores run -q --trace off -o killed --limit hotplug --cpus 2 --shell -- 'sleep 1000 & sleep 1000' &
study=$!
for _ in $(seq 60); do # Emulated CPUs go offline slowly.
    [ "$(cat /sys/devices/system/cpu/online)" = 0-1 ] && break
    sleep 1
done
kill -9 $study
check 'after a SIGKILL two CPUs are gone' same "$(cat /sys/devices/system/cpu/online)" 0-1
check '  the next start repairs it' run --cpus 1 -- true
check '  no process is left' same "$(pidof sleep)" ''
check '  the system is as it was' clean

echo "vm: $passed passed, $failed failed"
poweroff -f
