"""A pool of threads that compress, without Python's global lock while they do: argument 1 is their number."""
import concurrent.futures
import sys
import zlib

with open("text20", "rb") as file:
    data = file.read()
PIECE = 1 << 18
with concurrent.futures.ThreadPoolExecutor(int(sys.argv[1])) as pool:
    pieces = pool.map(lambda at: zlib.compress(data[at : at + PIECE], 5), range(0, len(data), PIECE))
    print(sum(map(len, pieces)))
