"""Traces of other tools on the command line: replayed, checked, converted, and read by the tools themselves; programs that are scaled.
Needs OFFRAMP_BUILD, as cli_test.py does."""

import json
import pathlib
import re
import shutil
import subprocess
import unittest

from cli_test import CliTest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data/traces"
STAR = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="star" prefix="n" suffix="" radical="0-15" speed="1Gf" bw="12.5GBps" lat="1us"/>
</platform>
"""


class Traces(CliTest):
    def test_are_replayed_with_notes(self):
        done = self.offramp("replay", DATA / "smpi/program.txt", "--backend", "host", "--compute", "recorded")
        self.assertIn("computing is in flops: each takes 1 ns", done.stderr)
        for line in done.stderr.splitlines():
            self.assertTrue(line.startswith("offramp: note: "), line)
        self.offramp("replay", DATA / "goal/diamond.goal", "--compare", "all")

    def test_are_checked(self):
        done = self.offramp("check", DATA / "goal/diamond.goal")
        self.assertIn("4 messages", done.stdout)
        self.assertIn("no problems found: its calls are consistent", done.stdout)
        (self.folder / "stuck").write_text("0 recv 1 0 8\n1 recv 0 0 8\n")
        done = self.offramp("check", "stuck", code=4)
        self.assertIn("a cycle of ranks that wait for each other: 0, 1, 0", done.stdout)
        answer = json.loads(self.offramp("check", "--json", "stuck", code=4).stdout)
        self.assertEqual(len(answer["problems"]), 3)
        (self.folder / "broken").write_text("0 init\n0 send 1\n")
        self.assertIn("broken:2: send: too few arguments", self.refused("check", "broken"))

    def test_that_are_cut_are_not_whole(self):
        (self.folder / "cut").write_text("0 init\n0 compute 2000\n0 isend 1 7 1000 6\n0 waitall\n1 init\n1 recv 0 7 1000 6\n")
        says = '"cut" is incomplete: ranks 0, 1 are cut off before finalize'
        self.assertIn(says + "; --partial replays the part that exists", self.refused("replay", "cut", "--backend", "host"))
        self.assertIn(says, self.offramp("replay", "cut", "--backend", "host", "--partial").stderr)
        self.assertIn("problem: incomplete: ranks 0, 1", self.offramp("check", "cut", code=4).stdout)
        contents = json.loads(self.offramp("info", "--json", "cut", code=2).stdout)
        self.assertEqual((contents["complete"], contents["missing"]), (False, "ranks 0, 1 are cut off before finalize"))
        self.assertIn(says, self.refused("convert", "cut", "-o", "out", "--to", "goal"))

    def test_are_described(self):
        for name, ranks, call in (("goal/diamond.goal", 4, "MPI_Waitsome"), ("smpi/program.txt", 2, "MPI_Init"),
                                  ("chakra/step.0.et", 4, "MPI_Ialltoall"), ("dumpi/ring-0000.txt", 4, "MPI_Bcast")):
            with self.subTest(name=name):
                contents = json.loads(self.offramp("info", "--json", DATA / name).stdout)
                self.assertTrue(contents["complete"])
                self.assertEqual(len(contents["ranks"]), ranks)
                self.assertIn(call, contents["calls"])
                self.offramp("info", "--events", DATA / name)

    def test_are_recordings_on_demand(self):
        self.offramp("convert", "pattern:stencil2d:4:4KiB:3", "-o", "made.rec", "--to", "recording")
        times = [json.loads(self.offramp("replay", name, "--backend", "cclo", "--json").stdout)["results"][0]["modelled_time_ps"]
                 for name in ("made.rec", "pattern:stencil2d:4:4KiB:3")]
        self.assertEqual(times[0], times[1])

    def test_refuse_what_a_format_cannot_hold(self):
        done = self.offramp("convert", DATA / "smpi/program.txt", "-o", "out", "--to", "goal", code=2)
        self.assertIn(": a collective; GOAL has messages only", done.stderr)
        self.assertFalse((self.folder / "out").exists())
        self.assertIn('unknown format "gaol"; did you mean "goal"?', self.refused("convert", "pattern:ring:2:8", "-o", "out", "--to", "gaol"))
        self.assertIn("known: recording, smpi, goal, goal-binary, chakra, otf2", self.refused("convert", "pattern:ring:2:8", "-o", "out", "--to", "dimemas"))

    def test_schedules_go_by_the_rules_of_loggopsim(self):
        (self.folder / "pair.goal").write_text("num_ranks 2\nrank 0 {\nsend 1001b to 1\n}\nrank 1 {\nrecv 1001b from 0\n}\n")
        self.assertEqual(self.offramp("replay", "pair.goal", "--rules", "loggopsim").stdout,
                         "rank  ends after (ns)\n0     1500\n1     11500\n")
        answer = json.loads(self.offramp("replay", "pair.goal", "--rules", "loggopsim:O=2,G=1", "--json").stdout)
        self.assertEqual(answer["each_rank_ns"], [3500, 7500])
        self.assertEqual(answer["parameters"]["G"], 1)
        self.offramp("convert", "pattern:ring:20:8", "-o", "ring.goal", "--to", "goal")
        self.assertIn("the last of 20 ranks", self.offramp("replay", "ring.goal", "--rules", "loggopsim").stdout)
        self.assertIn('"p=1" is not one of L, o, g, G, O, and S', self.refused("replay", "pair.goal", "--rules", "loggopsim:p=1"))
        self.assertIn('unknown rules "logp"', self.refused("replay", "pair.goal", "--rules", "logp"))
        self.assertIn("--rules cannot be combined with --backend", self.refused("replay", "pair.goal", "--rules", "loggopsim", "--backend", "host"))
        self.assertIn("not a schedule but a sequence of calls; offramp convert --to goal makes", self.refused("replay", "pattern:ring:2:8", "--rules", "loggopsim"))

    def test_chakra_traces_are_written_and_read(self):
        (self.folder / "other").write_text("other")
        (self.folder / "fft.0.et").symlink_to("other")
        done = self.offramp("convert", "pattern:transpose3d:12:4KiB:2", "-o", "fft", "--to", "chakra")
        self.assertEqual((self.folder / "other").read_text(), "other")
        self.assertEqual(len(list(self.folder.glob("fft.*.et"))), 12)
        self.assertEqual(len(json.loads((self.folder / "fft.json").read_text())), 7)
        self.assertEqual(done.stderr, "")
        self.assertIn("no problems found: its calls are consistent", self.offramp("check", "fft.11.et").stdout)
        # A program of fewer ranks would own some of these.
        done = self.offramp("convert", "pattern:ring:4:8", "-o", "fft", "--to", "chakra", code=74)
        self.assertIn("fft.4.et exists and would count as rank 4 of this program; remove it", done.stderr)

    def test_otf2_is_there_or_says_what_is_missing(self):
        version = json.loads(self.offramp("info", "--json").stdout)["otf2"]
        if version:
            self.assertRegex(version, r"^\d+\.\d+")
            self.skipTest(f"OTF2 {version} is in this build")
        (self.folder / "traces.otf2").write_bytes(b"\3BOTF2\0\3\2\3")
        for command in (("replay", "traces.otf2"), ("replay", "."), ("convert", "pattern:ring:2:8", "--to", "otf2", "-o", "out"),
                        ("replay", "pattern:ring:2:8", "--otf2", "out")):
            self.assertIn("built without the OTF2 library: install it (Debian: libopen-trace-format2-dev)", self.refused(*command))

    def test_binary_schedules_are_text_again(self):
        self.offramp("convert", DATA / "goal/diamond.goal", "-o", "a.bin", "--to", "goal-binary")
        self.offramp("convert", "a.bin", "-o", "a.goal", "--to", "goal")
        self.offramp("convert", "a.goal", "-o", "b.bin", "--to", "goal-binary")
        self.assertEqual((self.folder / "a.bin").read_bytes(), (self.folder / "b.bin").read_bytes())


class Windows(CliTest):
    """Recordings of tests/fixtures/patterns.c."""

    PUTS, NEIGHBOURS = (pathlib.Path(__file__).resolve().parents[1] / f"data/scale/{name}-4.rec" for name in ("puts_2d", "neighbours_2d"))

    def test_are_named_as_what_they_are(self):
        text = self.offramp("replay", self.PUTS, "--compare", "host,dpu", "--details", "--trace", "t.json", "--report", "r.json").stdout
        self.assertRegex(text, r"\nwhy   rounds: barriers take [\d.]+ us instead of [\d.]+ us\n")
        self.assertIn("declined, carried by the host: 40 MPI_Put: accesses to the memory of other ranks are left to the host", text)
        self.assertRegex(text, r"  MPI_Put, \S* ?\(?patterns\+0x")
        events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        found = [event["args"] for event in events if "access" in event.get("args", {})]
        self.assertEqual({(args["access"], args["bytes"]) for args in found}, {("write", 768)})
        self.assertEqual({(args["from"], args["target"]) for args in found if args["from"] == 0}, {(0, 1), (0, 2)})
        report = json.loads((self.folder / "r.json").read_text())
        sizes = [row for row in report["sizes"] if row["kind"] == "access"]
        self.assertEqual([(row["count"], row["bytes"]) for row in sizes], [(40, 40 * 768)])
        self.assertEqual(report["calls"]["MPI_Put"]["bytes"], 40 * 768)
        declines = [row for lane in report["compared"] for row in lane["declines"]]
        self.assertEqual([(row["operation"], row["count"]) for row in declines], [("MPI_Put", 40)])
        text = self.offramp("advise", self.PUTS, "--backend", "host,dpu", "--quick", "--details").stdout
        self.assertNotIn("collectives of 0 B", text)

    def test_are_checked_and_converted(self):
        for program in (self.PUTS, self.NEIGHBOURS):
            self.assertIn("no problems found", self.offramp("check", program).stdout)
        self.assertIn("smpi: left out: one-sided accesses", self.offramp("convert", self.PUTS, "-o", "puts", "--to", "smpi").stderr)
        done = self.offramp("convert", self.NEIGHBOURS, "-o", "halo", "--to", "smpi")
        self.assertNotIn("neighbo", done.stderr)
        self.assertIn("80 messages", self.offramp("check", "halo").stdout)


@unittest.skipUnless(shutil.which("otf2-print"), "otf2-print is not installed")
class InOtf2Print(CliTest):
    def setUp(self):
        super().setUp()
        if not json.loads(self.offramp("info", "--json").stdout)["otf2"]:
            self.skipTest("OTF2's library is not in this build")

    def printed(self, folder, *options):
        """The output of otf2-print for an archive, in lines; it must complain about nothing."""
        done = subprocess.run(["otf2-print", *options, folder + "/traces.otf2"], cwd=self.folder, capture_output=True, text=True, timeout=180, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_accesses_are_rma_records(self):
        self.offramp("convert", Windows.PUTS, "-o", "puts", "--to", "otf2")
        lines = self.printed("puts")
        self.assertEqual(sum(bool(re.match(r"RMA_PUT .*Window: .*Bytes: 768,", line)) for line in lines), 40)
        for record, count in (("RMA_OP_COMPLETE_REMOTE", 40), ("RMA_COLLECTIVE_BEGIN", 24), ("RMA_COLLECTIVE_END", 24)):
            self.assertEqual(sum(line.startswith(record + " ") for line in lines), count, record)
        times = [json.loads(self.offramp("replay", name, "--backend", "host", "--json").stdout)["results"][0]["modelled_time_ps"]
                 for name in (Windows.PUTS, "puts")]
        self.assertEqual(times[0], times[1])

    def test_programs_are_archives(self):
        self.offramp("convert", "pattern:stencil2d:4:4KiB:2", "-o", "stencil", "--to", "otf2")
        lines = self.printed("stencil")
        self.assertEqual(sum(line.startswith("MPI_ISEND ") for line in lines), sum(line.startswith("MPI_IRECV ") for line in lines))
        self.assertTrue(any(re.search(r'MPI_ISEND .*Communicator: "MPI_COMM_WORLD" <0>, Tag: \d+, Length: 4096', line) for line in lines))
        self.assertTrue(any("Ticks per Seconds: 1000000000000" in line for line in self.printed("stencil", "-G")))
        self.assertIn("an archive already exists", self.refused("convert", "pattern:ring:2:8", "-o", "stencil", "--to", "otf2"))
        one = json.loads(self.offramp("replay", "pattern:stencil2d:4:4KiB:2", "--backend", "host", "--json").stdout)["results"][0]
        other = json.loads(self.offramp("replay", "stencil", "--backend", "host", "--json").stdout)["results"][0]
        self.assertEqual(one["communication_ns"], other["communication_ns"])

    def test_replays_are_timelines(self):
        done = json.loads(self.offramp("replay", DATA / "dumpi/ring-0000.txt", "--compare", "host,cclo", "--otf2", "ring", "--json").stdout)
        for result in done["results"]:
            lines = [line.split() for line in self.printed("ring." + result["backend"])]
            events = [line for line in lines if len(line) > 2 and line[1].isdigit() and line[2].isdigit()]
            entered = [line for line in events if line[0] in ("ENTER", "LEAVE")]
            self.assertEqual(len(entered) % 2, 0)
            for rank in range(4):  # each call is left before the next is entered, all within the program
                own = [line for line in entered if line[1] == str(rank)]
                self.assertEqual([line[0] for line in own[1:-1]], ["ENTER", "LEAVE"] * (len(own) // 2 - 1))
            self.assertEqual(max(int(line[2]) for line in events), round(result["communication_ns"] * 1000), result["backend"])
            self.assertEqual(sum(line[0] == "MPI_COLLECTIVE_BEGIN" for line in events), sum(line[0] == "MPI_COLLECTIVE_END" for line in events))
        self.assertIn("--otf2 needs a single program", self.refused("replay", "--job", "pattern:ring:2:8", "--otf2", "jobs"))


@unittest.skipUnless(shutil.which("smpirun"), "SimGrid is not installed")
class InSimGrid(CliTest):
    def replayed(self, program, ranks):
        """Simulated time in seconds."""
        self.offramp("convert", program, "-o", "trace", "--to", "smpi")
        (self.folder / "star.xml").write_text(STAR)
        (self.folder / "hosts").write_text("".join(f"n{i}\n" for i in range(16)))
        done = subprocess.run(["smpirun", "-np", str(ranks), "-platform", "star.xml", "-hostfile", "hosts", "-replay", "trace"],
                              cwd=self.folder, capture_output=True, text=True, timeout=180, check=False)
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, output)
        found = re.search(r"Simulation time ([\d.]+)", output)
        self.assertIsNotNone(found, output)
        return float(found.group(1))

    def test_patterns_come_to_their_end(self):
        for name in ("pingpong", "incast", "shift:1", "ring", "stencil2d", "stencil3d", "tree", "alltoall", "bisection", "random:1",
                     "data-parallel:2", "pipeline:2", "transpose2d", "sparse:3"):
            self.assertGreater(self.replayed(f"pattern:{name}:8:4096:2", 8), 0, name)

    def test_collectives_come_to_their_end(self):
        self.assertGreater(self.replayed(DATA / "smpi/program.txt", 2), 0)


class Scaling(CliTest):
    FEW = [f"pattern:stencil2d:{ranks}:4KiB:2" for ranks in (8, 9, 12, 16)]

    def modelled(self, *program):
        told = json.loads(self.offramp("replay", *program, "--backend", "host", "--json").stdout)
        return told["results"][0]["modelled_time_ns"]

    def test_in_one_step_or_two_is_the_program_itself(self):
        told = json.loads(self.offramp("scale", *self.FEW, "--ranks", "64", "-o", "64.rec", "--json").stdout)
        self.assertEqual(told["held_out"]["exact"], told["held_out"]["calls"])
        itself = self.modelled("pattern:stencil2d:64:4KiB:2")
        self.assertEqual(self.modelled("64.rec"), itself)
        self.assertEqual(self.modelled(*self.FEW, "--ranks", "64"), itself)
        facts = json.loads(self.offramp("info", "--json", "64.rec").stdout)["facts"]
        self.assertIn("16 ranks; of its calls, the smaller recordings predict 100.0 %", facts["held out"])

    def test_says_what_it_needs(self):
        self.assertIn("--compute-scaling needs --ranks N", self.refused("replay", self.FEW[0], "--compute-scaling", "weak"))
        random = [f"pattern:random:1:{ranks}:4KiB:9" for ranks in (4, 8, 16)]
        self.assertIn("its peer follows no known rule", self.offramp("scale", *random, "--ranks", "64", code=2).stderr)
        self.assertIn("has 32 ranks instead of 64", self.refused("scale", *self.FEW, "--ranks", "64", "--against", "pattern:ring:32:8"))
        self.assertIn("is a recording of pattern:ring, and", self.refused("scale", "pattern:ring:4:8", "pattern:alltoall:8:8", "--ranks", "64"))

    def test_a_phase_is_scaled_and_replayed_alone(self):
        files = [str(DATA.parent / f"scale/hpcc_fft-{ranks}.rec") for ranks in (2, 4, 8, 16)]
        real = str(DATA.parent / "scale/hpcc_fft-32.rec")
        self.assertIn("follows no known rule", self.offramp("scale", *files, "--ranks", "32", code=2).stderr)
        told = json.loads(self.offramp("scale", *files, "--phase", "fft", "--ranks", "32", "--against", real, "-o", "32.rec", "--json").stdout)
        self.assertEqual((told["against"]["exact"], told["against"]["calls"]), (352, 352))
        alone = self.modelled(real, "--phase", "fft")
        self.assertEqual(self.modelled(*files, "--phase", "fft", "--ranks", "32"), alone)
        self.assertEqual(self.modelled("32.rec"), alone)
        self.assertLess(alone, self.modelled(real))
        facts = json.loads(self.offramp("info", "--json", "32.rec").stdout)["facts"]
        self.assertEqual(facts["phase"], "fft")
        self.assertIn("fft-32.rec: no phase \"ring\"; known: fft", self.refused("replay", real, "--phase", "ring"))
        self.assertIn("--phase needs a single program", self.refused("replay", real, "--phase", "fft", "--job", real))
        self.assertIn("hpcc_fft-32.rec: stay with host; ", self.offramp("advise", real, "--phase", "fft", "--quick", "--backend", "aie").stdout)

    def test_what_nothing_confirms_ends_with_a_failure(self):
        files = [str(DATA.parent / f"scale/stencil_3d-{ranks}.rec") for ranks in (2, 4, 8, 9, 12, 16, 18)]
        done = self.offramp("scale", *files, "--ranks", "32", "-o", "32.rec", code=4)
        self.assertRegex(done.stdout, r"^32 ranks, made from 7 recordings of 2 to 18; nothing confirms it\n")
        self.assertIn("\nsure  the smaller recordings predict none of the ", done.stdout)
        self.assertIn("offramp: not confirmed: the smaller recordings predict none of the ", done.stderr)
        self.assertGreater(self.modelled("32.rec"), 0)
        told = self.offramp("replay", *files, "--ranks", "32", "--backend", "host", "--json", code=4)
        self.assertIn("the smaller recordings predict none of the ", told.stderr)
        self.assertTrue(json.loads(told.stdout)["results"])

    def test_other_arguments_are_said(self):
        self.assertEqual(self.offramp("scale", *self.FEW, "--ranks", "64").stderr, "")
        sizes = [f"pattern:alltoall:{ranks}:{1024 // ranks}:2" for ranks in (4, 8, 16)]
        told = self.offramp("scale", *sizes, "--ranks", "32").stderr
        self.assertIn("note: the recordings are treated as one program, but have different arguments: pattern:alltoall:4:256:2 (256 bytes, 2 rounds)", told)

    def test_a_rule_that_fails_at_some_rank_is_wrong_usage(self):
        files = [str(DATA.parent / f"scale/butterfly-{ranks}.rec") for ranks in (2, 4, 8, 16)]
        self.assertIn("of 24", self.refused("scale", *files, "--ranks", "24", "-o", "24.rec"))
        self.assertFalse((self.folder / "24.rec").exists())


if __name__ == "__main__":
    unittest.main()
