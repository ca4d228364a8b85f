"""The kernel's accounts and the line of truth, for the programs with known truth in Python. As in
known.h."""

import json
import os
import time


def idle_s():
    """Idle time since the start of the machine of the CPUs that the program may use."""
    cpus = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
    with open("/proc/stat") as stat:
        lines = [line.split() for line in stat]
    ticks = sum(int(words[4]) + int(words[5]) for words in lines if words[0] in cpus)
    return ticks / os.sysconf("SC_CLK_TCK")


def runnable_s():
    """The scheduler's account of the time that the calling thread was runnable and did not run; 0
    without such an account."""
    try:
        with open("/proc/thread-self/schedstat") as account:
            return int(account.read().split()[1]) / 1e9
    except OSError:
        return 0.0


def write_truth(path, **quantities):
    """Writes the CPU time of the process and these quantities."""
    with open(path, "w") as truth:
        print(json.dumps({"cpu_s": time.process_time(), **quantities}), file=truth)
