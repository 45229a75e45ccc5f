"""Parallel transforms by mpi4py-fft: sub-communicators of a process grid, MPI_Alltoallw of subarray types. Compared
with the transform by one process."""

import numpy
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

SHAPE = (12, 10, 8)
world = MPI.COMM_WORLD
wrong = 0

for grid in [(-1,), (0, 0, 1)]:
    plan = PFFT(world, SHAPE, axes=(0, 1, 2), dtype=complex, **({"slab": True} if grid == (-1,) else {"grid": grid}))
    data, spectrum, back = newDistArray(plan, False), newDistArray(plan, True), newDistArray(plan, False)
    whole = numpy.random.RandomState(5).rand(*SHAPE) + 1j * numpy.random.RandomState(6).rand(*SHAPE)
    data[...] = whole[data.local_slice()]
    plan.forward(data, spectrum, normalize=False)
    wrong += not numpy.allclose(spectrum, numpy.fft.fftn(whole)[spectrum.local_slice()])
    plan.backward(spectrum, back, normalize=True)
    wrong += not numpy.allclose(back, whole[back.local_slice()])

wrong = world.allreduce(wrong)
if world.rank == 0:
    print(f"transforms of {SHAPE} by {world.size}: {wrong} wrong", flush=True)
