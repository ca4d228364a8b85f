"""MPI: each rank computes its part of 400 steps, and all sum their results after each."""
import numpy
from mpi4py import MPI

ranks = MPI.COMM_WORLD
part = numpy.arange(1_200_000 // ranks.size, dtype=float)
total = numpy.zeros(1)
for step in range(400):
    mine = numpy.array([numpy.sqrt(part + step).sum()])
    ranks.Allreduce(mine, total)
