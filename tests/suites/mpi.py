"""tests/mpi: every program natively, where it must pass too, and over every backend, each time with one of the numbers of ranks. With
every number every backend is met, natively and over the backends each program meets every number. --thorough takes all. A program that
needs more ranks than that has the numbers that are enough. What suites of their own look at over every backend is left to them."""

from mpi_programs import OWN_SUITES, Run, lacks_sessions, least_ranks, programs
from pairs import pairs


def chosen(names, backends, ranks, thorough):
    """(program, backend, ranks) of every run."""
    if thorough:
        return {(name, backend, number) for name in names for backend in backends for number in ranks}
    return {tuple(row.values()) for row in pairs(name=names, backend=backends, ranks=ranks)}


def run(arguments, tally):
    if lacks_sessions(arguments.build):
        tally.skip("mpi/sessions", "this MPI library has none")
    names = [name for name in programs(arguments.build) if name not in OWN_SUITES]
    backends = [None, *arguments.backends]
    rows = set()
    for least in sorted({least_ranks(name) for name in names}):
        enough = [ranks for ranks in arguments.ranks if ranks >= least] or [least]
        rows |= chosen([name for name in names if least_ranks(name) == least], backends, enough, arguments.thorough)
    for backend in backends:
        for ranks in sorted({ranks for _, _, ranks in rows}):
            Run(arguments, tally, lambda name, backend=backend, ranks=ranks: f"mpi/{name} {backend or 'native'} {ranks} ranks",
                backend, ranks).all([name for name in names if (name, backend, ranks) in rows])
