"""Arithmetic on NumPy vectors, which one thread computes."""
import numpy

a = numpy.arange(4_000_000, dtype=float)
for _ in range(30):
    b = numpy.sqrt(a) + a * 0.5
