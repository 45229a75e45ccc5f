"""A run settled at its end, also over other hardware, the certificate, and the output of `offramp report`. The fast tier compares runs
over the dealer (tests/fixtures/dealer.cpp) with replays of their recordings, the thorough tier also with runs over each backend."""

import base64
import copy
import hashlib
import html.parser
import json
import os
import resource
import struct
import subprocess
import tempfile
import time
import zlib

import pytest

from browser import command_of, figures_of_nothing, look_at
from launch import DEALER, base_environment, mpirun, plugins, run as launch
from replays import differences, picoseconds, replay

# Programs in which nothing depends on the order of arrival; one of them is by others.
PROGRAMS = ["mpi/fixed_pattern", "mpi/reduce_user", "programs/fftw"]
# Programs that check their received data, and use everything that a simulation of all ranks must keep separate.
CHECKED = ["nonblocking", "icollectives", "persistent", "probe", "cancel"]
# What a run of its own must have in common; the certificate covers every call of every rank.
SAME = ["modelled_time_ps", "communication_ns", "certificate", "calls", "declines", "sizes", "wire", "each_rank", "critical_path"]


def reported(arguments, backend, ranks, command, settings=None):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        variables = {"OFFRAMP_REPORT": path, "OFFRAMP_CERTIFICATE": "true", "OFFRAMP_DETAILS": "true", **(settings or {})}
        result = mpirun(arguments.build, backend, ranks, command, 90, variables)
        if not result.ok or not os.path.exists(path):
            return result, None
        with open(path, encoding="utf-8") as file:
            return result, json.load(file)


def program(arguments, name):
    return [os.path.join(arguments.build, "tests", name)]


def lanes_of(report):
    return {lane["backend"]: lane for lane in [report] + report["compared"]}


def lane_problem(lane, own):
    """The differences of a compared lane from the report of a run of its own, or of a replay in its place. A replay has no certificate,
    and does not know which calls the MPI library carried."""
    is_replay = "certificate" not in own

    def comparable(one):
        figures = {key: one[key] for key in SAME if key in own}
        figures["each_rank"] = [{key: rank[key] for key in rank if key in own["each_rank"][0]} for rank in one["each_rank"]]
        for part in [figures, *figures["each_rank"]] if is_replay else []:
            part["calls"] = {call: {**counts, "native": None} for call, counts in part["calls"].items()}
        return figures

    here, there = comparable(lane), comparable(own)
    different = [key for key in here if here[key] != there[key]]
    if different or own["arrival_order_dependences"] > 0 or lane["modelled_time_ps"] == 0:
        return f"{lane['backend']}: other {different}, or the order of arrival decided: {own['arrival_order_dependences']}\n"
    path = lane["critical_path"]
    on_ranks, in_messages = picoseconds(path["on_ranks_ns"]), picoseconds(path["in_messages_ns"])
    by_rank = sum(picoseconds(time) for time in path["by_rank_ns"])
    if on_ranks + in_messages != lane["modelled_time_ps"] or by_rank != on_ranks or path["messages"] == 0:
        return f"{lane['backend']}: the critical path is not as long as the run: {path}\n"
    return ""


def replayed_report(arguments, file, backend):
    """The report of a replay, or a text with the problem."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        again = replay(arguments.build, file, "--backend", backend, "--details", "--report", path)
        if isinstance(again, str):
            return again
        with open(path, encoding="utf-8") as opened:
            return json.load(opened)


def there_is(arguments, tally, name):
    """Whether a program was built."""
    if os.path.exists(*program(arguments, name)):
        return True
    tally.skip(f"compare/{name}", "it is built for Open MPI alone")
    return False


def settled_everywhere(arguments, tally, name, carrier=DEALER):
    """One run, compared with every backend: its own times equal those of a replay of its recording, to the picosecond, and so do the
    times of each backend."""
    label = f"compare/a run and what it is compared with are settled as its recording is replayed: {name} {carrier}"
    if not tally.wants(label) or not there_is(arguments, tally, name):
        return
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "run.rec")
        result, together = reported(arguments, carrier, 3, program(arguments, name),
                                    {"OFFRAMP_COMPARE": ",".join(arguments.backends), "OFFRAMP_RECORD": file})
        ok, text = together is not None and set(lanes_of(together)) == {carrier, "host", *arguments.backends}, result.output
        if ok:
            plugin = ["--set", f"plugin_path={plugins(arguments.build)}"] if carrier == DEALER else []
            again = replay(arguments.build, file, "--backend", carrier, *plugin)
            text = again if isinstance(again, str) else differences(together, again[0])
            for backend in arguments.backends:
                own = replayed_report(arguments, file, backend)
                text += own if isinstance(own, str) else lane_problem(lanes_of(together)[backend], own)
            ok = not text
    tally.record(label, ok, text, result.seconds)


def compared_equal_own_runs(arguments, tally, name):
    label = f"compare/compared hardware is as in a run of its own: {name}"
    if not tally.wants(label) or not there_is(arguments, tally, name):
        return
    carrier = arguments.backends[-1]
    result, together = reported(arguments, carrier, 3, program(arguments, name), {"OFFRAMP_COMPARE": ",".join(arguments.backends)})
    text, seconds = "" if together is not None else result.output, result.seconds
    for backend in arguments.backends if together is not None else []:
        own_result, own = reported(arguments, backend, 3, program(arguments, name))
        seconds += own_result.seconds
        text += own_result.output if own is None else lane_problem(lanes_of(together)[backend], own)
    tally.record(label, not text, text, seconds)


def test_above_the_limit(arguments, tally):
    """The recording is left beside the report, which then has no times."""
    pattern = program(arguments, "mpi/fixed_pattern")
    label = "compare/a run above settle_limit leaves its recording, and says so"
    if tally.wants(label):
        with tempfile.TemporaryDirectory() as folder:
            place = os.path.join(folder, "r.json")
            result = mpirun(arguments.build, "host", 3, pattern, 60, {"OFFRAMP_SETTLE_LIMIT": "10", "OFFRAMP_REPORT": place})
            with open(place, encoding="utf-8") as file:
                report = json.load(file)
            ok = result.ok and not report["settled"] and any(
                "settle_limit = 10" in warning and f"{place}.recording" in warning for warning in report["warnings"])
            again = replay(arguments.build, f"{place}.recording", "--backend", "host")
            ok = ok and "modelled time not known" in result.output and not isinstance(again, str)
        tally.record(label, ok, f"{result.output}\n{again}", result.seconds)


def test_results_are_right(arguments, tally):
    """The cases' own checks also pass with everything on."""
    label = f"compare/results are right beside others: {', '.join(CHECKED)}"
    if not tally.wants(label):
        return
    result, report = reported(arguments, DEALER, 3, [*program(arguments, "mpi_cases"), *CHECKED], {"OFFRAMP_COMPARE": "all"})
    tally.record(label, report is not None and "ok all" in result.output, result.output, result.seconds)


def test_warns_of_arrivals(arguments, tally):
    label = "compare/a program that looks at arrivals is named"
    if not tally.wants(label):
        return
    result, report = reported(arguments, "host", 3, program(arguments, "mpi/wildcards"), {"OFFRAMP_COMPARE": "tinsel"})
    expected = "times on arrival order or a poll"
    ok = report is not None and any(expected in warning for warning in report["warnings"])
    tally.record(label, ok and expected in result.output, result.output, result.seconds)


def test_certificates(arguments, tally):
    label = "compare/certificates tell runs apart"
    if not tally.wants(label):
        return
    command = program(arguments, "exchange")
    runs = {"first": ("host", [*command, "20"], {}), "again": ("host", [*command, "20"], {}),
            "parameter": ("host", [*command, "20"], {"OFFRAMP_HOST_LATENCY": "2us"}),
            "longer": ("host", [*command, "21"], {}), "corrupt": ("host", [*command, "20", "corrupt"], {})}
    seen, text, seconds = {}, "", 0.0
    for name, (backend, line, settings) in runs.items():
        result, report = reported(arguments, backend, 3, line, settings)
        seconds += result.seconds
        text += result.output
        if report is not None:
            seen[name] = (report["certificate"], report["data_certificate"], report["modelled_time_ps"])
    ok = len(seen) == len(runs)
    if ok:
        first, corrupt, slower = seen["first"], seen["corrupt"], seen["parameter"]
        ok = (seen["again"] == first and len({run[0] for run in seen.values()}) == 3 and corrupt[0] == first[0]
              and slower[1] == first[1] and slower[2] != first[2]
              and corrupt[1] != first[1] and corrupt[2] == first[2])
    tally.record(label, ok, f"{text}\n{seen}", seconds)


def test_off_without_request(arguments, tally):
    label = "compare/no comparison, certificate or details unless asked for"
    if not tally.wants(label):
        return
    result, report = reported(arguments, "host", 2, program(arguments, "exchange") + ["5"],
                              {"OFFRAMP_CERTIFICATE": "false", "OFFRAMP_DETAILS": "false"})
    made = {} if report is None else {key: value for key, value in report.items() if key != "settings"}
    ok = report is not None and report["compared"] == [] and report["units"] == [] and not any(
        f'"{word}"' in json.dumps(made) for word in ("certificate", "critical_path"))
    tally.record(label, ok, result.output, result.seconds)


class Links(html.parser.HTMLParser):
    """Collects all of a page that could load something from outside, and checks that elements are closed. A script is the page's own
    if the page's policy has its hash."""

    VOID = {"meta", "br", "hr", "img", "input", "link"}

    def __init__(self, text):
        super().__init__()
        self.open, self.outside, self.problems, self.words = [], [], [], ""
        self.scripts, self.is_data, self.policy = "", False, text[:text.find("<title>")]
        self.feed(text)
        self.problems += [f"{tag} is not closed" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        if tag in ("link", "img", "iframe", "object", "embed", "base"):
            self.outside.append(tag)
        self.outside += [f"{tag} {key}" for key, value in attrs if key in ("src", "href") or key.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)
        self.is_data = tag == "script" and ("type", "application/json") in attrs

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")
        if tag == "script":
            found = base64.b64encode(hashlib.sha256(self.scripts.encode()).digest()).decode()
            self.outside += [] if self.is_data or f"script-src 'sha256-{found}'" in self.policy else ["script"]
            self.scripts = ""

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts += data
        elif "style" not in self.open:
            self.words += data


def picture_colours(path):
    """The number of different bytes in the picture data of a PNG, which is tiny for an empty page."""
    with open(path, "rb") as file:
        data = file.read()
    at, pixels = 8, b""
    while at < len(data):
        length, = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            pixels += data[at + 8:at + 8 + length]
        at += length + 12
    return len(set(zlib.decompress(pixels)))


def screenshots(page, folder):
    """The problems of the page in a browser, wide and narrow, light and dark."""
    chromium = command_of(f"{folder}/browser")
    for size in ("1200,2400", "500,3600"):
        for mode in ([], ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]):
            picture = os.path.join(folder, "page.png")
            if os.path.exists(picture):
                os.unlink(picture)
            line = [*chromium, *mode, f"--window-size={size}", f"--screenshot={picture}", f"file://{page}"]
            done = launch(line, base_environment(), 90)
            if not os.path.exists(picture):
                return f"no picture: {done.output}"
            if picture_colours(picture) < 40:
                return f"the page is empty at {size} {mode}"
    return ""


def offramp_report(arguments, *words, before=None):
    line = [os.path.join(arguments.build, "bin/offramp"), "report", *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=base_environment(),
                          preexec_fn=before)


def test_pages(arguments, tally):
    label = "compare/report as text and as a page"
    if not tally.wants(label):
        return
    settings = {"OFFRAMP_COMPARE": "all"}
    result, report = reported(arguments, "host", 3, program(arguments, "mpi/fixed_pattern"), settings)
    if report is None:
        tally.record(label, False, result.output, result.seconds)
        return
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        path, page = os.path.join(folder, "run.json"), os.path.join(folder, "run.html")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        text = offramp_report(arguments, path)
        if text.returncode != 0 or not all(f"\n{backend} " in text.stdout for backend in lanes_of(report)):
            problems.append(f"text: {text.stdout}{text.stderr}")
        offramp_report(arguments, path, "--html", page)
        with open(page, encoding="utf-8") as file:
            content = file.read()
        seen = Links(content)
        problems += seen.problems + [f"reaches outside: {what}" for what in seen.outside]
        expected = ["Communication time", "Calls", "Time by message size", "Balance between ranks",
                    "Offloaded operations", "Where the hardware is busy", "Critical path", "Certificate", "MPI_Reduce",
                    report["certificate"], "plain host", "Settings", "host.latency", report["date"], report["hosts"][0]["name"]]
        expected += [decline["reason"] for lane in report["compared"] for decline in lane["declines"]]
        drawn = look_at(page)
        if drawn is None:
            tally.skip("compare/the page in a browser", "chromium is not installed")
        else:
            words = Links(drawn[1]).words
            problems += [f"the page lacks {word}" for word in expected if word not in words]
            problems += [*figures_of_nothing(drawn[1]), *drawn[0], screenshots(page, folder)]
    tally.record(label, not any(problems), "\n".join(problems), result.seconds)
    hostile_reports(arguments, tally, report)


def changed(report, path, value):
    """A copy with another value in one field; None removes the field."""
    copied = copy.deepcopy(report)
    place = copied
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(copied)


def hostile_reports(arguments, tally, report):
    function = next(iter(report["calls"]))
    cases = {
        "nothing": ("", "empty"), "no JSON": ("{", "JSON"), "a list": ("[]", "not a report"),
        "deep": ("[" * 1_000_000, "Offramp did not write this file"), "binary": ('{"offramp": "\udcff"}', "JSON"),
        "an older one": (changed(report, ["schema"], None), "schema"),
        "a newer one": (changed(report, ["schema"], 1000), "schema is 1000"),
        "negative": (changed(report, ["calls", function, "count"], -1), f"calls.{function}.count"),
        "huge": (changed(report, ["modelled_time_ps"], 2 ** 63), "modelled_time_ps"),
        "a time before 0": (changed(report, ["communication_ns"], -1), "communication_ns"),
        "text for a number": (changed(report, ["compared", 0, "sizes", 0, "bytes"], "x"), "compared[0].sizes[0].bytes"),
        "number for a text": (changed(report, ["command"], 7), "command"),
        "no lane": (changed(report, ["compared"], {}), "compared"),
        "too many lanes": (changed(report, ["compared"], [{}] * 1000), "compared has more than"),
        "a setting without a value": (changed(report, ["settings", "clock", "value"], None), "settings.clock.value is missing"),
        "a host without cores": (changed(report, ["hosts", 0, "cores"], "many"), "hosts[0].cores"),
        "no unit": (changed(report, ["compared", 0, "units", 0, "unit"], None), "compared[0].units[0].unit is missing"),
    }
    label, wrong = "compare/reports that are none are refused", []
    with tempfile.TemporaryDirectory() as folder:
        path, page = os.path.join(folder, "r.json"), os.path.join(folder, "r.html")
        for name, (text, expected) in cases.items():
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
            done = offramp_report(arguments, path)
            if done.returncode != 2 or expected not in done.stderr or done.stderr.count("\n") != 1:
                wrong.append(f"{name}: {done.returncode} {done.stderr[:500]}")
        tally.record(label, not wrong, "\n".join(wrong))

        evil = "</title></style><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u0001"
        bad = copy.deepcopy(report)
        bad["command"] = bad["offramp"] = bad["backend"] = bad["compute"] = bad["clock"] = evil
        bad["warnings"] = bad["warnings"] + [evil]
        bad["certificate"] = bad["data_certificate"] = evil
        bad["declines"] = [{"operation": evil, "reason": evil, "count": 1}]
        bad["calls"] = {evil: next(iter(bad["calls"].values()))}
        bad["units"] = [{"unit": evil, "spans": 1, "busy_ps": 1}]
        bad["date"] = bad["mpi"] = bad["ucx"] = evil
        bad["hosts"] = [{"name": evil, "cpu": evil, "cores": 1, "ranks": 1}]
        bad["settings"] = {evil: {"value": evil, "source": evil}, "clock": {"value": evil, "source": "default"}}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(bad, file)
        done = offramp_report(arguments, path, "--html", page)
        with open(page, encoding="utf-8") as file:
            seen = Links(file.read())
        complaints, drawn = look_at(page) or ([], "")
        after = Links(drawn)
        tally.record("compare/nothing in a report becomes part of the page",
                     done.returncode == 0 and not seen.problems and not seen.outside and "alert(1)" in seen.words and not complaints and
                     not after.problems and not after.outside and (not drawn or "alert(1)" in after.words),
                     f"{done.stderr}\n{seen.problems}\n{seen.outside}\n{complaints}\n{after.problems}\n{after.outside}")


def test_settings_are_told_apart(arguments, tally):
    """Two runs over one backend are named by their differences, in text and on the page."""
    label = "compare/two settings of one backend have different names"
    if not tally.wants(label):
        return
    command, text, seconds = program(arguments, "mpi/fixed_pattern"), "", 0.0
    with tempfile.TemporaryDirectory() as folder:
        files = {name: os.path.join(folder, f"{name}.json") for name in ("slow", "fast", "again", "older")}
        ok = True
        for name, settings in (("slow", {"OFFRAMP_HOST_POST": "2us"}), ("fast", {}), ("again", {})):
            result, report = reported(arguments, "host", 3, command, settings)
            text, seconds, ok = text + result.output, seconds + result.seconds, ok and report is not None
            with open(files[name], "w", encoding="utf-8") as file:
                json.dump(report, file)
            if name == "again" and ok:
                older = {key: value for key, value in report.items()
                         if key not in ("settings", "hosts", "date", "mpi", "ucx", "program", "arguments")}
                with open(files["older"], "w", encoding="utf-8") as file:
                    json.dump(older, file)
        page = os.path.join(folder, "both.html")
        if ok:
            apart = offramp_report(arguments, files["slow"], files["fast"]).stdout
            alike = offramp_report(arguments, files["fast"], files["again"]).stdout
            older = offramp_report(arguments, files["fast"], files["older"]).stdout
            offramp_report(arguments, files["slow"], files["fast"], "--html", page)
            with open(page, encoding="utf-8") as file:
                words = Links(file.read()).words
            label_slow, label_fast = "host (post 2000 ns)", "host (post 30 ns)"
            ok = (all(f"\n{name} " in apart for name in (label_slow, label_fast))
                  and "host.post = 2000 ns (OFFRAMP_HOST_POST)" in apart and label_slow in words
                  and f"host ({files['fast']})" in alike and f"host ({files['older']})" in older)
            text += apart + alike + older
    tally.record(label, ok, text, seconds)


def at_most_a_gibibyte():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


@pytest.mark.thorough
def test_million_calls(arguments, tally):
    label = "compare/a report of a million calls"
    if not tally.wants(label):
        return
    result, report = reported(arguments, "host", 1, program(arguments, "exchange") + ["1000000"],
                              {"OFFRAMP_COMPARE": "cclo"})
    ok, text, seconds = report is not None and report["calls"]["MPI_Sendrecv"]["count"] == 1_000_000, result.output, 0.0
    if ok:
        with tempfile.TemporaryDirectory() as folder:
            path, page = os.path.join(folder, "r.json"), os.path.join(folder, "r.html")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(report, file)
            begin = time.monotonic()
            done = offramp_report(arguments, path, "--html", page, before=at_most_a_gibibyte)
            seconds = time.monotonic() - begin
            ok = done.returncode == 0 and seconds < 5 and os.path.getsize(page) > 5000
            text += f"{done.stderr} {seconds:.2f} s"
    tally.record(label, ok, text, result.seconds)


def test_settled_everywhere(arguments, tally):
    for name in PROGRAMS:
        settled_everywhere(arguments, tally, name)


@pytest.mark.thorough
def test_products(arguments, tally):
    for name in PROGRAMS:
        compared_equal_own_runs(arguments, tally, name)
        for backend in arguments.backends:
            settled_everywhere(arguments, tally, name, backend)
