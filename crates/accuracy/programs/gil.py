"""Two threads that compute in Python: one has the interpreter's global lock, the other waits for it.

No clock in the interpreter sees the waits. Each thread either computes or waits, so the waits are
twice the elapsed time less the CPU time.

    gil.py TRUTH-FILE SECONDS
"""

import json
import os
import sys
import threading
import time


def compute(end):
    """Computes until `end`."""
    total = 0
    while time.monotonic() < end:
        for number in range(10_000):
            total += number


def idle_s():
    """Idle time since the start of the machine of the CPUs that the program may use."""
    cpus = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
    with open("/proc/stat") as stat:
        lines = [line.split() for line in stat]
    ticks = sum(int(words[4]) + int(words[5]) for words in lines if words[0] in cpus)
    return ticks / os.sysconf("SC_CLK_TCK")


idle = idle_s()
begun, cpu_at_start = time.monotonic(), time.process_time()
end = begun + float(sys.argv[2])
other = threading.Thread(target=compute, args=(end,))
other.start()
compute(end)
other.join()
elapsed, cpu = time.monotonic() - begun, time.process_time() - cpu_at_start
idle = idle_s() - idle
with open(sys.argv[1], "w") as truth:
    waited = max(2 * elapsed - cpu, 0)
    known = {"cpu_s": time.process_time(), "waited_s": waited, "idle_s": idle}
    print(json.dumps(known), file=truth)
