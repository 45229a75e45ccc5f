"""offramp advise: its texts, and the effect of the files that it writes. Needs OFFRAMP_BUILD, as cli_test.py does."""

import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import pytest

from cli_test import CliTest

PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "examples/programs"
HALO = PROGRAMS / "halo-16.rec"
SCALED = PROGRAMS.parents[1] / "tests/data/scale"
HPCC = PROGRAMS.parent / "hpcc/hpcc.rec"
SLOW_CHOICE = "--backend", "host", "--set", "host.allreduce=basic_linear", "--seconds", "20"
BROADCASTS = """
#include <mpi.h>
int main(int argc, char** argv) {
  double value = 1;
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 100; ++i) MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return MPI_Finalize();
}
"""
# Prints the sizes of broadcasts in which the other ranks wait for the last rank, which comes late.
LATE = """
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char** argv) {
  char buffer[4096] = {0};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int bytes = 1; bytes <= 4096; bytes *= 8) {
    double spent, longest;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 3) usleep(400000);
    spent = MPI_Wtime();
    MPI_Bcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    spent = rank == 3 ? 0 : MPI_Wtime() - spent;
    MPI_Reduce(&spent, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && longest > 0.2) printf("%d\\n", bytes);
  }
  return MPI_Finalize();
}
"""


class Advise(CliTest):
    def advice(self, what, *more):
        return json.loads(self.offramp("advise", str(what), "--json", *more).stdout)

    def test_the_number_of_cores_changes_nothing(self):
        cores = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, cores)
        several = self.advice(HALO)
        os.sched_setaffinity(0, {min(cores)})  # inherited by the command
        one = self.advice(HALO)
        self.assertEqual(several | {"date": ""}, one | {"date": ""})

    def test_answers_for_each_program_of_a_folder(self):
        (self.folder / "runs").mkdir()
        for name, ranks in (("001", 4), ("002", 16)):
            shutil.copy(PROGRAMS / f"halo-{ranks}.rec", self.folder / f"runs/{name}.rec")
        lines = self.offramp("advise", "runs", "--backend", "cclo").stdout.splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], ["runs/001.rec", "runs/002.rec"])

    def test_answers_once_for_recordings_of_one_program(self):
        (self.folder / "runs").mkdir()
        for name in ("001", "002", "003"):
            shutil.copy(HALO, self.folder / f"runs/{name}.rec")
        lines = self.offramp("advise", "runs", "--backend", "cclo", "--quick").stdout.splitlines()
        self.assertRegex(lines[0], "^runs/001.rec: ")
        self.assertRegex(lines[1], "^on ")

    def test_fits_into_the_columns_of_the_terminal(self):
        wide = self.offramp("advise", str(HALO), "--quick").stdout
        narrow = self.offramp("advise", str(HALO), "--quick", COLUMNS="60").stdout
        self.assertEqual([line for line in narrow.splitlines() if len(line) > 60 and not line.startswith("next")], [])
        self.assertEqual([line.split() for line in wide.splitlines() if line.startswith("sure")],
                         [re.search(r"(?m)^sure.*(\n {6}.*)*", narrow)[0].split()])
        help_text = self.offramp("replay", "--help", COLUMNS="60").stdout
        self.assertLessEqual(max(len(line) for line in help_text.split("\n\n")[1].splitlines()), 60)

    def test_replaces_neither_a_recording_nor_a_program(self):
        (self.folder / "r.rec").write_bytes(HALO.read_bytes())
        (self.folder / "program").write_bytes(b"\x7fELF" + bytes(60))
        self.assertIn("it is a recording; name another file", self.refused("advise", "r.rec", "--quick", "--html", "r.rec"))
        self.assertIn("it is a program or a library", self.refused("advise", "r.rec", "--quick", "--html", "program"))
        refused = self.refused("record", "-n", "2", "-o", "program", "--", "/bin/true")
        self.assertIn("it is a program or a library", refused)
        self.assertEqual((self.folder / "r.rec").read_bytes(), HALO.read_bytes())

    def test_answers_in_sixteen_lines_and_says_how_sure_it_is(self):
        text = self.offramp("advise", str(HALO), "--backend", "aie,cclo").stdout
        lines = text.splitlines()
        self.assertLessEqual(len(lines), 16)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertRegex(lines[0], r"^halo-16\.rec: stay with host; aie, the closest, is [\d.]+ % slower$")
        labels = [line.split()[0] for line in lines[1:] if not line.startswith(" ")]
        self.assertEqual(labels, ["on", "why", "at", "sure", "test", "run", "next"])
        self.assertEqual([line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")], ["host", "aie", "cclo"])
        for part in ("# where communication alone takes its time", "# what changes the answer: the ratio of aie to host", " mix of hardware is "):
            self.assertNotIn(part, text)
            self.assertIn(part, self.offramp("advise", str(HALO), "--backend", "aie,cclo", "--details").stdout)

    def test_of_hardware_with_a_faster_link_is_compared_at_the_same_rate(self):
        answer = self.advice("pattern:shift:8:16:1MiB", "--backend", "dpu", "--ranks-per-node", "8", "--quick")
        self.assertEqual((answer["answer"]["kind"], answer["answer"]["candidate"]), ("link", "dpu"))
        equal, = (one["at_equal_link_ns"] for one in answer["candidates"] if one["backend"] == "dpu")
        slower = self.advice("pattern:shift:8:16:1MiB", "--backend", "dpu", "--ranks-per-node", "8", "--quick", "--set", "dpu.link=100")
        own, = (one["communication_ns"] for one in slower["candidates"] if one["backend"] == "dpu")
        self.assertEqual(equal, own)
        self.assertEqual(slower["answer"]["kind"], "baseline")

    def test_names_no_hardware_that_carries_little_of_the_hosts_time(self):
        answer = self.advice(PROGRAMS / "transpose-16.rec", "--backend", "zrlmpi", "--quick")
        zrlmpi, = (one for one in answer["candidates"] if one["backend"] == "zrlmpi")
        self.assertLess(zrlmpi["carried_share"], 0.1)
        self.assertFalse(zrlmpi["carries_program"])
        self.assertIn("no hardware carries it", answer["answer"]["answer"])

    def test_of_the_host_alone_compares_nothing(self):
        self.assertEqual(self.offramp("advise", str(HALO), "--backend", "host", "--quick").stdout.splitlines()[0],
                         "halo-16.rec: only host was given, so nothing is compared")

    def test_lists_a_parameter_that_was_never_measured_first_if_it_changes_the_answer(self):
        influences = self.advice("pattern:shift:1:8:256KiB:10", "--backend", "dpu", "--set", "host.bandwidth=95")["influences"]
        self.assertIn("dpu.message_import", [one["parameter"] for one in influences])

    def test_gives_the_times_of_replays(self):
        advice = self.advice(HALO, "--backend", "dpu", "--seconds", "30")
        replayed = json.loads(self.offramp("replay", str(HALO), "--backend", "host,dpu", "--json").stdout)["results"]
        for result in replayed:
            candidate, = (one for one in advice["candidates"] if one["backend"] == result["backend"])
            self.assertEqual(candidate["communication_ns"], result["modelled_time_ns"])
            self.assertEqual(candidate["run_ns"], result["whole_run"]["modelled_time_ns"])
        thread, = json.loads(self.offramp("replay", str(HALO), "--backend", "host", "--set", "host.progress=thread", "--json").stdout)["results"]
        self.assertEqual(advice["host_with_a_progress_thread_ns"], thread["whole_run"]["modelled_time_ns"])

    def test_says_what_the_memory_of_a_node_makes_of_the_ratio(self):
        words = "pattern:stencil2d:16:256KiB:4", "--backend", "dpu", "--quick"
        shared = self.advice(*words, "--ranks-per-node", "8")
        low, high = shared["ratio_by_memory_of_nodes"]
        self.assertLess(low, high)
        self.assertRegex(self.offramp("advise", *words, "--ranks-per-node", "8").stdout,
                         r"but   [\d.]+ % shorter to [\d.]+ % slower by the range of the nodes' memory\n")
        for known in (self.advice(*words), self.advice(*words, "--ranks-per-node", "8", "--set", "host.memory_bandwidth=300")):
            self.assertNotIn("ratio_by_memory_of_nodes", known)
            self.assertNotIn("the nodes' memory", known["answer"]["but"])

    def test_routes_that_it_writes_give_the_time_that_it_names(self):
        mix = self.advice(HALO, "--backend", "cclo", "--routes", "routes.toml").get("mix")
        if mix is None:  # the program has none with hardware that nodes hold
            self.assertFalse((self.folder / "routes.toml").exists())
            return
        self.assertEqual((self.folder / "routes.toml").read_text(), mix["routes"])
        replayed, = json.loads(self.offramp("replay", str(HALO), "--config", "routes.toml", "--json").stdout)["results"]
        self.assertEqual(mix["end_ns"], replayed["whole_run"]["modelled_time_ns"])

    def test_names_algorithms_that_are_faster_than_what_is_chosen(self):
        algorithms = self.advice(PROGRAMS / "data_parallel-16.rec", "--backend", "host", "--tuning", "rules.conf")["algorithms"]
        for one in algorithms:
            self.assertLess(one["fastest_ns"], one["chosen_ns"])
        gains = [(one["chosen_ns"] - one["fastest_ns"]) * one["calls"] for one in algorithms]
        self.assertEqual(gains, sorted(gains, reverse=True))

    @unittest.skipUnless(shutil.which("mpicc.openmpi") and shutil.which("mpirun.openmpi"), "Open MPI is not installed")
    def test_writes_rules_that_the_library_follows(self):
        """Open MPI counts the messages of its broadcasts: only with the rules does the root send to all."""
        algorithms = self.advice(HPCC, "--backend", "host", "--tuning", "rules.conf")["algorithms"]
        self.assertIn(("bcast", 4, 8, "basic_linear"),
                      [(one["collective"], one["ranks"], one["bytes"], one["algorithm"]) for one in algorithms])
        (self.folder / "broadcasts.c").write_text(BROADCASTS)
        subprocess.run(["mpicc.openmpi", "-o", "broadcasts", "broadcasts.c"], cwd=self.folder, check=True, timeout=180)

        def peers_of_the_root(name, *more):
            watched = ("pml_monitoring_enable", "1"), ("pml_monitoring_enable_output", "3"), ("pml_monitoring_filename", name)
            words = [word for pair in (*watched, *more) for word in ("--mca", *pair)]
            environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            subprocess.run(["mpirun.openmpi", "--oversubscribe", "-n", "4", *words, "./broadcasts"], cwd=self.folder, check=True,
                           timeout=180, env=environment, capture_output=True)
            counts = self.folder / f"{name}.0.prof"
            if not counts.exists():
                self.skipTest("this Open MPI does not count messages: it has no pml/monitoring")
            text = counts.read_text()
            return {int(peer) for peer, count in re.findall(r"^[EI]\s+0\s+(\d+)\s+\d+ bytes\s+(\d+) msgs", text, re.M) if int(count) >= 100}

        self.assertNotEqual(peers_of_the_root("usual"), {1, 2, 3})
        rules = ("coll_tuned_use_dynamic_rules", "1"), ("coll_tuned_dynamic_rules_filename", "rules.conf")
        self.assertEqual(peers_of_the_root("ruled", *rules), {1, 2, 3})

    @pytest.mark.thorough
    @unittest.skipUnless(shutil.which("mpicc.mpich") and shutil.which("mpirun.mpich"), "MPICH is not installed")
    def test_writes_a_tree_that_mpich_follows(self):
        """A broadcast along a ring waits for the last rank, which comes late; a broadcast along a tree does not."""
        algorithms = self.advice(HALO, *SLOW_CHOICE, "--tuning", "tree.json", "--tuning-for", "mpich-4.0")["algorithms"]
        self.assertIn(("allreduce", 16, 8, "recursive_doubling"),
                      [(one["collective"], one["ranks"], one["bytes"], one["algorithm"]) for one in algorithms])
        tree = json.loads((self.folder / "tree.json").read_text())
        self.assertEqual(list(tree["collective=allreduce"]["comm_type=intra"]), ["comm_size<16", "comm_size<=16", "comm_size=any"])
        ring = {"comm_size<=4": {"avg_msg_size<8": {"algorithm=MPIR_Bcast_intra_binomial": {}},
                                 "avg_msg_size<=1024": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}},
                                 "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_binomial": {}}},
                "comm_size=any": {"algorithm=MPIR_Bcast_intra_binomial": {}}}
        tree["collective=bcast"]["comm_type=intra"] = ring
        (self.folder / "ring.json").write_text(json.dumps(tree))
        (self.folder / "broken.json").write_text(json.dumps(tree).replace("comm_size=any", "comm_siz=any"))
        (self.folder / "late.c").write_text(LATE)
        subprocess.run(["mpicc.mpich", "-o", "late", "late.c"], cwd=self.folder, check=True, timeout=180)

        def sizes_that_wait(name, code=0):
            settings = ["-genv", "MPIR_CVAR_DEVICE_COLLECTIVES", "none", "-genv", "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE", name]
            done = subprocess.run(["mpirun.mpich", "-n", "4", *settings, "./late"], cwd=self.folder, check=False, timeout=180,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode == 0, code == 0, done.stdout + done.stderr)
            return done.stdout if code else [int(size) for size in done.stdout.split()]

        self.assertEqual(sizes_that_wait("tree.json"), [])
        self.assertEqual(sizes_that_wait("ring.json"), [8, 64, 512])
        self.assertEqual(sizes_that_wait("broken.json", 1), "")  # proves that the file is read

    def test_tuning_for_needs_a_file(self):
        self.assertIn("--tuning-for needs --tuning", self.refused("advise", str(HALO), "--tuning-for", "mpich"))

    def test_is_the_same_object_as_text_report_page_and_json(self):
        words = ("advise", str(HALO), "--backend", "aie", "--quick")
        text = self.offramp(*words, "--details", "--report", "r.json", "--html", "r.html").stdout
        written = json.loads((self.folder / "r.json").read_text())["answer"]
        details = written.pop("details")
        self.assertEqual(json.loads(self.offramp(*words, "--json").stdout)["answer"], written)
        page = html.unescape(self.shown("r.html")).replace("\N{NO-BREAK SPACE}", " ")
        self.assertIn(f'<h1 class="headline">{written["answer"]}</h1>', page)
        read = self.offramp("report", "r.json").stdout
        for line in ("answer", "why", "sure", "but", "next"):
            for shown in (text, read, page):
                self.assertIn(written[line], shown)
        for bar in written["bars"]:
            self.assertRegex(text, rf"(?m)^  {bar['name']} +[#>]+ ")
        self.assertTrue(any("\n" in detail for detail in details))
        for detail in details:  # in <pre>, where the ends of lines are the layout
            self.assertIn(detail, page)
            self.assertIn(detail, text)

    def test_that_is_out_of_time_says_so(self):
        done = self.offramp("advise", "pattern:alltoall:128:64KiB:4", "--seconds", "0.9", "--json", code=3)
        answer = json.loads(done.stdout)["answer"]
        self.assertFalse(answer["complete"])
        self.assertRegex(answer["answer"], r"^best so far, \d of \d tried: ")
        self.assertIn("not tried (time limit)", [bar.get("note") for bar in answer["bars"]])

    def test_over_several_numbers_of_ranks_says_from_which_on_hardware_pays(self):
        """The times are those of replays at each number, and sentences, table and plot agree."""
        files = [str(SCALED / f"halo-{ranks}.rec") for ranks in (2, 4, 8, 9, 12, 16, 18)]
        words = ("advise", *files, "--ranks", "64,128", "--backend", "aie")
        curve = json.loads(self.offramp(*words, "--json").stdout)
        self.assertEqual([point["ranks"] for point in curve["points"]], [64, 128])
        for point in curve["points"]:
            replayed = json.loads(self.offramp("replay", *files, "--ranks", str(point["ranks"]), "--backend", "host,aie", "--json").stdout)
            times = {one["backend"]: one["whole_run"]["modelled_time_ns"] for one in replayed["results"]}
            self.assertEqual({one["backend"]: one["time_ns"] for one in point["hardware"] if one["backend"] != "host tuned"}, times)
        pays, _ = curve["pays"]  # and the host with its fastest algorithms
        faster = [point["ranks"] for point in curve["points"] if point["hardware"][1]["ratio"] < 1]
        self.assertEqual(faster, [128])
        self.assertEqual(pays["ranges"], [{"from": 128, "to": 128, "to_the_end": True}])
        text = self.offramp(*words, "--details", "--svg", "curve.svg").stdout
        self.assertIn(curve["answer"]["answer"], text)
        self.assertRegex(text, r"# aie pays from 128 ranks on, not yet at 64 \(1\.\d+\)")
        self.assertRegex(text, r"(?m)^       1 \|-+h?-+$")
        self.assertRegex(text, r"(?m)^    1\.06 \|    a$")
        self.assertRegex(text, r"(?m)^    0\.67 \|         A$")
        self.assertIn("<svg", (self.folder / "curve.svg").read_text())

    def test_over_ranks_says_where_there_is_no_program_or_no_hardware(self):
        files = [str(SCALED / f"halo-{ranks}.rec") for ranks in (2, 4, 8, 9, 12, 16, 18)]
        text = self.offramp("advise", *files, "--ranks", "7,16,512", "--backend", "aie", "--details").stdout
        self.assertRegex(text, r"# not at 7 ranks: .+")
        self.assertRegex(text, r"# aie has no valid result at 512 ranks: .*the array has 400 tiles")
        self.refused("advise", *files, "--ranks", "7,11")
        self.refused("advise", *files, "--ranks", "16:64", "--quick")
        self.refused("advise", *files, "--ranks", "many")
        self.refused("advise", *files, "--ranks", "64", "--svg", "curve.svg")
        self.refused("advise", *files, "--compute-scaling", "strong")

    def test_over_ranks_that_is_out_of_time_says_what_is_whole(self):
        text = self.offramp("advise", "pattern:stencil2d:16:4KiB:5", "--ranks", "16,65536", "--seconds", "1", code=3).stdout
        self.assertRegex(text, r"(?m)^16 +[\d.]+ ")
        self.assertRegex(text, r"^best so far, 1 of 2 numbers of ranks: ")

    def test_at_one_number_of_ranks_answers_as_of_a_recording_of_it(self):
        files = [str(SCALED / f"halo-{ranks}.rec") for ranks in (2, 4, 8, 9, 12, 16, 18)]
        words = ("--quick", "--backend", "cclo,tinsel")
        scaled = json.loads(self.offramp("advise", *files, "--ranks", "32", *words, "--json").stdout)
        recorded = self.advice(SCALED / "halo-32.rec", *words)
        communication = [{one["backend"]: one["communication_ns"] for one in advice["candidates"]} for advice in (scaled, recorded)]
        self.assertEqual(communication[0], communication[1])

    def test_keeps_the_factors_of_computing(self):
        settings = ("--set", "blocked=0", "--set", "compute=0.5")
        answer = self.advice(HALO, "--backend", "sharp", "--quick", *settings)["answer"]
        self.assertNotEqual(answer["baseline_ns"], self.advice(HALO, "--backend", "sharp", "--quick")["answer"]["baseline_ns"])
        replayed = json.loads(self.offramp("replay", str(HALO), "--backend", "host", *settings, "--json").stdout)["results"]
        self.assertEqual(answer["baseline_ns"], replayed[0]["modelled_time_ns"])

    def test_ends_with_what_could_stop_the_hardware_in_production(self):
        advice = self.advice(HALO, "--backend", "sharp")
        self.assertIn("not in any model: devices that fail, encryption, and limits per user", advice["in_production"])
        text = self.offramp("advise", str(HALO), "--backend", "sharp", "--details").stdout
        self.assertTrue(text.endswith("\n# what could stop sharp in production\n" + "".join(f"  {one}\n" for one in advice["in_production"])), text)

    def test_over_ranks_gives_the_gain_with_the_other_scaling_too(self):
        files = [str(SCALED / f"halo-{ranks}.rec") for ranks in (2, 4, 8, 9, 12, 16, 18)]
        answers = {}
        for scaling in ("recorded", "strong", "weak"):
            words = ("advise", *files, "--ranks", "64,128", "--backend", "aie", "--compute-scaling", scaling, "--json")
            curve = json.loads(self.offramp(*words).stdout)
            answers[scaling] = curve["answer"]
            ratio, = (cell["ratio"] for cell in curve["points"][1]["hardware"] if cell["backend"] == "aie")
            answers[scaling]["gain"] = f"{100 * (1 - ratio):.{1 if ratio > 0.9005 else 0}f} % shorter"
        self.assertIn("strong scaling, as the recordings show", answers["recorded"]["machine"])
        self.assertEqual(answers["recorded"]["time_ns"], answers["strong"]["time_ns"])
        self.assertIn(f"with weak scaling aie is {answers['weak']['gain']} at 128 ranks", answers["strong"]["but"])
        self.assertIn(f"with strong scaling aie is {answers['strong']['gain']} at 128 ranks", answers["weak"]["but"])
        self.assertIn("weak scaling, as asked for", answers["weak"]["machine"])

    def test_of_nothing_is_refused(self):
        self.refused("advise", "pattern:nothing:4")
        self.refused("advise", str(HALO), "--routes", "nowhere/routes.toml")


if __name__ == "__main__":
    unittest.main()
