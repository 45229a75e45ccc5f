"""A pool of workers by mpi4py.futures, on an intercommunicator between the ranks: python3 -m mpi4py.futures executor.py"""

from mpi4py.futures import MPICommExecutor
from mpi4py import MPI


def work(number):
    return sum(i * i for i in range(number)), bytes(number)


with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
    if executor is not None:
        results = list(executor.map(work, range(200), chunksize=3))
        right = sum(sums == n * (n - 1) * (2 * n - 1) // 6 and len(data) == n for n, (sums, data) in enumerate(results))
        print(f"executor: {right} of {len(results)} right", flush=True)
