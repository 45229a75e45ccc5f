"""Offramp's answers as rows: reports, replays, sweeps, predictions, and the events of recordings.

Pure Python, with nothing else to install. Every table is a list of dictionaries that notebooks show as a table, and frame() makes a
pandas.DataFrame of it where pandas is there. Times are nanoseconds where a name ends in _ns, as in the JSON of the command, which does the work:

    import offramp
    report = offramp.replay("app.rec", ["host", "dpu"], details=True)
    for row in report.table("accounts"):
        print(row["backend"], row["function"], row["late_sender_ns"])

The command is `offramp` in the PATH, unless offramp.PROGRAM names another one.

Options of all functions that have **options, with the names of the command's options and underscores for dashes. A flag is True;
a list gives an option several times:

    network="fat-tree:16:4"   network between the nodes, or a SimGrid platform file
    nodes=N, ranks_per_node=N, cards_per_node=N, link_rate="100"   the modelled machine
    noise="1ms:25us", slow_nodes="3:1.5"          operating system noise, and nodes that compute more slowly
    config="offramp.toml"     settings from this file

settings, where a function has them, are keys of the configuration: {"host.latency": "x0.5", "dpu.preset": "bf3"}.
"""

import html as _html
import itertools
import json
import os
import re
import shutil
import subprocess

__all__ = ["Answer", "Error", "PROGRAM", "Report", "Rows", "advise", "change", "check", "command", "compare", "events", "frame", "info", "predict",
           "read_report", "replay", "scale", "sweep"]

PROGRAM = None  # the path of the command; None: from the PATH

# Lines of `offramp info --events`: of a rank, or of a thread of it, "3.1".
_WHO = r"(?P<rank>\d+)(?:\.(?P<thread>\d+))? "
_EVENT = re.compile(_WHO + r"(?P<function>\S*) (?P<kind>\S+)(?P<details>.*?) comm (?P<communicator>\d+) peer (?P<peer>-?\d+) "
                    r"tag (?P<tag>-?\d+) bytes (?P<bytes>\d+) extra (?P<extra>\d+)(?P<flags>[^\[]*?)(?P<lists>(?: \[[^\]]*\])*)"
                    r"(?: took (?P<took>.*?))?(?: chose (?P<chose>[\d ]+?))?(?: at (?P<site>\S+))?")
_BETWEEN = [(kind, re.compile(_WHO + words)) for kind, words in (
    ("computes", r"computes (?P<time_ns>\d+) ns"),
    ("rests", r"is blocked for (?P<time_ns>\d+) ns"),
    ("lasts", r"takes (?P<time_ns>\d+) ns natively"),
    ("asks", r"polls (?P<times>\d+) times without success"),
    ("gaps", r"spends (?P<brief_ns>\d+) ns in short gaps between failed polls, and (?P<longer_ns>\d+) ns in longer ones"),
    ("cut", r"is cut off"))]
_TEXTS = ("function", "kind", "details", "flags", "lists", "took", "chose", "site")


class Error(Exception):
    """What the command complained of, with its exit code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def command(*words, accepted=(0,)):
    """Runs a subcommand and returns what it prints. accepted: its exit codes that are no errors."""
    program = PROGRAM or shutil.which("offramp")
    if program is None:
        raise Error(127, "offramp is not in the PATH; offramp.PROGRAM may name it")
    done = subprocess.run([program, *(str(word) for word in words)], capture_output=True, text=True, check=False)
    if done.returncode not in accepted:
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


class Rows(list):
    """A list of dictionaries with the same keys. frame() makes a pandas.DataFrame of it."""

    _SHOWN = 60

    def frame(self):
        return frame(self)

    def _repr_html_(self):
        heads = list(dict.fromkeys(key for row in self for key in row))
        cell = lambda tag, value: f"<{tag}>{'' if value is None else _html.escape(str(value))}</{tag}>"  # noqa: E731
        lines = ["".join(cell("th", head) for head in heads)]
        lines += ["".join(cell("td", row.get(head)) for head in heads) for row in self[:self._SHOWN]]
        more = f"<p>and {len(self) - self._SHOWN} more rows</p>" if len(self) > self._SHOWN else ""
        return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>{more}"


class Answer(dict):
    """An answer's fields (docs/questions.md), shown as the command prints them. Its table() has a row for each call site."""

    _LINES = (("on", "machine"), ("why", "why"), ("at", "where"), ("sure", "sure"), ("but", "but"), ("test", "test"), ("run", "native"),
              ("next", "next"))

    def table(self):
        return Rows(self.get("call_sites", []))

    def __repr__(self):
        bars = [f"  {bar['name']:<12} {bar['time_ns'] / 1e6:.4g} ms" for bar in self.get("bars", []) if bar["time_ns"] > 0]
        return "\n".join([self["answer"], *(f"{label:<5} {self[name]}" for label, name in self._LINES if self.get(name)), *bars])

    def _repr_html_(self):
        lines = [(label, self[name]) for label, name in self._LINES if self.get(name)]
        rows = "".join(f"<tr><th>{label}</th><td>{_html.escape(text)}</td></tr>" for label, text in lines)
        bars = Rows({"side": bar["name"], "ms": f"{bar['time_ns'] / 1e6:.4g}", "note": bar.get("note")}
                    for bar in self.get("bars", []) if bar["time_ns"] > 0)
        return f"<h4>{_html.escape(self['answer'])}</h4><table>{rows}</table>{bars._repr_html_()}"


class Report:
    """A report of a run or a replay. lanes: what it says of each hardware, as docs/report.md names it."""

    _NAMED = {"accounts": ("accounts", "functions"), "accounts_by_size": ("accounts", "sizes"),
              "accounts_by_phase": ("accounts", "phases"), "accounts_by_place": ("accounts", "sites"),
              "waits": ("accounts", "waits"), "delays": ("accounts", "delays"), "traffic": ("accounts", "traffic")}
    _LISTS = {"sizes": "sizes", "ranks": "each_rank", "declines": "declines", "units": "units", "resources": "resources",
              "links": "links", "phases": "phases", "jobs": "jobs"}
    TABLES = ("lanes", "calls", "call_sites", *_NAMED, *_LISTS)

    def __init__(self, fields):
        self.fields = fields
        self.lanes = fields["results"] if "results" in fields else [fields, *fields.get("compared", [])]

    @property
    def answer(self):
        """The Answer, from a report of `offramp advise` or of a replay over several backends; None from others."""
        return Answer(self.fields["answer"], call_sites=self.fields.get("call_sites", [])) if self.fields.get("answer") else None

    def __repr__(self):
        return repr(self.answer) if self.answer else "\n".join(
            f"{lane['backend']:<12} {lane['modelled_time_ns'] / 1e6:.4g} ms of communication" for lane in self.lanes)

    def _repr_html_(self):
        lanes = Rows({key: row.get(key) for key in ("backend", "modelled_time_ns", "run_ns", "carries_program")} for row in self.table("lanes"))
        return (self.answer._repr_html_() if self.answer else "") + lanes._repr_html_()

    def lane(self, backend):
        """What the report says of this hardware."""
        for lane in self.lanes:
            if lane["backend"] == backend:
                return lane
        raise KeyError(backend)

    def table(self, name):
        """The Rows of all hardware, each with its backend; without lists inside. "call_sites" compares the first hardware with the best."""
        if name not in self.TABLES:
            raise KeyError(f"{name!r} is none of {', '.join(self.TABLES)}")
        rows = Rows()
        if name == "call_sites":
            return Rows(self.fields.get("call_sites", []))
        for lane in self.lanes:
            for row in self._rows(lane, name):
                flat = {key: value for key, value in row.items() if not isinstance(value, (dict, list))}
                rows.append({"backend": lane["backend"], **flat})
        return rows

    def _rows(self, lane, name):
        if name == "lanes":
            whole = lane.get("whole_run", {})
            efficiencies = lane.get("efficiencies", {})
            return [{**lane, "run_ns": whole.get("modelled_time_ns"), "share_in_calls": whole.get("share_in_calls"),
                     "efficiency": efficiencies.get("parallel"),
                     **{name: efficiencies.get(name) for name in ("load_balance", "serialisation", "transfer")}}]
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


def _paths(files):
    return [files] if isinstance(files, (str, os.PathLike)) else list(files)


def _names(backends):
    return backends.split(",") if isinstance(backends, str) else list(backends)


def _backends(backends):
    return ["--backend", ",".join(_names(backends))]


def advise(program, backends="all", settings=None, **options):
    """The Answer for a recording, trace, or pattern: a dictionary with answer, why, sure, but, next, kind, holds, bars, a list with a row
    for each candidate (docs/questions.md), and what else the command knows: call_sites, candidates, influences, free_changes, break_even.
    With seconds=N it may be incomplete: then `complete` is False. Of several programs in a list: a list of answers. With ranks, the list
    has recordings of one program at several numbers of ranks, and several numbers of ranks give a curve in `points`.

    Options besides those of the module:
        quick=True                skip the searches for parameters that change the answer and for the best mix
        seconds=N                 time limit for the whole answer
        ranks=N, ranks=[16, 64]   number of ranks to scale to, or several
        compute_scaling="strong"  scaling of CPU time: strong, weak, or recorded
        phase="NAME"              only the phases of this name (MPI_Pcontrol)
        partial=True              accept an incomplete recording
        details=True, routes=FILE, tuning=FILE, tuning_for="mpich", report=FILE, html=FILE, svg=FILE   outputs of the command
    """
    files = _paths(program)
    if isinstance(options.get("ranks"), (list, tuple)):
        options["ranks"] = ",".join(str(ranks) for ranks in options["ranks"])
    if len(files) > 1 and "ranks" not in options:
        return [advise(file, backends, settings, **options) for file in files]
    words = ["advise", *files, *_backends(backends), "--json", *_options(settings, options)]
    fields = json.loads(command(*words, accepted=(0, 3, 4)))
    return Answer({**{key: value for key, value in fields.items() if key != "answer"}, **fields["answer"]})


def replay(program, backends="host", settings=None, **options):
    """A Report of a recording, trace, or pattern replayed over this hardware.

    Options besides those of the module:
        details=True              also busy times, accounts, efficiencies, and the critical path
        compute="none"            time between MPI calls: none, recorded, or a factor for its CPU time
        blocked=0.5               factor for the time in which the program is blocked
        ranks=N, compute_scaling="strong"   number of ranks to scale to, and how CPU time scales
        phase="NAME"              only the phases of this name (MPI_Pcontrol)
        arrival="modelled"        how wildcard receives match: recorded, or modelled
        polling="wait"            time between failed polls: work, wait, or threshold
        route=["bcast=tinsel"]    operations that other hardware carries
        job=["b.rec:8-15"], background="uniform:10"   other programs and traffic on the network
        partial=True              accept an incomplete recording
        check=True                verify the simulation
        rules="loggopsim", receipts="all", report=FILE, html=FILE, trace=FILE, otf2=FOLDER, capture=FILE   outputs of the command
    """
    words = ["replay", program, *_backends(backends), "--json", *_options(settings, options)]
    return Report(json.loads(command(*words)))


def change(before, after, backend="host", settings=None, **options):
    """The effect of a change of a program on its run, with the fields of advise().

    before, after: a recording, a folder of recordings, or a list of recordings of that version. With several of each, earliest_ns
    and latest_ns bound the run after the change. Options: those of replay()."""
    words = ["replay", *_backends([backend]), "--json", *_options(settings, options), *_paths(before), "--", *_paths(after)]
    return next(Answer(one["answer"]) for one in json.loads(command(*words)) if "answer" in one)


def compare(program, libraries, settings=None, **options):
    """What other MPI libraries cost or save the program, whose algorithms are known: an Answer for each but the first.

    libraries: choices of host.collectives, as ["openmpi-4.1", "openmpi-5"]. Options: those of replay(). Of two versions of a program:
    change()."""
    words = ["replay", program, "--libraries", ",".join(libraries), "--json", *_options(settings, options)]
    return [Answer(one["answer"]) for one in json.loads(command(*words)) if one.get("answer", {}).get("kind") in ("change", "none")]


def check(program, backend=None, settings=None, **options):
    """What of an MPI program the hardware would carry, by the functions that it calls. Options: those of the module."""
    words = ["check", program, *([] if backend is None else ["--backend", backend]), "--json", *_options(settings, options)]
    return json.loads(command(*words, accepted=(0, 3, 4)))


def sweep(program, backends, axes, settings=None, **options):
    """Replays with every combination of values: axes is {"latency": ["x0.5", "x1"], "ranks_per_node": [1, 4]}.

    A row for each combination and each hardware, with the values, the modelled time and, where it is known, the run; both over
    those of the first hardware, the base, where the hardware carries the program. Hardware that is refused has the reason."""
    base = _names(backends)[0]
    base = "host" if base == "all" else base  # which is the first of all
    rows = Rows()
    for values in itertools.product(*axes.values()):
        point = dict(zip(axes, values))
        report = replay(program, backends, {**(settings or {}), **point}, **options)
        lanes = {row["backend"]: row for row in report.table("lanes")}
        for row in lanes.values():
            over = {key: _over(row, lanes.get(base), key) for key in ("modelled_time_ns", "run_ns")}
            rows.append({**point, "backend": row["backend"], "modelled_time_ns": row["modelled_time_ns"], "run_ns": row["run_ns"],
                         "base": base, "ratio": over["modelled_time_ns"], "run_ratio": over["run_ns"],
                         "carries_program": row["carries_program"], "refused": None})
        for one in report.fields.get("refused", []):
            rows.append({**point, "backend": one["backend"], "modelled_time_ns": None, "run_ns": None, "base": base, "ratio": None,
                         "run_ratio": None, "carries_program": None, "refused": one["reason"]})
    return rows


def _over(row, base, key):
    """This time over that of the base; None: one is not known, or the hardware does not carry the program."""
    if base is None or not row["carries_program"] or not base[key] or row[key] is None:
        return None
    return row[key] / base[key]


def predict(operation, backends="host", settings=None, **options):
    """The time of one operation: a row for each point of a sweep and each hardware.

    Options besides those of the module:
        ranks=N, bytes="64K"      number of ranks, and size of the message or of one rank's block
        sweep="bytes=1:1MiB"      several values of bytes or ranks
        root=R, type="double", function="max", calls=N   details of the operation
        what_if=True              as if the hardware had enough memory
        check=True                verify the simulation
        details=True              several backends: exact times after the answer
        svg=FILE, trace=FILE, capture=FILE   outputs of the command
    """
    rows = json.loads(command("predict", operation, *_backends(backends), "--json", *_options(settings, options)))
    rows = rows if isinstance(rows, list) else [rows]
    return Rows({key: value for key, value in row.items() if not isinstance(value, (dict, list))} for row in rows)


def scale(recordings, ranks, output=None, **options):
    """A program at more ranks than were run, extrapolated from recordings at fewer. Written to `output` as a recording, for replay()
    and advise(), if that is given. Returns a dictionary with ranks, recorded, layout, growing, and held_out: how many calls of the
    largest recording the others predict (calls, exact, wrong, unknown), in total and by function. Raises Error if the calls do not
    follow from the number of ranks.

    Options, which are not those of the module:
        compute_scaling="strong"  scaling of CPU time: strong, weak, or recorded
        phase="NAME"              only the phases of this name (MPI_Pcontrol)
        against=FILE              compare, call by call, with a recording at the same number of ranks
    """
    words = ["scale", *_paths(recordings), "--ranks", ranks, "--json", *_options(None, {"output": output, **options})]
    return json.loads(command(*words, accepted=(0, 4)))


def info(program):
    """What is in a recording: its facts, calls and ranks."""
    return json.loads(command("info", program, "--json"))


def events(program):
    """Every event of a recording, one after the other, with its rank and its thread, which is None where a rank has one alone.

    An access to the memory of another rank ("access") has its target as peer. Its details are write, read, atomic, or combine. Its bytes
    go to the target, and those of extra come back. A collective of neighbours ("neighbours") has `sent` and
    `received`, lists of (rank, bytes). Other events have their `lists`; the command prints the first 16 numbers of a list.

    What a rank does between events has kinds of its own: "computes" and "rests" (time_ns), where it is blocked;
    "lasts" (time_ns), the native time of the call before it without a model; "asks", questions that found nothing (times),
    "gaps" between these (brief_ns, longer_ns); "cut" is where a recording breaks off."""
    for line in command("info", program, "--events").splitlines():
        yield _event(line)


def _event(line):
    if event := _EVENT.fullmatch(line):
        row = _fields(event)
        row["lists"] = [[int(word) for word in one.split() if word.isdigit()] for one in re.findall(r"\[([^\]]*)\]", row["lists"])]
        if row["kind"] == "neighbours":
            row["sent"], row["received"] = (list(zip(one[::2], one[1::2])) for one in row["lists"])
        return row
    for kind, pattern in _BETWEEN:
        if between := pattern.fullmatch(line):
            return {**_fields(between), "kind": kind}
    raise ValueError(f"the command says of an event what this module does not know: {line!r}")


def _fields(match):
    """Its groups: numbers, texts without blanks around them, or None."""
    return {name: None if text is None else text.strip() if name in _TEXTS else int(text)
            for name, text in match.groupdict().items()}


def frame(rows):
    """The rows as a pandas.DataFrame."""
    try:
        import pandas  # noqa: PLC0415, for those that have it
    except ImportError as missing:
        raise Error(None, "frame() needs pandas, which is not installed here; the rows are a list of dictionaries without it") from missing

    return pandas.DataFrame(list(rows))
