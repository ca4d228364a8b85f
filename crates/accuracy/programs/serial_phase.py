"""A serial fraction of 30%, in functions in C: the main thread converts a number to text, by a
function of the interpreter. Then two threads compute checksums at once, by a function of zlib and
without the interpreter's global lock. The truth: the CPU time of each function. As in
serial_phase.c.

    serial_phase.py TRUTH-FILE SECONDS
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from time import thread_time
from zlib import adler32

from known import idle_s, runnable_s, write_truth

ROUNDS = 20
WORKERS = 2
SERIAL_SHARE = 0.3

# One conversion takes some 0.2 ms: the time is quadratic in the number of digits. Python refuses
# more than 4300 digits.
NUMBER = 7**5000
# One checksum takes some 0.3 ms. With less than 5 KiB it would keep the global lock.
DATA = bytes(1 << 19)

runnable = {}


def compute_alone(length):
    """Converts for this much CPU time of the thread. Returns the CPU time that it took."""
    begun = thread_time()
    while thread_time() < begun + length:
        str(NUMBER)
    return thread_time() - begun


def compute_together(length):
    """Computes checksums for this much CPU time of the thread. Returns the CPU time that it took."""
    begun = thread_time()
    while thread_time() < begun + length:
        adler32(DATA)
    runnable[threading.get_ident()] = runnable_s()
    return thread_time() - begun


round_s = float(sys.argv[2]) / ROUNDS
cpu_alone = cpu_together = 0.0
idle = idle_s()
with ThreadPoolExecutor(WORKERS) as pool:
    for _ in range(ROUNDS):
        cpu_alone += compute_alone(round_s * SERIAL_SHARE)
        each = round_s * (1 - SERIAL_SHARE) / WORKERS
        cpu_together += sum(pool.map(compute_together, [each] * WORKERS))
functions = {"compute_alone": {"cpu_s": cpu_alone}, "compute_together": {"cpu_s": cpu_together}}
idle = idle_s() - idle
write_truth(sys.argv[1], idle_s=idle, runnable_s=sum(runnable.values()), functions=functions)
