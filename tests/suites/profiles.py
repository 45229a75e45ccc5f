"""The programs of tests/mpi over hardware that is set up otherwise than by default."""

import os

from launch import mpirun

RANKS = 3
# Backend, what is set, and by which name it goes.
PROFILES = [
    ("cclo", "UDP", {"OFFRAMP_CCLO_TRANSPORT": "udp"}),
    ("cclo", "second generation", {"OFFRAMP_CCLO_PROFILE": "gen2"}),
    ("zrlmpi", "mpe2, strict", {"OFFRAMP_ZRLMPI_PRESET": "mpe2", "OFFRAMP_ZRLMPI_STRICT": "true"}),
    ("aie", "butterfly", {"OFFRAMP_AIE_ALLREDUCE": "butterfly"}),
    ("tinsel", "software multicast, dense", {"OFFRAMP_TINSEL_MULTICAST": "software",
                                             "OFFRAMP_TINSEL_PLACEMENT": "dense"}),
]


def run(arguments, tally):
    folder = os.path.join(arguments.build, "tests/mpi")
    programs = sorted(name for name in os.listdir(folder) if os.access(os.path.join(folder, name), os.X_OK)
                      and os.path.isfile(os.path.join(folder, name)))
    for backend, profile, settings in PROFILES:
        if backend not in arguments.backends:
            continue
        for name in programs:
            label = f"profiles/{name} {backend} {profile}"
            if tally.wants(label):
                result = mpirun(arguments.build, backend, RANKS, [os.path.join(folder, name)], 90,
                                {"OFFRAMP_SUMMARY": "false", **settings})
                tally.record(label, result.ok and f"ok {name}" in result.output, result.output, result.seconds)
