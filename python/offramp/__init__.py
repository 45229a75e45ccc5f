"""Offramp's answers as rows: reports, replays, sweeps, predictions and the events of recordings.

Pure Python, with nothing else to install. Every table is a list of dictionaries, and frame() makes a pandas.DataFrame of it
where pandas is there. Times are nanoseconds where a name ends in _ns, as in the JSON of the command, which does the work:

    import offramp
    report = offramp.replay("app.rec", ["host", "dpu"], details=True)
    for row in report.table("accounts"):
        print(row["backend"], row["function"], row["late_sender_ns"])

The command is `offramp` in the PATH, unless offramp.PROGRAM names another one.
"""

import itertools
import json
import re
import shutil
import subprocess

__all__ = ["Error", "PROGRAM", "Report", "command", "events", "frame", "info", "predict", "read_report", "replay", "sweep"]

PROGRAM = None  # the path of the command; None: from the PATH

_EVENT = re.compile(r"(\d+) (\S+) (\S+)(.*?) comm (\d+) peer (-?\d+) tag (-?\d+) bytes (\d+) extra (\d+)(.*)")
_COMPUTES = re.compile(r"(\d+) computes (\d+) ns")


class Error(Exception):
    """What the command complained of, with its exit code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def command(*words):
    """Runs a subcommand and returns what it prints."""
    program = PROGRAM or shutil.which("offramp")
    if program is None:
        raise Error(127, "offramp is not in the PATH; offramp.PROGRAM may name it")
    done = subprocess.run([program, *(str(word) for word in words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Error(done.returncode, done.stderr.strip())
    return done.stdout


def _options(settings, options):
    """{"link": "400"} and ranks_per_node=4, details=True as the command takes them."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value not in (False, None):
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words += [option, one]
    for key, value in (settings or {}).items():
        words += ["--set", f"{key}={value}"]
    return words


class Report:
    """A report of a run or a replay. lanes: what it says of each hardware, as docs/report.md names it."""

    _NAMED = {"accounts": ("accounts", "functions"), "waits": ("accounts", "waits"), "traffic": ("accounts", "traffic")}
    _LISTS = {"sizes": "sizes", "ranks": "each_rank", "declines": "declines", "units": "units", "resources": "resources",
              "links": "links", "phases": "phases", "jobs": "jobs"}
    TABLES = ("lanes", "calls", *_NAMED, *_LISTS)

    def __init__(self, fields):
        self.fields = fields
        self.lanes = fields["results"] if "results" in fields else [fields, *fields.get("compared", [])]

    @property
    def advice(self):
        """The answer of `offramp advise --report`, followed by its parts."""
        return self.fields.get("advice", [])

    def lane(self, backend):
        """What the report says of this hardware."""
        for lane in self.lanes:
            if lane["backend"] == backend:
                return lane
        raise KeyError(backend)

    def table(self, name):
        """The rows of all hardware, each with its backend; without lists inside."""
        if name not in self.TABLES:
            raise KeyError(f"{name!r} is none of {', '.join(self.TABLES)}")
        rows = []
        for lane in self.lanes:
            for row in self._rows(lane, name):
                flat = {key: value for key, value in row.items() if not isinstance(value, (dict, list))}
                rows.append({"backend": lane["backend"], **flat})
        return rows

    def _rows(self, lane, name):
        if name == "lanes":
            whole = lane.get("whole_run", {})
            return [{**lane, "run_ns": whole.get("modelled_time_ns"), "share_in_calls": whole.get("share_in_calls")}]
        if name == "calls":
            return [{"function": function, **counters} for function, counters in lane.get("calls", {}).items()]
        if name in self._NAMED:
            outer, inner = self._NAMED[name]
            return lane.get(outer, {}).get(inner, [])
        return lane.get(self._LISTS[name], [])


def read_report(path):
    """A report that run --report, replay --report or advise --report has written."""
    with open(path, encoding="utf-8") as file:
        return Report(json.load(file))


def _backends(backends):
    names = [backends] if isinstance(backends, str) else list(backends)
    return ["--backend", ",".join(names)]


def replay(program, backends="host", settings=None, **options):
    """A recording, trace or pattern over this hardware. options: those of `offramp replay`, ranks_per_node=4."""
    words = ["replay", program, *_backends(backends), "--json", *_options(settings, options)]
    return Report(json.loads(command(*words)))


def sweep(program, backends, axes, settings=None, **options):
    """Replays with every combination of values: axes is {"latency": ["x0.5", "x1"], "ranks_per_node": [1, 4]}.

    A row for each combination and each hardware, with the values, the modelled time and, where it is known, the run."""
    rows = []
    for values in itertools.product(*axes.values()):
        point = dict(zip(axes, values))
        report = replay(program, backends, {**(settings or {}), **point}, **options)
        first = report.lanes[0]["modelled_time_ns"]
        for row in report.table("lanes"):
            rows.append({**point, "backend": row["backend"], "modelled_time_ns": row["modelled_time_ns"],
                         "run_ns": row["run_ns"], "ratio": row["modelled_time_ns"] / first if first else None})
    return rows


def predict(operation, backends="host", settings=None, **options):
    """The rows of `offramp predict`: one for each point of a sweep and each hardware."""
    rows = json.loads(command("predict", operation, *_backends(backends), "--json", *_options(settings, options)))
    rows = rows if isinstance(rows, list) else [rows]
    return [{key: value for key, value in row.items() if not isinstance(value, (dict, list))} for row in rows]


def info(program):
    """What is in a recording: its facts, calls and ranks."""
    return json.loads(command("info", program, "--json"))


def events(program):
    """Every event of a recording, one after the other; what a rank computes is one, too, of the kind "computes"."""
    for line in command("info", program, "--events").splitlines():
        if computes := _COMPUTES.fullmatch(line):
            yield {"rank": int(computes[1]), "kind": "computes", "time_ns": int(computes[2])}
        elif event := _EVENT.fullmatch(line):
            yield {"rank": int(event[1]), "function": event[2], "kind": event[3], "details": event[4].strip(),
                   "communicator": int(event[5]), "peer": int(event[6]), "tag": int(event[7]), "bytes": int(event[8]),
                   "extra": int(event[9]), "flags": event[10].strip()}


def frame(rows):
    """The rows as a pandas.DataFrame."""
    import pandas  # noqa: PLC0415, for those that have it

    return pandas.DataFrame(list(rows))
