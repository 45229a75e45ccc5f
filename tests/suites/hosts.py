"""Two hosts, made of namespaces, with a cable between them: messages use TCP there, and shared memory between ranks of one host. The
link fails and returns while a program runs."""

import json
import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from isolated import isolated, why_not
from launch import Result, base_environment, mpi_of, mpirun, run as launch

pytestmark = [pytest.mark.thorough, pytest.mark.alone]

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT = 240
WORKERS = 3  # they mostly wait for each other and for mpirun
# Programs that depend on the fabric most: order, large and small payloads, sends that outlive their communicator, collectives, native calls
# beside, threads, unreceived messages at the end.
SAMPLE = ["fixed_pattern", "sizes", "overtaking", "comm_free_pending", "icollectives", "native_blocking", "rma_beside",
          "finalize_unreceived", "communicators", "probe", "fairness"]


def on_two_hosts(arguments, backend, ranks, command, options=()):
    line = [sys.executable, os.path.join(HERE, "two_hosts.py"), *options, "-n", str(ranks)]
    if backend is not None:
        line += ["-x", f"LD_PRELOAD={os.path.join(arguments.build, 'lib/libofframp.so')}", "-x",
                 f"OFFRAMP_BACKEND={backend}", "-x", f"OFFRAMP_HANG_TIMEOUT={LIMIT / 2}"]
    return launch(isolated([*line, *command]), base_environment(), LIMIT)


def program(arguments, name, backend, ranks):
    result = on_two_hosts(arguments, backend, ranks, [os.path.join(arguments.build, "tests/mpi", name)])
    return result.ok and f"ok {name}" in result.output and "left behind" not in result.output, result


def transports(arguments, backend, ranks):
    """UCX sees two hosts; otherwise the other tests would prove nothing."""
    result = on_two_hosts(arguments, backend, ranks, ["-x", "UCX_LOG_LEVEL=info",
                                                      os.path.join(arguments.build, "tests/mpi/fixed_pattern")])
    lanes = re.findall(r"(?:ep_cfg\[\d+\]:|-node cfg#\d+) am\((.*)\)", result.output)
    between = [lane for lane in lanes if "tcp/eth0" in lane and "memory" not in lane]
    within = [lane for lane in lanes if "posix/memory" in lane and "tcp" not in lane]
    return result.ok and bool(between) and bool(within) and len(between) + len(within) == len(lanes), result


def unreachable(arguments, backend, ranks):
    """The user's transports do not reach the other host: MPI_Init reports that with both ends."""
    program_path = os.path.join(arguments.build, "tests/mpi/fixed_pattern")
    result = on_two_hosts(arguments, backend, ranks, ["-x", "UCX_TLS=posix,self", program_path])
    said = re.search(r"offramp: rank \d cannot reach rank \d: no UCX transport connects them", result.output)
    return not result.ok and said is not None and "still running" not in result.output, result


def one_result(arguments, backend, ranks):
    """Reports of one host and of two: equal modelled times of all ranks and calls, and the same certificate."""
    command, found = [os.path.join(arguments.build, "tests/mpi/fixed_pattern")], []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        settings = {"OFFRAMP_REPORT": path, "OFFRAMP_CERTIFICATE": "true", "OFFRAMP_DETAILS": "true"}
        options = [word for name, value in settings.items() for word in ("-x", f"{name}={value}")]
        for start in (lambda: mpirun(arguments.build, backend, ranks, command, 60, settings),
                      lambda: on_two_hosts(arguments, backend, ranks, options + command)):
            result = start()
            if not result.ok or not os.path.exists(path):
                return False, result
            with open(path, encoding="utf-8") as file:
                found.append(json.load(file))
            os.unlink(path)
    kept = [{key: report[key] for key in ("settled", "each_rank", "calls", "certificate", "wire", "critical_path")} for report in found]
    hosts = [len(report["hosts"]) for report in found]
    over_ucx = found[1]["ucx"].count(".") == 2
    return kept[0] == kept[1] and kept[0]["settled"] and hosts == [1, 2] and over_ucx, Result(result.ok, f"{hosts}\n{kept}", result.seconds)


def swept(arguments, backend, ranks):
    """A sweep shared by the processes of two hosts, against one process; both hosts see its folder."""
    words = [os.path.join(arguments.build, "bin/offramp"), "replay", "pattern:alltoall:64:1KiB", "--compare", backend, "--sweep",
             "bytes=1KiB:64KiB", "--sweep", "ranks=16:64", "--json"]
    alone = launch(words, base_environment(), LIMIT)
    result = on_two_hosts(arguments, None, ranks, ["--wdir", "/mnt", *words])
    return alone.ok and result.ok and result.output == alone.output, result


def outage(arguments, backend, ranks):
    """The cable is disconnected for 2 s in the middle of a soak of 8 s; TCP has to repeat lost data."""
    soak = [os.path.join(arguments.build, "tests/mpi/soak"), "--seconds", "8"]
    result = on_two_hosts(arguments, backend, ranks, soak, ["--outage", "4", "2"])
    repeated = re.search(r"repeated segments: (\d+)", result.output)
    return (result.ok and "ok soak" in result.output and "the link was down for 2 s" in result.output and
            repeated is not None and int(repeated[1]) > 0 and "left behind" not in result.output), result


def cases(arguments):
    every = sorted(os.listdir(os.path.join(arguments.build, "tests/mpi")))
    for i, name in enumerate(every if arguments.thorough else SAMPLE):
        if not os.path.isfile(os.path.join(arguments.build, "tests/mpi", name)):
            continue
        if arguments.thorough:
            for backend in [None, *arguments.backends]:
                yield name, backend, max(arguments.ranks), program, (name, backend, max(arguments.ranks))
        else:
            backend = arguments.backends[i % len(arguments.backends)]
            yield name, backend, 3, program, (name, backend, 3)
    yield "transports", arguments.backends[0], 4, transports, (arguments.backends[0], 4)
    yield "unreachable", arguments.backends[0], 2, unreachable, (arguments.backends[0], 2)
    yield "sweep", arguments.backends[0], 4, swept, (arguments.backends[0], 4)
    for backend in arguments.backends if arguments.thorough else {arguments.backends[0], arguments.backends[-1]}:
        yield "one modelled time", backend, 4, one_result, (backend, 4)
    for backend in arguments.backends if arguments.thorough else arguments.backends[-1:]:
        yield "link down and up", backend, 4, outage, (backend, 4)


def test_programs_on_two_hosts(arguments, tally):
    reason = why_not()
    if reason:
        tally.skip("hosts", f"no namespaces: {reason}")
        return
    if mpi_of(arguments.build).skips(tally, "hosts", "openmpi", "two_hosts.py starts Open MPI's daemons on its hosts"):
        return
    wanted = [(f"hosts/{what} {backend or 'native'} {ranks} ranks", check, rest)
              for what, backend, ranks, check, rest in cases(arguments)]
    wanted = [case for case in wanted if tally.wants(case[0])]
    with ThreadPoolExecutor(WORKERS) as pool:
        results = pool.map(lambda case: case[1](arguments, *case[2]), wanted)
        for (label, _, _), (ok, result) in zip(wanted, results):
            tally.record(label, ok, result.output, result.seconds)
