"""Recordings that are incomplete, the report of a replay, and hardware that declines. Needs OFFRAMP_BUILD, as cli_test.py does."""

import datetime
import json
import pathlib
import shutil
import socket
import subprocess
import unittest

import pytest

from cli_test import BUILD, CliTest, registry

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDING = ROOT / "examples/hpcc/hpcc.rec"


class NotWhole(CliTest):
    def setUp(self):
        super().setUp()
        self.bytes = RECORDING.read_bytes()

    def several_blocks(self):
        """One file for each of two ranks, so that one can be absent."""
        subprocess.run([BUILD / "tests/recording", self.folder / "long.rec", "2", "20000", "irregular"], timeout=180, check=True)
        self.bytes = (self.folder / "long.rec").read_bytes()

    def cut(self, share):
        (self.folder / "cut.rec").write_bytes(self.bytes[:int(len(self.bytes) * share)])

    def both_refuse(self, name, *words):
        """info and replay end alike, and name the file once per line."""
        refused = self.refused("replay", name, "--backend", "host")
        info = self.offramp("info", name, code=2)
        for text in (refused, info.stderr):
            for word in words:
                self.assertIn(word, text)
            for line in text.splitlines():
                self.assertEqual(line.count(name), 1, line)
        return refused, info

    def test_a_cut_file_is_no_success(self):
        self.cut(0.35)
        refused, info = self.both_refuse("cut.rec", "is incomplete: cut off or damaged at byte ")
        self.assertIn("; no events of rank", refused)
        self.assertIn("--partial", refused)
        self.assertIn(", incomplete", info.stdout.splitlines()[0])
        facts = json.loads(self.offramp("info", "--json", "cut.rec", code=2).stdout)
        self.assertFalse(facts["complete"])
        self.assertIn("cut off", facts["missing"])
        self.offramp("info", "--events", "cut.rec", code=2)
        self.refused("replay", "--job", "cut.rec", "--backend", "host")

    def test_only_a_command_with_partial_names_the_option(self):
        self.cut(0.35)
        self.assertIn("; --partial replays the part that exists", self.refused("advise", "cut.rec"))
        self.assertIn("; offramp replay --partial cut.rec replays the part that exists", self.refused("convert", "cut.rec", "-o", "x", "--to", "smpi"))

    def test_a_check_names_the_ranks_together(self):
        self.cut(0.35)
        problems = [line for line in self.offramp("check", "cut.rec", code=4).stdout.splitlines() if line.startswith("problem: ")]
        self.assertRegex(problems[0], r"^problem: incomplete: cut off or damaged at byte \d+ of \d+")
        self.assertEqual(sum(line.endswith(": the recording is cut off") for line in problems), 1, problems)

    def test_what_ends_early_was_replayed_as_far_as_it_is(self):
        (self.folder / "t.txt").write_text("0 init\n0 isend 1 1 8 6\n0 waitall\n1 init\n1 recv 0 1 8 6\n")
        text = self.offramp("replay", "t.txt", "--partial", "--compare", "host,cclo").stdout
        self.assertIn("\nbut   the recording ends early; what it has was replayed (5 events)\n", text)

    def test_part_of_it_is_replayed_when_asked_for(self):
        self.several_blocks()
        whole = json.loads(self.offramp("replay", "long.rec", "--backend", "host", "--json").stdout)
        self.assertTrue(whole["complete"])
        self.cut(0.85)
        done = self.offramp("replay", "cut.rec", "--backend", "host,cclo", "--partial", "--report", "r.json", "--html", "r.html")
        self.assertIn('"cut.rec" is incomplete', done.stderr.splitlines()[0])
        self.assertRegex(done.stdout, r"(?m)^but   [\d.]+ % of the recorded events were replayed")
        self.assertIn(" of the recorded events were replayed", self.offramp("replay", "cut.rec", "--backend", "host", "--partial").stdout)
        part = json.loads(self.offramp("replay", "cut.rec", "--backend", "host", "--partial", "--json").stdout)
        self.assertFalse(part["complete"])
        self.assertRegex(part["part"], r"^[\d.]+ % of the recorded events were replayed")
        one, all_ = part["results"][0], whole["results"][0]
        self.assertLess(0, one["events_done"])
        self.assertLess(one["events_done"], all_["events"])
        self.assertLess(0, one["modelled_time_ps"])
        self.assertLess(one["modelled_time_ps"], all_["modelled_time_ps"])
        self.assertTrue(any("the recording is cut off" in text for text in one["unfinished"]))
        self.assertTrue(any("it waits for another rank" in text for text in one["unfinished"]))
        report = json.loads((self.folder / "r.json").read_text())
        self.assertFalse(report["complete"])
        self.assertIn("the recording is cut off", {ended["reason"] for ended in report["ended"]})
        self.assertIn(part["part"], report["warnings"][0])
        self.assertIn(part["part"], (self.folder / "r.html").read_text())
        self.assertIn(part["part"], self.offramp("report", "r.json").stdout)

    def test_nothing_of_it_can_be_replayed(self):
        self.cut(0.1)
        error = self.offramp("replay", "cut.rec", "--backend", "host", "--partial", code=2)
        self.assertRegex(error.stderr, r"(?m): nothing can be replayed: the recording of rank \d ends before its first event$")
        self.assertEqual(error.stdout, "")

    def test_what_stands_behind_the_end_is_noticed(self):
        (self.folder / "long.rec").write_bytes(self.bytes + b"more")
        for command in (("info", "long.rec"), ("replay", "long.rec", "--backend", "host")):
            done = self.offramp(*command)
            self.assertIn('4 bytes after the end of "long.rec"', done.stderr)
            own = self.offramp(command[0], str(RECORDING), *command[2:])
            self.assertEqual(done.stdout.splitlines()[1:], own.stdout.replace(str(RECORDING), "long.rec").splitlines()[1:])
            self.assertNotIn("after the end", own.stderr)
        (self.folder / "twice.rec").write_bytes(self.bytes * 2)
        self.assertIn("after the end", self.offramp("info", "twice.rec").stderr)

    def test_damage_is_named_once(self):
        self.several_blocks()
        damaged = bytearray(self.bytes)
        damaged[-len(damaged) // 8] ^= 0x40
        (self.folder / "flip.rec").write_bytes(damaged)
        refused, _ = self.both_refuse("flip.rec", "checksum")
        self.assertEqual(refused.count("rank "), 1, refused)
        part = json.loads(self.offramp("replay", "flip.rec", "--backend", "host", "--partial", "--json").stdout)
        self.assertFalse(part["complete"])
        self.assertTrue(any("its recording is damaged" in text for text in part["results"][0]["unfinished"]))


class Reports(CliTest):
    def report(self, name, *arguments):
        self.offramp("replay", *arguments, "--report", name)
        return json.loads((self.folder / name).read_text())

    def test_say_what_was_replayed_where_and_when(self):
        shutil.copy(RECORDING, self.folder / "h.rec")
        (self.folder / "offramp.toml").write_text("backend = 'dpu'\n")
        arguments = ("h.rec", "--backend", "cclo", "--set", "profile=gen2", "--ranks-per-node", "2", "--compute", "recorded")
        report = self.report("a.json", *arguments)
        settings = {key: setting["value"] for key, setting in report["settings"].items()}
        self.assertEqual((settings["backend"], settings["cclo.profile"], settings["machine.ranks_per_node"]), ("cclo", "gen2", "2"))
        self.assertEqual(report["settings"]["backend"]["source"], "--backend")
        self.assertEqual((settings["compute"], report["compute"]), ("recorded", "recorded"))
        self.assertNotIn("dpu.link", settings)
        age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(report["date"].replace("Z", "+00:00"))
        self.assertLess(abs(age.total_seconds()), 120)
        self.assertEqual([(host["name"], host["ranks"]) for host in report["hosts"]], [(socket.gethostname(), 0)])
        recording, = report["recordings"]
        facts = json.loads(self.offramp("info", "--json", "h.rec").stdout)["facts"]
        self.assertEqual((recording["file"], recording["date"], recording["host"]), ("h.rec", facts["date"], facts["host"]))
        if shutil.which("xxhsum"):
            known = subprocess.run(["xxhsum", "-H3", RECORDING], capture_output=True, text=True, check=True).stdout
            self.assertIn(recording["checksum"].removeprefix("xxh3:"), known.lower())
        self.assertRegex(recording["checksum"], "^xxh3:[0-9a-f]{16}$")
        printed = json.loads(self.offramp("replay", *arguments, "--json").stdout)
        self.assertEqual(printed["recordings"], report["recordings"])
        self.assertEqual(printed["settings"], {**report["settings"]})
        text = self.offramp("report", "a.json").stdout
        for word in ("replay of h.rec (xxh3:", "replayed on ", "backend = cclo (--backend)", "cclo.profile = gen2"):
            self.assertIn(word, text)
        both = self.report("b.json", "--job", "pattern:ring:2:8", "--job", "pattern:ring:4:8", "--backend", "host")
        self.assertEqual([one["file"] for one in both["recordings"]], ["pattern:ring:2:8", "pattern:ring:4:8"])

    def test_are_told_apart_by_what_differs(self):
        ring = ("pattern:ring:4:4KiB", "--backend", "cclo")
        self.report("seed.json", *ring)
        self.report("gen2.json", *ring, "--set", "profile=gen2")
        self.report("large.json", "pattern:ring:4:64KiB", "--backend", "cclo")
        text = self.offramp("report", "seed.json", "gen2.json").stdout
        self.assertIn("\ncclo (profile seed) ", text)
        self.assertIn("\ncclo (profile gen2) ", text)
        text = self.offramp("report", "seed.json", "large.json").stdout
        self.assertIn("cclo (pattern:ring:4:64KiB)", text)

    def test_of_two_programs_show_the_counts_of_each(self):
        for name, rounds in (("a", 40), ("b", 4)):
            self.report(f"{name}.json", f"pattern:alltoall:4:64:{rounds}", "--backend", "host")
        counts = [json.loads((self.folder / f"{name}.json").read_text())["calls"] for name in "ab"]
        call = max(counts[0], key=lambda name: counts[0][name]["modelled_ns"])
        first, second = (one[call]["count"] for one in counts)
        self.assertGreater(first, second)
        text = self.offramp("report", "a.json", "b.json").stdout
        self.assertIn(f" {first} / {second} ", text)
        self.assertRegex(text, rf"^b\.json: communication \d+ % shorter \(.*\)\nwhy   {call}, all ranks: {first - second} calls fewer, .* less\n")
        self.offramp("report", "a.json", "b.json", "--html", "r.html")
        page = self.shown("r.html")
        self.assertIn(f"<td>{first} / {second}</td>", page)
        self.assertIn(f"{first - second} calls fewer", page)
        alone = self.offramp("report", "a.json").stdout
        self.assertNotIn(" / ", alone)

    def test_have_figures_as_the_json_has_them(self):
        report = self.report("r.json", str(RECORDING), "--compare", "all")
        results = json.loads(self.offramp("replay", str(RECORDING), "--compare", "all", "--json").stdout)["results"]
        for lane, result in zip((report, *report["compared"]), results):
            self.assertEqual(repr(lane["modelled_time_ns"]), repr(result["modelled_time_ns"]))
            self.assertEqual(repr(result["modelled_time_ns"]), repr(result["modelled_time_ps"] / 1000))
            for name, call in result["calls"].items():
                self.assertLessEqual(len(repr(call["modelled_ns"]).split(".")[1]), 3, call)
        time = json.loads(self.offramp("predict", "allreduce", "--backend", "aie", "-n", "64", "--bytes", "4096", "--json").stdout)
        self.assertEqual(repr(time["time_ns"]), repr(time["time_ps"] / 1000))


class Refusals(CliTest):
    def test_of_one_backend_leave_the_others(self):
        network = ("--network", "fat-tree:4,4")
        done = self.offramp("replay", "pattern:ring:8:4KiB", "--compare", "all", *network, "--details", "--report", "r.json", "--html", "r.html")
        backends = registry.backends(BUILD)
        rows = [line.split()[:2] for line in done.stdout[done.stdout.index("# backend"):].splitlines()[1:1 + len(backends)]]
        self.assertEqual([row[0] for row in rows], [name for name in backends if name not in ("aie", "tinsel")] + ["aie", "tinsel"])
        self.assertEqual(rows[-2:], [["aie", "refused"], ["tinsel", "refused"]])
        self.assertIn("aie is not replayed: ", done.stderr)
        answer = json.loads(self.offramp("replay", "pattern:ring:8:4KiB", "--compare", "all", *network, "--json").stdout)
        self.assertEqual([one["backend"] for one in answer["refused"]], ["aie", "tinsel"])
        self.assertEqual(len(answer["results"]), len(backends) - 2)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertTrue(any(warning.startswith("aie is not compared: ") for warning in report["warnings"]), report["warnings"])
        self.assertIn("aie is not compared", (self.folder / "r.html").read_text())
        jobs = self.offramp("replay", "--job", "pattern:ring:4:8", "--job", "pattern:ring:4:8", "--compare", "all", *network)
        self.assertIn("aie is not replayed: ", jobs.stderr)
        self.assertIn("2 programs at once: ", jobs.stdout)
        alone = self.refused("replay", "pattern:ring:8:4KiB", "--backend", "aie", *network)
        self.assertNotIn("is not replayed", alone)
        predicted = self.offramp("predict", "allreduce", "--backend", "all", "-n", "8", *network)
        self.assertRegex(predicted.stdout, r"(?m)^  aie +declined: ")
        self.refused("predict", "allreduce", "--backend", "aie", "-n", "8", *network)


class Settings(CliTest):
    """Every command that reads settings names their sources."""

    def test_of_a_file_and_of_variables_are_named(self):
        commands = (("replay", "pattern:ring:4:8", "--backend", "host"), ("predict", "bcast"), ("explain", "header", "--backend", "zrlmpi"),
                    ("replay", "--job", "pattern:ring:2:8"), ("check", str(BUILD / "tests/mpi/reduce")),
                    ("run", "--dry-run", "--", str(BUILD / "tests/mpi/reduce")))
        for command in commands:
            self.assertNotIn("settings:", self.offramp(*command).stderr)
        (self.folder / "offramp.toml").write_text("backend = 'dpu'\n[machine]\nranks_per_node = 1\n[dpu]\nlink = 100\n")
        for command in commands:
            self.assertIn("offramp: settings: offramp.toml (3 keys)\n", self.offramp(*command).stderr)
            self.assertIn("settings: offramp.toml (3 keys), OFFRAMP_CLOCK\n", self.offramp(*command, OFFRAMP_CLOCK="model").stderr)
        (self.folder / "one.toml").write_text("clock = 'model'\n")
        self.assertIn("settings: one.toml (1 key)\n", self.offramp("predict", "bcast", "--config", "one.toml").stderr)

    def test_without_effect_are_named_and_others_are_not(self):
        replay = ("replay", "pattern:ring:4:8", "--backend")
        self.assertNotIn("effect", self.offramp(*replay, "cclo", "--set", "link=400", "--set", "tcp_bandwidth=366").stderr)
        self.assertIn("--set link: cclo.link = 400 has little effect above tcp_bandwidth",
                      self.offramp(*replay, "cclo", "--set", "link=400").stderr)
        self.assertIn("has little effect above link", self.offramp(*replay, "cclo", "--set", "tcp_bandwidth=400").stderr)
        self.assertIn("--set cclo.link: cclo.link = 400 has no effect", self.offramp(*replay, "host", "--set", "cclo.link=400").stderr)
        self.assertNotIn("effect", self.offramp(*replay, "cclo", "--set", "host.latency=1us").stderr)
        self.assertIn("cclo.link = 400 has no effect",
                      self.offramp("run", "--dry-run", "--backend", "host", "--set", "cclo.link=400", "--", "/bin/true").stderr)


class Messages(CliTest):
    def test_name_what_was_meant(self):
        for arguments, word in ((("info", "-n", "1024", "pattern:ring:4:8"), "it is an option of run"),
                                (("info", "--sweep", "ranks=2:4", "pattern:ring:4:8"), "it is an option of predict"),
                                (("replay", "pattern:ring:4:8", "--backend", "all,foo"), 'unknown backend "foo"'),
                                (("replay", "pattern:ring:4:8", "--network", "fat-tree:2:4"), "has 2 nodes per switch, which is not a multiple of 4"),
                                (("predict", "MPI_Iallreduce"), "is that of allreduce")):
            error = self.refused(*arguments)
            self.assertIn(word, error)
            self.assertNotIn("did you mean", error)
        self.offramp("replay", "pattern:ring:4:8", "--backend", "host", "--report", "r.json")
        self.assertIn("--call N --rank RANK", self.refused("explain", "r.json"))
        (self.folder / "offramp.toml").write_text("[[route]]\nmax_bytes = 1MiB\nbackend = 'host'\n")
        self.assertIn('write text in quotes: max_bytes = "1MiB"', self.refused("predict", "bcast"))

    def test_a_capture_without_packets_is_said(self):
        done = self.offramp("replay", "pattern:ring:4:8", "--backend", "host,zrlmpi", "--capture", "c.pcap")
        self.assertEqual(done.stderr.count("the capture is empty"), 1, done.stderr)


class Record(CliTest):
    def test_says_what_it_wrote(self):
        done = self.offramp("record", "-n", "2", "-o", "a.rec", "--", str(BUILD / "tests/mpi/reduce"))
        self.assertRegex(done.stderr, r"offramp: recorded \d+ events of 2 ranks in .*a\.rec \([\d.]+ \w+\)")

    def test_of_a_program_without_mpi_is_no_success(self):
        error = self.offramp("record", "-n", "1", "-o", "a.rec", "--", "/bin/true", code=74).stderr
        self.assertIn('"/bin/true" made no MPI call', error)
        error = self.offramp("run", "-n", "1", "--backend", "host", "--", "sh", "-c", "true", code=74).stderr
        self.assertIn("no rank was carried: MPI_Init was not called", error)
        (self.folder / "a.json").write_text("{}")  # of another run
        self.offramp("run", "-n", "1", "--backend", "host", "--report", "a.json", "--", "/bin/true", code=74)
        self.offramp("run", "-n", "1", "--backend", "host", "--report", "a.json", "--", "/bin/false", code=1)
        self.offramp("run", "-n", "1", "--backend", "off", "--", "/bin/true")

    def test_of_one_program_twice_are_the_same_communication_whatever_it_computed(self):
        program = "--", str(BUILD / "tests/mpi/reduce")
        self.offramp("record", "-n", "2", "--repeat", "2", "-o", "before", *program)
        self.assertEqual(sorted(file.name for file in (self.folder / "before").iterdir()), ["001.rec", "002.rec"])
        self.assertIn("before already exists", self.refused("record", "-n", "2", "--repeat", "2", "-o", "before", *program).replace("'", "").replace('"', ""))
        one, other = json.loads(self.offramp("replay", "before/001.rec", "before/002.rec", "--json").stdout)
        self.assertNotIn("answer", one)
        answer = other["answer"]
        self.assertEqual((answer["kind"], answer["answer"]), ("none", "002.rec: the same calls and the same communication"))
        self.assertIn("may be noise", answer["sure"])
        self.offramp("record", "-n", "2", "--repeat", "2", "-o", "after", *program)
        answer = json.loads(self.offramp("replay", "before", "after", "--json").stdout)[2]["answer"]
        self.assertTrue(answer["of_run"])
        self.assertEqual(answer["holds"], answer["kind"] == "change")
        self.assertLess(answer["earliest_ns"], answer["latest_ns"])


@pytest.mark.alone  # each interruption of a polling loop looks like work
class Polling(CliTest):
    """CPU time between failed polls: see tests/fixtures/polling.c."""

    MS = 1e6  # ns

    def record(self, mode, backend):
        how = ["record"] if backend is None else ["run", "--backend", backend, "--set", "summary=false"]
        option = "-o" if backend is None else "--record"
        self.offramp(*how, "-n", "2", option, "a.rec", "--", str(BUILD / "tests/polling"), mode)
        return json.loads(self.offramp("info", "--json", "a.rec").stdout)["ranks"][0]

    def modelled(self, *options):
        return json.loads(self.offramp("replay", "a.rec", "--backend", "host", "--json", *options).stdout)

    def test_for_a_peer_that_computes_is_waiting(self):
        for backend in (None, "host", "cclo"):
            with self.subTest(backend=backend):
                rank = self.record("wait", backend)
                self.assertGreater(rank["polls"], 1000)
                # On an overloaded processor, some interruptions of the loop look like work.
                self.assertLess(rank["cpu_ns"] + rank["longer_gaps_ns"], 16 * self.MS, rank)
                computing = self.modelled()["computing"]
                self.assertGreater(computing["largest_ns"], 31 * self.MS)  # of the peer
                self.assertGreater(computing["imbalance"], 1.3)
                self.assertEqual(computing, self.modelled("--polling", "threshold")["computing"])
                work = self.modelled("--polling", "work")["computing"]
                self.assertAlmostEqual(2 * (work["mean_ns"] - computing["mean_ns"]), computing["brief_gaps_ns"], delta=10)
                shown = self.offramp("replay", "a.rec", "--backend", "host", "--details").stdout
                if computing["brief_gaps_ns"] > 0.02 * computing["mean_ns"]:
                    self.assertIn("in gaps of up to 1.000 us, counted as waiting", shown)

    def test_now_and_then_is_work(self):
        for backend in (None, "host", "cclo"):
            with self.subTest(backend=backend):
                rank = self.record("work", backend)
                self.assertGreater(rank["cpu_ns"] + rank["longer_gaps_ns"], 19.5 * self.MS, rank)
                self.assertLess(rank["cpu_ns"] + rank["longer_gaps_ns"], 24 * self.MS, rank)
                self.assertGreater(rank["longer_gaps_ns"], 18 * self.MS, rank)
                computed = {polling: self.modelled("--compute", "recorded", "--polling", polling)["results"][0]["modelled_time_ns"]
                            for polling in ("work", "threshold", "wait")}
                self.assertGreaterEqual(computed["work"], computed["threshold"])
                self.assertGreater(computed["threshold"], 19.5 * self.MS)
                self.assertLess(computed["wait"], 4 * self.MS)
                self.assertEqual(self.modelled("--compute", "recorded", "--set", "polling=wait")["results"][0]["modelled_time_ns"],
                                 computed["wait"])

    def test_is_no_matter_of_recordings_without_gaps(self):
        texts = {self.offramp("replay", RECORDING, "--backend", "host", "--polling", polling).stdout for polling in ("work", "threshold", "wait")}
        self.assertEqual(len(texts), 1)


if __name__ == "__main__":
    unittest.main()
