"""Products of matrices by the BLAS library of NumPy, whose threads follow OPENBLAS_NUM_THREADS."""
import numpy

a = numpy.ones((1200, 1200))
for _ in range(16):
    a.dot(a)
