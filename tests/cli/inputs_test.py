"""Inputs that a command cannot use, and unmodified outputs of other tools. Needs OFFRAMP_BUILD, as cli_test.py does."""

import json
import pathlib
import resource
import shutil
import subprocess
import unittest

from cli_test import BUILD, CliTest, clean_environment

RING = "pattern:ring:2:8:1"
MACHINES = pathlib.Path(__file__).resolve().parents[1] / "data/machines"


class Benchmarks(CliTest):
    """The input of calibrate --from."""

    SIZES = [1 << shift for shift in range(3, 21)]

    def latencies(self, prefix="", title="# OSU MPI Latency Test v7.5"):
        lines = ["", title, "# Size       Avg Latency(us)", *(f"{size:<10} {1 + size / 10000:>18.2f}" for size in self.SIZES)]
        return "".join(f"{prefix}{line}\n" for line in lines)

    def imb(self, name, processes, columns, rows):
        return "\n".join(["#" + "-" * 50, f"# Benchmarking {name}", f"# #processes = {processes}", "#" + "-" * 50, columns,
                          *rows, "", ""])

    def write(self, **files):
        for name, text in files.items():
            (self.folder / f"{name}.out").write_text(text)

    def calibrated(self, *files, code=0, more=()):
        done = self.offramp("calibrate", "--from", *(f"{name}.out" for name in files), "--json", *more, code=code)
        return json.loads(done.stdout), done.stderr

    def figures(self, found, operation):
        return {row["bytes"]: row["measured_ns"] for row in found["comparisons"] if row["operation"] == operation}

    def test_have_prefixes_of_launchers(self):
        self.write(plain=self.latencies())
        plain, _ = self.calibrated("plain")
        self.assertEqual(len(self.figures(plain, "message")), len(self.SIZES))
        for prefix in ("[1,0]<stdout>:", "Fri Nov 27 20:05:12 2026[1,0]<stdout>:", "[prterun-n1-42@1,0]<stdout>: ", "0: ", " 0: ", "[0] "):
            with self.subTest(prefix=prefix):
                self.write(prefixed=self.latencies(prefix))
                found, _ = self.calibrated("prefixed")
                self.assertEqual(found["comparisons"], plain["comparisons"])

    def test_a_recording_is_none(self):
        (self.folder / "r.rec").write_bytes(b"OFFRAMPR" + bytes(100))
        self.assertIn("r.rec is a recording: its calls waited", self.refused("calibrate", "--from", "r.rec"))

    def test_of_osu_may_have_no_size_or_no_use(self):
        self.write(latency=self.latencies(), barrier="# OSU MPI Barrier Latency Test v7.1\n# Avg Latency(us)\n             4.91\n",
                   hello="# OSU MPI Hello World Test v7.5\n")
        found, errors = self.calibrated("latency", "barrier", "hello", more=("-n", "8", "--ranks-per-node", "4"))
        self.assertEqual(errors, "")
        self.assertEqual(self.figures(found, "barrier"), {0: 4910.0})
        self.assertTrue(next(row for row in found["comparisons"] if row["operation"] == "barrier")["modelled_ns"] > 0)
        self.assertIn('hello.out:1: results of "Hello World Test" are ignored', found["notes"])
        self.assertIn("does not name the nodes of its ranks: add --ranks and --ranks-per-node",
                      self.refused("calibrate", "--from", "barrier.out"))

    def test_of_several_pairs_and_of_both_ways_are_compared(self):
        self.write(latency=self.latencies(),
                   bibw="# OSU MPI Bi-Directional Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n65536    12500\n",
                   pairs="# OSU MPI Multiple Bandwidth / Message Rate Test v7.5\n# [ pairs: 4 ] [ window size: 64 ]\n"
                         "# Size                  MB/s        Messages/s\n65536    10000.0    152587.9\n",
                   multi="# OSU MPI Multi Latency Test v7.5\n# Size       Latency (us)\n8    1.50\n",
                   imb=self.imb("Sendrecv", 2, "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec",
                                ["131072 1000 10 13.1072 12 20000.0"]))
        found, _ = self.calibrated("latency", "bibw", "pairs", "multi", "imb", more=("-n", "8", "--ranks-per-node", "4"))
        rows = {(row["operation"], row.get("pairs", 1), row["bytes"]): row["measured_ns"] for row in found["comparisons"]
                if row["operation"] != "message"}
        expected = {("both ways", 1, 65536): 5242.88, ("rate", 4, 65536): 6553.6, ("loaded", 4, 8): 1500, ("both ways", 1, 131072): 6553.6}
        self.assertEqual({key: round(value, 3) for key, value in rows.items()}, expected)
        self.assertIn("does not name the nodes of its ranks", self.calibrated("latency", "multi", code=2)[1])

    def test_of_each_version_of_osu_are_read(self):
        head, columns = "# Size       Latency (us)", "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
        kind, tail = "# Datatype: MPI_CHAR.", "    P50 Tail Lat(us)    P90 Tail Lat(us)    P99 Tail Lat(us)"
        for version, heads, more in (("5.6.2", [head], ""), ("6.2", [columns], " 0.5 9 1000"), ("7.3", [head, kind], ""),
                                     ("7.5", [kind, "# Size       Avg Latency(us)" + tail], " 7 8 9")):
            with self.subTest(version=version):
                self.write(latency="\n".join([f"# OSU MPI Latency Test v{version}", *heads, *(f"{size} {(1000 + size // 10) // 10 / 100:.2f}{more}" for size in self.SIZES), ""]))
                found, _ = self.calibrated("latency")
                measured = {size: round(value) for size, value in self.figures(found, "message").items()}
                self.assertEqual(measured, {size: (1000 + size // 10) // 10 * 10 for size in self.SIZES})

    def test_of_each_version_of_imb_have_one_unit(self):
        """Its Mbytes are of 2^20 bytes in 4.1, and of 10^6 later."""
        for title, mega in (("Intel (R) MPI Benchmarks 4.1 Update 1", 1 << 20), ("Intel(R) MPI Benchmarks 2018", 1e6),
                            ("Intel(R) MPI Benchmarks 2019 Update 6", 1e6), ("Intel(R) MPI Benchmarks 2021.7", 1e6)):
            with self.subTest(title=title):
                rate = 131072 * 80000 / mega
                both = self.imb("Sendrecv", 2, "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec",
                                [f"131072 1000 20.00 25.00 22.00 {rate:.2f}", "4194304 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over;"])
                one = self.imb("Uniband", 2, "#bytes #repetitions   Mbytes/sec      Msg/sec", [f"131072 1000 {rate:.2f} 80000"])
                mapped = self.imb("Bcast", "4; rank order (rowwise): ", "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]      defects",
                                  ["1024 1000 5.00 7.00 6.00 0.00"])
                self.write(latency=self.latencies(), imb=f"#    {title}, MPI-1 part\n{both}{one}{mapped}")
                found, _ = self.calibrated("latency", "imb", more=("--ranks-per-node", "2"))
                self.assertEqual([self.figures(found, name) for name in ("both ways", "window", "bcast")],
                                 [{131072: 12500.0}, {131072: 12500.0}, {1024: 6000.0}])
                self.assertTrue(any(note.endswith(': no result: "time-out.;"') for note in found["notes"]))

    def test_of_imb_are_those_of_osu(self):
        ping = self.imb("PingPong", 2, "       #bytes #repetitions      t[usec]   Mbytes/sec",
                        [f"{size:>13} {1000:>12} {1 + size / 10000:>12.2f} {size:>12.2f}" for size in [0, *self.SIZES]])
        reductions = self.imb("Allreduce", 8, "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]",
                              ["            0         1000         0.03         0.03         0.03",
                               "         1024         1000         5.00         7.00         6.00"])
        barrier = self.imb("Barrier", 8, " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]", ["         1000         3.00         5.00         4.00"])
        other = self.imb("Exchange", 8, "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec", ["8 1000 1 1 1 1"])
        self.write(osu=self.latencies(), imb=ping + reductions + barrier + other)
        plain, _ = self.calibrated("osu")
        found, _ = self.calibrated("imb", more=("--ranks-per-node", "4"))
        self.assertEqual(self.figures(found, "message"), self.figures(plain, "message"))
        self.assertEqual(found["host"], plain["host"])
        self.assertEqual((self.figures(found, "allreduce"), self.figures(found, "barrier")), ({1024: 6000.0}, {0: 4000.0}))
        rows = [row for row in found["comparisons"] if row["operation"] == "allreduce"]
        self.assertEqual((rows[0]["ranks"], rows[0]["ranks_per_node"]), (8, 4))
        self.assertTrue(any('results of "Exchange" are ignored' in note for note in found["notes"]))
        without, _ = self.calibrated("imb")
        self.assertEqual(without["host"], plain["host"])
        self.assertIn('imb.out:27: results of "Allreduce" are ignored without --ranks-per-node', without["notes"])

    def test_of_a_whole_job_need_ranks_per_node(self):
        ping = self.imb("PingPong", "2\n# ( 94 additional processes waiting in MPI_Barrier)", "#bytes #repetitions t[usec] Mbytes/sec",
                        [f"{size} 1000 {0.31 + size / 7000:.2f} 1.00" for size in self.SIZES])
        self.write(whole=ping, latency=self.latencies())
        said = self.refused("calibrate", "--from", "whole.out")
        self.assertIn('whole.out:4: results of "PingPong" are ignored without --ranks-per-node: its ranks are neighbours', said)
        found, _ = self.calibrated("latency", "whole", more=("--ranks-per-node", "48"))
        places = {(row["operation"], row["place"]) for row in found["comparisons"]}
        self.assertEqual(places, {("message", "network"), ("message", "node")})
        alone, _ = self.calibrated("latency")
        self.assertEqual(found["host"]["latency"], alone["host"]["latency"])

    def test_within_a_node_are_refused_as_between_nodes(self):
        self.write(node="# OSU MPI Latency Test v7.5\n" + "".join(f"{size} {0.31 + size / 7000:.2f}\n" for size in self.SIZES))
        self.assertRegex(self.refused("calibrate", "--from", "node.out"),
                         "8 B take 310.0 ns between two nodes, faster than any NIC; if the ranks shared a node, use --from-node")
        self.offramp("calibrate", "--from-node", "node.out")

    def test_that_failed_their_validation_are_left_out(self):
        lines = self.latencies().splitlines()
        checked = [line + " " * 12 + ("Fail" if line.startswith("65536") else "Pass") if line[:1].isdigit() else line for line in lines]
        self.write(checked="\n".join(checked) + "\n", plain="\n".join(line for line in lines if not line.startswith("65536")) + "\n")
        found, _ = self.calibrated("checked")
        plain, _ = self.calibrated("plain")
        self.assertEqual(found["host"], plain["host"])
        self.assertIn("checked.out:17: the result is ignored, because its validation failed", found["notes"])

    def test_that_repeat_cost_little(self):
        table = (MACHINES / "alaska-ib-intel.csv").read_text().splitlines()
        (self.folder / "once.csv").write_text("\n".join(table) + "\n")
        (self.folder / "often.csv").write_text("\n".join([table[0], *(table[1:] * 5)]) + "\n")
        seconds = []
        for name in ("once.csv", "often.csv"):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            self.offramp("calibrate", "--from", name)
            seconds.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        self.assertLess(seconds[1], 2.5 * seconds[0])

    def test_that_cannot_be_read_do_not_end_the_command(self):
        self.write(latency=self.latencies(), broken="# OSU MPI Bandwidth Test v7.5\n8 12\n16 nan\n", text="some text\n")
        found, errors = self.calibrated("latency", "broken", "text", "none", code=2)
        alone, _ = self.calibrated("latency")
        self.assertEqual((found["comparisons"], found["source"]), (alone["comparisons"], "latency.out"))
        for problem in ('broken.out:3: "nan" is not a result', "text.out has no results", "cannot read none.out"):
            self.assertRegex(errors, f"(?m)^offramp: {problem}.*; its results are left out$")


class WrongInputs(CliTest):
    def test_settings_without_a_backend_are_of_what_is_replayed(self):
        def modelled(*settings, **variables):
            done = self.offramp("replay", "pattern:ring:2:1MiB:1", "--json", *settings, **variables)
            return json.loads(done.stdout)["results"][0]["modelled_time_ps"]

        self.assertEqual(modelled("--set", "bandwidth=400Gbps"), modelled("--set", "host.bandwidth=400"))
        self.assertLess(modelled("--set", "bandwidth=400Gbps"), modelled())
        self.assertEqual(modelled("--set", "latency=5000", OFFRAMP_BACKEND="cclo"), modelled("--set", "cclo.latency=5000", OFFRAMP_BACKEND="cclo"))
        for value in ("-5", "1e30"):
            refused = self.refused("replay", RING, "--set", f"bandwidth={value}")
            self.assertIn(f'--set bandwidth: "{value}" is not allowed for host.bandwidth', refused)
        self.assertRegex(self.refused("replay", RING, "--set", "link=400"), r'"link" is a parameter of other backends .* write cclo\.link, .*dpu\.link')
        line = self.offramp("run", "--dry-run", "--set", "bandwidth=400", "--", "/bin/true").stdout
        self.assertIn("-x OFFRAMP_HOST_BANDWIDTH=400 ", line)
        self.offramp("replay", RING, "--sweep", "bandwidth=100:200")

    def test_topologies_have_suggestions(self):
        self.assertIn('unknown topology "fattree"; did you mean "fat-tree"?', self.refused("replay", RING, "--network", "fattree:4:4"))
        self.assertIn('unknown topology "Torus"; did you mean "torus"?', self.refused("replay", RING, "--network", "Torus:2x2"))
        self.assertIn('offramp: --network: "fat-tree:x" is not fat-tree:DOWN', self.refused("replay", RING, "--network", "fat-tree:x"))
        self.assertIn("has 2 nodes per switch, which is not a multiple of 4: an oversubscription of 4 needs 4, 8, 12, ...",
                      self.refused("replay", RING, "--network", "fat-tree:2:4"))
        self.assertIn("allowed: star, fat-tree:", self.refused("replay", RING, "--network", "mesh:4"))

    def test_topics_that_are_none(self):
        refused = self.refused("explain", "foo")
        for words in ('the backend host has no topic "foo"; topics by backend: ', "zrlmpi: header", "host: validation"):
            self.assertIn(words, refused)
        self.assertIn('the backend host has no topic "registers"; --backend cclo has it', self.refused("explain", "registers"))
        self.assertIn('the backend dpu has no topic "foo"; topics: platform, notification, config, validation\n', self.refused("explain", "foo", "--backend", "dpu"))
        self.assertIn('did you mean "header"?', self.refused("explain", "hedder", "--backend", "zrlmpi"))
        self.assertIn('"r.json" is not a topic; to see a call of a report with receipts, add --call N --rank RANK', self.refused("explain", "r.json"))

    def test_advice_over_ranks_is_a_page(self):
        few = [f"pattern:stencil2d:{ranks}:4KiB:2" for ranks in (8, 9, 12, 16)]
        text = self.offramp("advise", *few, "--ranks", "64,128", "--backend", "aie", "--html", "ranks.html").stdout
        page = (self.folder / "ranks.html").read_text()
        for words in ("<!doctype html>", "<svg", "<tr><td>64</td>", "<tr><td>128</td>"):
            self.assertIn(words, page)
        self.assertIn(f'<h1 class="headline">{text.splitlines()[0].split(":")[0]}', page)
        self.assertIn("--report need a single number of ranks", self.refused("advise", *few, "--ranks", "64,128", "--report", "r.json"))

    def fake_launcher(self, *lines):
        fake = self.folder / "mpirun"
        fake.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        fake.chmod(0o755)
        return str(fake)

    def test_a_recording_that_is_interrupted_is_named(self):
        fake = self.fake_launcher(f"{BUILD}/tests/recording c.rec 2 3 parts", "exit 1")
        path = self.folder / "c.rec"
        error = self.offramp("record", "-o", "c.rec", "--launcher", fake, "--", "/bin/true", code=1).stderr
        self.assertIn("offramp: the recording ends early: c.rec.rank-N have what the ranks did until then; offramp replay c.rec --partial\n", error)
        self.assertIn("2 ranks, 37 events", self.offramp("replay", "c.rec", "--backend", "host", "--partial", "--details").stdout)
        path.write_text("an older one")
        error = self.offramp("record", "-o", "c.rec", "--launcher", fake, "--", "/bin/true", code=1).stderr
        self.assertIn("remove the older recording of that name, then offramp replay c.rec --partial\n", error)
        nothing = self.fake_launcher("exit 1")
        self.assertNotIn("ends early", self.offramp("record", "-o", "d.rec", "--launcher", nothing, "--", "/bin/true", code=1).stderr)

    def test_another_mpi_of_the_environment_is_named(self):
        fake = self.fake_launcher("exit 1")
        error = self.offramp("run", "--launcher", fake, "--", "/bin/true", code=1, OPAL_PREFIX="/opt/conda").stderr
        self.assertIn(f"note: OPAL_PREFIX is /opt/conda, but {fake} belongs to another Open MPI", error)
        self.assertNotIn("OPAL_PREFIX", self.offramp("run", "--launcher", fake, "--", "/bin/true", code=1, OPAL_PREFIX=str(self.folder)).stderr)
        if shutil.which("mpirun"):
            self.assertIn("OPAL_PREFIX is /opt/conda", self.offramp("info", OPAL_PREFIX="/opt/conda").stdout)

    def test_srun_without_slurm_is_named(self):
        if pathlib.Path("/etc/slurm/slurm.conf").exists():
            self.skipTest("Slurm is installed")
        srun = pathlib.Path(self.fake_launcher("exit 1")).rename(self.folder / "srun")
        error = self.offramp("run", "--launcher", str(srun), "--", "/bin/true", code=1).stderr
        self.assertIn("note: no slurm.conf and no Slurm job here", error)
        self.assertNotIn("slurm.conf", self.offramp("run", "--launcher", str(srun), "--", "/bin/true", code=1, SLURM_JOB_ID="7").stderr)

    def test_outputs_where_no_file_can_be(self):
        self.assertIn('no file can be made in "/proc"', self.refused("replay", RING, "--html", "/proc/x"))
        self.assertIn('there is no folder "/nowhere"', self.refused("replay", RING, "--html", "/nowhere/x"))

    def test_missing_arguments_are_named_by_what_they_are(self):
        self.assertEqual(self.refused("advise"), "offramp: FILE|PATTERN is missing; see offramp advise --help\n")
        self.assertEqual(self.refused("check"), "offramp: PROGRAM|FILE|PATTERN is missing; see offramp check --help\n")
        self.assertEqual(self.refused("replay"), "offramp: FILE, PATTERN, or --job is missing; see offramp replay --help\n")
        self.assertIn("--output is required", self.refused("record", "--", "/bin/true"))
        self.assertIn("--backend needs a value: BACKEND", self.refused("replay", RING, "--backend"))
        self.assertIn("--events needs a FILE or PATTERN", self.refused("info", "--events"))

    def test_values_are_quoted_with_what_is_allowed(self):
        for words, problem in ((("replay", RING, "-n", "two"), '--ranks: "two" is not a whole number from 1 to 1048576'),
                               (("record", "-o", "r", "--repeat", "1", "--", "/bin/true"), '--repeat: "1" is not a whole number from 2 to 1000'),
                               (("advise", RING, "--seconds", "x"), '--seconds: "x" is not a number from 0.1 to 1000000'),
                               (("explain", "r.json", "--call", "0"), '--call: "0" is not a whole number of at least 1'),
                               (("replay", RING, "--arrival", "soon"), '--arrival: "soon" is not allowed; allowed: recorded, modelled'),
                               (("advise", RING, "--ranks", "4:2"), '--ranks "4:2": FROM is above TO')):
            with self.subTest(words=words):
                self.assertIn(problem, self.refused(*words))

    def test_options_without_effect_are_named(self):
        note = "note: allreduce has no root; --root has no effect"
        self.assertIn(note, self.offramp("predict", "allreduce", "-n", "4", "--root", "3").stderr)
        self.assertEqual(self.offramp("predict", "bcast", "-n", "4", "--root", "3").stderr, "")
        self.assertIn("note: --backend is for programs", self.offramp("check", RING, "--backend", "cclo").stderr)
        self.assertEqual(self.offramp("check", RING).stderr, "")
        self.assertIn("--routes needs the search that --quick skips", self.refused("advise", RING, "--routes", "r.toml", "--quick"))
        self.assertIn('unknown option "--foo"; see offramp --help', self.refused("--foo"))

    def test_files_of_another_kind_are_named_by_their_kind(self):
        (self.folder / "dir").mkdir()
        for words in (("info", "dir"), ("replay", "dir"), ("report", "dir")):
            self.assertEqual(self.refused(*words), "offramp: cannot read dir: it is a folder\n")
        (self.folder / "j.json").write_text('{"a": 1}')
        self.assertIn("j.json is not a report: ", self.refused("explain", "--call", "1", "j.json"))
        self.offramp("replay", RING, "--backend", "host", "--report", "r.json")
        self.assertIn("no receipts in r.json: make the report with --receipts all", self.refused("explain", "--call", "1", "r.json"))
        self.offramp("convert", RING, "-o", "x.rec", "--to", "recording")
        self.assertEqual(self.refused("report", "x.rec"), "offramp: x.rec is a recording; offramp replay x.rec --report FILE makes a report\n")
        self.assertEqual(self.refused("check", "nofile"), "offramp: cannot read nofile: No such file or directory\n")
        self.assertIn('unknown pattern "foo"', self.refused("check", "pattern:foo:4:8"))
        self.assertIn('"pattern:ring" is not pattern:ring:RANKS:BYTES[:ROUNDS]', self.refused("check", "pattern:ring"))
        self.assertEqual(self.refused("check", "/bin/true"), 'offramp: "/bin/true" is not linked to MPI, or loads it only at run time, as interpreters do\n')

    def test_outputs_are_named_by_the_option_that_was_typed(self):
        self.assertIn('offramp: record (--output): cannot write "/nowhere/x"', self.refused("record", "-o", "/nowhere/x", "--", "/bin/true"))
        self.assertIn('offramp: report (OFFRAMP_REPORT): cannot write "/nowhere/r"', self.refused("run", "--", "/bin/true", OFFRAMP_REPORT="/nowhere/r"))

    def test_a_library_of_preload_that_is_missing_ends_the_run(self):
        fake = self.fake_launcher("exit 3")
        self.assertIn('cannot find the library "nothing.so" (--preload)',
                      self.refused("run", "--preload", "nothing.so", "--launcher", fake, "--", "/bin/true", code=127))
        library = BUILD / "lib/libofframp.so"
        self.offramp("run", "--preload", str(library), "--launcher", fake, "--", "/bin/true", code=3)

    def test_ranks_that_are_not_carried_are_named(self):
        def ran(announced, ends=0, code=0, **variables):
            fake = self.fake_launcher(f'for word; do case $word in OFFRAMP_CARRIED=*) printf "{announced}" > "${{word#*=}}";; esac; done',
                                      f"exit {ends}")
            return self.offramp("run", "-n", "3", "--launcher", fake, "--", "sh", code=code, **variables).stderr

        for everyone in ("2 3\\n", "0 1\\n2 1\\n1 1\\n"):
            self.assertNotIn("not carried", ran(everyone))
        self.assertIn("offramp: rank 1 was not carried: MPI_Init was not called", ran("0 1\\n2 1\\n", code=74))
        self.assertIn("sh\" is not linked to MPI", ran("", code=74))
        self.assertIn("note: as far as this host can see, no rank was carried", ran("", PBS_NODEFILE="nodes"))
        self.assertNotIn("carried", ran("", ends=5, code=5))


class Programs(CliTest):
    """The check of a program and the libraries beside it before it runs."""

    def compiled(self, name, *options, text="int main(void) { return 0; }\n"):
        (self.folder / f"{name}.c").write_text(text)
        done = subprocess.run(["mpicc", f"{name}.c", "-o", name, *options], cwd=self.folder, capture_output=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"mpicc cannot compile this: {done.stderr.decode()}")
        return str(self.folder / name)

    def test_address_sanitizer_comes_first(self):
        program = self.compiled("hello", "-fsanitize=address", text="#include <mpi.h>\nint main(int c, char** v) { MPI_Init(&c, &v); return MPI_Finalize(); }\n")
        self.assertRegex(self.offramp("check", program).stdout, r"note: AddressSanitizer has to be loaded before Offramp: offramp run preloads /\S*libasan")
        self.assertIn("libasan", json.loads(self.offramp("check", "--json", program).stdout)["preloaded_first"])
        done = self.offramp("run", "--dry-run", "--preload", "/opt/tool.so", "--", program)
        self.assertRegex(done.stdout, r"-x LD_PRELOAD=/[^:]*libasan[^:]*:/opt/tool.so:\S*libofframp")
        self.assertIn("is built with AddressSanitizer, which has to be loaded first", done.stderr)

    def test_with_an_mpi_library_inside_is_refused(self):
        (self.folder / "own.c").write_text("int MPI_Init(int* c, char*** v) { return c != (void*)v; }\nint main(void) { return MPI_Init(0, 0); }\n")
        for name, *options in (("shared",), ("static", "-static")):
            subprocess.run(["gcc", "own.c", "-o", name, *options], cwd=self.folder, check=True)
            for words in (("run",), ("record", "-o", "a.rec")):
                self.assertIn("contains its own MPI library", self.refused(*words, "-n", "2", "--", f"./{name}", code=126))

    def test_a_path_that_cannot_be_preloaded_is_refused(self):
        for folder in ("a b", "a:b"):
            (self.folder / folder / "lib").mkdir(parents=True)
            shutil.copytree(BUILD / "bin", self.folder / folder / "bin")
            library = self.folder / folder / "lib/libofframp.so"
            library.touch()
            done = subprocess.run([self.folder / folder / "bin/offramp", "run", "--", "sh"], env=clean_environment(), capture_output=True,
                                  text=True, check=False)
            self.assertIn(f'cannot preload "{library.resolve()}"', done.stderr)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn("cannot preload", self.refused("run", "--preload", str(library), "--", "sh"))

    def test_in_this_folder_is_named_with_its_folder(self):
        name = pathlib.Path(self.compiled("hello")).name
        self.assertIn(f'"{name}" is not in PATH; did you mean ./{name}?', self.refused("check", name))

    def test_a_tool_counts_as_the_program(self):
        tool = self.compiled("tool.so", "-shared", "-fPIC", text="#include <mpi.h>\nint MPI_Finalize(void) { return PMPI_Finalize(); }\n")
        other = self.compiled("other.so", "-shared", "-fPIC", text="int other(void) { return 0; }\n")
        done = self.offramp("run", "--dry-run", "--preload", tool, "--preload", other, "--", "/bin/true")
        self.assertIn(f"note: {tool} wraps MPI functions: its own messages count as the program's", done.stderr)
        self.assertNotIn(other, done.stderr)

    def test_an_archive_without_mpi_is_no_program(self):
        (self.folder / "archive").mkdir()
        (self.folder / "archive/traces.otf2").write_bytes(b"\3BOTF2\0\3\2\3")
        self.assertIn("traces.otf2", self.refused("check", "archive"))


if __name__ == "__main__":
    unittest.main()
