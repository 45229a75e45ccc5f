"""Recordings: equal for all carriers, and replayed on every backend. The fast tier records cases together, natively and over the dealer
(tests/fixtures/dealer.cpp), the thorough tier every program, and the cases without a choice over every backend."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time

import pytest

from isolated import isolated, why_not
from launch import DEALER, base_environment, descendants, mpi_of, mpirun, plugins, run as launch
from mpi_programs import CASE_LIMIT, cases, programs, stand_alone
from replays import clocks, differences as differences_of_run, replay

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# They do not depend on the order of arrival, nor on the times of polls.
SAME = ["fixed_pattern", "communicators", "send_recv_modes", "derived_types", "reduce_user", "gather", "cancel", "proc_null",
        "intercomm", "between_groups", "topologies", "windows_beside", "one_sided", "persistent_collectives", "self_messages", "bsend_buffers", "sendrecv"]
# They end the job, wait for minutes (unexpected_storm: 126,000 waiting messages, on every backend), or start processes.
NOT_REPLAYED = {"fatal_errors", "end_of_program", "soak", "native_blocking", "modules", "dynamic_processes", "unexpected_storm"}
# Faults of MPICH 4.0 itself (docs/reliability.md): it lets these programs skip parts, or returns wrong statuses of messages. Recordings
# while Offramp carries them are complete.
NOT_BY_MPICH = {"persistent_collectives", "isendrecv"}
# Their threads communicate at once. Each recording has another order of their calls, so there are several.
THREADED = {"threads_beside": 3, "two_reduces": 2}
THREADED_RUNS = 3


class Folder:
    """The folder for the recordings of one test."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.tool = os.path.join(arguments.build, "bin/offramp")
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def program(self, name):
        return os.path.join(self.arguments.build, "tests/mpi", name)

    def command(self, names):
        """A program, or several cases under one MPI_Init."""
        return [self.program(names[0])] if len(names) == 1 else [os.path.join(self.arguments.build, "tests/mpi_cases"), *names]

    def offramp(self, *words, limit=120):
        return launch([self.tool, *words], base_environment(), limit)

    def record(self, names, ranks, backend, file, *options):
        """names: a program, or cases; backend: None if the MPI library carries all."""
        how = ["record", "-o", file] if backend is None else ["run", "--backend", backend, "--record", file, "--set", "summary=false"]
        if backend == DEALER:
            how += ["--set", f"plugin_path={plugins(self.arguments.build)}"]
        return self.offramp(how[0], "-n", str(ranks), *how[1:], *options, "--", *self.command(names), limit=120 + CASE_LIMIT * len(names))

    def info(self, file):
        done = subprocess.run([self.tool, "info", "--json", file], capture_output=True, text=True, check=False,
                              env=base_environment(), timeout=120)
        return json.loads(done.stdout) if done.stdout else {"error": done.stderr}

    def replay(self, file, *options):
        return replay(self.arguments.build, file, *options)


def by_recorder(arguments, names):
    """The carriers to record each program with, and the programs. None is the MPI library by itself, where that is right."""
    chosen = {None: names}
    if mpi_of(arguments.build).family == "mpich":
        chosen = {None: [name for name in names if name not in NOT_BY_MPICH],
                  DEALER: [name for name in names if name in NOT_BY_MPICH]}
    return {recorder: those for recorder, those in chosen.items() if those}


def differences(arguments, names, ranks, recorder, carriers):
    """Records cases, under one MPI_Init, over each carrier; returns the differences as a text, and the seconds."""
    texts, seconds, prints = "", 0.0, {}
    with Folder(arguments) as here:
        for backend in dict.fromkeys([recorder, *carriers]):
            file = here.path(f"{backend}.rec")
            result = here.record(names, ranks, backend, file)
            seconds += result.seconds
            info = here.info(file)
            prints[backend] = info.get("fingerprint")
            if not result.ok or "error" in info or not all(rank["complete"] for rank in info["ranks"]):
                texts += f"{result.output}\n{backend}: {info}\n"
    return (texts if texts or len(set(prints.values())) == 1 else f"{names}: {prints}\n"), seconds


def same_whatever_carries(arguments, tally, ranks, carriers):
    """If the recordings of all cases differ, the output lists the cases that differ by themselves."""
    label = f"recording/cases without a choice are the same natively and over {', '.join(carriers)}, {ranks} ranks"
    if not tally.wants(label):
        return
    texts, seconds = "", 0.0
    for recorder, names in by_recorder(arguments, SAME).items():
        text, took = differences(arguments, names, ranks, recorder, carriers)
        texts, seconds = texts + text, seconds + took
        if text:
            texts += "".join(differences(arguments, [name], ranks, recorder, carriers)[0] for name in names)
    tally.record(label, not texts, texts, seconds)


def replay_problem(arguments, names, ranks, recorder):
    """Records programs, or several cases under one MPI_Init, and replays the recording on every backend; returns the problems, and the
    run."""
    with Folder(arguments) as here:
        file = here.path("a.rec")
        result = here.record(names, ranks, recorder, file)
        if not result.ok:
            return result.output, result
        found = here.replay(file, "--compare", ",".join(arguments.backends), "--check")
    if isinstance(found, str) or len(found) != len(arguments.backends):
        return f"replay: {found}", result
    return "\n".join(f"{one['backend']}: {one['unfinished']} {one['modelled_time_ps']}" for one in found
                     if one["unfinished"] or one["modelled_time_ps"] != max(clocks(one))), result


def replayed_label(name, ranks):
    return f"recording/{name} is replayed on every backend {ranks} ranks"


def wanted_programs(arguments, tally, ranks):
    return [name for name in programs(arguments.build) if name not in NOT_REPLAYED and tally.wants(replayed_label(name, ranks))]


def test_cases_are_replayed(arguments, tally, ranks=3):
    """Cases are recorded together. If that fails, which is a failure, each is recorded by itself."""
    for recorder, names in by_recorder(arguments, wanted_programs(arguments, tally, ranks)).items():
        for group in cases(arguments.build):
            shared = [name for name in names if name in group]
            if not shared:
                continue
            problem, result = replay_problem(arguments, shared, ranks, recorder)
            if problem:
                tally.record(f"recording/{len(shared)} cases together are replayed on every backend", False, problem, result.seconds)
            for name in shared:
                problem = problem and replay_problem(arguments, [name], ranks, recorder)[0]
                tally.record(replayed_label(name, ranks), not problem, problem, result.seconds / len(shared))


@pytest.mark.thorough
def test_stand_alone_are_replayed(arguments, tally, ranks=3):
    for name in stand_alone(arguments.build, wanted_programs(arguments, tally, ranks)):
        problem, result = replay_problem(arguments, [name], ranks, None)
        tally.record(replayed_label(name, ranks), not problem, problem, result.seconds)


@pytest.mark.thorough
def test_threads(arguments, tally):
    """Recordings can be replayed on every backend for any order of the threads' calls."""
    for name, ranks in THREADED.items():
        label = f"recording/{name}, {THREADED_RUNS} times, is replayed on every backend {ranks} ranks"
        if not tally.wants(label):
            continue
        problems, seconds = [], 0.0
        for recorder in [None, *arguments.backends][:THREADED_RUNS]:
            problem, result = replay_problem(arguments, [name], ranks, recorder)
            problems, seconds = problems + [problem], seconds + result.seconds
        tally.record(label, not any(problems), "\n".join(problems), seconds)


def test_ends_untimely(arguments, tally):
    """Every rank gets SIGKILL during the program: the recording until then can be replayed."""
    label = "recording/a program that is killed leaves what it did until then"
    if not tally.wants(label):
        return
    with Folder(arguments) as here:
        file = here.path("a.rec")
        begun = time.monotonic()
        endless = [os.path.join(arguments.build, "bench/latency"), "-m", "65536:65536", "-i", "100000000"]
        process = subprocess.Popen([here.tool, "record", "-n", "2", "-o", file, "--", *endless], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=base_environment(), start_new_session=True)
        parts = [here.path(f"a.rec.rank-{rank}") for rank in range(2)]
        while process.poll() is None and time.monotonic() - begun < 60:
            if all(os.path.exists(part) and os.path.getsize(part) > 1000 for part in parts):
                break
            time.sleep(0.05)
        for pid in descendants(process.pid):
            os.kill(pid, signal.SIGKILL)
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate(timeout=30)[0]
        info = here.info(file)
        refused = here.replay(file, "--backend", "host")
        replay = here.replay(file, "--backend", "host", "--partial")
        ok = ("unfinished" in info.get("facts", {}) and all(rank["events"] > 100 for rank in info["ranks"])
              and isinstance(refused, str) and "is incomplete" in refused and "--partial" in refused
              and not isinstance(replay, str) and replay[0]["events_done"] > 100 and not replay[0]["complete"])
        tally.record(label, ok, f"{output[-500:]}\n{str(info)[:500]}\n{str(replay)[:500]}", time.monotonic() - begun)


def in_own_folders(here, command):
    """Each rank in a folder of its own, as on a host with a disk of its own."""
    script = f'rank=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; mkdir -p {here.path("")}$rank; cd {here.path("")}$rank; exec "$@"'
    return ["sh", "-c", script, "sh", *command]


def test_on_other_hosts(arguments, tally):
    """Rank 0 does not see the files of the others: it copies them and makes one recording."""
    for backend in ("off", DEALER):
        label = f"recording/parts that rank 0 does not see are brought together {backend} 3 ranks"
        if not tally.wants(label):
            continue
        with Folder(arguments) as here:
            # Parts of an earlier run are other parts, and where a link has the name of a part, its target stays.
            with open(here.path("stale"), "wb") as stale:
                stale.write(b"OFFRAMPP" + bytes(1000))
            for rank in "01":
                os.makedirs(here.path(rank))
                os.symlink("../stale", here.path(f"{rank}/a.rec.rank-1"))
            result = mpirun(arguments.build, backend, 3, in_own_folders(here, [here.program("fixed_pattern")]), 120,
                            {"OFFRAMP_RECORD": "a.rec", "OFFRAMP_SUMMARY": "false"})
            other = mpirun(arguments.build, backend, 3, [here.program("fixed_pattern")], 120,
                           {"OFFRAMP_RECORD": here.path("b.rec"), "OFFRAMP_SUMMARY": "false"})
            infos = [here.info(here.path(name)) for name in ("0/a.rec", "b.rec")]
            left = [name for _, _, names in os.walk(here.folder.name) for name in names]
            ok = (result.ok and other.ok and sorted(left) == ["a.rec", "b.rec", "stale"]
                  and os.path.getsize(here.path("stale")) == 1008 and infos[0].get("fingerprint") is not None
                  and infos[0]["fingerprint"] == infos[1].get("fingerprint"))
            tally.record(label, ok, f"{result.output}\n{other.output}\n{infos}\n{left}", result.seconds + other.seconds)


def test_parts_that_stay(arguments, tally):
    """With record_parts = keep the parts stay beside an index, even on hosts that rank 0 does not see. Readers of recordings read them,
    and a later run of the same name removes all of them."""
    label = "recording/parts that stay beside an index"
    if not tally.wants(label):
        return
    keep = {"OFFRAMP_RECORD_PARTS": "keep", "OFFRAMP_SUMMARY": "false"}
    with Folder(arguments) as here:
        os.makedirs(here.path("0"))
        program = [here.program("fixed_pattern")]
        apart, joined, file = here.path("0/a.rec"), here.path("b.rec"), here.path("c.rec")
        runs = [mpirun(arguments.build, "off", 3, in_own_folders(here, program), 120, {"OFFRAMP_RECORD": "a.rec", **keep}),
                mpirun(arguments.build, "off", 3, program, 120, {"OFFRAMP_RECORD": joined, "OFFRAMP_SUMMARY": "false"}),
                mpirun(arguments.build, DEALER, 3, program, 120, {"OFFRAMP_RECORD": file, **keep})]
        left = sorted(os.path.relpath(os.path.join(folder, name), here.folder.name)
                      for folder, _, names in os.walk(here.folder.name) for name in names)
        expected = sorted(["b.rec", *(name + part for name in ("0/a.rec", "c.rec") for part in ("", ".rank-0", ".rank-1", ".rank-2"))])
        prints = {here.info(path).get("fingerprint") for path in (apart, joined, file)}
        whole = here.offramp("convert", file, "--to", "recording", "-o", here.path("whole.rec"))
        times = {str(clocks(here.replay(path, "--backend", "cclo")[0])) for path in (apart, file, here.path("whole.rec"))}
        os.remove(here.path("c.rec.rank-1"))
        refused = here.offramp("replay", file, "--backend", "host")
        again = mpirun(arguments.build, "off", 2, program, 120, {"OFFRAMP_RECORD": file, "OFFRAMP_SUMMARY": "false"})
        after = sorted(name for name in os.listdir(here.folder.name) if name.startswith("c.rec"))
        ok = (all(run.ok for run in (*runs, whole, again)) and left == expected and len(prints) == 1 and None not in prints
              and len(times) == 1 and not refused.ok and "c.rec.rank-1: No such file" in refused.output and after == ["c.rec"])
        tally.record(label, ok, "\n".join([*(run.output for run in (*runs, whole, refused, again)), str((left, prints, times, after))]),
                     sum(run.seconds for run in (*runs, whole, refused, again)))


@pytest.mark.thorough
def test_full_disk(arguments, tally):
    """The disk of rank 1 gets full during the run: the rest stays in memory, and nothing is lost. If that of rank 0 does, the parts
    stay, and the error names host and file. This many rounds make parts of 150 KB."""
    label = "recording/a full disk"
    if not tally.wants(label):
        return
    if problem := why_not():
        tally.skip(label, problem)
        return
    for rank in (1, 0):
        with Folder(arguments) as here:
            folder = here.path(str(rank))
            os.makedirs(folder)
            soak = in_own_folders(here, [here.program("soak"), "--rounds", "1300"])
            library = os.path.join(arguments.build, "lib/libofframp.so")
            variables = {"LD_PRELOAD": library, "OFFRAMP_BACKEND": "off" if rank else "host", "OFFRAMP_RECORD": "a.rec"}
            line = [*mpi_of(arguments.build).start(2, variables, ()), *soak]
            kept = f"cp {folder}/a.rec* {here.path('')}"
            script = f'mount -t tmpfs -o size=128k tmpfs {folder} && "$@"; echo "it ended with $?"; {kept}'
            result = launch(isolated(["sh", "-c", script, "sh", *line]), base_environment(), 120)
            if rank == 1:
                info = here.info(here.path("0/a.rec"))
                ok = "it ended with 0" in result.output and info.get("complete") is True
            else:
                info = here.info(here.path("a.rec"))
                ok = (re.search(r"the recording is incomplete: rank 0 on \S+ ends early: cannot write \S+/a\.rec\.rank-0: No space left", result.output)
                      and "cannot write the recording to" in result.output and "it ended with 74" in result.output
                      and "no modelled times: the recording of 1 rank ends early" in result.output
                      and info["ranks"][0]["events"] > 100 and os.path.getsize(here.path("1/a.rec.rank-1")) > 100_000)
            tally.record(f"{label} of rank {rank}", bool(ok), f"{result.output}\n{str(info)[:1000]}", result.seconds)


def test_examples(arguments, tally):
    """Two examples exchange borders by neighbours and by puts. Each checks its result, and its recording is replayed on every backend."""
    calls = {"halo_neighbors": {"MPI_Neighbor_alltoallw": 3}, "halo_put": {"MPI_Put": 12, "MPI_Win_fence": 4, "MPI_Win_allocate": 1}}
    for name, counts in calls.items():
        label = f"recording/the example {name} is right, recorded, and replayed on every backend"
        if not tally.wants(label):
            continue
        with Folder(arguments) as here:
            source, app, file = os.path.join(ROOT, f"examples/programs/{name}.c"), here.path(name), here.path("a.rec")
            build = launch([mpi_of(arguments.build).compiler, "-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, "-o", app,
                            "-lm"], base_environment(), 60)
            recorded = here.offramp("record", "-n", "4", "-o", file, "--", app, "64", "3")
            info = here.info(file)
            found = here.replay(file, "--compare", ",".join(arguments.backends), "--check", "--phase", "steps")
            kept = here.replay(os.path.join(ROOT, f"examples/programs/{name}-16.rec"), "--backend", "host", "--check")
            made = info.get("calls", {})
            ok = (build.ok and recorded.ok and "error" in recorded.output and ": right" in recorded.output
                  and all(made.get(call) == 4 * count for call, count in counts.items())
                  and not isinstance(found, str) and len(found) == len(arguments.backends) and not any(one["unfinished"] for one in found)
                  and not isinstance(kept, str) and not kept[0]["unfinished"])
            tally.record(label, bool(ok), f"{build.output}{recorded.output}\n{made}\n{found}\n{kept}", recorded.seconds)


def test_places(arguments, tally):
    """The places of calls: function and line of the recorded program, offsets once another program has replaced it."""
    label = "recording/calls have the places that they come from"
    if not tally.wants(label):
        return
    with Folder(arguments) as here:
        source, app, file = os.path.join(ROOT, "examples/programs/halo.c"), here.path("halo"), here.path("a.rec")
        build = launch([mpi_of(arguments.build).compiler, "-g", "-O1", source, "-o", app, "-lm"], base_environment(), 60)
        recorded = here.offramp("record", "-n", "2", "-o", file, "--", app)
        with open(source, encoding="utf-8") as text:
            lines = {number: line for number, line in enumerate(text, 1) if "MPI_" in line}
        named = here.info(file)
        with open(app, "ab") as changed:
            changed.write(b"\0")
        same = here.info(file)
        launch([mpi_of(arguments.build).compiler, "-O2", source, "-o", app, "-lm"], base_environment(), 60)
        other = here.offramp("info", file)
        good = []
        for place in named.get("places", []):
            found = re.fullmatch(r"(\w+), halo\.c:(\d+)", place["name"])
            good.append(found is not None and place["function"] in lines.get(int(found[2]), "")
                        and re.fullmatch(r"halo\+0x[0-9a-f]+", place["place"]) is not None)
        ok = (build.ok and recorded.ok and len(good) >= 8 and all(good) and same["places"] == named["places"]
              and "is missing or has changed since the recording" in other.output and re.search(r"MPI_Allreduce +\d+ +[\d.]+ \w+  halo\+0x", other.output))
        tally.record(label, bool(ok), f"{build.output}{recorded.output}\n{named}\n{other.output}", recorded.seconds)


def test_phases(arguments, tally):
    label = "recording/MPI_Pcontrol names phases"
    if not tally.wants(label):
        return
    with Folder(arguments) as here:
        file = here.path("a.rec")
        result = here.record(["phases"], 2, None, file)
        info, replay = here.info(file), here.replay(file, "--backend", "host")
        named = isinstance(replay, list) and {phase["name"]: max(phase["per_rank_ns"]) for phase in replay[0]["phases"]}
        ok = (result.ok and info["phases"] == ["exchange", "level 2"] and set(named) == {"exchange", "level 2"}
              and named["exchange"] > 10 * named["level 2"] > 0)
        tally.record(label, ok, f"{result.output}\n{info}\n{replay}", result.seconds)


def test_refusals(arguments, tally):
    label = "recording/files that are none are refused"
    if not tally.wants(label):
        return
    with Folder(arguments) as here:
        file = here.path("none.rec")
        texts = []
        for content in (b"", b"not a recording", os.urandom(4000)):
            with open(file, "wb") as opened:
                opened.write(content)
            for command in (["info", file], ["replay", file]):
                result = here.offramp(*command)
                texts.append((result.ok, result.output))
        ok = all(not good and re.search(r"none\.rec", text) for good, text in texts)
        tally.record(label, ok, str(texts))


def test_same_whatever_carries(arguments, tally):
    same_whatever_carries(arguments, tally, 3, [DEALER])


# Case -> calls that take modelled time, and events.
MODELLED = {
    "one_sided": ({"Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap", "Rput", "Rget", "Raccumulate",
                   "Rget_accumulate", "Win_fence", "Win_post", "Win_start", "Win_complete", "Win_wait", "Win_test", "Win_lock",
                   "Win_lock_all", "Win_unlock", "Win_unlock_all", "Win_flush", "Win_flush_all", "Win_flush_local",
                   "Win_flush_local_all"}, []),
    "between_groups": ({"Send", "Recv", "Isend", "Waitall", "Barrier", "Bcast", "Gather", "Scatter", "Allgather", "Reduce"},
                       ["MPI_Recv receive comm 3 peer -1 tag -1 bytes 262144 extra 0 blocking took 0 5", "MPI_Ialltoall neighbours comm 3"]),
    "persistent_collectives": (set(), ["MPI_Start neighbours"]),
}


@pytest.mark.parametrize("case", sorted(MODELLED))
def test_has_a_model(arguments, tally, case, backend="host", ranks=3):
    """Each call takes modelled time, and a run takes as long as a replay of its recording."""
    calls, lines = MODELLED[case]
    label = f"recording/{case}: all calls have a model {backend} {ranks} ranks"
    if not tally.wants(label):
        return
    with Folder(arguments) as here:
        files = [here.path(name) for name in ("native.rec", "run.rec", "report.json")]
        runs = [here.record([case], ranks, None, files[0]),
                here.record([case], ranks, backend, files[1], "--report", files[2], "--clock", "settled")]
        found = [here.replay(file, "--backend", backend) for file in files[:2]]
        if not all(run.ok for run in runs) or any(isinstance(one, str) for one in found):
            problems = f"{found}"
        else:
            with open(files[2], encoding="utf-8") as file:
                problems = differences_of_run(json.load(file), found[1][0])
            for file, one in zip(files, found):
                without = {call for call in calls if one[0]["calls"].get(f"MPI_{call}", {}).get("modelled_ns", 0) <= 0}
                problems += f"without a time: {without}\n" if without else ""
                events = here.offramp("info", "--events", file).output
                problems += "".join(f"no event: {line}\n" for line in lines if line not in events)
    tally.record(label, not problems, "\n".join([problems, *(run.output for run in runs)]), sum(run.seconds for run in runs))


def test_beside_collectives(arguments, tally, backend="cclo", ranks=4):
    """The hardware carries neither collectives of neighbours nor accesses by itself. A run of both takes as long as its replay."""
    label = f"recording/collectives of neighbours and accesses take as long in a run as in its replay {backend} {ranks} ranks"
    if not tally.wants(label):
        return
    with Folder(arguments) as here:
        file, report = here.path("run.rec"), here.path("report.json")
        result = here.record(["topologies", "one_sided"], ranks, backend, file, "--report", report, "--clock", "settled")
        found = here.replay(file, "--backend", backend, "--check")
        if not result.ok or isinstance(found, str):
            problems = f"{found}"
        else:
            with open(report, encoding="utf-8") as written:
                problems = differences_of_run(json.load(written), found[0])
            problems += "".join(f"{call} takes no time\n" for call in ("MPI_Neighbor_alltoallw", "MPI_Put", "MPI_Win_fence")
                                if found[0]["calls"].get(call, {}).get("modelled_ns", 0) <= 0)
        tally.record(label, not problems, f"{problems}\n{result.output}", result.seconds)


@pytest.mark.thorough
def test_same_over_every_backend(arguments, tally):
    for ranks in (2, 3):
        same_whatever_carries(arguments, tally, ranks, arguments.backends)


def spent_between_calls(events):
    """Rank and phase -> nanoseconds computing, and blocked, from `info --events`."""
    spent, phases = {}, {}
    for line in events.splitlines():
        stream, rest = line.split(" ", 1)
        rank, _, thread = stream.partition(".")
        if thread not in ("", "0"):
            phases[stream] = "threads"
        if begins := re.match(r"MPI_Pcontrol phase .* tag (-?1) .*?(?:\[([\d ]+)\]|$)", rest):
            phases[stream] = "".join(chr(int(letter)) for letter in (begins[2] or "").split())
        found = re.match(r"(computes|is blocked for) (\d+) ns", rest)
        if found and phases.get(stream):
            both = spent.setdefault((rank, phases[stream]), [0, 0])
            both[found[1] != "computes"] += int(found[2])
    return spent


def test_time_between_calls(arguments, tally):
    """Time between calls is wall time without waiting for a processor, in two parts, whatever the program waits for; and with four times
    as many ranks as cores, each rank's computing is that of a rank alone."""
    slack = 1_500_000  # ns in a phase: the program's own readings, calls that are shorter than what is looked into
    for ranks, kinds in [(2, []), (8, ["computing"])]:
        label = f"recording/time between calls, {ranks} ranks"
        if not tally.wants(label):
            continue
        with Folder(arguments) as folder:
            file = folder.path("between.rec")
            run = folder.offramp("record", "-n", str(ranks), "-o", file, "--", os.path.join(arguments.build, "tests/between_calls"), *kinds)
            spent = spent_between_calls(folder.offramp("info", "--events", file).output)
            wrong = [] if run.ok and spent else [run.output]
            for rank, kind, wall, cpu, ready in re.findall(r"^(\d+) (\w+) (\d+) (\d+) (\d+)$", run.output, re.MULTILINE):
                computing, blocked = spent.get((rank, kind), (0, 0))
                # What computes is never blocked, whatever the other ranks on its core do.
                rest = 0 if kinds else int(wall) - int(cpu) - int(ready)
                for what, is_, should in [("computing", computing, int(cpu)), ("blocked", blocked, rest)]:
                    if abs(is_ - should) > 0.05 * int(wall) + slack:
                        wrong.append(f"rank {rank}, {kind}: {what} {is_} ns, but {should} ns by the program's own clocks")
            tally.record(label, not wrong and len(spent) == ranks * (len(kinds) or 10), "\n".join(wrong), run.seconds)


def test_shared_cores(arguments, tally):
    """A rank that waits for a processor is not blocked: with eight times as many ranks as cores, each loses it at any moment, also while
    the recorder reads its clocks."""
    label = "recording/computing between reductions is not blocked"
    if not tally.wants(label):
        return
    with Folder(arguments) as folder:
        file = folder.path("shared.rec")
        run = folder.offramp("record", "-n", "16", "-o", file, "--", os.path.join(arguments.build, "tests/between_calls"), "reductions")
        spent = spent_between_calls(folder.offramp("info", "--events", file).output)
        computing, blocked = (sum(both[i] for both in spent.values()) for i in (0, 1))
        tally.record(label, run.ok and len(spent) == 16 and blocked < 0.05 * computing,
                     f"{blocked} ns blocked, {computing} ns computing\n{run.output}", run.seconds)
