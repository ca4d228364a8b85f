"""Threads that compute in Python, so under its global lock: argument 1 is their number."""
import sys
import threading


def task(count):
    total = 0
    for i in range(count):
        total += i % 7


threads = [threading.Thread(target=task, args=(16_000_000 // int(sys.argv[1]),)) for _ in range(int(sys.argv[1]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
