"""Receipts, captures and Wireshark's dissectors, as a user meets them."""

import json
import os
import random
import re
import subprocess
import tempfile

from launch import mpirun
from replays import picoseconds
from wireshark import DISSECTORS, place_tshark

RANKS = 3


def program(arguments, name):
    return [os.path.join(arguments.build, "tests/mpi", name)]


def host_packets(report):
    """What the engine declines is carried by the host, whose packets are not modelled one by one: of a barrier of three ranks
    four."""
    return 4 * sum(declined["count"] for declined in report["declines"]) // 3


def offramp(arguments, *words):
    command = [os.path.join(arguments.build, "bin/offramp"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


# Stages that the hardware itself leaves, of a kind that no run of the test program can be without.
EXPECTED = {
    "host": {"host.cpu", "host.link"},
    "cclo": {"control processor", "network", "rx buffers"},
    "zrlmpi": {"mpe.send", "mpe.receive", "wire"},
    "aie": {"aie.core"},
    "dpu": {"service process", "network"},
    "tinsel": {"tinsel.threads", "tinsel.network"},
}


def receipt_problem(arguments, path, report, backend):
    """What is wrong with the receipts of a report; nothing: empty."""
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


def receipts(arguments, tally, backend):
    label = f"receipts/stages add up to each call {backend}"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        result = mpirun(arguments.build, backend, RANKS, program(arguments, "fixed_pattern"), 60,
                        {"OFFRAMP_REPORT": path, "OFFRAMP_RECEIPTS": "all"})
        problem = "no report"
        if result.ok and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            problem = receipt_problem(arguments, path, report, backend)
        tally.record(label, result.ok and not problem, f"{result.output}\n{problem}", result.seconds)


def ranges(arguments, tally):
    label = "receipts/only the calls that were asked for"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        command = program(arguments, "fixed_pattern")
        result = mpirun(arguments.build, "host", RANKS, command, 60, {"OFFRAMP_REPORT": path, "OFFRAMP_RECEIPTS": "20-24"})
        calls = json.loads(offramp(arguments, "explain", "--rank", "2", "--json", path).stdout or "[]")
        beyond = offramp(arguments, "explain", "--rank", "2", "--call", "25", path)
        nobody = offramp(arguments, "explain", "--rank", "3", "--call", "20", path)
        shown = offramp(arguments, "explain", "--rank", "1", "--call", "22", "--timeline", path)
        ok = (result.ok and sorted(c["call"] for c in calls) == list(range(20, 25)) and beyond.returncode == 2
              and "20 to 24" in beyond.stderr and nobody.returncode == 2 and "rank 3" in nobody.stderr
              and shown.returncode == 0 and "call 22 of rank 1: MPI_" in shown.stdout)
        tally.record(label, ok, f"{result.output}\n{calls}\n{beyond}\n{nobody}\n{shown}", result.seconds)


def tshark(files, *options):
    """The text that tshark prints of one file, or of several as one network."""
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


def capture(arguments, backend, folder, settings=None, name="fixed_pattern", command=None):
    """Runs a program; returns the run, its report and the capture files of its ranks."""
    path = os.path.join(folder, "report.json")
    result = mpirun(arguments.build, backend, RANKS, command or program(arguments, name), 90,
                    {"OFFRAMP_REPORT": path, "OFFRAMP_CAPTURE": os.path.join(folder, "run.pcap"), **(settings or {})})
    files = [os.path.join(folder, f"run.{rank}.pcap") for rank in range(RANKS)]
    if not result.ok or not os.path.exists(path) or not all(map(os.path.exists, files)):
        return result, None, files
    with open(path, encoding="utf-8") as file:
        return result, json.load(file), files


CAPTURES = {
    "zrlmpi": [("", {}, "zrlmpi"), (" strict MPE v2", {"OFFRAMP_ZRLMPI_PRESET": "mpe2"}, "zrlmpi")],
    "cclo": [("", {}, "cclo"), (" UDP", {"OFFRAMP_CCLO_TRANSPORT": "udp"}, "cclo"),
             (" RDMA", {"OFFRAMP_CCLO_PROFILE": "gen2"}, "infiniband")],
    "tinsel": [("", {}, "tinsel")],
}


def captures(arguments, tally, backend):
    for suffix, settings, protocol in CAPTURES.get(backend, []):
        label = f"receipts/tshark reads the packets {backend}{suffix}"
        if not tally.wants(label):
            continue
        with tempfile.TemporaryDirectory() as folder:
            # Fragments of 60 bytes: of the large program they would be millions.
            name = "wtime" if backend == "tinsel" else "fixed_pattern"
            result, report, files = capture(arguments, backend, folder, settings, name)
            if report is None:
                tally.record(label, False, result.output, result.seconds)
                continue
            lines = tshark(files, "-T", "fields", "-e", "frame.protocols", "-z", "expert").splitlines()
            packets = [line for line in lines if line.startswith("eth:")]
            expert = [line for line in lines if line.strip() and not line.startswith("eth:")]
            own = sum(protocol in line for line in packets)
            counted = report["wire"]["packets"] - host_packets(report)
            # Tinsel's routers count what goes over links between boards, and a message is many fragments.
            complete = len(packets) == counted or (backend == "tinsel" and len(packets) > 0)
            ok = not expert and complete and own > 0.99 * len(packets)
            tally.record(label, ok, "\n".join([result.output, *expert[:20], f"{len(packets)} packets of {counted}, "
                                               f"{own} with {protocol}"]), result.seconds)


def faults_are_seen(arguments, tally):
    label = "receipts/a repeated TCP packet has the number that it had before cclo"
    if "cclo" not in arguments.backends:
        return
    # Messages of many packets; and a program of which the engine declines nothing: the host repeats too, and its packets are not
    # in the capture.
    alone = [os.path.join(arguments.build, "tests/exchange"), "2000"]
    for suffix, loss, command in (("", "0.002", None), (" alone", "0.02", alone)):
        if not tally.wants(label + suffix):
            continue
        with tempfile.TemporaryDirectory() as folder:
            settings = {"OFFRAMP_FAULTS_LOSS": loss, "OFFRAMP_FAULTS_SEED": "3"}
            result, report, files = capture(arguments, "cclo", folder, settings, command=command)
            if report is None:
                tally.record(label + suffix, False, result.output, result.seconds)
                continue
            fields = [word for name in ("ip.src", "ip.dst", "tcp.seq_raw", "tcp.len") for word in ("-e", name)]
            seen = tshark(files, "-T", "fields", *fields).splitlines()
            wire, by_host = report["wire"], host_packets(report)
            again = len(seen) - len(set(seen))
            # Every packet is there, and each lost one again. Acknowledgements are lost too, so that more are repeated.
            ok = len(seen) == wire["packets"] - by_host and 0 < wire["lost"] <= again + by_host
            ok = ok and (again == wire["retransmissions"] if command else by_host > 0 and again > 0)
            tally.record(label + suffix, ok, f"{result.output}\n{wire}\n{by_host} packets of the host\n{len(seen)} packets, "
                         f"{len(set(seen))} different", result.seconds)


def header_tables(arguments, tally):
    """The dissectors' fields are the models'."""
    for backend in ("zrlmpi", "cclo", "tinsel"):
        label = f"receipts/the dissector has the header's fields {backend}"
        if not tally.wants(label):
            continue
        topic = "fragment" if backend == "tinsel" else "header"
        settings = ["--set", "profile=gen2"] if backend == "cclo" else []
        told = offramp(arguments, "explain", topic, "--backend", backend, *settings).stdout
        known = set()
        for line in told.splitlines():
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
        tally.record(label, known == dissected and len(known) > 3, f"{told}\n{sorted(known ^ dissected)}")


def codes_of_zrlmpi(arguments, tally):
    """The dissector's numbers and names of ZRLMPI are the model's."""
    label = "receipts/the dissector has the codes of zrlmpi"
    if not tally.wants(label):
        return
    told = offramp(arguments, "explain", "codes", "--backend", "zrlmpi").stdout
    known = {tuple(line.split(maxsplit=2)) for line in told.splitlines()[1:]}
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
    tally.record(label, same, f"{told}\n{constants}\n{sorted(known ^ dissected)}")


def run(arguments, tally):
    for backend in arguments.backends:
        receipts(arguments, tally, backend)
    ranges(arguments, tally)
    header_tables(arguments, tally)
    codes_of_zrlmpi(arguments, tally)
    with tempfile.TemporaryDirectory() as folder:
        reason = place_tshark(folder)
    if reason:
        tally.skip("receipts/tshark reads the packets", reason)
        return
    for backend in arguments.backends:
        captures(arguments, tally, backend)
    faults_are_seen(arguments, tally)
