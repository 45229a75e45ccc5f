"""Receipts, captures and Wireshark's dissectors, as a user sees them. The fast tier replays recordings of a few runs on every backend; the
thorough tier has receipts and captures of runs over each, too."""

import functools
import json
import os
import random
import re
import subprocess
import tempfile

import pytest

from launch import DEALER, base_environment, mpirun
from replays import picoseconds, replay
from wireshark import DISSECTORS, place_tshark

RANKS = 3
MESSAGES = "derived_types"  # several thousand packets, of short and long messages


def program(arguments, name):
    return [os.path.join(arguments.build, "tests/mpi", name)]


def host_packets(report):
    """The host carries the operations that the engine declines, and its packets are not modelled one by one: four for a barrier of three
    ranks."""
    return 4 * sum(declined["count"] for declined in report["declines"]) // 3


def offramp(arguments, *words):
    command = [os.path.join(arguments.build, "bin/offramp"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=base_environment())


# Stages that the hardware itself records, of a kind that every run of the test program has.
EXPECTED = {
    "host": {"host.cpu", "host.link"},
    "cclo": {"control processor", "network", "rx buffers"},
    "zrlmpi": {"mpe.send", "mpe.receive", "wire"},
    "aie": {"aie.core"},
    "dpu": {"service process", "network"},
    "tinsel": {"tinsel.threads", "tinsel.network"},
    "sharp": {"sharp.host", "sharp.switch"},
}


def receipt_problem(arguments, path, report, backend):
    """The problems with the receipts of a report; empty if there are none."""
    chosen = random.Random(1)
    units, named, total = set(), 0, 0
    for rank in range(RANKS):
        calls = json.loads(offramp(arguments, "explain", "--rank", str(rank), "--json", path).stdout)
        sums = {}
        for call in calls:
            sums[call["function"]] = sums.get(call["function"], 0) + call["modelled_ps"]
        for function, counted in report["each_rank"][rank]["calls"].items():
            if picoseconds(counted["modelled_ns"]) != sums.get(function, 0):
                return f"rank {rank}: {function} took {counted['modelled_ns']} ns, its receipts {sums.get(function)} ps"
        calls = [c for c in calls if c["modelled_ps"] > 0]
        longest = {c["function"]: c for c in reversed(calls)}
        for call in (list(longest.values()) if rank == 0 else []) + chosen.sample(calls, 4):
            done = offramp(arguments, "explain", "--rank", str(rank), "--call", str(call["call"]), "--json", path)
            if done.returncode != 0:
                return done.stderr
            receipt = json.loads(done.stdout)
            at = receipt["begin_ps"]
            for stage in receipt["stages"]:
                if stage["begin_ps"] != at or stage["time_ps"] <= 0:
                    return f"a gap or an overlap at {at}: {receipt}"
                at += stage["time_ps"]
                units.add(stage["unit"])
                total += stage["time_ps"]
                named += stage["time_ps"] if stage["rank"] is not None else 0
            if at - receipt["begin_ps"] != call["modelled_ps"]:
                return f"the stages do not add up: {receipt}"
    if not EXPECTED.get(backend, set()) <= units:
        return f"only the units {sorted(units)}"
    return "" if named > 0.8 * total else f"only {named} of {total} ps have a rank that is known"


@pytest.fixture(scope="module")
def recording(arguments, tmp_path_factory):
    """The recording of a program, made once."""
    folder = tmp_path_factory.mktemp("recordings")

    @functools.cache
    def of(*command):
        file = str(folder / f"{os.path.basename(command[0])}.rec")
        result = mpirun(arguments.build, DEALER, RANKS, command, 60, {"OFFRAMP_RECORD": file, "OFFRAMP_SUMMARY": "false"})
        assert result.ok, result.output
        return file
    return of


def replayed(arguments, file, backend, folder, *options):
    """The path of the report of a replay, or a text with the problem."""
    path = os.path.join(folder, "report.json")
    again = replay(arguments.build, file, "--backend", backend, "--report", path, *options)
    return path, again if isinstance(again, str) else ""


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize("live", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["replay", "run"])
def test_receipts(arguments, tally, recording, backend, live):
    label = f"receipts/stages add up to each call of a {'run' if live else 'replay'} {backend}"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        if live:
            path = os.path.join(folder, "report.json")
            result = mpirun(arguments.build, backend, RANKS, program(arguments, "fixed_pattern"), 60,
                            {"OFFRAMP_REPORT": path, "OFFRAMP_RECEIPTS": "all"})
            problem = "" if result.ok and os.path.exists(path) else result.output
        else:
            path, problem = replayed(arguments, recording(*program(arguments, "fixed_pattern")), backend, folder, "--receipts", "all")
        problem = problem or receipt_problem(arguments, path, read(path), backend)
        tally.record(label, not problem, problem)


def test_ranges(arguments, tally):
    label = "receipts/only the calls that were asked for"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        command = program(arguments, "fixed_pattern")
        result = mpirun(arguments.build, "host", RANKS, command, 60, {"OFFRAMP_REPORT": path, "OFFRAMP_RECEIPTS": "20-24"})
        calls = json.loads(offramp(arguments, "explain", "--rank", "2", "--json", path).stdout or "[]")
        beyond = offramp(arguments, "explain", "--rank", "2", "--call", "25", path)
        absent = offramp(arguments, "explain", "--rank", "3", "--call", "20", path)
        shown = offramp(arguments, "explain", "--rank", "1", "--call", "22", "--timeline", path)
        ok = (result.ok and sorted(c["call"] for c in calls) == list(range(20, 25)) and beyond.returncode == 2
              and "20 to 24" in beyond.stderr and absent.returncode == 2 and "rank 3" in absent.stderr
              and shown.returncode == 0 and "call 22 of rank 1: MPI_" in shown.stdout)
        tally.record(label, ok, f"{result.output}\n{calls}\n{beyond}\n{absent}\n{shown}", result.seconds)


def tshark(files, *options):
    """The output of tshark for one file, or for several as one network."""
    with tempfile.TemporaryDirectory() as folder:
        place_tshark(folder)
        path = os.path.join(folder, "all.pcap")
        subprocess.run(["mergecap", "-w", path, *files], check=True, timeout=60, capture_output=True)
        os.chmod(path, 0o644)
        checks = [word for name in ("ip", "udp", "tcp") for word in ("-o", f"{name}.check_checksum:TRUE")]
        script = os.path.join(folder, os.path.basename(DISSECTORS))
        done = subprocess.run(["tshark", "-r", path, "-X", f"lua_script:{script}", *checks, *options],
                              env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True, text=True,
                              timeout=120, check=False)
        lua = "" if "Lua" not in done.stderr else done.stderr
        return lua + done.stdout if done.returncode == 0 else f"exit status {done.returncode}: {done.stderr}"


def capture(arguments, recording, backend, folder, settings, command):
    """Replays a program; returns the report, the capture files of its ranks, and the problems."""
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    path, problem = replayed(arguments, recording(*command), backend, folder, "--capture", os.path.join(folder, "run.pcap"), *words)
    files = [os.path.join(folder, f"run.{rank}.pcap") for rank in range(RANKS)]
    if not problem and not all(map(os.path.exists, files)):
        problem = "no capture"
    return None if problem else read(path), files, problem


def capture_of_run(arguments, backend, folder, settings, command):
    path = os.path.join(folder, "report.json")
    variables = {"OFFRAMP_" + key.replace(".", "_").upper(): value for key, value in settings.items()}
    result = mpirun(arguments.build, backend, RANKS, command, 90,
                    {"OFFRAMP_REPORT": path, "OFFRAMP_CAPTURE": os.path.join(folder, "run.pcap"), **variables})
    files = [os.path.join(folder, f"run.{rank}.pcap") for rank in range(RANKS)]
    return (read(path) if result.ok else None), files, result.output


CAPTURES = {
    "zrlmpi": [("", {}, "zrlmpi"), (" strict MPE v2", {"zrlmpi.preset": "mpe2"}, "zrlmpi")],
    "cclo": [("", {}, "cclo"), (" UDP", {"cclo.transport": "udp"}, "cclo"),
             (" RDMA", {"cclo.profile": "gen2"}, "infiniband")],
    "tinsel": [("", {}, "tinsel")],
}


@pytest.fixture
def with_tshark():
    with tempfile.TemporaryDirectory() as folder:
        if reason := place_tshark(folder):
            pytest.skip(reason)


def capture_problem(backend, protocol, report, files):
    lines = tshark(files, "-T", "fields", "-e", "frame.protocols", "-z", "expert").splitlines()
    packets = [line for line in lines if line.startswith("eth:")]
    expert = [line for line in lines if line.strip() and not line.startswith("eth:")]
    own = sum(protocol in line for line in packets)
    counted = report["wire"]["packets"] - host_packets(report)
    # Tinsel's routers count packets on links between boards, and a message is many fragments.
    complete = len(packets) == counted or (backend == "tinsel" and len(packets) > 0)
    good = not expert and complete and own > 0.99 * len(packets)
    return "" if good else "\n".join([*expert[:20], f"{len(packets)} packets of {counted}, {own} with {protocol}"])


def captures(arguments, tally, backend, what, name, take):
    """take(folder, settings, command): a capture."""
    for suffix, settings, protocol in CAPTURES.get(backend, []):
        label = f"receipts/tshark reads the packets of a {what} {backend}{suffix}"
        if not tally.wants(label):
            continue
        # Tinsel's fragments have 60 bytes: a program with long messages has millions of them.
        command = program(arguments, "wtime" if backend == "tinsel" else name)
        with tempfile.TemporaryDirectory() as folder:
            report, files, problem = take(folder, settings, command)
            problem = problem if report is None else capture_problem(backend, protocol, report, files)
        tally.record(label, not problem, problem)


@pytest.mark.usefixtures("with_tshark")
def test_captures(arguments, tally, recording):
    for backend in arguments.backends:
        captures(arguments, tally, backend, "replay", MESSAGES,
                 lambda *words, backend=backend: capture(arguments, recording, backend, *words))


@pytest.mark.thorough
@pytest.mark.usefixtures("with_tshark")
def test_captures_of_runs(arguments, tally):
    for backend in arguments.backends:
        captures(arguments, tally, backend, "run", "fixed_pattern",
                 lambda *words, backend=backend: capture_of_run(arguments, backend, *words))


@pytest.mark.usefixtures("with_tshark")
def test_faults_are_seen(arguments, tally, recording):
    # Messages of many packets, and a program without declined operations: the host repeats packets, too, but they are not in the capture.
    alone = [os.path.join(arguments.build, "tests/exchange"), "500"]
    for suffix, loss, command in (("", "0.01", None), (" alone", "0.02", alone)):
        label = f"receipts/a repeated TCP packet has the number that it had before cclo{suffix}"
        if not tally.wants(label):
            continue
        with tempfile.TemporaryDirectory() as folder:
            settings = {"faults.loss": loss, "faults.seed": "3"}
            report, files, problem = capture(arguments, recording, "cclo", folder, settings, command or program(arguments, MESSAGES))
            if problem:
                tally.record(label, False, problem)
                continue
            fields = [word for name in ("ip.src", "ip.dst", "tcp.seq_raw", "tcp.len") for word in ("-e", name)]
            seen = tshark(files, "-T", "fields", *fields).splitlines()
            wire, by_host = report["wire"], host_packets(report)
            again = len(seen) - len(set(seen))
            # The capture has every packet, and repeats each lost one. Acknowledgements get lost, too, so more packets are repeated.
            ok = len(seen) == wire["packets"] - by_host and 0 < wire["lost"] <= again + by_host
            ok = ok and (again == wire["retransmissions"] if command else by_host > 0 and again > 0)
            tally.record(label, ok, f"{wire}\n{by_host} packets of the host\n{len(seen)} packets, {len(set(seen))} different")


def test_header_tables(arguments, tally):
    """The dissectors' fields are the models'."""
    for backend in ("zrlmpi", "cclo", "tinsel"):
        label = f"receipts/the dissector has the header's fields {backend}"
        if not tally.wants(label):
            continue
        topic = "fragment" if backend == "tinsel" else "header"
        settings = ["--set", "profile=gen2"] if backend == "cclo" else []
        explained = offramp(arguments, "explain", topic, "--backend", backend, *settings).stdout
        known = set()
        for line in explained.splitlines():
            words = line.replace(" .. ", "..").split()
            if not words or not words[0][0].isdigit():
                continue
            if ".." in words[0]:
                first, last = map(int, words[0].split(".."))
                known.add((first, last - first + 1, words[1]))
            else:
                known.add((int(words[0]), int(words[1]), words[2]))
        with open(DISSECTORS, encoding="utf-8") as file:
            section = file.read().split(f"-- fields: {backend}\n")[1].split("-- end\n")[0]
        dissected = set()
        for line in filter(str.strip, section.splitlines()):
            offset, width, name = line.strip().strip("{},").split(", ")[:3]
            dissected.add((int(offset), int(width), name.strip('"')))
        tally.record(label, known == dissected and len(known) > 3, f"{explained}\n{sorted(known ^ dissected)}")


def test_codes_of_zrlmpi(arguments, tally):
    """The dissector's numbers and names of ZRLMPI are the model's."""
    label = "receipts/the dissector has the codes of zrlmpi"
    if not tally.wants(label):
        return
    explained = offramp(arguments, "explain", "codes", "--backend", "zrlmpi").stdout
    known = {tuple(line.split(maxsplit=2)) for line in explained.splitlines()[1:]}
    with open(DISSECTORS, encoding="utf-8") as file:
        lua = file.read()
    dissected = set()
    for byte, table in (("16", "calls"), ("17", "types"), ("32", "errors")):
        number = 0
        for index, name in re.findall(r'(?:\[(\d+)\] = )?"([^"]+)"', re.search(rf"zrlmpi_{table} = {{(.*?)}}", lua, re.S).group(1)):
            number = int(index) if index else number + 1
            dissected.add((byte, str(number), name))
    constants = offramp(arguments, "explain", "constants", "--backend", "zrlmpi").stdout
    magic = re.search(r"magic +0x(\w+)", constants).group(1)
    port = re.search(r"UDP port +(\d+)", constants).group(1)
    same = known == dissected and len(known) > 15 and f"zrlmpi_magic = 0x{magic}\n" in lua and f"zrlmpi_port = {port}\n" in lua
    tally.record(label, same, f"{explained}\n{constants}\n{sorted(known ^ dissected)}")
