"""Two threads that compute in Python: one has the interpreter's global lock, the other waits for it.

No clock in the interpreter sees the waits. Each thread either computes or waits, so the waits are
twice the elapsed time less the CPU time.

    gil.py TRUTH-FILE SECONDS
"""

import sys
import threading
import time

from known import idle_s, write_truth


def compute(end):
    """Computes until `end`."""
    total = 0
    while time.monotonic() < end:
        for number in range(10_000):
            total += number


idle = idle_s()
begun, cpu_at_start = time.monotonic(), time.process_time()
end = begun + float(sys.argv[2])
other = threading.Thread(target=compute, args=(end,))
other.start()
compute(end)
other.join()
elapsed, cpu = time.monotonic() - begun, time.process_time() - cpu_at_start
write_truth(sys.argv[1], waited_s=max(2 * elapsed - cpu, 0), idle_s=idle_s() - idle)
