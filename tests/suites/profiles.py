"""The programs of tests/mpi over hardware that is set up otherwise than by default: all cases, with and without threads, and random
traffic with every profile; of the programs that need a launch of their own, which are about how MPI begins and ends, each with one."""

from mpi_programs import OWN_SUITES, Run, in_turn, programs, stand_alone

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
    names = [name for name in programs(arguments.build) if name not in OWN_SUITES]
    alone = stand_alone(arguments.build, names)
    for number, (backend, profile, settings, *ranks) in enumerate(PROFILES):
        if backend in arguments.backends:
            left_out = set() if arguments.thorough else set(alone) - set(in_turn(alone, number, len(PROFILES)))
            Run(arguments, tally, lambda name, backend=backend, profile=profile: f"profiles/{name} {backend} {profile}",
                backend, *(ranks or [RANKS]), {"OFFRAMP_SUMMARY": "false", **settings}).all(
                    [*(name for name in names if name not in left_out), "soak"])
