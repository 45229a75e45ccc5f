"""Comparisons of hardware: the share of the time that each carries, the share of communication in the whole run, and sweeps. Needs
OFFRAMP_BUILD, as cli_test.py does."""

import csv
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

import pytest

from cli_test import BUILD, OFFRAMP, CliTest, registry

from launch import base_environment

PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "examples/programs"
KINDS = ("halo", "master_worker", "transpose", "data_parallel")


class Fair(CliTest):
    def replay(self, what, backends, *more):
        return json.loads(self.offramp("replay", str(what), "--compare", backends, "--json", *more).stdout)

    def text(self, what, backends, *more):
        """The comparison at the end of the output."""
        text = self.offramp("replay", str(what), "--compare", backends, "--details", *more).stdout
        return text[text.index("# backend"):]

    def lines(self, *words, code=0):
        """The lines of an answer: at most twelve of eighty columns, with at most twelve words in the first."""
        lines = self.offramp(*words, code=code).stdout.splitlines()
        self.assertLessEqual(len(lines), 16)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertLessEqual(len(lines[0].split()), 12)
        return lines

    def headline(self, what, backends, *more):
        self.offramp("replay", str(what), "--compare", backends, "--report", "r.json", "--html", "r.html", *more)
        page = (self.folder / "r.html").read_text()
        return page.split('<h1 class="headline">')[1].split("</h1>")[0].replace("&nbsp;", " ")


class Answers(Fair):
    def test_of_one_operation_have_the_same_shape(self):
        for words, backends, kind, why in ((("allreduce", "--bytes", "1MiB", "-n", "64"), "host,dpu", "baseline", "rounds: one element takes "),
                                           (("allreduce", "--bytes", "4", "-n", "16"), "host,cclo", "baseline", "rounds; bandwidth plays no part"),
                                           (("send", "--bytes", "64MiB"), "host,dpu", "hardware", "bandwidth: the bytes themselves take "),
                                           (("barrier", "-n", "16"), "host,dpu,sharp", "hardware", "rounds; bandwidth plays no part")):
            command = ("predict", *words, "--compare", backends)
            lines = self.lines(*command)
            entries = json.loads(self.offramp(*command, "--json").stdout)
            answer = entries[0]["answer"]
            self.assertEqual((lines[0], answer["kind"]), (answer["answer"], kind), words)
            self.assertIn(why, answer["why"])
            self.assertRegex(answer["sure"], r"^(it holds|open): [\d.]+ .*(shorter|slower|as fast)( than host tuned)? \(pairs within x[\d.]+, n \d+\)$|^not known: ")
            times = {entry["backend"]: entry.get("time_ns") for entry in entries}
            self.assertEqual(answer["time_ns"], times[answer["candidate"]])
            self.assertEqual(answer["time_ns"] < times["host"], kind == "hardware")
            least = 0.99 * times["host"]
            is_certain = answer["latest_ns"] < least if kind == "hardware" else answer["earliest_ns"] > least
            self.assertEqual(answer["holds"], is_certain and not answer["sure"].startswith("not known"))
        self.assertIn("\n# backend ", self.offramp(*command, "--details").stdout)
        self.assertIn("  cclo  declined: ", self.offramp("predict", "barrier", "--compare", "host,cclo").stdout)

    def test_of_more_ranks_have_the_same_shape(self):
        data = pathlib.Path(__file__).resolve().parents[1] / "data/scale"
        fft = [str(data / f"hpcc_fft-{ranks}.rec") for ranks in (2, 4, 8, 16)]
        words = ("scale", *fft, "--phase", "fft", "--ranks", "32")
        lines = self.lines(*words)
        self.assertEqual(lines[0], "32 ranks, made from 4 recordings of 2 to 16")
        self.assertIn("sure  the smaller recordings predict 100.0 % of the 176 calls on 16 ranks", lines)
        answer = json.loads(self.offramp(*words, "--json").stdout)["answer"]
        self.assertEqual((answer["kind"], answer["holds"]), ("scaled", True))
        against = self.lines(*words, "--against", str(data / "hpcc_fft-32.rec"))
        self.assertTrue(any(line.startswith("sure  100.0 % of the 352 calls of") for line in against), against)
        self.assertIn("\n# compared with ", self.offramp(*words, "--against", str(data / "hpcc_fft-32.rec"), "--verbose").stdout)
        replayed = self.lines("replay", *fft, "--phase", "fft", "--ranks", "32", "--compare", "host,dpu")
        self.assertIn("sure  the smaller recordings predict 100.0 % of 176 calls", replayed)

    def test_that_a_program_cannot_be_scaled_are_three_lines(self):
        data = pathlib.Path(__file__).resolve().parents[1] / "data/scale"
        words = ("scale", *(str(data / f"master_worker-{ranks}.rec") for ranks in (2, 4, 8, 16)), "--ranks", "64")
        lines = self.offramp(*words, code=2).stderr.splitlines()
        self.assertEqual([line[:6] for line in lines], ["offram", "why   ", "next  "])
        more = int(re.search(r"\. (\d+) more reasons?: offramp scale --verbose$", lines[1])[1])
        every = self.offramp(*words, "--verbose", code=2).stderr.splitlines()
        self.assertEqual(len(every), 3 + more)
        self.assertTrue(lines[1].startswith(every[1]))

    def test_of_several_backends_come_first_in_twelve_lines(self):
        words = ("replay", str(PROGRAMS / "data_parallel-4.rec"), "--compare", "host,zrlmpi,dpu")
        lines = self.lines(*words)
        details = self.offramp(*words, "--details").stdout
        self.assertEqual(details.split("\n\n")[0].splitlines(), lines)
        self.assertIn("\n# whole run ", details)
        answer = json.loads(self.offramp(*words, "--json").stdout)["answer"]
        self.assertEqual(lines[0], answer["answer"])
        self.assertEqual((answer["kind"], answer["candidate"]), ("hardware", "dpu"))
        self.assertRegex(answer["why"], r"^\d+ % of communication is hidden \(host: [\d.]+ %\)")
        self.assertEqual([line.split()[0] for line in lines if line.startswith("  ")], [bar["name"] for bar in answer["bars"]])
        self.assertFalse(answer["holds"])  # only advise weighs errors

    def test_name_the_fastest_algorithms_first_where_they_gain_more_than_hardware(self):
        data = pathlib.Path(__file__).resolve().parents[1] / "data/scale"
        words = ("replay", str(data / "collectives-16.rec"), "--compare", "host,sharp")
        lines = self.lines(*words)
        self.assertRegex(lines[0], r"^collectives-16\.rec: host with the fastest algorithms, run [\d.]+ % shorter, free$")
        self.assertRegex(lines[4], r"^but   sharp [\d.]+ % shorter$")
        answer = json.loads(self.offramp(*words, "--json").stdout)["answer"]
        advised = json.loads(self.offramp("advise", *words[1:2], "--backend", "host,sharp", "--quick", "--json").stdout)["answer"]
        self.assertEqual([(one["kind"], one["time_ns"], one["baseline_ns"]) for one in (answer, advised)],
                         [("algorithm", advised["time_ns"], advised["baseline_ns"])] * 2)

    def test_of_one_backend_come_first_too(self):
        words = ("replay", str(PROGRAMS / "halo-4.rec"), "--backend", "host")
        lines = self.lines(*words)
        one = json.loads(self.offramp(*words, "--json").stdout)
        self.assertRegex(lines[0], r"^halo-4\.rec: run [\d.]+ .s over host, [\d.]+ % of it in MPI$")
        self.assertEqual((lines[0], one["answer"]["kind"]), (one["answer"]["answer"], "single"))
        self.assertEqual(one["answer"]["time_ns"], one["results"][0]["whole_run"]["modelled_time_ps"] / 1000)
        self.assertRegex(lines[2], r"^why   free communication leaves [\d.]+ % of MPI time; [\d.]+ % of communication hidden$")
        details = self.offramp(*words, "--details").stdout
        self.assertEqual(details.split("\n\n")[0].splitlines(), lines)
        self.assertIn("\n# host: ", details)
        lines = self.lines("replay", "pattern:ring:4:4KiB", "--backend", "host")
        self.assertRegex(lines[0], r"^pattern:ring:4:4KiB: communication [\d.]+ us over host$")
        self.assertRegex(lines[2], r"^why   MPI_\w+ [\d.]+ %.* of the time in MPI calls$")

    def test_details_name_the_busy_units_only(self):
        text = self.offramp("replay", str(PROGRAMS / "transpose-4.rec"), "--backend", "aie", "--details").stdout
        shares = [float(line.split("us, ")[1].split(" %")[0]) for line in text.splitlines() if line.startswith("  busiest ")]
        self.assertGreater(len(shares), 0)
        self.assertGreaterEqual(min(shares), 20)
        self.assertRegex(text, r"\n  \d+ other units? busy for less than 20 % of the run\n")

    def test_list_no_algorithms_that_gain_nothing(self):
        text = self.offramp("advise", str(PROGRAMS / "transpose-4.rec"), "--backend", "host,dpu", "--details").stdout
        self.assertIn("\n# no other algorithm is faster for the program as a whole\n", text)
        self.assertNotIn("# algorithms that are faster", text)

    def test_over_ranks_mark_hardware_that_carries_a_part(self):
        data = pathlib.Path(__file__).resolve().parents[1] / "data/scale"
        words = ("advise", *(str(data / f"halo-{ranks}.rec") for ranks in (4, 8, 9, 16)), "--ranks", "64:256:x4", "--backend", "host,aie,tinsel")
        text = self.offramp(*words, "--html", "a.html").stdout
        self.assertRegex(text, r"\n64 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+\n256 +[\d.]+ +[\d.]+\* +[\d.]+ +[\d.]+\n")
        self.assertRegex(text, r"\n\* aie offloads [\d.]+( to [\d.]+)? % of the host's communication; the plain NIC carries the rest\n$")
        picture = self.offramp(*words, "--details", "--svg", "a.svg").stdout
        self.assertRegex(picture, r"(?m)^ +[\d.]+ \|[^a]*A$")
        self.assertRegex(picture, r"\n +a: aie \(capital: offloads [\d.]+( to [\d.]+)? %\), t: tinsel")
        for file in ("a.svg", "a.html"):
            plot = (self.folder / file).read_text()
            self.assertRegex(plot, r">offloads [\d.]+( to [\d.]+)? %</text>")
            self.assertEqual(plot.count(' r="4" fill="none"'), 1)
        self.assertRegex((self.folder / "a.html").read_text(), r"<td[^>]*>[\d.]+ \(offloads [\d.]+ %\)</td>")
        shares = {cell["backend"]: cell["carried_share"] for cell in json.loads(self.offramp(*words, "--json").stdout)["points"][1]["hardware"]}
        self.assertLess(shares["aie"], 0.9)
        self.assertEqual(shares["tinsel"], 1)

    def test_explain_a_network_that_changes_nothing(self):
        shift = ("replay", "pattern:shift:1:4:64KiB", "--backend", "host", "--network")
        self.assertIn("but   the network changes nothing: all nodes are under one switch", self.lines(*shift, "fat-tree:4:4"))
        self.assertIn("but   shared links lengthen communication by ", "\n".join(self.lines("replay", "pattern:shift:4:8:1MiB", *shift[2:], "fat-tree:4:4")))

    def test_of_sweeps_have_a_bar_per_point(self):
        words = ("replay", "pattern:incast:4:1KiB", "--compare", "host,dpu", "--sweep", "bytes=1KiB:1MiB:x32")
        lines = self.lines(*words)
        self.assertRegex(lines[0], r"^pattern:incast:4:1KiB: dpu, communication up to \d+ % shorter, at bytes=1048576B$")
        self.assertIn("why   dpu compared with host: not faster at first, faster from bytes=1048576B on", "\n".join(lines))
        self.assertEqual([line.split()[0] for line in lines if line.startswith("  ")], ["bytes=1024B", "bytes=32768B", "bytes=1048576B"])
        self.assertEqual(self.offramp(*words, "--details").stdout.split("\n\n")[0].splitlines(), lines)
        alone = self.lines("replay", "pattern:incast:4:1KiB", "--backend", "host", "--sweep", "latency=x1:x4")
        self.assertRegex(alone[0], r"^pattern:incast:4:1KiB: communication [\d.]+ -> [\d.]+ us over host$")
        self.assertRegex(alone[-1], r"^  latency=x4 +#{28} ")
        predicted = self.lines("predict", "allreduce", "-n", "16", "--compare", "host,cclo", "--sweep", "bytes=8:1MiB:x8")
        self.assertRegex(predicted[0], "^allreduce: ")
        self.assertIn("\n# backend ", self.offramp("predict", "bcast", "--compare", "host,cclo", "--sweep", "ranks=2:4", "--details").stdout)

    def test_of_several_programs_at_once_compare_each_with_running_alone(self):
        words = ("replay", "--job", "pattern:shift:2:4:1MiB:0,1,4,5", "--job", "pattern:shift:2:4:1MiB:2,3,6,7", "--backend", "host", "--network",
                 "fat-tree:2;4,2;1,1;1,1")
        lines = self.lines(*words)
        self.assertRegex(lines[0], r"^2 programs at once: pattern:shift:2:4:1MiB .* than alone, over host$")
        self.assertRegex(lines[1], r"^why   messages wait [\d.]+ .s for shared links; the busiest is in use [\d.]+ %$")
        self.assertEqual(sum(" alone" in line and line.startswith("  ") for line in lines), 2)
        self.assertEqual(json.loads(self.offramp(*words, "--json").stdout)["answer"]["kind"], "jobs")
        self.assertIn("\n# host: ", self.offramp(*words, "--details").stdout)


class Carried(Fair):
    def test_is_a_share_of_time(self):
        host, zrlmpi, dpu = self.replay(PROGRAMS / "transpose-4.rec", "host,zrlmpi,dpu")["results"]
        self.assertEqual((host["declined_ns"], dpu["declined_ns"]), (0, 0))
        self.assertGreater(zrlmpi["declined_ns"], 20 * zrlmpi["carried_ns"])
        self.assertEqual([r["carries_program"] for r in (host, zrlmpi, dpu)], [True, False, True])
        for result in (host, zrlmpi, dpu):  # all but the bookkeeping of the calls
            calls = sum(call["modelled_ns"] for call in result["calls"].values())
            self.assertAlmostEqual(result["carried_ns"] + result["declined_ns"], calls, delta=0.01 * calls)

    def test_that_is_next_to_nothing_gets_no_ratio_and_no_verdict(self):
        text = self.text(PROGRAMS / "transpose-4.rec", "host,zrlmpi,dpu")
        self.assertRegex(text, r"\nzrlmpi +[\d.]+ +- +3\.\d %\n")
        self.assertIn("# zrlmpi does not carry this program (3.", text)
        self.assertIn("the tool chain has no such collective", text)
        self.assertRegex(text, r"\ndpu +[\d.]+ +1\.270 +100\.0 %\n")
        self.assertRegex(self.headline(PROGRAMS / "transpose-4.rec", "host,zrlmpi,dpu"), "^transpose-4.rec: stay with host; dpu, the closest, is ")
        self.assertEqual(self.headline(PROGRAMS / "transpose-4.rec", "host,zrlmpi"), "transpose-4.rec: no hardware carries it; stay with host")
        report = self.offramp("report", "r.json").stdout
        self.assertIn("zrlmpi does not carry this program", report)
        self.assertNotRegex(report, r"\nzrlmpi .* x\d")

    def test_of_what_is_declined_at_scale_only(self):
        few = self.text("pattern:ring:16:4KiB", "host,aie")
        many = self.text("pattern:ring:128:4KiB", "host,aie")
        self.assertRegex(few, r"\naie +[\d.]+ +[\d.]+ +100\.0 %\n")
        self.assertRegex(many, r"\naie +[\d.]+ +- +0\.0 %\n# aie does not carry this program \(0\.0 %.*\): \w+")

    def test_that_routes_give_to_other_hardware_is_no_decline(self):
        (self.folder / "routes.toml").write_text('[[route]]\noperation = "alltoall"\nbackend = "dpu"\n')
        zrlmpi, = self.replay(PROGRAMS / "transpose-4.rec", "zrlmpi", "--config", "routes.toml")["results"]
        self.assertTrue(zrlmpi["carries_program"])
        self.assertGreater(zrlmpi["routed_ns"], 20 * zrlmpi["carried_ns"])

    def test_stands_in_the_report(self):
        self.headline(PROGRAMS / "transpose-4.rec", "zrlmpi,host")
        report = json.loads((self.folder / "r.json").read_text())
        self.assertLess(report["carried_ns"], 0.1 * report["declined_ns"])
        self.assertEqual(report["compared"][0]["declined_ns"], 0)


class WholeRun(Fair):
    def test_is_that_of_a_replay_with_computing(self):
        for kind in KINDS:
            with self.subTest(program=kind):
                without = self.replay(PROGRAMS / f"{kind}-4.rec", "host,cclo")
                computed = self.replay(PROGRAMS / f"{kind}-4.rec", "host,cclo", "--compute", "recorded")
                self.assertNotIn("computing", computed)
                for one, other in zip(without["results"], computed["results"]):
                    self.assertEqual(one["whole_run"]["modelled_time_ps"], other["modelled_time_ps"])
                    inside = sum(call["modelled_ns"] for call in other["calls"].values())
                    inside -= one["whole_run"].get("without_model_ns", 0)
                    self.assertAlmostEqual(one["whole_run"]["share_in_calls"], inside / sum(rank["modelled_time_ns"] for rank in other["each_rank"]), places=6)
                    self.assertNotIn("whole_run", other)

    def test_without_any_cost_of_communication_leaves_the_waiting(self):
        for kind in KINDS:
            with self.subTest(program=kind):
                found = self.replay(PROGRAMS / f"{kind}-4.rec", "host")
                free = found["computing"]["free_run"]
                self.assertLess(free["modelled_time_ps"], found["results"][0]["whole_run"]["modelled_time_ps"])
                self.assertGreaterEqual(free["modelled_time_ns"], found["computing"]["largest_ns"])
                self.assertGreaterEqual(found["computing"]["imbalance"], 1)
        master = self.replay(PROGRAMS / "master_worker-4.rec", "host")
        waiting = master["computing"]["free_run"]["in_calls_ns"] / master["results"][0]["whole_run"]["in_calls_ns"]
        self.assertGreater(waiting, 0.9)

    def test_is_what_the_headline_speaks_of(self):
        headline = self.headline(PROGRAMS / "data_parallel-4.rec", "host,dpu")
        self.assertRegex(headline, r"^data_parallel-4\.rec: dpu, run 1\d % shorter \([\d.]+ instead of [\d.]+ ms\)$")
        self.assertIn("<h2>Whole run</h2>", self.shown("r.html"))

    def test_is_not_there_where_nothing_was_recorded_of_it(self):
        found = self.replay("pattern:ring:4:4KiB", "host,cclo")
        self.assertNotIn("computing", found)
        self.assertNotIn("# whole run", self.text("pattern:ring:4:4KiB", "host,cclo"))


class LiveRun(Fair):
    """A run gives the same answer as a replay of its recording."""

    def run_program(self, *options):
        words = ("run", "-n", "2", "--backend", "cclo", "--compare", "host,zrlmpi", "--record", "a.rec", "--report", "r.json", *options, "--",
                 str(BUILD / "tests/polling"), "work")
        return self.offramp(*words).stderr

    def test_has_both_answers(self):
        summary = self.run_program("--details")
        report = json.loads((self.folder / "r.json").read_text())
        replayed = self.replay("a.rec", "cclo,host,zrlmpi")
        computing = replayed["computing"]
        self.assertEqual([lane["whole_run"]["modelled_time_ps"] for lane in [report, *report["compared"]]],
                         [result["whole_run"]["modelled_time_ps"] for result in replayed["results"]])
        self.assertEqual(report["computing"]["largest_ns"], computing["largest_ns"])
        self.assertEqual(report["computing"]["free_run"]["modelled_time_ps"], computing["free_run"]["modelled_time_ps"])
        self.assertGreater(report["whole_run"]["modelled_time_ps"], report["modelled_time_ps"] + 19.5e9)
        self.assertRegex(summary, r"offramp: with the program's computing \([\d.]+ ms per rank, imbalance x[\d.]+\), the run takes "
                                  r"[\d.]+ ms; MPI calls are [\d.]+ % of the run over cclo, and [\d.]+ % of that would remain with free communication")
        self.assertRegex(summary, r"offramp: cclo, 2 ranks: communication [\d.]+ .s, [\d.]+ % carried; run [\d.]+ ms\nofframp: why   .*\nofframp: sure  free communication would save [\d.]+ % of the run\n")
        self.assertRegex(summary, r"\nofframp:   host +#+ +[\d.]+ ms +x1\.00\n")

    def test_prints_an_answer_in_twelve_lines(self):
        lines = [line.removeprefix("offramp: ") for line in self.run_program().splitlines() if line.startswith("offramp: ")]
        bars = [i for i, line in enumerate(lines) if line.startswith("  ")]
        answer = lines[next(i for i, line in enumerate(lines) if line.startswith("cclo, ")):bars[-1] + 1]
        self.assertLessEqual(len(answer), 12, answer)
        self.assertTrue(all(len(line) <= 80 for line in answer), answer)
        self.assertRegex(answer[1], r"^why   MPI_\w+ [\d.]+ %.* of the time in MPI calls")
        self.assertEqual(len(bars), 3, answer)
        self.offramp("report", "r.json", "--html", "r.html")
        self.assertIn("<h2>Whole run</h2>", self.shown("r.html"))

    def test_says_what_its_end_took(self):
        self.assertRegex(self.run_program("--details"),
                         r"offramp: after the program, Offramp needed [\d.]+ .?s to gather [\d.]+ \w+ of recordings, [\d.]+ .?s to simulate, [\d.]+ .?s to write\n")

    def test_with_its_computing_has_one(self):
        summary = self.run_program("--compute", "measured")
        self.assertNotIn("with the program's computing", summary)
        self.assertNotIn("whole_run", json.loads((self.folder / "r.json").read_text()))


class Jobs(Fair):
    def test_have_both_answers(self):
        recording = PROGRAMS / "master_worker-4.rec"
        words = ("replay", "--job", str(recording), "--job", "pattern:ring:4:64KiB", "--backend", "host", "--network", "star")
        job, other = json.loads(self.offramp(*words, "--json").stdout)["results"][0]["jobs"]
        self.assertNotIn("whole_run", other)
        alone = self.replay(recording, "host", "--network", "star")
        # They share only a switch without a limit of its own.
        self.assertEqual(job["whole_run"]["modelled_time_ps"], alone["results"][0]["whole_run"]["modelled_time_ps"])
        self.assertEqual(job["computing"]["free_run"]["in_calls_ns"], alone["computing"]["free_run"]["in_calls_ns"])
        text = self.offramp(*words, "--html", "r.html", "--details").stdout
        self.assertRegex(text, r"job 1 with its computing: [\d.]+ us; MPI calls are [\d.]+ % of the run over host")
        self.assertIn("with its computing", self.shown("r.html"))


class OneMachine(Fair):
    SHIFT = "pattern:shift:16:32:1MiB"  # each of 16 ranks sends to one of the other 16

    def by_backend(self, *arguments):
        return {result["backend"]: result for result in self.replay(*arguments)["results"]}

    def test_is_every_sides(self):
        found = self.by_backend(self.SHIFT, "host,dpu,cclo", "--ranks-per-node", "16")
        for name, card in (("host", "NIC"), ("dpu", "DPU"), ("cclo", "FPGA")):
            ground = found[name]["stands_on"]
            self.assertIn(f"2 nodes of 16 ranks, each with 1 {card} of ", ground["text"])
            seconds = found[name]["modelled_time_ps"] / 1e12
            self.assertGreaterEqual(seconds, 16 * 2**20 * 8 / ground["node_bits_per_second"], name)
        # A rank alone on its node has the link to itself.
        alone = self.by_backend(self.SHIFT, "host,dpu,cclo")
        for name, result in alone.items():
            self.assertLess(4 * result["modelled_time_ps"], found[name]["modelled_time_ps"], name)

    def test_is_the_same_said_in_any_way(self):
        found = self.by_backend(self.SHIFT, "host,dpu,cclo", "--ranks-per-node", "16")
        ways = (("--nodes", "2"), ("--set", "ranks_per_node=16"), ("--set", "machine.nodes=2"))
        for way in ways:
            self.assertEqual(self.by_backend(self.SHIFT, "host,dpu,cclo", *way), found, way)
        predicted = [json.loads(self.offramp("predict", "allgather", "--backend", "dpu", "-n", "16", "--bytes", "64K", "--json", *way).stdout)
                     for way in (("--nodes", "4"), ("--ranks-per-node", "4"))]
        self.assertEqual(predicted[0], predicted[1])
        self.assertEqual(predicted[0]["stands_on"]["text"], "4 nodes of 4 ranks, each with 1 DPU of 200 Gb/s")
        line = self.dry_run("-n", "4", "--nodes", "2", "--cards-per-node", "2", "--", "/bin/true")
        self.assertIn("OFFRAMP_MACHINE_NODES=2", line)
        self.assertIn("OFFRAMP_MACHINE_CARDS_PER_NODE=2", line)

    def test_with_more_cards_is_faster(self):
        one = self.by_backend(self.SHIFT, "host,dpu,cclo", "--nodes", "2")
        two = self.by_backend(self.SHIFT, "host,dpu,cclo", "--nodes", "2", "--cards-per-node", "2")
        for name in one:
            self.assertLess(two[name]["modelled_time_ps"], 0.75 * one[name]["modelled_time_ps"], name)

    def test_is_within_the_bound_of_its_links(self):
        """All to all: all traffic that leaves a node passes its links."""
        ranks, block = 64, 65536
        for per_node in (1, 4, 16):
            out = per_node * (ranks - per_node) * block * 8
            found = self.by_backend(f"pattern:alltoall:{ranks}:{block}", "all", "--ranks-per-node", str(per_node))
            self.assertEqual(sorted(found), sorted(registry.backends(BUILD)))
            for name, result in found.items():
                bits = result["stands_on"]["node_bits_per_second"]
                if name == "zrlmpi":  # an FPGA for each rank
                    bits, out_of_it = 10e9, (ranks - 1) * block * 8
                else:
                    out_of_it = out
                self.assertEqual(name in ("aie", "tinsel"), bits == 0, name)
                if bits:
                    self.assertGreaterEqual(result["modelled_time_ps"] / 1e12, out_of_it / bits, f"{name}, {per_node} on a node")

    def test_too_small_for_the_ranks_is_an_error(self):
        problem = self.refused("replay", self.SHIFT, "--nodes", "2", "--ranks-per-node", "4")
        self.assertIn("machine.nodes: 32 ranks with 4 per node need 8 nodes, but the machine has 2", problem)
        self.refused("predict", "bcast", "-n", "32", "--nodes", "2", "--ranks-per-node", "4")
        jobs = self.refused("replay", "--job", "pattern:ring:8:8", "--job", "pattern:ring:8:8", "--ranks-per-node", "4", "--nodes", "3")
        self.assertIn("the jobs need 4 nodes with 4 ranks each, but the machine has 3", jobs)

    def test_names_what_its_keys_are_called(self):
        for arguments, variables in ((("--set", "dpu.ranks_per_node=2"), {}), ((), {"OFFRAMP_RANKS_PER_NODE": "2"})):
            problem = self.refused("replay", self.SHIFT, *arguments, **variables)
            self.assertRegex(problem, r"did you mean \"(machine\.ranks_per_node|OFFRAMP_MACHINE_RANKS_PER_NODE)\"\?")
        (self.folder / "old.toml").write_text("ranks_per_node = 2\n")
        self.assertIn('did you mean "machine.ranks_per_node"?', self.refused("replay", self.SHIFT, "--config", "old.toml"))

    def test_keeps_the_ranks_of_different_programs_apart(self):
        for backend in ("host", "dpu", "cclo"):
            jobs = json.loads(self.offramp("replay", "--job", "pattern:alltoall:6:1MiB", "--job", "pattern:alltoall:6:1MiB", "--backend", backend,
                                           "--ranks-per-node", "4", "--json").stdout)["results"][0]["jobs"]
            self.assertEqual([job["slowdown"] for job in jobs], [1, 1], backend)
            self.assertEqual([job["first_rank"] for job in jobs], [0, 8])

    def test_has_no_switches_between_ranks_of_a_card(self):
        network = ("--network", "fat-tree:2,2:2")
        for backend in ("host", "dpu"):
            within = self.by_backend("pattern:ring:4:1MiB", backend, "--ranks-per-node", "4", *network)[backend]
            between = self.by_backend("pattern:ring:4:1MiB", backend, *network)[backend]
            self.assertEqual(within["links"], [], backend)
            self.assertNotEqual(between["links"], [], backend)

    def test_of_other_hardware_is_said_in_the_answer(self):
        def but(*words):
            self.headline(*words)
            return json.loads((self.folder / "r.json").read_text())["answer"]["but"]

        self.assertIn("it runs on one array of 50 x 8 tiles for all ranks", but("pattern:ring:4:8", "host,aie"))
        self.assertEqual(but(self.SHIFT, "host,dpu", "--set", "dpu.link=100"), "")
        self.assertIn("it has 200 Gb/s per node; the host has 100 Gb/s", but(self.SHIFT, "host,dpu"))
        report = self.offramp("report", "r.json").stdout
        self.assertIn("\nhost runs on 32 nodes of 1 rank, each with 1 NIC of 100 Gb/s, and chooses algorithms as Open MPI does\n", report)
        self.assertIn("<p class=\"about\">host runs on 32 nodes", self.shown("r.html"))


class WhereTheTimeGoes(Fair):
    def test_adds_up_to_what_the_calls_take_over_all_hardware(self):
        results = self.replay(PROGRAMS / "halo-4.rec", "all", "--details")["results"]
        self.assertEqual(len(results), len(registry.backends(BUILD)))
        for result in results:
            accounts = result["accounts"]
            sums = {row["function"]: sum(value for key, value in row.items() if key.endswith("_ns")) for row in accounts["functions"]}
            self.assertTrue(accounts["with_computing"])
            self.assertEqual(accounts["not_accounted_ns"], 0, result["backend"])
            run = result["whole_run"]
            self.assertAlmostEqual(sum(sums.values()), run["in_calls_ns"] + run["without_model_ns"], delta=0.01, msg=result["backend"])

    def test_stands_in_text_report_and_page(self):
        text = self.offramp("replay", str(PROGRAMS / "halo-4.rec"), "--backend", "host", "--details", "--report", "r.json", "--html",
                            "r.html").stdout
        self.assertRegex(text, r"Time in MPI calls \(in the run\): [\d.]+ % ")
        self.assertRegex(text, r"\n  all +[\d.]+ ms ")
        report = self.offramp("report", "r.json").stdout
        self.assertIn("Bytes of point-to-point messages", report)
        self.assertRegex(report, r"\n0 +- +\d+ KiB +\d+ KiB +-\n")
        self.assertIn("<h2>Where the time goes</h2>", self.shown("r.html"))
        rows = self.offramp("report", "r.json", "--table", "traffic").stdout.splitlines()
        self.assertEqual(rows[0], "report,backend,source,destination,messages,bytes")
        self.assertEqual(len(rows), 9, "two neighbours of each of four ranks")


class Settings(Fair):
    def test_may_be_for_all_hardware_and_a_multiple(self):
        host, = self.replay(PROGRAMS / "halo-4.rec", "host")["results"]
        settings = self.replay(PROGRAMS / "halo-4.rec", "host,cclo", "--set", "latency=x2", "--set", "link=x0.5")["settings"]
        self.assertEqual(settings["host.latency"], {"value": "2000 ns", "source": "--set latency"})
        self.assertEqual(settings["cclo.link"], {"value": "50 Gb/s", "source": "--set link"})
        self.assertIn("dpu.link is 0, which cannot be multiplied", self.refused("replay", str(PROGRAMS / "halo-4.rec"), "--backend", "dpu",
                                                                           "--set", "link=x0.5"))
        routed = self.replay(PROGRAMS / "halo-4.rec", "host", "--route", "allreduce=zrlmpi")["results"][0]
        self.assertGreater(routed["routed_ns"], 0)
        self.assertGreater(routed["modelled_time_ns"], host["modelled_time_ns"])
        self.assertIn("is not OPERATION=BACKEND", self.refused("replay", str(PROGRAMS / "halo-4.rec"), "--route", "allreduce"))

    def test_may_be_swept(self):
        points = json.loads(self.offramp("replay", str(PROGRAMS / "halo-4.rec"), "--compare", "host,dpu", "--sweep", "latency=x0.5:x2",
                                         "--sweep", "ranks_per_node=1:4:x4", "--json").stdout)
        self.assertEqual(len(points), 12)
        usual = {r["backend"]: r["modelled_time_ns"] for r in self.replay(PROGRAMS / "halo-4.rec", "host,dpu")["results"]}
        same = [p for p in points if p["latency"] == "x1" and p["ranks_per_node"] == "1"]
        self.assertEqual({p["backend"]: p["modelled_time_ns"] for p in same}, usual)
        text = self.offramp("replay", "pattern:incast:4:1KiB", "--compare", "host,dpu", "--sweep", "bytes=1KiB:1MiB:x1024", "--details").stdout
        self.assertIn("\n# by communication: dpu compared with host: not faster at first, faster from bytes=1048576B on\n", text)
        self.refused("replay", "pattern:incast:4:1KiB", "--sweep", "bytes=1KiB")

    def test_sweep_as_comma_separated_values(self):
        words = ("replay", str(PROGRAMS / "halo-4.rec"), "--compare", "host,dpu", "--sweep", "latency=x0.5:x2")
        rows = list(csv.DictReader(self.offramp(*words, "--csv").stdout.splitlines()))
        points = json.loads(self.offramp(*words, "--json").stdout)
        self.assertEqual([(row["latency"], row["backend"], float(row["modelled_ns"]), float(row["ratio"]) if row["ratio"] else None)
                          for row in rows],
                         [(point["latency"], point["backend"], point["modelled_time_ns"], point.get("ratio")) for point in points])
        self.refused("replay", str(PROGRAMS / "halo-4.rec"), "--csv")

    def test_sweep_says_of_what_it_speaks_and_what_the_sides_stand_on(self):
        text = self.offramp("replay", str(PROGRAMS / "halo-4.rec"), "--compare", "host,cclo", "--sweep", "host.bandwidth=100:400:x4",
                            "--details").stdout
        self.assertRegex(text, r"\n# by the run: cclo ")
        self.assertRegex(text, r"\n# at host\.bandwidth = 100 host runs on 4 nodes .* of 100 Gb/s, .*; at host\.bandwidth = 400 on 4 nodes .* of 400 Gb/s, ")
        self.assertRegex(text, r"\n# cclo runs on 4 nodes .* of 100 Gb/s.*\n")

    def test_sweep_judges_no_hardware_that_carries_nothing(self):
        words = ("replay", str(PROGRAMS / "transpose-4.rec"), "--compare", "host,zrlmpi,dpu", "--sweep", "host.latency=x1:x2")
        text = self.offramp(*words, "--details").stdout
        self.assertRegex(text, r"\nx1 +zrlmpi +[\d.]+ +- +[\d.]+ +- +3\.\d %\n")
        self.assertIn("\n# at every point zrlmpi does not carry this program (3.", text)
        sentences = [line for line in text.splitlines() if line.startswith("# by ")]
        self.assertEqual(len(sentences), 1, sentences)
        self.assertIn("dpu", sentences[0])
        for point in json.loads(self.offramp(*words, "--json").stdout):
            self.assertEqual((point["carries_program"], "ratio" in point, "run_ratio" in point), 3 * (point["backend"] != "zrlmpi",))
            self.assertEqual(point["base"], "host")

    def test_sweep_is_refused_before_anything_is_replayed(self):
        halo = ("replay", str(PROGRAMS / "halo-4.rec"), "--backend", "host")
        for options, why in ((("--sweep", "latency=1:4096:+1", "--sweep", "ranks_per_node=1:2"), "--sweep: 8 192 points exceed the maximum of 4096"),
                             (("--sweep", "latency=1:9999:+1"), "has 9 999 values"),
                             (("--sweep", "latency=x1:x2", "--sweep", "host.latency=1:2"), '"host.latency" is already swept'),
                             (("--sweep", "latency=x1:x2", "--set", "host.latency=5"), "is also swept"),
                             (("--sweep", "ranks_per_node=1:2", "--ranks-per-node", "4"), "--ranks-per-node: "),
                             (("--sweep", "latency=x0:x1:+1"), "--sweep latency: x0 of host.latency (1000) is 0"),
                             (("--sweep", "ranks_per_node=1:2", "--set", "latency=x0"), "--set latency: x0 of host.latency (1000) is 0"),
                             (("--jobs", "2"), "--jobs needs --sweep")):
            self.assertIn(why, self.refused(*halo, *options))

    def test_sweep_of_nothing_is_a_failure(self):
        done = self.offramp("replay", "pattern:ring:8:4KiB", "--backend", "aie", "--network", "fat-tree:4,4", "--sweep", "bytes=1KiB:2KiB", "--details", code=2)
        self.assertIn("aie has no time at any point\n", done.stdout)
        self.assertEqual(done.stdout.count(" refused "), 2)
        self.assertIn("nothing could be replayed at any point", done.stderr)

    def test_sweep_tells_what_has_no_effect_once(self):
        done = self.offramp("replay", str(PROGRAMS / "halo-4.rec"), "--backend", "cclo", "--sweep", "cclo.link=200:400")
        notes = [line for line in done.stderr.splitlines() if "little effect" in line]
        self.assertEqual(len(notes), 2, done.stderr)  # of each value
        done = self.offramp("replay", str(PROGRAMS / "halo-4.rec"), "--backend", "cclo", "--set", "link=400", "--sweep", "host.latency=x1:x4")
        self.assertEqual(done.stderr.count("little effect"), 1, done.stderr)

    def test_sweep_is_the_same_on_any_number_of_cores(self):
        words = ("replay", str(PROGRAMS / "halo-4.rec"), "--compare", "host,aie,dpu", "--sweep", "latency=x0.5:x4", "--sweep", "ranks_per_node=1:4")
        one = self.offramp(*words, "--jobs", "1")
        for jobs in ("3", "16"):
            several = self.offramp(*words, "--jobs", jobs)
            self.assertEqual((several.stdout, several.stderr), (one.stdout, one.stderr))
        self.assertEqual(json.loads(self.offramp(*words, "--jobs", "4", "--json").stdout), json.loads(self.offramp(*words, "--json").stdout))


class Changes(Fair):
    def test_between_two_programs_are_counted_by_function(self):
        text = self.offramp("replay", str(PROGRAMS / "halo-4.rec"), str(PROGRAMS / "halo-16.rec"), "--backend", "host", "--details").stdout
        self.assertRegex(text, r"\nMPI_Allreduce +400 -> 1 600 +8 B +[\d.]+ \wm?s -> [\d.]+ \wm?s +\+[\d.]+ \ws\n")
        self.assertRegex(text, r"\nrun: x0\.\d+ \(")
        both = json.loads(self.offramp("replay", str(PROGRAMS / "halo-4.rec"), str(PROGRAMS / "halo-16.rec"), "--json").stdout)
        self.assertEqual([one["ranks"] for one in both], [4, 16])

    def test_between_three_programs_are_all_in_the_headline_and_of_the_run(self):
        names = [str(PROGRAMS / f"{name}-4.rec") for name in ("halo", "transpose", "data_parallel")]
        text = self.offramp("replay", *names, "--backend", "host").stdout
        for name in ("transpose", "data_parallel"):
            self.assertRegex(text, rf"(?m)^{name}-4\.rec: communication .* (?:shorter|longer|times as long) \([\d.]+ instead of [\d.]+ [mu]s\)$")

    def answer(self, *files, code=0):
        """The answer in the JSON; also checks the text: at most sixteen lines of eighty columns, and twelve words in the first."""
        lines = self.lines("replay", *files, code=code)
        answer, = (one["answer"] for one in json.loads(self.offramp("replay", "--json", *files, code=code).stdout) if "answer" in one)
        self.assertEqual(lines[0], answer["answer"])
        return answer

    def test_between_folders_and_sides_have_an_interval(self):
        for folder, source in (("a", "halo-4"), ("b", "transpose-4")):
            (self.folder / folder).mkdir()
            for name in ("1.rec", "2.rec"):
                shutil.copy(PROGRAMS / f"{source}.rec", self.folder / folder / name)
        answer = self.answer("a", "b")
        self.assertRegex(answer["answer"], r"^b: run .* \([\d.]+ instead of [\d.]+ ms\)$")
        self.assertEqual((answer["kind"], answer["of_run"], answer["holds"]), ("change", True, True))
        self.assertEqual(answer["earliest_ns"], answer["latest_ns"])  # the same recording twice has no spread
        sides = self.answer("a/1.rec", "a/2.rec", "--", "b/1.rec", "b/2.rec")
        self.assertEqual({**sides, "bars": []} , {**answer, "bars": [], "answer": sides["answer"], "candidate": sides["candidate"]})
        self.assertIn("x.rec", self.offramp("replay", "a/1.rec", "--", "x.rec", code=2).stderr)

    def test_of_different_machines_are_warned_of(self):
        for name, ranks in (("a", "1"), ("b", "4")):
            self.offramp("replay", str(PROGRAMS / "halo-4.rec"), "--backend", "host", "--ranks-per-node", ranks, "--report", f"{name}.json")
        text = self.offramp("report", "a.json", "b.json").stdout
        self.assertIn("host (machine.ranks_per_node 4): run time x", text)
        self.assertIn("\nwarning: b.json: the machine differs from that of the first report: machine.ranks_per_node 4 instead of 1\n", text)


class BadFiles(Fair):
    def test_leave_what_good_ones_say(self):
        (self.folder / "bad.rec").write_text("no recording")
        halo, transpose = (str(PROGRAMS / f"{name}-4.rec") for name in ("halo", "transpose"))
        done = self.offramp("replay", halo, "bad.rec", transpose, "--backend", "host", code=2)
        self.assertIn("transpose-4.rec: communication ", done.stdout)
        self.assertIn("bad.rec", done.stderr)
        answers = json.loads(self.offramp("replay", "bad.rec", halo, "--backend", "host", "--json", code=2).stdout)
        self.assertEqual([one["ranks"] for one in answers], [4])
        done = self.offramp("advise", halo, "bad.rec", transpose, "--backend", "cclo", code=2)
        self.assertEqual([line.split(":")[0] for line in done.stdout.splitlines()], ["halo-4.rec", "transpose-4.rec"])
        self.assertIn("bad.rec", done.stderr)
        self.offramp("replay", halo, "--backend", "host", "--report", "a.json")
        (self.folder / "bad.json").write_text("{}")
        done = self.offramp("report", "a.json", "bad.json", "nothing.json", code=2)
        self.assertIn("halo-4.rec: run ", done.stdout)
        self.assertEqual([name in done.stderr for name in ("bad.json", "nothing.json")], [True, True])
        self.assertIn("a.json,host,MPI_Isend,", self.offramp("report", "a.json", "bad.json", "--table", "calls", code=2).stdout)
        done = self.offramp("report", "a.json", "--table", "accounts")
        self.assertIn("a.json: no accounts of host: only reports of one program with --details have them", done.stderr)
        self.refused("report", "a.json", "--table", "calls", "--html", "a.html")

    def test_a_network_is_compared_with_one_switch(self):
        tree = self.replay(PROGRAMS / "transpose-16.rec", "host", "--network", "fat-tree:4:4")["results"][0]
        star = self.replay(PROGRAMS / "transpose-16.rec", "host")["results"][0]
        self.assertEqual(tree["over_star_ns"], star["modelled_time_ns"])
        self.assertGreater(tree["modelled_time_ns"], star["modelled_time_ns"])


if __name__ == "__main__":
    unittest.main()
