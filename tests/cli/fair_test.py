"""What hardware carries in time, and what communication is of the whole run. Needs OFFRAMP_BUILD, as cli_test.py does."""

import json
import pathlib
import unittest

from cli_test import CliTest

PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "examples/programs"
KINDS = ("halo", "master_worker", "transpose", "data_parallel")


class Fair(CliTest):
    def replay(self, what, backends, *more):
        return json.loads(self.offramp("replay", str(what), "--compare", backends, "--json", *more).stdout)

    def text(self, what, backends, *more):
        """The comparison at the end."""
        text = self.offramp("replay", str(what), "--compare", backends, *more).stdout
        return text[text.index("# backend"):]

    def headline(self, what, backends, *more):
        self.offramp("replay", str(what), "--compare", backends, "--report", "r.json", "--html", "r.html", *more)
        page = (self.folder / "r.html").read_text()
        return page.split('<p class="headline">')[1].split("</p>")[0]


class Carried(Fair):
    def test_is_a_share_of_time(self):
        host, zrlmpi, dpu = self.replay(PROGRAMS / "transpose-4.rec", "host,zrlmpi,dpu")["results"]
        self.assertEqual((host["declined_ns"], dpu["declined_ns"]), (0, 0))
        self.assertGreater(zrlmpi["declined_ns"], 20 * zrlmpi["carried_ns"])
        self.assertEqual([r["carries_program"] for r in (host, zrlmpi, dpu)], [True, False, True])
        for result in (host, zrlmpi, dpu):  # of what calls take, all but their bookkeeping
            calls = sum(call["modelled_ns"] for call in result["calls"].values())
            self.assertAlmostEqual(result["carried_ns"] + result["declined_ns"], calls, delta=0.01 * calls)

    def test_that_is_next_to_nothing_gets_no_ratio_and_no_verdict(self):
        text = self.text(PROGRAMS / "transpose-4.rec", "host,zrlmpi,dpu")
        self.assertRegex(text, r"\nzrlmpi +[\d.]+ +- +3\.\d %\n")
        self.assertIn("# zrlmpi does not carry this program (3.", text)
        self.assertIn("the tool chain has no such collective", text)
        self.assertRegex(text, r"\ndpu +[\d.]+ +2\.205 +100\.0 %\n")
        self.assertIn("the nearest that carries the program, dpu,", self.headline(PROGRAMS / "transpose-4.rec", "host,zrlmpi,dpu"))
        alone = self.headline(PROGRAMS / "transpose-4.rec", "host,zrlmpi")
        self.assertTrue(alone.startswith("zrlmpi does not carry this program (3."), alone)
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
        self.assertLess(report["carried_ps"], 0.1 * report["declined_ps"])
        self.assertEqual(report["compared"][0]["declined_ps"], 0)


class WholeRun(Fair):
    def test_is_that_of_a_replay_with_computing(self):
        for kind in KINDS:
            with self.subTest(program=kind):
                without = self.replay(PROGRAMS / f"{kind}-4.rec", "host,cclo")
                computed = self.replay(PROGRAMS / f"{kind}-4.rec", "host,cclo", "--compute", "recorded")
                self.assertNotIn("computing", computed)
                for one, other in zip(without["results"], computed["results"]):
                    self.assertEqual(one["with_computing"]["modelled_time_ps"], other["modelled_time_ps"])
                    inside = sum(call["modelled_ns"] for call in other["calls"].values())
                    self.assertAlmostEqual(one["with_computing"]["share_in_calls"], inside / sum(other["per_rank_ns"]), places=6)
                    self.assertNotIn("with_computing", other)

    def test_without_any_cost_of_communication_leaves_the_waiting(self):
        for kind in KINDS:
            with self.subTest(program=kind):
                found = self.replay(PROGRAMS / f"{kind}-4.rec", "host")
                free = found["computing"]["free_communication"]
                self.assertLess(free["modelled_time_ps"], found["results"][0]["with_computing"]["modelled_time_ps"])
                self.assertGreaterEqual(free["modelled_time_ns"], found["computing"]["largest_ns"])
                self.assertGreaterEqual(found["computing"]["imbalance"], 1)
        master = self.replay(PROGRAMS / "master_worker-4.rec", "host")
        waiting = master["computing"]["free_communication"]["in_calls_ns"] / master["results"][0]["with_computing"]["in_calls_ns"]
        self.assertGreater(waiting, 0.9)

    def test_is_what_the_headline_speaks_of(self):
        headline = self.headline(PROGRAMS / "data_parallel-4.rec", "host,dpu", "--set", "dpu.ranks_per_node=1")
        self.assertRegex(headline, r"^dpu would save 1[\d.]+ % of the run\. MPI calls are [\d.]+ % of the run over host, and [\d.]+ % of that is waiting "
                                   r"for other ranks&#39; computing, which no hardware changes; without computing dpu would take x0\.\d+ of host\.$")
        self.assertIn("Whole run", (self.folder / "r.html").read_text())

    def test_is_not_there_where_nothing_was_recorded_of_it(self):
        found = self.replay("pattern:ring:4:4KiB", "host,cclo")
        self.assertNotIn("computing", found)
        self.assertNotIn("# whole run", self.text("pattern:ring:4:4KiB", "host,cclo"))


if __name__ == "__main__":
    unittest.main()
