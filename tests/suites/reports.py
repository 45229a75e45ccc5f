"""Reports, configuration errors and the hang report, as a user sees them."""

import datetime
import json
import os
import re
import socket
import subprocess
import tempfile

import pytest

from browser import look_at, section_of
from isolated import unshare, why_not
from launch import base_environment, mpi_of, mpirun, run as launch
from replays import replay


def program(arguments, name):
    return [os.path.join(arguments.build, "tests/mpi", name)]


def report_of(arguments, backend, ranks, command, settings=None):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        result = mpirun(arguments.build, backend, ranks, command, 60, {"OFFRAMP_REPORT": path, **(settings or {})})
        report = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        return result, report


def test_json_report(arguments, tally, backend):
    label = f"reports/json report {backend}"
    if not tally.wants(label):
        return
    result, report = report_of(arguments, backend, 3, program(arguments, "fixed_pattern"))
    ok = result.ok and report is not None
    if ok:
        send = report["calls"]["MPI_Send"]
        ok = (report["backend"] == backend and report["ranks"] == 3 and report["modelled_time_ns"] > 0
              and send["count"] > 0 and send["bytes"] > 0 and send["modelled_ns"] > 0
              and send["offloaded"] + send["declined"] + send["native"] == send["count"]
              and report["wire"]["packets"] > 0 and report["wire"]["wire_bytes"] > report["wire"]["payload_bytes"] > 0
              and report["arrival_order_dependences"] == 0 and report["warnings"] == []
              and f"offramp: {backend}, 3 ranks" in result.output)
    tally.record(label, ok, result.output + json.dumps(report)[:3000], result.seconds)


def test_facts(arguments, tally):
    """A report has the program, the hosts, the libraries, and the settings, each with its source."""
    label = "reports/the settings in force, the program and the machine are kept"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "offramp.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write('[cclo]\nlink = 50\n[[route]]\noperation = "bcast"\nbackend = "zrlmpi"\n')
        command = [os.path.join(arguments.build, "tests/exchange"), "1", "two words"]
        result, report = report_of(arguments, "cclo", 3, command, {"OFFRAMP_CONFIG": path, "OFFRAMP_CCLO_LATENCY": "2us",
                                                                   "OFFRAMP_OPTIONS": "OFFRAMP_BACKEND=--backend"})
    ok = result.ok and report is not None
    if ok:
        settings = {name: (setting["value"], setting["source"]) for name, setting in report["settings"].items()}
        ok = (settings["backend"] == ("cclo", "option --backend") and settings["cclo.link"] == ("50 Gb/s", f"{path}:2")
              and settings["cclo.latency"] == ("2000 ns", "OFFRAMP_CCLO_LATENCY") and settings["clock"] == ("wall", "default")
              and settings["hang_timeout"][0].endswith(" s") and settings["faults.delay_time"] == ("10 us", "default")
              and settings["route 1"] == ("bcast: zrlmpi", f"{path}:3") and "zrlmpi.link" in settings
              and "dpu.link" not in settings and report["arguments"] == command[1:] and report["program"] == command[0]
              and report["mpi"].startswith({"openmpi": "Open MPI v", "mpich": "MPICH 4."}[mpi_of(arguments.build).family]) and report["ucx"].count(".") in (0, 2)
              and datetime.datetime.fromisoformat(report["date"].replace("Z", "+00:00"))
              and [(host["name"], host["ranks"]) for host in report["hosts"]] == [(socket.gethostname(), 3)]
              and report["hosts"][0]["cores"] >= 1)
    tally.record(label, bool(ok), result.output + json.dumps(report)[:3000], result.seconds)


def test_summary_in_words(arguments, tally):
    """Units for the size, numbers with their nouns, ratios as factors, and the reason why operations are more than calls."""
    label = "reports/the summary speaks in units and words"
    if not tally.wants(label):
        return
    command = [os.path.join(arguments.build, "tests/exchange"), "5"]
    result = mpirun(arguments.build, "host", 1, command, 60, {"OFFRAMP_COMPARE": "cclo", "OFFRAMP_DETAILS": "true"})
    patterns = [r"host, 1 rank: communication [\d.]{3,5} (ns|us|ms)(; run |$)", r"MPI calls, [\d.]+ (B|KiB|MiB);",
                r"operations \(MPI_Sendrecv counts as several", r"^offramp:   cclo +#+>? +[\d.]+ .s +x[\d.]+$"]
    missing = [pattern for pattern in patterns if not re.search(pattern, result.output, re.M)]
    tally.record(label, result.ok and not missing, f"{result.output}\n{missing}", result.seconds)


def test_routed_operations(arguments, tally):
    """Operations that a route gives to another backend do not count as the backend's own work, also with the host."""
    label = "reports/routed operations"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "routes.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write('[[route]]\noperation = "send"\nbackend = "host"\n'
                       '[[route]]\noperation = "bcast"\nbackend = "zrlmpi"\n')
        result, report = report_of(arguments, "cclo", 3, program(arguments, "fixed_pattern"), {"OFFRAMP_CONFIG": path, "OFFRAMP_DETAILS": "true",
                                                                                              "OFFRAMP_COMPARE": "host"})
    ok = result.ok and report is not None
    for lane in [report, *report["compared"]] if ok else []:
        calls = lane["calls"]
        to_host = "offloaded" if lane["backend"] == "host" else "routed"
        ok = ok and all(calls[name][to_host] == calls[name]["count"] > 0 for name in ("MPI_Send", "MPI_Recv"))
        ok = ok and calls["MPI_Bcast"]["routed"] == calls["MPI_Bcast"]["count"] > 0
        ok = ok and calls["MPI_Reduce"]["routed"] == 0
    tally.record(label, ok and " routed to others, 0 native; " in result.output, result.output + json.dumps(report)[:3000],
                 result.seconds)


def trace_problem(trace, ranks):
    """The problems of a trace as Perfetto reads it; empty if there are none."""
    events = trace["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e["name"] in ("process_name", "thread_name")}
    if {e["pid"] for e in slices} != set(range(ranks)):
        return "a rank has no slices"
    for event in slices:
        if event["dur"] < 0 or event["ts"] < 0 or (event["pid"], event["tid"]) not in names:
            return f"a slice on no track, or of no length: {event}"
    tracks = {}
    for event in slices:
        tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    for where, spans in tracks.items():
        spans.sort()
        for (_, end), (begin, _) in zip(spans, spans[1:]):
            if begin < end - 1e-6:
                return f"slices of {names[where]} overlap"
    if not any(name == "MPI" for name in names.values()) or len(set(names.values())) < ranks + 2:
        return f"units are missing: {sorted(set(names.values()))}"
    begins, ends = ({e["bind_id"]: e for e in slices if e.get(way)} for way in ("flow_out", "flow_in"))
    if sum("bind_id" in e for e in slices) != len(begins) + len(ends) or begins.keys() != ends.keys():
        return "an arrow has not one beginning and one end"
    if not any(ends[arrow]["pid"] != begin["pid"] for arrow, begin in begins.items()):
        return "no arrow from one rank to another"
    for arrow, begin in begins.items():
        end = ends[arrow]
        if end["ts"] < begin["ts"]:
            return f"an arrow goes back in time: {begin} {end}"
        if begin["args"] != end["args"]:
            return f"the ends of an arrow are about different messages: {begin} {end}"
    return ""


@pytest.fixture(scope="module", name="recordings")
def native_recordings(arguments):
    """A folder with native recordings of two programs on 3 ranks: NAME.rec."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("fixed_pattern", "self_messages"):
            file = os.path.join(folder, f"{name}.rec")
            command = [os.path.join(arguments.build, "bin/offramp"), "record", "-n", "3", "-o", file, "--", *program(arguments, name)]
            assert launch(command, base_environment(), 60).ok
        yield folder


@pytest.mark.parametrize("receipts", [False, True])
@pytest.mark.parametrize("name", ["fixed_pattern", "self_messages"])
def test_traces(arguments, tally, recordings, backend, name, receipts):
    """A trace loads in Perfetto and changes no time; with messages of a rank to itself, and with receipts beside it."""
    file, path = os.path.join(recordings, f"{name}.rec"), os.path.join(recordings, f"{name}-{backend}-{receipts}.json")
    options = ["--backend", backend, *(["--receipts", "all"] if receipts else [])]
    plain, traced = replay(arguments.build, file, *options), replay(arguments.build, file, *options, "--trace", path)
    problem = str(traced)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as opened:
            problem = trace_problem(json.load(opened), 3)
    same = isinstance(plain, list) and plain[0]["each_rank"] == traced[0]["each_rank"]
    tally.record(f"reports/trace for Perfetto of {name} {backend}{' with receipts' if receipts else ''}", not problem and same,
                 f"{problem}\nsame times: {same}")


def test_trace_of_a_run(arguments, tally, some_backend):
    label = f"reports/trace for Perfetto of a run {some_backend}"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        result, traced = report_of(arguments, some_backend, 3, program(arguments, "self_messages"), {"OFFRAMP_TRACE": path,
                                                                                                    "OFFRAMP_RECEIPTS": "all"})
        problem = "no trace"
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                problem = trace_problem(json.load(file), 3)
    tally.record(label, result.ok and not problem and traced is not None, f"{result.output}\n{problem}", result.seconds)


def test_wildcards_are_counted(arguments, tally, some_backend):
    label = f"reports/wildcards are counted {some_backend}"
    if not tally.wants(label):
        return
    result, report = report_of(arguments, some_backend, 3, program(arguments, "wildcards"))
    ok = result.ok and report is not None and report["arrival_order_dependences"] > 0
    tally.record(label, ok, result.output, result.seconds)


PLACE = re.compile(r"^offramp: (\d+) x (MPI_\w+)(?: on (\S+))? at (?:\S+ \()?([^+\s]+)\+(0x[0-9a-f]+)\)?$", re.M)


def test_places_are_named(arguments, tally):
    """Places where the order of arrival decides: places of the program, independent of the number of polls, equal in every run."""
    label = "reports/places where arrival decides"
    if not tally.wants(label):
        return
    command = program(arguments, "wildcards")
    runs = [report_of(arguments, "host", 3, command, {"OFFRAMP_DETAILS": "true"}) for _ in range(2)]
    result, report = runs[0]
    places = report["arrival_order_places"]
    shown = PLACE.findall(result.output)
    ok = result.ok and places == runs[1][1]["arrival_order_places"] and len(shown) == 3
    ok = ok and places["count"] == len(places["most"]) > 3 and places["elsewhere"] == 0
    ok = ok and sum(place["times"] for place in places["most"]) == report["arrival_order_dependences"]
    ok = ok and f"at {places['count']} places of the program, {report['arrival_order_dependences']} times" in result.output
    source = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "mpi/wildcards.c")
    with open(source, encoding="utf-8") as file:
        lines = file.read().splitlines()
    found = ""
    for _, call, communicator, binary, offset in shown:
        named = subprocess.run(["addr2line", "-e", command[0], offset], capture_output=True, text=True, check=False).stdout
        line = int(named.rsplit(":", 1)[1].split()[0])
        found += f"{call} {communicator} {named}{lines[line - 1]}\n"
        # A call may take several lines.
        ok = ok and binary == "wildcards" and communicator == "MPI_COMM_WORLD" and call in "".join(lines[line - 3:line])
    tally.record(label, ok, f"{result.output}\n{found}{places}", result.seconds)
    label = "reports/the page has places by run"
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("first.json", "second.json")]
        for path, (_, one) in zip(files, runs):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(one, file)
        offramp, page = os.path.join(arguments.build, "bin/offramp"), os.path.join(folder, "page.html")
        subprocess.run([offramp, "report", *files, "--html", page], check=True)
        seen = look_at(page)
    if seen is None:
        tally.skip(label, "chromium is not installed")
        return
    section = section_of(seen[1], "Calls that depend on arrival order")
    headed = re.findall(r"<h3>(.*?)</h3>\s*<div class=\"scroll\"><table><caption>", section)
    tally.record(label, headed == files, section)


def test_polls_are_one_place(arguments, tally):
    label = "reports/polls are counted by place"
    if not tally.wants(label):
        return
    result, report = report_of(arguments, "host", 3, program(arguments, "polling"))
    places = report["arrival_order_places"]
    ok = result.ok and report["dependences"]["polling"] > 100 and places["count"] < 20
    ok = ok and {"MPI_Test", "MPI_Iprobe"} <= {place["call"] for place in places["most"]}
    # A poll of requests names no communicator.
    ok = ok and all((place["communicator"] == "") == place["call"].startswith("MPI_Test") for place in places["most"])
    tally.record(label, ok, f"{result.output}\n{places}", result.seconds)


def test_configuration_errors(arguments, tally):
    cases = {
        "unknown backend": ({"OFFRAMP_BACKEND": "zrlmpy"}, ["zrlmpy", "zrlmpi"]),
        "bad value": ({"OFFRAMP_CLOCK": "moon"}, ["OFFRAMP_CLOCK", "moon", "model"]),
        "unknown variable": ({"OFFRAMP_BACKND": "host"}, ["OFFRAMP_BACKND", "OFFRAMP_BACKEND"]),
        "missing file": ({"OFFRAMP_CONFIG": "/nonexistent/offramp.toml"}, ["/nonexistent/offramp.toml"]),
    }
    for name, (settings, expected) in cases.items():
        label = f"reports/configuration error: {name}"
        if not tally.wants(label):
            continue
        backend = settings.pop("OFFRAMP_BACKEND", "host")
        result = mpirun(arguments.build, backend, 2, program(arguments, "fixed_pattern"), 60, settings)
        said = [line for line in result.output.splitlines() if line.startswith("offramp: ")]
        ok = not result.ok and len(said) == 1 and all(word in said[0] for word in expected)
        tally.record(label, ok, result.output, result.seconds)


def test_failing_outputs(arguments, tally):
    """Names that cannot be written to stop a run before it begins."""
    offramp = os.path.join(arguments.build, "bin/offramp")
    app = program(arguments, "fixed_pattern")

    def preload(**settings):
        return mpi_of(arguments.build).start(2, {"LD_PRELOAD": f"{arguments.build}/lib/libofframp.so", "OFFRAMP_BACKEND": "host", **settings})

    with tempfile.TemporaryDirectory() as folder:
        run_with = [offramp, "run", "-n", "2", "--backend", "host"]
        cases = {
            "run --report": ([*run_with, "--report", f"{folder}/none/r.json", "--", *app], "--report", "none"),
            "run --trace": ([*run_with, "--trace", folder, "--", *app], "--trace", "it is a folder"),
            "run --capture": ([*run_with, "--capture", f"{folder}/none/c.pcap", "--", *app], "--capture", "c.0.pcap"),
            "run --report and --trace": ([*run_with, "--report", f"{folder}/one", "--trace", f"{folder}/./one", "--", *app],
                                         "--trace", "name the same file"),
            "MPI_Init, twice": ([*preload(OFFRAMP_REPORT=f"{folder}/c.1.pcap", OFFRAMP_CAPTURE=f"{folder}/c.pcap"), *app],
                                "OFFRAMP_CAPTURE", "name the same file"),
            "MPI_Init": ([*preload(OFFRAMP_REPORT=f"{folder}/none/r.json"), *app], "OFFRAMP_REPORT", "there is no folder"),
            "report --html": ([offramp, "report", "--html", f"{folder}/none/r.html", f"{folder}/r.json"], "--html", "none"),
            "predict --svg": ([offramp, "predict", "bcast", "--backend", "cclo", "--svg", f"{folder}/none/p.svg"], "--svg", "none"),
        }
        for name, (command, option, reason) in cases.items():
            label = f"reports/an output that cannot be written: {name}"
            if not tally.wants(label):
                continue
            result = launch(command, base_environment(), 60)
            said = [line for line in result.output.splitlines() if line.startswith("offramp: ")]
            ok = (not result.ok and len(said) == 1 and option in said[0] and reason in said[0] and folder in said[0]
                  and "ok fixed_pattern" not in result.output and os.listdir(folder) == [])
            tally.record(label, ok, result.output, result.seconds)


# Run in a mount namespace: the disk has 16 KiB, partly used.
FULL_DISK = """ip link set lo up; mount -t tmpfs -o size=16k tmpfs /mnt && echo old > /mnt/old && cp /mnt/old /mnt/r.json || exit 99
"$@"
echo "exit code $?"
echo "left: $(ls -A /mnt | tr '\\n' ' ')"
cmp /mnt/old /mnt/r.json && echo "the old one is whole"
"""


def test_full_disk(arguments, tally):
    """A message, exit code 74, and an unchanged file of an earlier run."""
    offramp = os.path.join(arguments.build, "bin/offramp")
    app = program(arguments, "fixed_pattern")
    if why := why_not():
        tally.skip("reports/a full disk", f"no namespaces: {why}")
        return
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        launch([offramp, "run", "-n", "2", "--backend", "cclo", "--compare", "all", "--details", "--report", report, "--", *app],
            base_environment(), 60)
        run_with = [offramp, "run", "-n", "3", "--backend", "cclo"]
        cases = {
            "report": [*run_with, "--details", "--compare", "all", "--report", "/mnt/r.json", "--", *app],
            "receipts": [*run_with, "--receipts", "all", "--report", "/mnt/r.json", "--", *app],
            "trace": [*run_with, "--trace", "/mnt/r.json", "--", *app],
            "page": [offramp, "report", report, "--html", "/mnt/r.json"],
        }
        for name, command in cases.items():
            label = f"reports/a full disk: {name}"
            if not tally.wants(label):
                continue
            result = launch([*unshare(), "sh", "-c", FULL_DISK, "sh", *command], base_environment(), 60)
            said = [line for line in result.output.splitlines() if "No space left on device" in line]
            ok = (len(said) == 1 and said[0].startswith("offramp: cannot write") and "/mnt/r.json" in said[0]
                  and "exit code 74" in result.output and "left: old r.json \n" in result.output
                  and "the old one is whole" in result.output)
            tally.record(label, ok, result.output, result.seconds)
    label = "reports/an output that is lost is the exit code of mpirun, and the program's own comes first"
    if tally.wants(label):
        lost = mpirun(arguments.build, "host", 2, app, 60, {"OFFRAMP_REPORT": "/dev/full"})
        own = mpirun(arguments.build, "host", 2, [os.path.join(arguments.build, "tests/process_fault"), "result", "0"], 60,
                     {"OFFRAMP_REPORT": "/dev/full"})
        ok = ("exit status 74" in lost.output and 'cannot write the report to "/dev/full"' in lost.output
              and "ok fixed_pattern" in lost.output and "ok process_fault" in own.output and "exit status 9" in own.output
              and 'cannot write the report to "/dev/full"' in own.output)
        tally.record(label, ok, lost.output + own.output, lost.seconds)
    label = "reports/standard output that is full"
    if tally.wants(label):
        result = launch(["sh", "-c", f"{offramp} predict bcast --backend cclo --json > /dev/full"], base_environment(), 60)
        ok = "exit status 74" in result.output and "cannot write to standard output: No space left" in result.output
        tally.record(label, ok, result.output, result.seconds)


def test_kinds_of_files(arguments, tally):
    """A link stays a link, permissions stay, and /dev/stdout is written to."""
    label = "reports/links, permissions and devices"
    if not tally.wants(label):
        return
    app = program(arguments, "fixed_pattern")
    with tempfile.TemporaryDirectory() as folder:
        target, link = os.path.join(folder, "target.json"), os.path.join(folder, "link.json")
        with open(target, "w", encoding="utf-8") as file:
            file.write("old")
        os.chmod(target, 0o640)
        os.symlink("target.json", link)
        result = mpirun(arguments.build, "host", 2, app, 60, {"OFFRAMP_REPORT": link})
        with open(target, encoding="utf-8") as file:
            ok = json.load(file)["complete"] is True
        ok = ok and os.path.islink(link) and os.stat(target).st_mode & 0o777 == 0o640 and len(os.listdir(folder)) == 2
    shown = mpirun(arguments.build, "host", 2, app, 60, {"OFFRAMP_REPORT": "/dev/stdout"})
    tally.record(label, ok and '"schema": 1' in shown.output, result.output + shown.output[:2000], result.seconds)


def test_hang_report(arguments, tally):
    label = "reports/a hang is reported with what each rank waits for"
    if not tally.wants(label):
        return
    command = [os.path.join(arguments.build, "tests/hang")]
    result = mpirun(arguments.build, "host", 2, command, 8, {"OFFRAMP_HANG_TIMEOUT": "1", "OFFRAMP_SUMMARY": "false"})
    ok = all(word in result.output for word in
             ["rank 0 of 2 waits in MPI_Recv", "posted receive: source 1 tag 7", "rank 1 of 2 waits in MPI_Barrier",
              "unexpected message: source 0 tag 5"])
    tally.record(label, ok, result.output, result.seconds)


def test_performance_variables(arguments, tally):
    """Offramp's variables are in the list of MPI_T exactly while a backend is on."""
    for backend in (None, "off", *arguments.backends):
        label = f"reports/performance variables {backend or 'native'}"
        if not tally.wants(label):
            continue
        result = mpirun(arguments.build, backend, 2, program(arguments, "performance_variables"), 60)
        seen = {words[0]: int(words[1]) for words in map(str.split, result.output.splitlines())
                if len(words) == 2 and words[0].startswith("offramp_")}
        if backend in (None, "off"):
            ok = not seen
        else:
            ok = len(seen) == 6 and seen["offramp_bytes"] > 0 and seen["offramp_calls_native"] == 0 \
                and seen["offramp_calls_offloaded"] + seen["offramp_calls_declined"] > 0
        tally.record(label, result.ok and ok, result.output, result.seconds)


def half_round_trip(output):
    """The time that tests/mpi/timed_pingpong.c prints, in microseconds."""
    found = re.search(r"half a round trip of \d+ bytes: ([\d.]+) us", output)
    return float(found.group(1)) if found else None


def test_settled_clock(arguments, tally):
    """A program that measures by MPI_Wtime prints a world's times, which are those of a single message; in a sequence over zrlmpi, the
    handshake takes less. If the program acts on the time, the output says so."""
    offramp = os.path.join(arguments.build, "bin/offramp")
    for backend in arguments.backends:
        label = f"reports/--clock settled: a benchmark prints what a world says {backend}"
        if not tally.wants(label):
            continue
        line = [offramp, "run", "-n", "2", "--backend", backend, "--clock", "settled", "--", *program(arguments, "timed_pingpong")]
        runs = [launch(line, base_environment(), 120) for _ in range(2)]
        for carrier in (backend, "host"):  # the host carries what a backend declines
            predicted = launch([offramp, "predict", "send", "--ranks", "2", "--backend", carrier, "--bytes", "1024", "--json"],
                               base_environment(), 60)
            if predicted.ok:
                break
        seen = [half_round_trip(run.output) for run in runs]
        time = json.loads(predicted.output)["time_ns"] / 1000 if predicted.ok else None
        ok = all(run.ok for run in runs) and None not in (*seen, time) and seen[0] == seen[1] and abs(seen[0] - time) < 0.06 * time \
            and all(run.output.count("half a round trip") == 1 and "MPI_Wtime returned settled times" in run.output for run in runs)
        tally.record(label, ok, f"{seen} us, predicted {time}\n" + "".join(run.output for run in runs) + predicted.output)
    label = "reports/--clock settled: a program that acts by the time is named"
    if tally.wants(label):
        result = launch([offramp, "run", "-n", "2", "--backend", "host", "--clock", "settled", "--", *program(arguments, "wtime")],
                        base_environment(), 120)
        ok = result.ok and "this run differs from the first one: rank 0: " in result.output
        tally.record(label, ok, result.output, result.seconds)
