"""The Python module, and the notebook of the examples: their results are the command's. Needs OFFRAMP_BUILD, as cli_test.py does."""

import contextlib
import io
import json
import os
import pathlib
import re
import sys
import unittest

from cli_test import OFFRAMP, CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import offramp  # noqa: E402

HALO = str(ROOT / "examples/programs/halo-4.rec")
NOTEBOOK = ROOT / "examples/notebook/answers.ipynb"


class Rows(CliTest):
    def setUp(self):
        super().setUp()
        os.environ.pop("OFFRAMP_BUILD", None)  # is no variable of the command
        offramp.PROGRAM = str(OFFRAMP)

    def test_of_a_report_are_those_of_its_file(self):
        self.offramp("replay", HALO, "--backend", "host,dpu", "--details", "--report", "r.json")
        report = offramp.read_report(self.folder / "r.json")
        written = json.loads((self.folder / "r.json").read_text())
        self.assertEqual([row["backend"] for row in report.table("lanes")], ["host", "dpu"])
        calls = {row["function"]: row["count"] for row in report.table("calls") if row["backend"] == "host"}
        self.assertEqual(calls, {name: call["count"] for name, call in written["calls"].items()})
        for name in offramp.Report.TABLES:
            report.table(name)
        self.assertEqual(len(report.table("traffic")), 2 * len(written["accounts"]["traffic"]))
        with self.assertRaises(KeyError):
            report.table("tables")

    def test_an_answer_is_that_of_the_command(self):
        answer = offramp.advise(HALO, ["dpu"], quick=True)
        written = json.loads(self.offramp("advise", HALO, "--backend", "dpu", "--quick", "--json").stdout)
        self.assertEqual({name: answer[name] for name in written["answer"]}, written["answer"])
        self.assertEqual(answer["candidates"], written["candidates"])
        self.assertEqual([bar["name"] for bar in answer["bars"]], ["host", "dpu"])
        self.assertTrue(repr(answer).startswith(answer["answer"]))
        self.assertIn("<table>", answer._repr_html_())
        self.assertEqual([one["answer"].split(":")[0] for one in offramp.advise([HALO, HALO], ["dpu"], quick=True)], ["halo-4.rec"] * 2)

    def test_libraries_are_compared_and_programs_checked(self):
        one, = offramp.compare(HALO, ["openmpi-4.1", "mpich"])
        self.assertEqual((one["candidate"], one["kind"] in ("change", "none")), ("mpich", True))
        self.assertIn("the same recording", one["sure"])
        self.assertTrue(offramp.check(HALO))
        rows = offramp.replay(HALO, ["host", "dpu"], details=True).table("call_sites")
        self.assertTrue({"function", "baseline_ns", "bound_by"} < set(rows[0]))
        self.assertIn("<th>bound_by</th>", rows._repr_html_())

    def test_a_change_is_that_of_the_command(self):
        other = HALO.replace("halo", "transpose")
        answer = offramp.change(HALO, [other])
        self.assertEqual(answer, json.loads(self.offramp("replay", HALO, other, "--json").stdout)[1]["answer"])
        self.assertEqual([bar["name"] for bar in answer["bars"]], ["halo-4.rec", "transpose-4.rec"])

    def test_efficiencies_are_those_of_text_page_and_report_and_their_product_is_the_computing(self):
        words = ("replay", HALO, "--backend", "host,dpu", "--details")
        text = self.offramp(*words, "--report", "r.json", "--html", "r.html").stdout
        written = json.loads((self.folder / "r.json").read_text())
        rows = offramp.replay(HALO, ["host", "dpu"], details=True).table("lanes")
        page = self.shown("r.html")
        for row, lane in zip(rows, (written, *written["compared"])):
            of_all_time = written["computing"]["sum_ns"] / written["ranks"] / lane["whole_run"]["modelled_time_ns"]
            self.assertAlmostEqual(row["efficiency"], of_all_time, places=9)
            self.assertAlmostEqual(row["load_balance"] * row["serialisation"] * row["transfer"], row["efficiency"], places=9)
            self.assertEqual(lane["efficiencies"]["transfer"], row["transfer"])
            cells = [f"{100 * row[name]:.1f} %" for name in ("efficiency", "load_balance", "serialisation", "transfer")]
            self.assertRegex(text, rf"(?m)^{row['backend']} +" + " +".join(cells) + "$")
            for name, cell in zip(("efficiency", "load balance", "serialisation", "transfer"), cells):  # the same for all: below the table
                self.assertTrue(f"<td>{cell}</td>" in page or f" {name} {cell}" in page, name)
        self.assertNotIn("load balance", self.offramp("replay", HALO, "--backend", "host").stdout)

    def test_of_accounts_add_up_to_the_time_in_calls(self):
        report = offramp.replay(HALO, "host", details=True)
        kinds = [key for key in report.table("accounts")[0] if key.endswith("_ns")]
        accounted = sum(row[kind] for row in report.table("accounts") for kind in kinds)
        run = report.lane("host")["whole_run"]
        self.assertAlmostEqual(accounted, run["in_calls_ns"] + run["without_model_ns"], delta=0.01)

    def test_of_accounts_by_size_and_by_phase_add_up_to_those_of_functions(self):
        report = offramp.replay(HALO, ["host", "cclo"], details=True)
        kinds = [key for key in report.table("accounts")[0] if key.endswith("_ns")]
        for backend in ("host", "cclo"):
            sums = {}
            for table in ("accounts", "accounts_by_size", "accounts_by_phase"):
                rows = [row for row in report.table(table) if row["backend"] == backend]
                sums[table] = [sum(row["calls"] for row in rows), *(round(sum(row[kind] for row in rows), 2) for kind in kinds)]
            self.assertGreater(sums["accounts"][0], 0)
            self.assertEqual(sums["accounts_by_size"], sums["accounts"])
            self.assertEqual(sums["accounts_by_phase"], sums["accounts"])
        sizes = [row["max_bytes"] for row in report.table("accounts_by_size") if row["has_size"] and row["backend"] == "host"]
        self.assertIn(4095, sizes)  # of the halo's messages of 2 KiB

    def test_of_a_sweep_have_every_combination(self):
        rows = offramp.sweep(HALO, ["host", "cclo"], {"latency": ["x0.5", "x1"], "ranks_per_node": [1, 2]})
        self.assertEqual(len(rows), 8)
        usual = offramp.replay(HALO, "host").lane("host")["modelled_time_ns"]
        same, = (row for row in rows if (row["latency"], row["ranks_per_node"], row["backend"]) == ("x1", 1, "host"))
        self.assertEqual(same["modelled_time_ns"], usual)
        self.assertLess(rows[0]["modelled_time_ns"], usual)

    def test_of_a_sweep_are_over_the_first_hardware(self):
        rows = offramp.sweep(HALO, ["dpu", "host"], {"latency": ["x1"]})
        dpu, host = rows
        self.assertEqual((dpu["base"], dpu["ratio"], dpu["run_ratio"]), ("dpu", 1, 1))
        self.assertAlmostEqual(host["ratio"], host["modelled_time_ns"] / dpu["modelled_time_ns"])
        self.assertAlmostEqual(host["run_ratio"], host["run_ns"] / dpu["run_ns"])
        point, = json.loads(self.offramp("replay", HALO, "--backend", "dpu,host", "--sweep", "latency=x1:x1", "--json").stdout)[1:]
        self.assertEqual(point["base"], "dpu")
        for key in ("ratio", "run_ratio"):
            self.assertAlmostEqual(host[key], point[key])

    def test_of_a_sweep_have_no_ratio_of_what_hardware_declines_or_refuses(self):
        rows = offramp.sweep(str(ROOT / "examples/programs/transpose-4.rec"), ["host", "zrlmpi"], {"zrlmpi.latency": ["x1"]})
        declining = rows[1]
        self.assertEqual(declining["carries_program"], False)
        self.assertEqual((declining["ratio"], declining["run_ratio"]), (None, None))
        self.assertIsNotNone(declining["modelled_time_ns"])
        refused, host = sorted(offramp.sweep("pattern:ring:8:4KiB", ["aie", "host"], {"host.latency": ["x1"]}, network="fat-tree:4,4"),
                               key=lambda row: row["backend"])
        self.assertEqual([(row["base"], row["ratio"]) for row in (refused, host)], [("aie", None), ("aie", None)])
        self.assertIn("aie", refused["refused"])
        self.assertIsNone(host["refused"])

    def test_a_scaled_program_is_that_of_the_command(self):
        recordings = [str(ROOT / f"examples/programs/data_parallel-{ranks}.rec") for ranks in (4, 16)]
        scaled = offramp.scale(recordings, 64, output=str(self.folder / "64.rec"))
        written = json.loads(self.offramp("scale", *recordings, "-n", "64", "-o", "64.rec", "--json", code=4).stdout)
        self.assertEqual({**scaled, "answer": None}, {**written, "answer": None})
        self.assertEqual(scaled["answer"]["answer"], written["answer"]["answer"])
        self.assertEqual(len(offramp.info(str(self.folder / "64.rec"))["ranks"]), 64)
        with self.assertRaisesRegex(offramp.Error, "64 ranks"):
            offramp.scale(HALO, 64)

    def test_options_in_the_help_are_those_of_the_command(self):
        of_all = offramp.__doc__.partition("Options of all")[2].partition("settings,")[0]
        for function in (offramp.advise, offramp.replay, offramp.predict, offramp.scale):
            known = set(re.findall(r"--([a-z0-9-]+)", self.offramp("lab", function.__name__, "--help-all").stdout))
            named = {name.replace("_", "-") for name in re.findall(r"(?:^|\s)(\w+)=", function.__doc__ + of_all)}
            shared = {name for name in named if function is offramp.scale and name not in function.__doc__}
            self.assertLessEqual(named - shared, known, function.__name__)
            missing = known - named - {"help", "help-all", "verbose", "backend", "compare", "set", "json", "csv", "sweep", "jobs", "libraries", "repeat",
                                       "output"}
            self.assertEqual(missing - ({"ranks"} if function is offramp.scale else set()), set(), function.__name__)

    def test_of_predictions_and_events(self):
        rows = offramp.predict("bcast", ["host", "tinsel"], ranks=8, sweep="bytes=1KiB:4KiB")
        self.assertEqual([row["bytes"] for row in rows if row["backend"] == "host"], [1024, 2048, 4096])
        events = list(offramp.events(HALO))
        self.assertEqual(sum(event["kind"] == "send" for event in events), offramp.info(HALO)["calls"]["MPI_Isend"])
        self.assertTrue(any(event["kind"] == "computes" and event["time_ns"] > 0 for event in events))

    def test_of_events_have_accesses_and_blocks_of_neighbours(self):
        rows = [row for row in offramp.events(str(ROOT / "tests/data/scale/puts_2d-4.rec")) if row["kind"] == "access"]
        self.assertEqual({(row["function"], row["details"], row["bytes"], row["extra"]) for row in rows}, {("MPI_Put", "write", 768, 0)})
        self.assertEqual({(row["rank"], row["peer"]) for row in rows}, {(0, 1), (0, 2), (1, 0), (1, 3), (2, 0), (2, 3), (3, 1), (3, 2)})
        self.assertTrue(all(row["site"].startswith("patterns+0x") for row in rows))
        rows = [row for row in offramp.events(str(ROOT / "tests/data/scale/neighbours_2d-4.rec")) if row["kind"] == "neighbours"]
        self.assertEqual({row["function"] for row in rows}, {"MPI_Ineighbor_alltoallv", "MPI_Neighbor_allgather"})
        first = rows[0]
        self.assertEqual((first["rank"], first["sent"], first["received"], first["flags"]), (0, [(2, 768), (1, 768)], [(2, 768), (1, 768)], ""))
        self.assertEqual(rows[1]["flags"], "blocking")
        waits = [row for row in offramp.events(HALO) if row["kind"] == "wait"]
        self.assertTrue(all(row["extra"] > 0 or row["lists"] for row in waits))

    def test_of_events_have_those_of_threads(self):
        """Prints what the command prints for a recording of ranks with several threads; an unknown line is an error."""
        lines = ["0.0 computes 120 ns", "0.1 MPI_Isend send byte comm 0 peer 1 tag 3 bytes 8 extra 0 continues",
                 "0.1 polls 4 times without success", "1 spends 10 ns in short gaps between failed polls, and 2000 ns in longer ones", "1 is cut off"]

        def events_of(text):
            program = self.folder / "printing"
            program.write_text("#!/bin/sh\ncat <<END\n" + text + "\nEND\n")
            program.chmod(0o755)
            offramp.PROGRAM = str(program)
            return list(offramp.events("a.rec"))

        rows = events_of("\n".join(lines))
        self.assertEqual([(row["rank"], row["thread"], row["kind"]) for row in rows],
                         [(0, 0, "computes"), (0, 1, "send"), (0, 1, "asks"), (1, None, "gaps"), (1, None, "cut")])
        self.assertEqual((rows[1]["function"], rows[1]["details"], rows[1]["peer"], rows[1]["flags"]), ("MPI_Isend", "byte", 1, "continues"))
        self.assertEqual((rows[0]["time_ns"], rows[2]["times"], rows[3]["longer_ns"]), (120, 4, 2000))
        with self.assertRaises(ValueError):
            events_of("0 dances")

    def test_of_what_is_refused_say_why(self):
        with self.assertRaises(offramp.Error) as raised:
            offramp.replay("nothing.rec")
        self.assertEqual(raised.exception.code, 2)
        self.assertIn("nothing.rec", str(raised.exception))

    def test_need_pandas_to_be_a_frame(self):
        before = sys.modules.get("pandas")
        sys.modules["pandas"] = None  # as if it were not installed
        try:
            with self.assertRaisesRegex(offramp.Error, r"frame\(\) needs pandas"):
                offramp.frame([{"a": 1}])
        finally:
            sys.modules.pop("pandas")
            if before is not None:
                sys.modules["pandas"] = before

    def test_of_the_notebook_come_out(self):
        cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
        self.assertGreater(len(cells), 3)
        names = {}
        here = os.getcwd()
        os.chdir(NOTEBOOK.parent)
        os.environ["MPLBACKEND"] = "agg"  # plots without a window
        try:
            for cell in cells:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), names)
                self.assertTrue(printed.getvalue().strip(), cell["source"])
        finally:
            os.chdir(here)
        self.assertEqual(len(names["rows"]), 6)


if __name__ == "__main__":
    unittest.main()
