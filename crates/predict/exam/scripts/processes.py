"""A pool of processes: argument 1 is their number."""
import multiprocessing
import sys


def task(number):
    return sum(i * number % 7 for i in range(250_000))


if __name__ == "__main__":
    with multiprocessing.Pool(int(sys.argv[1])) as pool:
        print(sum(pool.imap_unordered(task, range(48))))
