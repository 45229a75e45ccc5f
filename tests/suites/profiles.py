"""Hardware with other settings than the defaults. Recordings are replayed: a profile changes the figures of each class of programs as its
parameters say, and each value of each choice parameter changes something. The settings that also decide how data is carried run at once
over the dealer, with the data checked. With --thorough all programs run over all profiles."""

import functools
import json
import os
import subprocess

import pytest

from launch import DEALER, base_environment
from mpi_programs import OWN_SUITES, Run, programs, stand_alone

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RANKS = 4
# The classes of programs. Their recordings are made from cases of tests/mpi, each class by
#   offramp record -n 4 -o tests/data/profiles/CLASS.rec -- build/tests/mpi_cases CASES
# collectives: bcast collectives_more other_collectives; messages: sendrecv probe; nonblocking: nonblocking icollectives;
# threads: threads two_reduces
CLASSES = ("collectives", "messages", "nonblocking", "threads")
# A recording of 16 ranks with most collectives: some values matter only on many ranks.
MANY_RANKS = os.path.join(ROOT, "tests/data/scale/collectives-16.rec")
MACHINE = ("machine.ranks_per_node", "2")

# Backend, name of the profile, the settings to compare with, its own settings, and the change in the figures of each class.
LOWER, HIGHER, UNCHANGED = "lower", "higher", "unchanged"
ALL = CLASSES
PROFILES = [
    ("host", "200 Gb/s", {}, {"nic": "200g"}, {("time", LOWER): ("collectives", "messages")}),
    ("host", "ucx", {}, {"transport": "ucx"}, {("time", LOWER): ("threads",), ("time", HIGHER): ("messages",)}),
    ("host", "node by node", {"bcast": "basic_linear"}, {"bcast": "han"}, {("packets", LOWER): ("collectives",)}),
    ("cclo", "UDP", {"transport": "tcp"}, {"transport": "udp"}, {("time", LOWER): ALL, ("wire bytes", LOWER): ALL}),
    ("cclo", "second generation", {}, {"profile": "gen2"}, {("declined", LOWER): ALL}),
    ("cclo", "registers mapped", {}, {"driver": "mapped"}, {("time", LOWER): ALL, ("packets", UNCHANGED): ALL}),
    ("zrlmpi", "mpe2", {}, {"preset": "mpe2"}, {("time", LOWER): ALL, ("declined", UNCHANGED): ALL}),
    ("zrlmpi", "strict", {}, {"strict": "true"}, {("declined", HIGHER): ALL}),
    ("aie", "butterfly", {}, {"allreduce": "butterfly"}, {("time", LOWER): ("collectives",), ("time", UNCHANGED): ("messages",)}),
    ("aie", "buffers in tiles", {}, {"data": "tiles"}, {("time", LOWER): ALL}),
    ("dpu", "BlueField-3", {}, {"card": "bf3"},
     {("time", LOWER): ALL, ("packets", LOWER): ("messages", "nonblocking", "threads"), ("packets", UNCHANGED): ("collectives",)}),
    ("dpu", "staging", {}, {"data_path": "staging"}, {("time", HIGHER): ("collectives", "messages", "nonblocking")}),
    ("sharp", "Slingshot", {}, {"preset": "slingshot"}, {("declined", HIGHER): ("collectives",)}),
    ("sharp", "Switch-IB 2", {}, {"preset": "switch_ib2"}, {("time", LOWER): ("collectives",)}),
    ("tinsel", "software multicast, dense", {"placement": "dense"}, {"placement": "dense", "multicast": "software"},
     {("time", HIGHER): ("collectives",)}),
    ("tinsel", "boards apart", {}, {"placement": "apart"}, {("time", HIGHER): ALL}),
]

# Settings with which a parameter's value has an effect that it lacks beside the defaults.
BESIDE = {"host": [{"collectives": "mpich"}, {"collectives": "best"}], "cclo": [{"profile": "gen2"}],
          "zrlmpi": [{"preset": "mpe2"}], "tinsel": [{"placement": "apart"}]}
# Values without effect by design: backend, parameter and value, and the reason.
WITHOUT_EFFECT = {
    ("host", "processor", "xeon"): "it has the memory of any",
    ("host", "collectives", "openmpi-4.1"): "it is the release that openmpi means",
    ("cclo", "profile", "dump"): "it has other addresses of registers than seed, which take as long",
    ("tinsel", "placement", "spread"): "it is what auto chooses for ranks that fit on the mailboxes of 48 boards",
    ("tinsel", "barrier", "tree"): "it is what auto chooses for so few ranks",
}

# Settings for carrying data: for each backend those that select other algorithms, or other carried or declined operations. The dealer's
# backends use all of them at once.
CARRIED = {
    "host": {"MACHINE_RANKS_PER_NODE": "2", "HOST_COLLECTIVES": "mpich", "HOST_EAGER_LIMIT": "64"} | {
        f"HOST_{name}": "han" for name in ("BCAST", "REDUCE", "ALLREDUCE", "GATHER", "SCATTER", "ALLGATHER", "BARRIER")},
    "cclo": {"CCLO_PROFILE": "gen2"},
    "zrlmpi": {"ZRLMPI_PRESET": "mpe2", "ZRLMPI_STRICT": "true", "ZRLMPI_COLLECTIVES": "linear"},
    "aie": {"AIE_ALLREDUCE": "butterfly", "AIE_GATHER": "header", "AIE_ARITY": "3", "AIE_EAGER_LIMIT": "64"},
    "dpu": {"DPU_DATA_PATH": "staging", "DPU_BROADCAST": "tree", "DPU_DELIVERY": "dpu", "DPU_SERVICE_PROCESSES": "2"},
    "sharp": {"MACHINE_RANKS_PER_NODE": "2", "SHARP_NODE_RADIX": "2", "SHARP_LOW_LATENCY_LIMIT": "64", "SHARP_STREAM_FROM": "1024"},
    "tinsel": {"TINSEL_MULTICAST": "software", "TINSEL_PLACEMENT": "dense", "TINSEL_FAN_IN": "2", "TINSEL_SEGMENT": "64"},
}
CARRIED_CASES = ["bcast", "reduce", "gather", "collectives_more", "other_collectives", "icollectives", "reduce_user", "persistent_collectives",
                 "sendrecv", "probe", "nonblocking", "send_recv_modes", "truncation", "wildcards"]

# The profiles of --thorough: backend, settings, and the number of ranks if not three.
PRODUCTS = [
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


class ReplayError(Exception):
    """A recording could not be replayed, or its report has other settings."""


def offramp(build):
    return os.path.join(build, "bin/offramp")


def recording(name):
    """The path of the recording of a class."""
    return os.path.join(ROOT, "tests/data/profiles", f"{name}.rec")


@functools.cache
def replay(build, file, backend, settings):
    """The figures of a replay. settings: pairs of a parameter of the backend and its value."""
    options = [word for key, value in (MACHINE, *((f"{backend}.{name}", value) for name, value in settings))
               for word in ("--set", f"{key}={value}")]
    done = subprocess.run([offramp(build), "replay", file, "--backend", backend, "--json", *options], capture_output=True, text=True,
                          check=False, env=base_environment(), timeout=120)
    if done.returncode != 0:
        raise ReplayError(done.stderr)
    said = json.loads(done.stdout)
    for name, value in settings:
        reported = said["settings"][f"{backend}.{name}"]["value"]
        if reported.split()[0] != value:
            raise ReplayError(f"{backend}.{name} was set to {value}, and the report has {reported}")
    found = said["results"][0]
    return {"time": found["modelled_time_ps"], "packets": found["wire"]["packets"],
            "wire bytes": found["wire"]["wire_bytes"], "declined": sum(decline["count"] for decline in found["declines"]), "wire": found["wire"]}


def changed_as(direction, before, after):
    return {LOWER: after < before, HIGHER: after > before, UNCHANGED: after == before}[direction]


def profile_problem(build, backend, base, settings, name, expected):
    """The unexpected figures of a class of programs; empty if there are none."""
    try:
        before, after = (replay(build, recording(name), backend, tuple(chosen.items())) for chosen in (base, settings))
    except ReplayError as error:
        return str(error)
    return "".join(f"{figure}: {before[figure]} before, {after[figure]} with the profile, expected {direction}\n"
                   for figure, direction in expected if not changed_as(direction, before[figure], after[figure]))


def test_profiles(arguments, tally):
    for backend, profile, base, settings, expected in PROFILES:
        for name in CLASSES if backend in arguments.backends else []:
            here = [change for change, classes in expected.items() if name in classes]
            label = f"profiles/{backend} {profile}: {', '.join(f'{direction} {figure}' for figure, direction in here)} in {name}"
            if here and tally.wants(label):
                problem = profile_problem(arguments.build, backend, base, settings, name, here)
                tally.record(label, not problem, problem)


@functools.cache
def choices(build, backend):
    """Each parameter with a list of values, with its default and its other values."""
    said = subprocess.run([offramp(build), "info", "--json"], capture_output=True, text=True, check=True, env=base_environment(), timeout=60)
    parameters = next(each["parameters"] for each in json.loads(said.stdout)["backends"] if each["name"] == backend)
    return [(one["name"], value) for one in parameters if " .. " not in one["allowed"]
            for value in one["allowed"].split(", ") if value != str(one["default"]).lower()]


def effect(build, backend, parameter, value):
    """The figures before and after, from the first replay in which the value has an effect. Empty if it has none."""
    for beside in ({}, *(beside for beside in BESIDE.get(backend, []) if parameter not in beside)):
        for file in (recording("collectives"), MANY_RANKS, *(recording(name) for name in CLASSES if name != "collectives")):
            before = replay(build, file, backend, tuple(beside.items()))
            after = replay(build, file, backend, (*beside.items(), (parameter, value)))
            if before != after:
                return f"{os.path.basename(file)} beside {beside}: {before}, with {parameter} = {value} {after}"
    return ""


def test_choices(arguments, tally):
    for backend in arguments.backends:
        for parameter, value in choices(arguments.build, backend):
            reason = WITHOUT_EFFECT.get((backend, parameter, value))
            label = f"profiles/{backend} {parameter} = {value} {'changes nothing' if reason else 'changes something'}"
            if tally.wants(label):
                try:
                    changed = effect(arguments.build, backend, parameter, value)
                    tally.record(label, bool(changed) != bool(reason), changed or "it changes nothing")
                except ReplayError as error:
                    tally.record(label, False, str(error))


def test_data(arguments, tally):
    """With recording and summary, as users have them: the settings reach the models that settle the run."""
    settings = {f"OFFRAMP_{name}": value for backend in CARRIED.values() for name, value in backend.items()}
    Run(arguments, tally, "profiles/data of {}".format, DEALER, RANKS, settings,
        acceptable=lambda output: f"offramp: {DEALER}, {RANKS} ranks: communication " in output).all(CARRIED_CASES)


@pytest.mark.thorough
def test_data_of_each_backend(arguments, tally):
    for backend in arguments.backends:
        settings = {f"OFFRAMP_{name}": value for name, value in CARRIED[backend].items()}
        Run(arguments, tally, lambda name, backend=backend: f"profiles/data of {name} {backend}", backend, RANKS, settings,
            acceptable=lambda output, backend=backend: f"offramp: {backend}, {RANKS} ranks: communication " in output).all(
                CARRIED_CASES)


@pytest.mark.thorough
def test_products(arguments, tally):
    names = [name for name in programs(arguments.build) if name not in OWN_SUITES]
    for backend, profile, settings, *ranks in PRODUCTS:
        if backend in arguments.backends:
            Run(arguments, tally, lambda name, backend=backend, profile=profile: f"profiles/{name} {backend} {profile}",
                backend, *(ranks or [3]), {"OFFRAMP_SUMMARY": "false", **settings}).all([*names, "soak"])
