"""Pages and pictures of every command that writes them: every figure is a number, and a browser reports no problem. Needs OFFRAMP_BUILD,
as cli_test.py does."""

import base64
import hashlib
import html
import json
import pathlib
import re
import unittest

from cli_test import CliTest, browser

ROOT = pathlib.Path(__file__).resolve().parents[2]

RECORDING = ROOT / "examples/hpcc/hpcc.rec"
PATTERN = "pattern:stencil2d:16:4KiB:3"


class Pages(CliTest):
    def check(self, name):
        """Returns a page or picture as the browser shows it."""
        shown = self.shown(name)
        self.assertEqual(browser.figures_of_nothing(shown), [], name)
        return shown

    def measure(self, name, tables=5):
        """On a telephone and on a desktop, light and dark: nothing overflows, all text is legible, and tables have captions."""
        for dark in (False, True):
            measured = browser.measures_of(self.folder / name, (400, 1400), dark)
            if measured is None:
                self.skipTest("chromium is not installed")
            self.assertEqual([(one["width"], one["problems"]) for one in measured], [(400, []), (1400, [])], dark)
            self.assertTrue(all(one["texts"] > 50 and one["tables"] > tables for one in measured), measured)

    def test_can_be_read_on_every_screen(self):
        """A program of 12 800 calls on eight devices: all in one report, and two more in another."""
        program = str(ROOT / "examples/programs/halo-16.rec")
        self.offramp("replay", program, "--compare", "all", "--details", "--report", "all.json")
        self.offramp("replay", program, "--backend", "host,cclo", "--set", "latency=x2", "--details", "--report", "two.json")
        self.offramp("report", "all.json", "two.json", "--html", "eight.html")
        self.assertGreaterEqual(self.check("eight.html").count('<h3><span class="dot"'), 8)
        self.assertLess((self.folder / "eight.html").stat().st_size, 1_000_000)
        self.measure("eight.html")

    def test_the_script_is_the_one_that_the_policy_names(self):
        self.offramp("replay", PATTERN, "--backend", "host", "--html", "r.html")
        page = (self.folder / "r.html").read_text()
        scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
        self.assertEqual((len(scripts), page.count("<script"), page.count('<script type="application/json"')), (1, 2, 1))
        found = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
        self.assertIn(f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{found}'\"", page.partition("<title>")[0])
        self.assertIsNone(re.search(r"https?:(?!//www\.w3\.org/2000/svg\b)|\bfetch\(|import\(|eval\(|innerHTML", scripts[0]))

    def timelines(self, report):
        return {lane["backend"]: lane["accounts"]["timeline"] for lane in (report, *report["compared"])
                if "timeline" in lane.get("accounts", {})}

    def test_timeline_of_the_host_and_the_best(self):
        """Slices fill each rank's time without gaps, and none is drawn twice."""
        self.offramp("replay", str(ROOT / "examples/programs/data_parallel-16.rec"), "--backend", "host,zrlmpi,dpu", "--details",
                     "--report", "r.json", "--html", "r.html")
        report = json.loads((self.folder / "r.json").read_text())
        timelines = self.timelines(report)
        self.assertEqual(set(timelines), {"host", "dpu"})
        for name, timeline in timelines.items():
            lane = next(one for one in (report, *report["compared"]) if one["backend"] == name)
            self.assertEqual((timeline["drawn_ranks"], len(timeline["ranks"]), timeline["is_whole"]), (16, 16, True))
            slices = [[word.split(",") for word in rank.split(" ")] for rank in timeline["ranks"]]
            self.assertEqual(sum(map(len, slices)), timeline["drawn"])
            ends = [sum(int(one[0][1:], 36) for one in rank) for rank in slices]
            self.assertAlmostEqual(max(ends), lane["whole_run"]["modelled_time_ns"], delta=2)
            communicates = sum(int(one[0][1:], 36) for rank in slices for one in rank if one[0][0] != "7")
            self.assertAlmostEqual(communicates, lane["whole_run"]["in_calls_ns"], delta=0.01 * communicates)
            self.assertTrue(all(len(one) > 1 for rank in slices for one in rank if one[0][0] != "7"))
        self.offramp("report", "r.json", "--html", "again.html")
        for page in ("r.html", "again.html"):
            drawn = {lane["label"]: lane["accounts"]["timeline"] for lane in self.data(page)["lanes"] if "timeline" in lane.get("accounts", {})}
            self.assertEqual(drawn, timelines)

    def data(self, page):
        """What the script of a page draws."""
        return json.loads(re.search(r'<script type="application/json" id="report">(.*?)</script>', (self.folder / page).read_text()).group(1))

    def test_short_slices_are_joined_and_ranks_left_out_are_named(self):
        self.offramp("replay", "pattern:stencil2d:100:4KiB:60", "--backend", "host", "--details", "--report", "r.json", "--html", "r.html")
        timeline = self.timelines(json.loads((self.folder / "r.json").read_text()))["host"]
        self.assertEqual((timeline["drawn_ranks"], len(timeline["ranks"])), (64, 64))
        self.assertGreater(timeline["slices"], 20_000)
        self.assertLessEqual(timeline["drawn"], 20_000)
        self.assertGreater(timeline["shortest_ns"], 0)
        page = self.check("r.html")
        self.assertIn("are joined with their neighbours", page)
        self.assertIn("host: ranks 64 to 99 are not drawn.", page)
        joined = [word for rank in timeline["ranks"] for word in rank.split(" ") if word.count(",") == 3]
        left = sum(int(word.split(",")[3], 36) - 1 for word in joined)
        self.assertEqual(timeline["slices"] - timeline["drawn"], left)

    def test_timeline_zooms_and_moves(self):
        self.offramp("replay", str(ROOT / "examples/programs/data_parallel-16.rec"), "--backend", "host,dpu", "--html", "r.html")
        self.check("r.html")
        for dark in (False, True):
            played = browser.plays_of(self.folder / "r.html", (400, 1400), dark)
            if played is None:
                self.skipTest("chromium is not installed")
            self.assertEqual([one["width"] for one in played], [400, 1400])
            for one in played:
                self.assertTrue(300 < one["canvas"] < one["width"], one)
                steps = one["steps"]
                ranges = {name: step["range"] for name, step in steps.items()}
                self.assertTrue(all(step["colours"] > 5 for step in steps.values()), steps)
                self.assertRegex(ranges["begin"], r"^0 to 36\.61 ms$")
                self.assertEqual(ranges["zoomed"], "13.73 ms to 22.88 ms")
                self.assertEqual(ranges["moved"], "16.02 ms to 25.17 ms")
                self.assertNotIn(ranges["dragged"], (ranges["moved"], ranges["whole"]))
                self.assertEqual(ranges["whole"], ranges["begin"])
                self.assertNotEqual(ranges["wheel"], ranges["whole"])
                self.assertRegex(steps["slice"]["readout"], r"^host, rank \d+: .*; begins at .*, takes ")
                self.assertRegex(steps["below"]["readout"], r"^host, rank \d+: ")
                self.assertNotEqual(steps["slice"]["readout"], steps["below"]["readout"])

    def test_begins_with_the_answer_and_repeats_no_value(self):
        self.offramp("replay", str(ROOT / "examples/programs/data_parallel-16.rec"), "--backend", "host,dpu", "--html", "r.html")
        page = self.check("r.html")
        title = re.search(r'<h1 class="headline">(.*?)</h1>', page).group(1)
        self.assertLessEqual(len(title.split()), 12, title)
        places = [page.index(what) for what in ("<h1", "<dt>why", "<dt>next", 'class="bars"', "Call sites", "<h2>Whole run", "<h2>Timeline", "<h2>Communication")]
        self.assertEqual(places, sorted(places))
        for name in ("Whole run", "Communication time"):
            table = re.search(rf"<caption>{name}</caption>.*?</table>", page, re.S).group(0)
            rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(<td>.*?)</tr>", table)]
            self.assertEqual(len(rows), 2)
            for column in zip(*rows):
                self.assertNotEqual(column[0], column[1], table)
        self.assertRegex(page, r"The same for all: .*lower bound 23\.94 ms")

    def test_the_best_mix_can_be_copied(self):
        toml = '[[route]]\noperation = "allreduce"\nbackend = "dpu"\n'
        self.offramp("replay", PATTERN, "--backend", "host,dpu", "--report", "r.json")
        report = json.loads((self.folder / "r.json").read_text())
        report["answer"]["routes"] = toml
        (self.folder / "r.json").write_text(json.dumps(report))
        self.offramp("report", "r.json", "--html", "r.html")
        shown = re.search(r'<button class="copy" type="button">copy</button><pre class="advice">(.*?)</pre>', self.check("r.html"), re.S).group(1)
        self.assertEqual(html.unescape(shown), toml)
        self.measure("r.html", tables=3)

    def test_of_declines_phases_jobs_and_links_can_be_read_as_well(self):
        self.offramp("replay", "--job", PATTERN, "--job", "pattern:incast:4:64KiB", "--network", "fat-tree:2;4,8;1,1;1,1", "--noise",
                     "50us:5us", "--backend", "host,dpu", "--details", "--html", "jobs.html")
        self.measure("jobs.html")
        self.offramp("replay", str(ROOT / "examples/programs/transpose-4.rec"), "--compare", "host,zrlmpi", "--details", "--html", "declines.html")
        self.measure("declines.html")

    def test_measures_find_what_is_wrong(self):
        """A faulty page has problems, so the check does look at pages."""
        (self.folder / "bad.html").write_text("<!doctype html><body><p style='color: #999; background: #fff'>pale</p><div style='width: 900px'>wide</div>"
                                              "<table><thead><tr><th>a</th></tr></thead></table>")
        measured = browser.measures_of(self.folder / "bad.html", (400, 1400))
        if measured is None:
            self.skipTest("chromium is not installed")
        narrow, wide = ("; ".join(one["problems"]) for one in measured)
        for what in ("px wide", "contrast 2.8", "no caption", "heads without scope"):
            self.assertIn(what, narrow)
        self.assertNotIn("px wide", wide)

    def size_classes(self, page):
        """The first column of the table by size."""
        return re.findall(r"<tr><td>(.*?)</td>", browser.section_of(page, "Time by message size"))

    def test_of_a_replay(self):
        self.offramp("replay", str(RECORDING), "--compare", "host,cclo,tinsel", "--details", "--report", "r.json", "--html", "r.html")
        page = self.check("r.html")
        self.assertGreater(len(self.size_classes(page)), 10)
        report = json.loads((self.folder / "r.json").read_text())
        for lane in (report, *report["compared"]):
            self.assertEqual({size["kind"] for size in lane["sizes"]}, {"send", "receive", "collective"})
            counted = sum(size["modelled_ns"] for size in lane["sizes"])
            moving = sum(call["modelled_ns"] for name, call in lane["calls"].items())
            self.assertTrue(0.5 * moving < counted <= moving * 1.000001, (counted, moving))

    def test_of_several_reports(self):
        for name, bytes_ in (("a", "4KiB"), ("b", "64KiB")):
            self.offramp("replay", f"pattern:ring:4:{bytes_}", "--backend", "dpu,host", "--report", f"{name}.json")
        self.offramp("report", "a.json", "b.json", "--html", "both.html")
        self.assertEqual(self.size_classes(self.check("both.html")), ["from 4 KiB", "from 64 KiB"])

    def test_of_programs_at_once_on_a_network_with_stragglers(self):
        self.offramp("replay", "--job", PATTERN, "--job", "pattern:incast:4:64KiB", "--network", "fat-tree:2;4,8;1,1;1,1", "--noise",
                     "50us:5us", "--backend", "host,dpu", "--details", "--html", "jobs.html")
        self.check("jobs.html")

    def test_of_messages_without_bytes(self):
        self.offramp("replay", "pattern:ring:2:0", "--backend", "host", "--details", "--html", "none.html")
        self.check("none.html")

    def test_plots_of_forecasts_and_of_validation(self):
        self.offramp("predict", "allreduce", "--backend", "all", "-n", "8", "--sweep", "bytes=0:64KiB:x4", "--svg", "p.svg")
        self.offramp("predict", "bcast", "--backend", "aie", "-n", "900", "--bytes", "64", "--svg", "declined.svg", code=3)
        self.offramp("explain", "validation", "--backend", "cclo", "--svg", "v.svg")
        for name in ("p.svg", "declined.svg", "v.svg"):
            self.check(name)

    def test_units_are_busy_for_no_longer_than_the_run(self):
        self.offramp("replay", str(RECORDING), "--compare", "tinsel,aie", "--details", "--report", "r.json", "--html", "r.html")
        report = json.loads((self.folder / "r.json").read_text())
        for lane in (report, *report["compared"]):
            run = sum(rank["modelled_time_ns"] for rank in lane["each_rank"])
            units = {unit["unit"]: unit for unit in lane["units"]}
            self.assertTrue(units)
            for unit in units.values():
                self.assertLessEqual(0, unit["in_use_ns"])
                self.assertLessEqual(unit["in_use_ns"], unit["busy_ns"])
                self.assertLessEqual(unit["in_use_ns"], run * 1.0001)
        busy = browser.section_of(self.shown("r.html"), "Where the hardware is busy")
        shares = [float(share) for share in re.findall(r'class="value">([\d.]+) %', busy)]
        self.assertTrue(shares and max(shares) <= 100, shares)


if __name__ == "__main__":
    unittest.main()
