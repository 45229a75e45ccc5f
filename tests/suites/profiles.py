"""The programs of tests/mpi over hardware that is set up otherwise than by default."""

from mpi_programs import Run, programs

RANKS = 3
# Backend, by which name it goes, what is set, and on how many ranks if not on three.
PROFILES = [
    ("host", "node by node, 200 Gb/s", {"OFFRAMP_MACHINE_RANKS_PER_NODE": "2", "OFFRAMP_HOST_NIC": "200g"} | {
        f"OFFRAMP_HOST_{name}": "han" for name in ("BCAST", "REDUCE", "ALLREDUCE", "GATHER", "SCATTER", "ALLGATHER", "BARRIER")},
     4),
    ("cclo", "UDP", {"OFFRAMP_CCLO_TRANSPORT": "udp"}),
    ("cclo", "second generation", {"OFFRAMP_CCLO_PROFILE": "gen2"}),
    ("zrlmpi", "mpe2, strict", {"OFFRAMP_ZRLMPI_PRESET": "mpe2", "OFFRAMP_ZRLMPI_STRICT": "true"}),
    ("aie", "butterfly", {"OFFRAMP_AIE_ALLREDUCE": "butterfly"}),
    ("tinsel", "software multicast, dense", {"OFFRAMP_TINSEL_MULTICAST": "software",
                                             "OFFRAMP_TINSEL_PLACEMENT": "dense"}),
]


def run(arguments, tally):
    for backend, profile, settings, *ranks in PROFILES:
        if backend in arguments.backends:
            Run(arguments, tally, lambda name, backend=backend, profile=profile: f"profiles/{name} {backend} {profile}",
                backend, *(ranks or [RANKS]), {"OFFRAMP_SUMMARY": "false", **settings}).all(programs(arguments.build))
