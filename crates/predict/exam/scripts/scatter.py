"""MPI: rank 0 scatters rows, all sort them, and rank 0 gathers."""
import numpy
from mpi4py import MPI

ranks = MPI.COMM_WORLD
rows = None
if ranks.rank == 0:
    rows = numpy.array_split(numpy.random.default_rng(3).random((600, 20_000)), ranks.size)
mine = ranks.scatter(rows)
ranks.gather(numpy.sort(mine, axis=1))
