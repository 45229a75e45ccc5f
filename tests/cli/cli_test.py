"""The `offramp` command as a user meets it. Needs OFFRAMP_BUILD: the build folder with bin/offramp and lib/libofframp.so."""

import contextlib
import gzip
import json
import os
import re
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from terminals import needs_terminals

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import browser  # noqa: E402  # pylint: disable=wrong-import-position
import registry  # noqa: E402  # pylint: disable=wrong-import-position

BUILD = pathlib.Path(os.environ.get("OFFRAMP_BUILD", "build")).resolve()
OFFRAMP = BUILD / "bin" / "offramp"
LIBRARY = BUILD / "lib" / "libofframp.so"


def clean_environment(**variables):
    """The environment with no OFFRAMP_ variables but the given ones."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OFFRAMP_", "LD_PRELOAD", "GLIBC_TUNABLES", "UCX_", "COLUMNS"))}
    return {**environment, **variables}


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="offramp_cli_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def offramp(self, *arguments, code=0, **variables):
        """Runs the command in an empty folder, in a clean environment."""
        done = subprocess.run([OFFRAMP, *arguments], cwd=self.folder, env=clean_environment(**variables), capture_output=True, text=True,
                              timeout=180, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def refused(self, *arguments, code=2, **variables):
        """The one line that explains the failure."""
        done = self.offramp(*arguments, code=code, **variables)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("offramp: "), done.stderr)
        return done.stderr

    def shown(self, page):
        """A page as the browser shows it, once its script has drawn it."""
        seen = browser.look_at(self.folder / page)
        if seen is None:
            self.skipTest("chromium is not installed")
        self.assertEqual(seen[0], [], page)
        return seen[1]

    def dry_run(self, *arguments, **variables):
        return self.offramp("run", "--dry-run", *arguments, **variables).stdout


class Run(CliTest):
    def test_passes_everything_to_mpirun(self):
        line = self.dry_run("-n", "4", "--backend", "zrlmpi", "--clock", "model", "--", "/bin/true", "-n", "7")
        self.assertIn("mpirun -n 4 ", line)
        self.assertIn(f"-x LD_PRELOAD={LIBRARY} ", line)
        self.assertIn("-x OFFRAMP_BACKEND=zrlmpi ", line)
        self.assertIn("-x OFFRAMP_CLOCK=model ", line)
        self.assertIn("-x UCX_MEM_EVENTS=n -x UCX_ERROR_SIGNALS= ", line)
        self.assertTrue(line.endswith(" /bin/true -n 7\n"), line)

    def test_needs_no_dashes_before_a_plain_command(self):
        self.assertTrue(self.dry_run("-n", "1", "/bin/echo", "--backend", "x").endswith("/bin/echo --backend x\n"))

    def test_shares_cores_only_when_there_are_too_few(self):
        self.assertIn("--oversubscribe", self.dry_run("-n", "100000", "--", "/bin/true"))
        self.assertNotIn("--oversubscribe", self.dry_run("-n", "1", "--", "/bin/true"))
        for given in ("--host a:4", "--map-by :OVERSUBSCRIBE"):
            self.assertNotIn("--oversubscribe", self.dry_run("-n", "100000", "--mpirun-args", given, "--", "/bin/true"))

    def test_gives_the_settings_to_each_program_of_a_job(self):
        line = self.dry_run("-n", "1", "--backend", "zrlmpi", "--", "/bin/true", "a", ":", "-n", "2", "/bin/true", ":", "/bin/true")
        first, *others = line.split(" : ")
        self.assertTrue(first.endswith(" /bin/true a"), line)
        self.assertEqual(len(others), 2)
        for program in [first, *others]:
            self.assertIn(f"-x LD_PRELOAD={LIBRARY} ", program)
            self.assertIn("-x OFFRAMP_BACKEND=zrlmpi ", program)
        self.assertTrue(others[0].endswith(" -n 2 /bin/true"), line)
        self.assertIn("--oversubscribe", self.dry_run("-n", "1", "--", "/bin/true", ":", "-n", "100000", "/bin/true"))

    def test_looks_for_each_program_of_a_job(self):
        self.assertIn("no_such_program", self.refused("run", "-n", "1", "--", "/bin/true", ":", "-n", "1", "no_such_program", code=127))

    def test_keeps_what_the_user_set_for_ucx(self):
        line = self.dry_run("--", "/bin/true", UCX_MEM_EVENTS="y", UCX_ERROR_SIGNALS="SIGSEGV")
        self.assertNotIn("UCX_", line)

    def test_puts_tools_before_and_other_libraries_behind_offramp(self):
        line = self.dry_run("--preload", "/opt/tool.so", "--", "/bin/true", LD_PRELOAD="libc.so.6")
        self.assertIn(f"LD_PRELOAD=/opt/tool.so:{LIBRARY}:libc.so.6 ", line)

    def test_sets_parameters_by_full_name_and_of_the_chosen_backend(self):
        parameter = json.loads(self.offramp("info", "--json", "--backend", "zrlmpi").stdout)["backends"][0]["parameters"][0]
        default = parameter["default"]
        value = str(default).lower() if isinstance(default, bool) else str(default)
        for name in (f"zrlmpi.{parameter['name']}", parameter["name"]):
            line = self.dry_run("--backend", "zrlmpi", "--set", f"{name}={value}", "--", "/bin/true")
            self.assertIn(f"-x {parameter['variable']}={value} ", line)
        self.assertIn("-x OFFRAMP_FAULTS_LOSS=1e-3 ", self.dry_run("--set", "faults.loss=1e-3", "--", "/bin/true"))

    def test_names_files_by_their_whole_path(self):
        (self.folder / "offramp.toml").write_text("backend = 'host'\n")
        line = self.dry_run("--report", "r.json", "--", "/bin/true")
        self.assertIn(f"-x OFFRAMP_CONFIG={self.folder}/", line)
        self.assertIn(f"-x OFFRAMP_REPORT={self.folder}/r.json ", line)

    def test_options_win_over_variables(self):
        line = self.dry_run("--backend", "host", "--", "/bin/true", OFFRAMP_BACKEND="zrlmpi", OFFRAMP_TRACE="t")
        self.assertIn("-x OFFRAMP_BACKEND=host ", line)
        self.assertIn("-x OFFRAMP_TRACE=t ", line)

    def test_reports_a_wrong_configuration_once_before_anything_runs(self):
        error = self.refused("run", "-n", "4", "--backend", "zrlmp", "--", "/bin/true")
        self.assertEqual(error.split("; ")[-1], 'did you mean "zrlmpi"?\n')
        self.assertIn("unknown variable", self.refused("run", "--", "/bin/true", OFFRAMP_BAKEND="host"))
        (self.folder / "offramp.toml").write_text("\nclock = 'modell'\n")
        self.assertIn("offramp.toml:2: ", self.refused("run", "--", "/bin/true"))

    def test_has_exit_codes_as_shells_do(self):
        self.assertIn("./nothing", self.refused("run", "--", "./nothing", code=127))
        (self.folder / "text").write_text("x")
        self.assertIn("not an executable", self.refused("run", "--", "./text", code=126))
        self.assertIn('cannot find the launcher "no-such-mpirun" (--launcher)',
                      self.refused("run", "--mpirun", "no-such-mpirun", "--", "/bin/true", code=127))

    def test_hands_on_the_exit_code_of_mpirun(self):
        fake = self.folder / "mpirun"
        fake.write_text("#!/bin/sh\nexit 42\n")
        fake.chmod(0o755)
        self.offramp("run", "--mpirun", str(fake), "--", "/bin/true", code=42)

    def test_refuses_what_it_does_not_understand(self):
        self.assertIn('did you mean "--backend"?', self.refused("run", "--bakend", "host", "--", "/bin/true"))
        self.assertIn("no program", self.refused("run", "-n", "2"))
        self.assertIn("--ranks", self.refused("run", "-n", "0", "--", "/bin/true"))
        self.assertIn("KEY=VALUE", self.refused("run", "--set", "clock", "--", "/bin/true"))
        self.assertIn("unexpected argument", self.refused("run", "stray", "--", "/bin/true"))


    def test_speaks_of_options_that_have_no_effect(self):
        def note(*arguments):
            return self.offramp("run", "--dry-run", *arguments).stderr

        self.assertIn("certificate has no effect without a report", note("--certificate", "--", "/bin/true"))
        self.assertNotIn("no effect", note("--details", "--report", "r.json", "--", "/bin/true"))
        self.assertIn("--backend after /bin/echo", note("/bin/echo", "--backend", "cclo"))
        self.assertNotIn("behind", note("--", "/bin/echo", "--backend", "cclo"))
        self.assertIn("calls no MPI function", note("--", "/bin/true"))
        self.assertNotIn("calls no MPI", note("--", str(BUILD / "tests/mpi/reduce")))
        self.assertNotIn("calls no MPI", note("--", "python3"))

    def test_speaks_as_mpirun_does(self):
        self.assertEqual(self.dry_run("-np", "2", "--", "/bin/true"), self.dry_run("-n", "2", "--", "/bin/true"))
        self.assertTrue(self.dry_run("/bin/echo", "-np", "2").endswith("/bin/echo -np 2\n"))

    def test_passes_the_options_of_mpirun_on(self):
        for words, passed in ((("--bind-to", "core"), "--bind-to core"), (("-x", "A=b"), "-x A=b"), (("--oversubscribe",), "--oversubscribe"),
                              (("--hostfile", "my hosts"), "--hostfile 'my hosts'"), (("--mca", "btl", "self"), "--mca btl self"),
                              (("--map-by=core",), "--map-by=core")):
            with self.subTest(words=words):
                self.assertIn(f" {passed} ", self.dry_run("-n", "2", *words, "--backend", "host", "--", "/bin/true"))
        record = self.offramp("record", "--dry-run", "-n", "2", "--bind-to", "core", "-o", "x", "--", "/bin/true").stdout
        self.assertIn(" --bind-to core ", record)
        self.assertIn('unknown option "--bind-two"', self.refused("record", "-n", "2", "--bind-two", "core", "--", "/bin/true"))
        self.assertTrue(self.dry_run("/bin/echo", "--bind-to", "core").endswith("/bin/echo --bind-to core\n"))

    def test_takes_several_backends_as_a_replay_does(self):
        self.assertEqual(self.dry_run("--backend", "dpu,sharp", "--", "/bin/true").replace("--backend", ""),
                         self.dry_run("--backend", "dpu", "--compare", "sharp", "--", "/bin/true").replace("--backend", ""))

    def test_within_a_job_says_who_starts_whom(self):
        error = self.refused("record", "-o", "x.rec", "--", "/bin/true", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0")
        self.assertIn("offramp starts mpirun", error)

    def test_suggests_a_program_in_this_folder(self):
        (self.folder / "jacobi").write_text("x")
        self.assertIn("did you mean ./jacobi?", self.refused("run", "jacobi", code=127))

    def test_explains_slips_in_the_file(self):
        for text, word in (("backend = cclo", 'backend = "cclo"'), ("[[routes]]\nbackend = 'host'", 'did you mean "route"?'),
                           ("[[cclo]]\nlink = 3", "write [cclo]")):
            (self.folder / "offramp.toml").write_text(text + "\n")
            error = self.refused("run", "--", "/bin/true")
            self.assertIn(word, error)
            self.assertIn("offramp.toml:1: ", error)


class Info(CliTest):
    def test_shows_version_library_and_backends_on_a_few_lines(self):
        text = self.offramp("info").stdout
        for word in (str(LIBRARY), "host, ", "zrlmpi, ", "core", "Open MPI"):
            self.assertIn(word, text)
        self.assertLessEqual(len(text.splitlines()), 15)
        self.assertRegex(text.splitlines()[0], "^(no problems found|problems:)$")

    def test_shows_the_values_in_force_and_their_sources(self):
        (self.folder / "offramp.toml").write_text("[cclo]\nlink = 50\n")
        text = self.offramp("info", OFFRAMP_BACKEND="cclo").stdout
        self.assertRegex(text, r"(?m)^backend +cclo \(OFFRAMP_BACKEND\)$")
        self.assertRegex(text, r"(?m)^cclo.link +50 Gb/s \(offramp.toml:2\)$")
        facts = json.loads(self.offramp("info", "--json", OFFRAMP_BACKEND="cclo").stdout)["settings"]
        self.assertEqual(facts["cclo.link"], {"value": "50 Gb/s", "source": "offramp.toml:2"})
        self.assertEqual(facts["cclo.latency"], {"value": "1362 ns", "source": "default"})
        self.assertIn("50 Gb/s (default 100 Gb/s)", self.offramp("info", "--backend", "cclo").stdout)

    def test_shows_the_parameters_of_one_backend_or_of_all(self):
        self.assertIn("allowed: ", self.offramp("info", "--backend", "host").stdout)
        text = self.offramp("info", "--backend", "all").stdout
        for word in ("host: ", "zrlmpi: ", "allowed: ", "source: "):
            self.assertIn(word, text)

    def test_speaks_json(self):
        facts = json.loads(self.offramp("info", "--json").stdout)
        self.assertEqual(facts["library"], str(LIBRARY))
        self.assertGreaterEqual(facts["topology"]["cores"], 1)
        self.assertLessEqual({"host", "zrlmpi"}, {b["name"] for b in facts["backends"]})
        for backend in facts["backends"]:
            for parameter in backend["parameters"]:
                self.assertTrue(parameter["source"], parameter)
                self.assertTrue(parameter["description"], parameter)
        self.assertIn("backend", {k["key"] for k in facts["keys"]})

    def test_prints_a_configuration_that_can_be_used(self):
        sample = self.offramp("info", "-c").stdout
        path = self.folder / "sample.toml"
        path.write_text(sample)
        self.dry_run("--", "/bin/true", OFFRAMP_CONFIG=str(path))
        again = self.offramp("info", "-c", OFFRAMP_CONFIG=str(path)).stdout
        self.assertEqual(sample, again)

    def test_prints_routes_that_can_be_used_once_uncommented(self):
        lines = self.offramp("info", "-c").stdout.splitlines()
        start = lines.index("# [[route]]")
        stop = lines.index("", start)
        route = [l[2:] for l in lines[start:stop] if l.startswith("# [[") or " = " in l.split(";")[0]]
        path = self.folder / "route.toml"
        path.write_text("\n".join(route))
        self.assertEqual(len(route), 7, route)
        self.dry_run("--config", str(path), "--", "/bin/true")

    def test_can_be_limited_to_one_backend(self):
        text = self.offramp("info", "-c", "--backend", "zrlmpi").stdout
        self.assertIn("[zrlmpi]", text)
        self.assertNotIn("[host]", text)
        self.assertIn('did you mean "zrlmpi"?', self.refused("info", "--backend", "zrlmp"))

    def test_says_that_the_configuration_is_wrong_but_still_helps(self):
        text = self.offramp("info", OFFRAMP_CLOCK="modell").stdout
        self.assertIn("problems:\n", text)
        self.assertIn('did you mean "model"?', text)


PLUGIN = """
#include "offramp/model/backend.hpp"
namespace {
std::unique_ptr<offramp::Backend> create(const offramp::BackendContext&) { return nullptr; }
const offramp::Parameter parameters[] = {
    {"depth", offramp::ParameterKind::kInteger, "1", 4, 1, 16, "", {}, "assumed", "slots of a queue"}};
const offramp::BackendDescription description{ABI, "NAME", "made by a test", parameters, create};
}
extern "C" const offramp::BackendDescription* offramp_backend_v1() { return &description; }
"""


class Plugins(CliTest):
    def build(self, name="toy", abi="offramp::BackendDescription::kAbi"):
        root = pathlib.Path(__file__).resolve().parents[2]
        compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
        if not compiler:
            self.skipTest("no compiler")
        source = self.folder / "plugin.cpp"
        source.write_text(PLUGIN.replace("ABI", abi).replace("NAME", name))
        subprocess.run([compiler, "-std=c++20", "-shared", "-fPIC", f"-I{root / 'include'}", source, "-o", source.with_suffix(".so")],
                       check=True)

    def test_are_listed_chosen_and_configured_like_built_in_backends(self):
        self.build()
        path = {"OFFRAMP_PLUGIN_PATH": str(self.folder)}
        self.assertIn("toy: made by a test", self.offramp("info", "--backend", "toy", **path).stdout)
        self.assertIn(", toy;", self.offramp("info", **path).stdout)
        self.dry_run("--backend", "toy", "--set", "depth=16", "--", "/bin/true", **path)
        self.assertIn("1 .. 16", self.refused("run", "--", "/bin/true", OFFRAMP_TOY_DEPTH="17", **path))
        sample = self.folder / "sample.toml"
        sample.write_text(self.offramp("info", "-c", **path).stdout)
        self.assertIn("[toy]", sample.read_text())
        self.dry_run("--config", str(sample), "--", "/bin/true", **path)

    def test_of_another_abi_or_with_a_taken_name_are_refused(self):
        self.build(abi="1")
        path = {"OFFRAMP_PLUGIN_PATH": str(self.folder)}
        self.assertIn("built for backend abi 1, but this offramp has abi 14;", self.refused("run", "--", "/bin/true", **path))
        for name, reason in (("host", "already exists"), ("off", "is reserved"), ("clock", "is a key")):
            self.build(name)
            self.assertIn(reason, self.refused("run", "--", "/bin/true", **path))


class Command(CliTest):
    def test_has_a_version_and_help(self):
        self.assertRegex(self.offramp("--version").stdout, r"^offramp \d+\.\d+\.\d+\n$")
        self.assertIn("Exit codes", self.offramp("run", "--help-all").stdout)
        self.assertIn("run", self.offramp("--help").stdout)
        self.assertRegex(self.offramp("replay", "--help-all").stdout, r"(?m)^  -h --help +print this help\n  --help-all +describe all options$")
        options = re.findall(r"^  (?:-\w )?(--[a-z-]+)", self.offramp("record", "--help").stdout, flags=re.M)
        self.assertEqual([one for one in options if one != "--help-all"][:4], ["--help", "--output", "--ranks", "--repeat"])

    def test_help_fits_a_screen_and_names_what_it_leaves_to_the_other_one(self):
        for sub in re.findall(r"^  ([a-z]+) {2,}", self.offramp("--help").stdout.split("Subcommands:")[1], flags=re.M):
            short, whole = (self.offramp(sub, option).stdout for option in ("--help", "--help-all"))
            self.assertLessEqual(len(short.splitlines()), 45, sub)
            self.assertLessEqual(max(map(len, short.splitlines())), 80, sub)
            self.assertLessEqual(max(map(len, whole.splitlines())), 80, sub)
            self.assertIn("Exit codes", whole)
            described = set(re.findall(r"^  (?:-\w )?(--[a-z0-9-]+)", whole, flags=re.M)) - {"--help-all"}
            self.assertEqual(described, described & set(re.findall(r"--[a-z0-9-]+", short)), sub)

    def test_answers_help_and_version_without_dashes(self):
        self.assertEqual(self.offramp("version").stdout, self.offramp("--version").stdout)
        self.assertEqual(self.offramp("help").stdout, self.offramp("--help").stdout)
        self.assertEqual(self.offramp("help", "run").stdout, self.offramp("run", "--help").stdout)

    def test_compares_by_other_names(self):
        files = ("pattern:ring:2:8:1", "pattern:ring:2:16:1")
        for name in ("compare", "diff"):
            self.assertEqual(self.offramp(name, *files).stdout, self.offramp("replay", *files).stdout)

    def test_keeps_what_developers_need_in_the_lab(self):
        listed = self.offramp("lab").stdout
        for option in ("--jobs", "--check", "--what-if"):
            self.assertRegex(listed, rf"(?m)^  {option}\b")
            self.assertNotIn(option, self.offramp("predict", "--help-all").stdout)
            self.assertIn(option, self.offramp("lab", "predict", "--help-all").stdout)
        words = ("predict", "barrier", "--backend", "host", "-n", "4")
        self.assertEqual(self.offramp("lab", *words, "--check").stdout, self.offramp(*words).stdout)

    def test_answers_words_of_other_tools(self):
        (self.folder / "app.rec").write_text("x")
        (self.folder / "app").write_text("x")
        (self.folder / "app").chmod(0o755)
        for word, command in (("app.rec", "advise app.rec"), ("./app", "record -n RANKS -o FILE.rec -- ./app"), ("profile", "record"),
                              ("pattern:ring:2:8:1", "advise pattern:ring:2:8:1")):
            with self.subTest(word=word):
                self.assertIn(f"unknown subcommand \"{word}\"; use offramp {command}\n", self.refused(word))
        self.assertIn('did you mean "--help-all"?', self.refused("advise", "--help-al"))
        for name, backend in (("bluefield", "dpu"), ("BlueField-3", "dpu"), ("fpga", "cclo")):
            done = self.offramp("predict", "bcast", "-n", "2", "--bytes", "8", "--backend", name, "--json")
            self.assertIn(f"note: {name} is the backend {backend}\n", done.stderr)
            self.assertEqual(done.stdout, self.offramp("predict", "bcast", "-n", "2", "--bytes", "8", "--backend", backend, "--json").stdout)
        self.assertIn("offramp predict allreduce --compare all", self.refused("explain", "allreduce"))
        self.assertEqual(self.offramp("explain", "sharp").stdout, self.offramp("explain", "--backend", "sharp").stdout)
        self.assertIn("host.latency = 1 ns", self.offramp("predict", "barrier", "-n", "2", "--set", "host.latency=1").stderr)
        self.assertNotIn("host.latency", self.offramp("predict", "barrier", "-n", "2", "--set", "host.latency=1ns").stderr)

    def test_converts_to_the_format_of_the_suffix(self):
        self.offramp("convert", "pattern:ring:2:8:1", "-o", "x.goal")
        self.assertTrue((self.folder / "x.goal").read_text().startswith("num_ranks 2"))
        self.offramp("convert", "x.goal", "-o", "y.rec")
        self.assertIn("recording", self.offramp("info", "y.rec").stdout)
        self.assertIn("--to is missing", self.refused("convert", "x.goal", "-o", "y"))

    def test_suggests_subcommands_and_options(self):
        self.assertIn('did you mean "run"?', self.refused("rnu"))
        self.assertIn('did you mean "--json"?', self.refused("info", "--jsn"))
        self.assertIn("no subcommand", self.refused())
        self.assertIn("see offramp check --help", self.refused("check"))


class Predict(CliTest):
    def predict(self, *arguments, code=0):
        return self.offramp("predict", *arguments, code=code).stdout

    def test_gives_one_operation_as_json(self):
        answer = json.loads(self.predict("reduce", "--backend", "zrlmpi", "--ranks", "7", "--bytes", "16", "--json"))
        for key in ("operation", "backend", "ranks", "bytes", "time_ns", "cycles"):
            self.assertIn(key, answer)
        for key in ("packets", "payload_bytes", "wire_bytes", "retransmissions"):
            self.assertIn(key, answer["wire"])
        self.assertEqual((answer["operation"], answer["ranks"], answer["bytes"]), ("reduce", 7, 16))
        self.assertEqual(answer["cycles"], int(answer["time_ps"] / 6400))  # 156.25 MHz

    def test_sweeps_and_compares(self):
        rows = self.predict("bcast", "--backend", "host,zrlmpi", "--sweep", "bytes=1K:4K", "--csv").splitlines()
        self.assertEqual([row.split(",")[1:4] for row in rows[1:]],
                         [[b, "2", size] for size in ("1024", "2048", "4096") for b in ("host", "zrlmpi")])
        ranks = self.predict("barrier", "--backend", "host", "--sweep", "ranks=2:32:x4", "--csv").splitlines()
        self.assertEqual([row.split(",")[2] for row in ranks[1:]], ["2", "8", "32"])

    def test_says_what_the_memory_of_a_node_makes_of_it(self):
        shared = "allgather", "--backend", "host,dpu", "--ranks", "64", "--bytes", "1MiB", "--set", "machine.ranks_per_node=32"
        for answer in json.loads(self.predict(*shared, "--json")):
            least, most = answer["band_ns"]
            self.assertTrue(least < answer["time_ns"] < most, answer)
        self.assertRegex(self.predict(*shared, "--details"), r"# host: \d+\.\d+ to \d+\.\d+ us with the fastest and the slowest memory")
        tree = "bcast", "--backend", "host,sharp", "--ranks", "16", "--bytes", "256KiB", "--ranks-per-node", "8"
        host, sharp = (answer["band_ns"] for answer in json.loads(self.predict(*tree, "--json")))
        low, high = sorted(one / other for one, other in zip(sharp, host))
        self.assertIn(f"but   {100 * (low - 1):.1f} to {100 * (high - 1):.0f} % slower by the range of the nodes' memory\n", self.predict(*tree))
        alone = json.loads(self.predict("allgather", "--backend", "host", "--ranks", "4", "--bytes", "1MiB", "--json"))
        self.assertNotIn("band_ns", alone)

    def test_parameters_change_the_answer(self):
        slow = json.loads(self.predict("send", "--backend", "zrlmpi", "--bytes", "64K", "--json"))
        fast = json.loads(self.predict("send", "--backend", "zrlmpi", "--bytes", "64K", "--set", "preset=mpe2", "--json"))
        self.assertLess(fast["time_ns"], slow["time_ns"])

    def test_a_decline_is_an_answer_with_a_code_of_its_own(self):
        self.assertIn("declined: the tool chain has no such collective",
                      self.predict("alltoall", "--backend", "zrlmpi", code=3))

    def test_a_full_memory_is_made_larger_only_on_request_and_every_form_says_so(self):
        question = ("allreduce", "--backend", "cclo", "--bytes", "1K", "--sweep", "ranks=50:200:x2")
        rows = self.predict(*question, "--csv").splitlines()
        self.assertIn("--what-if", rows[-1])
        self.assertEqual(rows[-1].split(",")[4], "")  # takes no time
        made = "with an exchange memory of 16384 bytes"
        rows = self.predict(*question, "--what-if", "--csv", "--svg", "a.svg").splitlines()
        self.assertTrue(rows[0].endswith(",declined,note"), rows[0])
        self.assertIn(made, rows[-1])
        self.assertTrue(rows[1].endswith(",,"), rows[1])  # 50 ranks are no reason for a larger one
        picture = (self.folder / "a.svg").read_text()
        self.assertIn("stroke-dasharray", picture)
        self.assertIn("what if", picture)
        self.assertNotIn("stroke-dasharray", self.drawn(*question))
        self.assertIn("\nbut   what if: a communicator of 100 ranks needs 502 words", self.predict(*question, "--what-if"))
        self.assertIn(made, json.loads(self.predict(*question, "--what-if", "--json"))[-1]["note"])

    def drawn(self, *arguments):
        self.predict(*arguments, "--svg", "b.svg")
        return (self.folder / "b.svg").read_text()

    def test_takes_the_names_and_units_of_mpi_and_c(self):
        ours = self.predict("allreduce", "--bytes", "64KiB", "--type", "float64", "--function", "max")
        self.assertEqual(ours, self.predict("MPI_Allreduce", "--bytes", "64KB", "--type", "MPI_DOUBLE", "--function", "maximum"))
        self.assertEqual(ours, self.predict("Allreduce", "--bytes", "64kib", "--type", "double", "--function", "MPI_MAX"))
        fast = self.predict("bcast", "--backend", "zrlmpi", "--set", "link=100Gb/s", "--bytes", "1MiB")
        for link in ("100Gbps", "100 Gbit/s", "12.5 GB/s"):
            self.assertEqual(fast, self.predict("bcast", "--backend", "zrlmpi", "--set", f"link={link}", "--bytes", "1mib"))
        self.assertEqual(self.predict("barrier", "-np", "4"), self.predict("barrier", "-n", "4"))
        self.assertEqual(len(self.predict("barrier", "--backend", "all", "--csv").splitlines()), 1 + len(json.loads(self.offramp("info", "--json").stdout)["backends"]))

    def test_says_which_units_and_pictures_there_are(self):
        self.assertIn("KiB", self.refused("predict", "bcast", "--bytes", "64XB"))
        self.assertIn("Gb/s, ", self.refused("predict", "bcast", "--backend", "cclo", "--set", "link=2furlong"))
        self.assertIn("float64", self.refused("predict", "reduce", "--type", "quad"))
        self.assertIn(".svg", self.refused("predict", "bcast", "--svg", "x.png"))

    def test_a_name_of_a_key_and_of_a_parameter_is_told_apart(self):
        slow = self.predict("bcast", "--backend", "cclo", "--csv")
        self.assertNotEqual(slow, self.predict("bcast", "--backend", "cclo", "--set", "clock=100MHz", "--csv"))
        self.assertEqual(slow, self.predict("bcast", "--backend", "cclo", "--set", "clock=model", "--csv"))
        both = self.offramp("predict", "bcast", "--backend", "cclo,dpu", "--set", "link=300", "--details").stdout
        self.assertIn("1 FPGA of 300 Gb/s", both)
        self.assertIn("1 DPU of 300 Gb/s", both)

    def test_says_what_limits_where_a_setting_has_no_effect(self):
        done = self.offramp("predict", "send", "--backend", "cclo", "--set", "link=200", "--bytes", "1MiB", "--csv")
        self.assertIn("cclo.link = 200 has little effect above tcp_bandwidth = 91.5 Gb/s", done.stderr)
        usual = self.predict("send", "--backend", "cclo", "--bytes", "1MiB", "--csv")
        times = [float(text.splitlines()[1].split(",")[4]) for text in (done.stdout, usual)]
        self.assertAlmostEqual(times[0] / times[1], 1, delta=0.002)
        done = self.offramp("predict", "send", "--backend", "cclo", "--set", "link=50", "--bytes", "1MiB", "--csv")
        self.assertEqual(done.stderr, "")

    def test_draws(self):
        self.predict("bcast", "--backend", "host,zrlmpi", "--sweep", "ranks=2:16", "--svg", "plot.svg")
        text = (self.folder / "plot.svg").read_text()
        self.assertEqual(xml.etree.ElementTree.fromstring(text).tag, "{http://www.w3.org/2000/svg}svg")
        self.assertEqual(text.count("<circle"), 8)

    @needs_terminals
    def test_shows_progress_on_a_terminal_only(self):
        ours, theirs = pty.openpty()
        arguments = [OFFRAMP, "predict", "bcast", "--backend", "host", "--sweep", "ranks=2:8", "--csv"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OFFRAMP_")}
        done = subprocess.run(arguments, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=theirs, text=True,
                              timeout=180, check=True)
        os.close(theirs)
        progress = os.read(ours, 65536).decode()
        os.close(ours)
        self.assertIn("2/3 host 4 ranks", progress)
        self.assertTrue(progress.endswith("\r\033[K"), repr(progress))  # wiped away
        quiet = self.offramp(*arguments[1:])
        self.assertEqual((quiet.stdout, quiet.stderr), (done.stdout, ""))

    def test_names_what_is_wrong(self):
        for arguments, word in ((["alltol"], "alltoall"), (["bcast", "--backend", "zrlmpy"], "zrlmpi"),
                                (["reduce", "--bytes", "7"], "int32"), (["bcast", "--bytes", "-1"], "-1"),
                                (["bcast", "--ranks", "4", "--root", "4"], "root 4 does not exist: the ranks are 0 to 3"), ([], "OPERATION is missing"),
                                (["bcast", "--sweep", "bytes=9:1"], '--sweep "bytes=9:1": FROM is above TO'),
                                (["bcast", "--sweep", "bytes=1:9", "--trace", "t"], "single point")):
            self.assertIn(word, self.refused("predict", *arguments))

    def test_traces_every_backend(self):
        done = self.offramp("predict", "bcast", "--ranks", "4", "--backend", "zrlmpi,aie", "--trace", "t.json", "--capture", "c.pcap")
        self.assertEqual(done.returncode, 0, done.stderr)
        events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        calls = [processes[event["pid"]] for event in events if event["ph"] == "X" and event["name"] == "MPI_Bcast"]
        self.assertEqual(sorted(calls), [f"{backend}: rank {rank}" for backend in ("aie", "zrlmpi") for rank in range(4)])
        self.assertIn("start: not in [aie-thesis]", {event["name"] for event in events})  # of aie
        self.assertTrue((self.folder / "c.zrlmpi.3.pcap").is_file())


class Replay(CliTest):
    def recording(self, *words):
        subprocess.run([BUILD / "tests" / "recording", self.folder / "r", *map(str, words)], timeout=180, check=True)
        return "r"

    def replay(self, *arguments):
        return json.loads(self.offramp("replay", "r", "--json", *arguments).stdout)

    def test_gives_the_times_of_every_backend(self):
        self.recording(4, 3)
        answer = self.replay("--backend", "all")
        self.assertEqual((answer["ranks"], answer["facts"]), (4, {"program": "a ring"}))
        self.assertEqual([one["backend"] for one in answer["results"]], registry.backends(BUILD))
        for one in answer["results"]:
            self.assertEqual(max(rank["modelled_time_ns"] for rank in one["each_rank"]), one["modelled_time_ns"])
            self.assertEqual(one["calls"]["MPI_Isend"]["count"], 21)
            self.assertEqual(one["calls"]["MPI_Recv"]["bytes"], 21 * 4096)
            self.assertEqual([phase["name"] for phase in one["phases"]], ["solve"])
            self.assertEqual(one["dependences"], {"any_source": 9, "polling": 0, "choice": 0})
            self.assertEqual(one["unfinished"], [])
        declined = {one["backend"]: one["calls"]["MPI_Allreduce"]["declined"] for one in answer["results"]}
        self.assertEqual((declined["aie"], declined["host"]), (0, 0))

    def test_takes_hardware_and_times_from_options_and_file(self):
        self.recording(4, 3)
        (self.folder / "offramp.toml").write_text("backend = 'zrlmpi'\n[[route]]\noperation = 'send'\nbackend = 'host'\n")
        routed = self.replay()["results"][0]
        self.assertEqual((routed["backend"], routed["calls"]["MPI_Isend"]["routed"]), ("zrlmpi", 21))
        (self.folder / "offramp.toml").write_text("")
        slow, same = self.replay("--backend", "zrlmpi", "--compare", "host,zrlmpi")["results"]
        self.assertEqual(same["backend"], "host")
        fast = self.replay("--backend", "zrlmpi", "--set", "preset=mpe2")["results"][0]
        self.assertLess(fast["modelled_time_ns"], slow["modelled_time_ns"])
        self.assertIn(": run ", self.offramp("replay", "r", "--compute", "recorded").stdout.splitlines()[0])
        times = [self.replay("--compute", how)["results"][0]["modelled_time_ns"] for how in ("none", "recorded", "2")]
        self.assertLess(times[0] + 50_000, times[1])
        self.assertLess(times[1] + 50_000, times[2])
        shared = self.replay("--ranks-per-node", "2", "--check", "--arrival", "modelled")["results"][0]
        self.assertNotEqual(shared["modelled_time_ns"], times[0])

    def test_follows_routes_to_several_backends(self):
        self.recording(4, 3)
        (self.folder / "offramp.toml").write_text("[[route]]\noperation = 'send'\nbackend = 'tinsel'\n"
                                                  "[[route]]\nbackend = 'dpu'\n")
        calls = self.replay("--backend", "cclo", "--check")["results"][0]["calls"]
        for name, count in (("MPI_Isend", 21), ("MPI_Recv", 21), ("MPI_Allreduce", 12)):
            self.assertEqual((calls[name]["routed"], calls[name]["offloaded"]), (count, 0))

    def test_writes_traces_captures_and_receipts(self):
        self.recording(4, 3)
        answer = self.replay("--backend", "zrlmpi,cclo", "--trace", "t.json", "--capture", "c.pcap", "--receipts", "1-5")
        events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        arrows = [event["bind_id"] for event in events if event.get("flow_out")]
        self.assertTrue(arrows)
        self.assertEqual(len(arrows), len(set(arrows)))
        self.assertEqual(sorted(arrows), sorted(event["bind_id"] for event in events if event.get("flow_in")))
        for one in answer["results"]:
            slices = [event for event in events if event["ph"] == "X" and processes[event["pid"]].startswith(one["backend"])]
            self.assertEqual({processes[event["pid"]] for event in slices}, {f"{one['backend']}: rank {i}" for i in range(4)})
            self.assertIn("MPI_Allreduce", {event["name"] for event in slices})
            latest = max(event["ts"] + event["dur"] for event in slices)
            self.assertLessEqual(latest * 1000, one["modelled_time_ns"] * 1.0001)
            for rank in range(4):
                self.assertGreater((self.folder / f"c.{one['backend']}.{rank}.pcap").stat().st_size, 1000)
                receipts = one["receipts"][rank]
                self.assertEqual([call[0] for call in receipts["calls"]], [1, 2, 3, 4, 5])
                self.assertTrue(receipts["spans"])

    def test_traces_say_what_an_operation_is_about(self):
        self.recording(4, 3)
        self.replay("--backend", "host", "--trace", "plain.json")
        self.replay("--backend", "host", "--trace", "small.json.gz")
        plain = (self.folder / "plain.json").read_text()
        with gzip.open(self.folder / "small.json.gz", "rt") as file:
            self.assertEqual(file.read(), plain)
        slices = [event for event in json.loads(plain)["traceEvents"] if event["ph"] == "X"]
        about = {}
        for event in slices:
            about.setdefault(event["name"], []).append(event.get("args", {}))
        for sent in about["MPI_Isend"]:
            self.assertEqual(set(sent), {"operation", "bytes", "from", "to", "tag", "communicator"})
            self.assertEqual(sent["operation"].split(".")[0], str(sent["from"]))
        for reduced in about["MPI_Allreduce"]:
            self.assertEqual(set(reduced), {"operation", "collective", "bytes", "communicator"})
            self.assertEqual((reduced["collective"], reduced["bytes"] > 0), ("allreduce", True))
        # The receipt of a message agrees with the call that sent it.
        sent = {args["operation"]: args for args in about["MPI_Isend"]}
        done = [event["args"] for event in slices if event["name"] == "data" and event["args"]["operation"] in sent]
        self.assertTrue(done)
        for args in done:
            self.assertEqual(args, sent[args["operation"]])

    def test_says_where_the_time_goes_by_size_and_by_phase(self):
        self.recording(4, 3)
        text = self.offramp("replay", "r", "--backend", "host", "--details", "--report", "r.json").stdout
        self.assertNotIn("phase  calls", text)  # an operation of a single rank
        rows = self.offramp("report", "r.json", "--table", "accounts_by_phase").stdout.splitlines()
        self.assertTrue(rows[0].startswith("report,backend,phase,level,calls,transfer_ns,"))
        self.assertEqual([row.split(",")[2] for row in rows[1:]], ["solve"])
        accounts = json.loads((self.folder / "r.json").read_text())["accounts"]
        sums = {kind: {key: sum(row[key] for row in accounts[kind]) for key in accounts["functions"][0] if key == "calls" or key.endswith("_ns")}
                for kind in ("functions", "sizes", "phases")}
        for key, value in sums["functions"].items():
            self.assertAlmostEqual(sums["sizes"][key], value, delta=0.01)
            self.assertAlmostEqual(sums["phases"][key], value, delta=0.01)

    def test_traces_are_small(self):
        """A program of 12 800 calls over each of two backends: a slice keeps its contents and takes few bytes."""
        program = pathlib.Path(__file__).resolve().parents[2] / "examples/programs/halo-16.rec"
        self.offramp("replay", str(program), "--compare", "host,cclo", "--trace", "small.json.gz")
        with gzip.open(self.folder / "small.json.gz", "rt") as file:
            slices = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        calls = [event for event in slices if event["name"].startswith("MPI_")]
        self.assertEqual((len(calls), len(slices)), (25600, 160000))
        self.assertEqual(sum("bind_id" in event for event in slices), 44800)
        per_call = (self.folder / "small.json.gz").stat().st_size / len(calls)
        self.assertLess(per_call, 60, "bytes for each call")
        self.assertTrue(all(set(event["args"]) == {"operation", "bytes", "from", "to", "tag", "communicator"}
                            for event in slices if event["name"] in ("MPI_Isend", "in flight", "copy to card")))

    def test_prints_a_table_of_functions(self):
        self.recording(4, 3)
        lines = self.offramp("replay", "r", "--backend", "host,cclo", "--details").stdout.splitlines()
        self.assertTrue(any(line.split()[:2] == ["MPI_Allreduce", "12"] for line in lines))
        comparison = next(i for i, line in enumerate(lines) if line.startswith("# backend"))
        self.assertEqual([line.split()[0] for line in lines[comparison + 1:comparison + 3]], ["host", "cclo"])

    def test_ends_where_a_recording_was_cut(self):
        self.recording(4, 3, "cut")
        self.assertIn("no events of rank 1; --partial", self.refused("replay", "r"))
        self.assertIn("rank 1 before its first event: the recording is cut off", self.replay("--partial")["results"][0]["unfinished"])

    @needs_terminals
    def test_is_interrupted_with_the_results_so_far(self):
        self.recording(64, 20000)
        ours, theirs = pty.openpty()
        arguments = [OFFRAMP, "replay", "r", "--backend", "host,tinsel", "--json"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OFFRAMP_")}
        with subprocess.Popen(arguments, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=theirs,
                              text=True) as process:
            os.close(theirs)
            progress = os.read(ours, 4096).decode()
            process.send_signal(signal.SIGINT)
            answer = json.loads(process.stdout.read())
            self.assertEqual(process.wait(timeout=180), 130)
        os.close(ours)
        self.assertIn("of 64 ranks done", progress)
        self.assertTrue(answer["interrupted"])
        self.assertLess(len(answer["results"]), 2)

    def tunables_seen(self, *arguments, **variables):
        """All values that the command's GLIBC_TUNABLES has while it runs, and its name at last."""
        seen, name = set(), ""
        with subprocess.Popen([OFFRAMP, *arguments], cwd=self.folder, env=clean_environment(**variables), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            folder = pathlib.Path(f"/proc/{process.pid}")
            while process.poll() is None:
                with contextlib.suppress(ProcessLookupError):  # ended since
                    entries = (folder / "environ").read_bytes().split(b"\0")
                    seen.update(entry.partition(b"=")[2].decode() for entry in entries if entry.startswith(b"GLIBC_TUNABLES="))
                    name = (folder / "comm").read_text().strip()
        self.assertEqual(process.returncode, 0)
        return seen, name

    def test_has_large_pages(self):
        modes = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
        on_request = modes.exists() and "[madvise]" in modes.read_text()
        self.recording(64, 2000)
        self.assertEqual(self.tunables_seen("replay", "r"), ({"glibc.malloc.hugetlb=1"} if on_request else set(), "offramp"))

    def test_leaves_memory_that_somebody_else_manages_alone(self):
        self.recording(64, 2000)
        self.assertEqual(self.tunables_seen("replay", "r", GLIBC_TUNABLES="glibc.malloc.perturb=1")[0], {"glibc.malloc.perturb=1"})
        self.assertEqual(self.tunables_seen("replay", "r", LD_PRELOAD="libm.so.6")[0], set())

    def test_names_what_is_wrong(self):
        self.assertIn("nothing", self.refused("replay", "nothing"))
        self.recording(4, 3, "hostile")
        self.assertIn("rank 1, event 20 (MPI_Isend): rank 4 is not one of 4", self.refused("replay", "r"))
        for arguments, word in ((["--compute", "fast"], "recorded"), (["--backend", "zrlmpy"], "zrlmpi"),
                                (["--arrival", "late"], "modelled"), (["--set", "x"], "KEY=VALUE")):
            self.assertIn(word, self.refused("replay", "r", *arguments))
        self.assertIn("a range of calls (100-200)", self.refused("replay", "r", "--json", "--receipts", "some"))
        self.assertIn("--trace", self.refused("replay", "r", "--trace", "nowhere/t.json"))


class Check(CliTest):
    def functions(self, program, *arguments, code=0):
        answer = json.loads(self.offramp("check", "--json", *arguments, program, code=code).stdout)
        return answer, {f["name"]: f["how"] for f in answer["functions"]}

    def test_says_what_happens_to_each_function(self):
        answer, functions = self.functions(BUILD / "tests/mpi/reduce")
        self.assertTrue(answer["works"])
        self.assertEqual((answer["language"], answer["mpi"]), ("C", "libmpi.so.40"))
        self.assertEqual(functions["MPI_Reduce"], "offloaded")
        _, functions = self.functions(BUILD / "tests/mpi/rma_beside")
        self.assertEqual(functions["MPI_Win_fence"], "native")
        _, functions = self.functions(BUILD / "tests/mpi/other_collectives", "--backend", "zrlmpi")
        self.assertEqual(functions["MPI_Exscan"], "host algorithm")

    def test_knows_persistent_collectives_which_are_an_extension_in_open_mpi_4(self):
        _, functions = self.functions(BUILD / "tests/mpi/persistent_collectives")
        prefix = "MPIX" if "MPIX_Bcast_init" in functions else "MPI"
        self.assertEqual(functions[f"{prefix}_Bcast_init"], "offloaded")
        self.assertEqual(functions["MPI_Start"], "carried")
        self.assertEqual(functions[f"{prefix}_Neighbor_allgather_init"], "native")

    def test_spawning_is_no_risk(self):
        _, functions = self.functions(BUILD / "tests/mpi/dynamic_processes")
        self.assertEqual(functions["MPI_Comm_spawn"], "native")

    def test_names_an_extension_that_it_does_not_know(self):
        source, program = self.folder / "extension.c", self.folder / "extension.so"
        source.write_text("int MPI_Init(void*, void*);\nint MPIX_Comm_revoke(void*);\nint MPIX_Query_cuda_support(void);\n"
                          "int go(void) { return MPI_Init(0, 0) + MPIX_Comm_revoke(0) + MPIX_Query_cuda_support(); }\n",
                          encoding="utf-8")
        subprocess.run(["mpicc", "-shared", "-fPIC", "-o", program, source], check=True)
        _, functions = self.functions(program, code=3)
        self.assertEqual(functions["MPIX_Comm_revoke"], "risk")
        self.assertEqual(functions["MPIX_Query_cuda_support"], "native")

    def test_knows_fortran(self):
        answer, functions = self.functions(BUILD / "tests/mpi/fortran_f08")
        self.assertEqual(answer["language"], "Fortran")
        self.assertEqual(functions["MPI_Allreduce"], "offloaded")

    def test_looks_into_libraries(self):
        _, functions = self.functions(BUILD / "tests/programs/fftw")
        self.assertIn("MPI_Alltoall", functions)  # called only by libfftw3_mpi

    @unittest.skipUnless((BUILD / "lib/libofframp-mpich.so").exists(), "nothing was built for MPICH")
    def test_accepts_programs_of_every_library_that_it_was_built_for(self):
        answer, functions = self.functions("/usr/lib/x86_64-linux-gnu/scalapack/mpich-tests/xdlu")
        self.assertEqual((answer["mpi"], functions["MPI_Send"]), ("libmpich.so.12", "offloaded"))

    def test_refuses_what_it_cannot_carry(self):
        self.assertIn("not linked to MPI", self.refused("check", "/bin/sh"))
        self.assertIn("script", self.refused("check", BUILD.parent / "scripts/test"))
        self.assertIn("No such file", self.refused("check", "no_such_program"))
        (self.folder / "cut").write_bytes(pathlib.Path("/bin/sh").read_bytes()[:5000])
        self.refused("check", "./cut")
        (self.folder / "noise").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 40)
        self.refused("check", "./noise")


class ServiceConfig(CliTest):
    CONFIG = ("explain", "--backend", "dpu", "config")

    def test_writes_a_file_that_it_accepts(self):
        (self.folder / "service.cfg").write_text(self.offramp(*self.CONFIG, "--set", "ranks_per_node=4").stdout)
        self.offramp(*self.CONFIG, "service.cfg")

    def test_writes_one_for_so_many_hosts(self):
        lines = self.offramp(*self.CONFIG, "hosts=3", "--set", "cards_per_node=2").stdout.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual(lines[3], "node2,dpu4:10.0.0.5:7100:9100,dpu5:10.0.0.6:7100:9100")
        self.assertIn("hosts=-1: not a whole number from 1 to 10000", self.refused(*self.CONFIG, "hosts=-1"))
        self.assertIn('"foo=1" does not describe a host; arguments: hosts=N, ', self.refused(*self.CONFIG, "foo=1"))

    def test_finds_dpus_and_distances_with_hwloc(self):
        topology = pathlib.Path(__file__).parent.parent / "fixtures/two_dpus.xml"
        settings = ("--set", "ranks_per_node=4", "--set", "service_processes=1")
        text = self.offramp(*self.CONFIG, f"topology={topology}", *settings).stdout
        self.assertIn("\nhosta,hosta-bf0:10.0.0.1:7100:9100,hosta-bf1:10.0.0.2:7100:9100\n", text)
        # The ranks use the first socket's four cores; every other one uses the card of the second socket.
        self.assertIn("# hosta: local rank 0 (NUMA node 0): hosta-bf0 (NUMA node 0), local id 0\n", text)
        self.assertIn("# hosta: local rank 1 (NUMA node 0): hosta-bf1 (NUMA node 1), local id 0, far "
                      "(distance 21 instead of 10)\n", text)
        self.assertIn("# hosta: 2 of 4 ranks are far from their DPU; with mpirun --map-by numa 0\n", text)
        (self.folder / "hosta.cfg").write_text(text)
        self.offramp(*self.CONFIG, "hosta.cfg")
        twice = self.offramp(*self.CONFIG, f"topology={topology}", "--set", "service_processes=2", *settings[:2]).stdout
        self.assertIn("# hosta: local rank 1 (NUMA node 0): hosta-bf0 (NUMA node 0), local id 1\n", twice)

    def test_reads_the_topologies_of_hwloc_1_and_2(self):
        fixtures = pathlib.Path(__file__).parent.parent / "fixtures"
        for name in ("one_dpu_hwloc_1.xml", "two_dpus.xml"):
            self.assertIn("\nhosta,hosta-bf0:", self.offramp(*self.CONFIG, f"topology={fixtures / name}").stdout)
        (self.folder / "9.xml").write_text((fixtures / "two_dpus.xml").read_text().replace('<topology version="2.0">', '<topology version="9.0">'))
        self.assertRegex(self.refused(*self.CONFIG, "topology=9.xml"), r"of 9\.xml: hwloc 9 wrote it, and this is hwloc (\d): write it with lstopo --of v\1xml")

    def test_says_when_there_is_no_dpu(self):
        (self.folder / "no.xml").write_text("what is this")
        self.assertIn("no.xml", self.refused(*self.CONFIG, "topology=no.xml"))
        topology = (pathlib.Path(__file__).parent.parent / "fixtures/two_dpus.xml").read_text()
        (self.folder / "other.xml").write_text(topology.replace("15b3:a2d", "15b3:101"))
        self.assertIn("no BlueField card", self.refused(*self.CONFIG, "topology=other.xml"))
        self.assertIn("at most one file", self.refused(*self.CONFIG, "a.cfg", "hosts=2"))

    def test_refuses_a_broken_one_with_its_line(self):
        text = self.offramp(*self.CONFIG).stdout
        (self.folder / "broken.cfg").write_text(text + "what is this\n")
        self.assertRegex(self.refused(*self.CONFIG, "broken.cfg"), r"broken\.cfg:\d+")


class Calibrate(CliTest):
    OF_MEMORY = {"memory_latency", "memory_overhead", "memory_bandwidth", "memory_eager_limit"}
    OF_THE_NIC = {"latency", "overhead", "gap", "bandwidth", "eager_limit"}
    OF_A_RANK = {"post", "copy_bandwidth", "combine_bandwidth"}
    COLUMNS = "benchmark,nodes,ranks_per_node,bytes,value"

    def test_keeps_one_machine_out_of_the_keys_of_the_nic(self):
        found = json.loads(self.offramp("calibrate", "--seconds-each", "0.002", "--json", "-o", "fitted.toml").stdout)
        self.assertEqual((found["ranks"], found["nodes"], found["ranks_per_node"]), (2, 1, 2))
        self.assertEqual(set(found["host"]) - {"single_copy", "memory_copy_bandwidth"}, self.OF_MEMORY | self.OF_A_RANK)
        self.assertEqual(set(found["from"]), set(found["host"]))
        self.assertIn("nothing was measured between nodes", found["notes"][0])
        self.assertTrue(self.OF_THE_NIC < set(found["undetermined"]))
        rows = {(row["operation"], row["place"], row["bytes"]): row for row in found["comparisons"]}
        self.assertEqual({name for name, _, _ in rows}, {"message", "bcast", "reduce", "allreduce", "gather"})
        self.assertEqual({place for _, place, _ in rows}, {"node", "all"})
        self.assertTrue(all(row["measured_ns"] > 0 and row["modelled_ns"] > 0 for row in rows.values()))
        smallest = rows["message", "node", 8]
        self.assertTrue(smallest["fitted"])
        self.assertLess(abs(smallest["error"]), 0.01)
        text = (self.folder / "fitted.toml").read_text()
        self.assertIn("nothing was measured between nodes", text)
        self.assertRegex(text, r"\nmemory_latency = [\d.]+  # ns; fitted to messages of 8 B: [+-]0.\d %\n")
        self.assertRegex(text, r"\n# message +a node +4096 ")
        # The section configures the same hardware, also with other sections beside it.
        words = ("predict", "send", "--backend", "host", "--bytes", "8", "--json")
        node = {"OFFRAMP_MACHINE_RANKS_PER_NODE": "2"}
        again = json.loads(self.offramp(*words, "--config", "fitted.toml", **node).stdout)
        self.assertAlmostEqual(again["time_ns"], smallest["modelled_ns"], places=2)
        self.assertNotEqual(again["time_ns"], json.loads(self.offramp(*words, **node).stdout)["time_ns"])
        # It changes nothing between nodes.
        self.assertEqual(json.loads(self.offramp(*words, "--config", "fitted.toml").stdout)["time_ns"],
                         json.loads(self.offramp(*words).stdout)["time_ns"])

    def cluster(self, placed, places):
        """An mpirun whose benchmark runs on an invented cluster: latency (s) and bytes per second of each place."""
        lines = [f"placed {placed}", "measured rank copy 67108864 0.01", "measured rank combine 67108864 0.005"]
        for place, (latency, rate) in places.items():
            eager = 12224 if place == "network" else 4194304
            for size in (8, 512, 4096, 65536, 1 << 20):
                asking = 2 * latency + 5e-7 if size > eager else 0
                lines.append(f"measured {place} message {size} {latency + asking + size / rate}")
            lines += [f"measured {place} rate 8 1e-7", f"measured {place} posting 8 2e-8", f"measured {place} sending 8 1e-7",
                      f"measured {place} eager {eager} 0"]
        if "node" in places:
            lines.append("measured node copies 268435456 0.01")
        lines.append("measured all bcast 1024 1e-5")
        fake = self.folder / "mpirun"
        fake.write_text("#!/bin/sh\ncat <<END\n" + "\n".join(lines) + "\nEND\n")
        fake.chmod(0o755)
        return str(fake)

    def test_tells_what_was_measured_between_nodes_from_what_was_measured_within_one(self):
        mpirun = self.cluster("2 4", {"node": (3e-7, 1e10), "network": (2e-6, 1e10)})
        found = json.loads(self.offramp("calibrate", "-n", "8", "--mpirun", mpirun, "--json").stdout)
        self.assertEqual(set(found["host"]), self.OF_MEMORY | self.OF_THE_NIC | self.OF_A_RANK | {"memory_copy_bandwidth"})
        self.assertEqual(found["undetermined"], ["pcie", "process_bandwidth", "fetch", "inline_limit", "single_copy",
                                                 "cache_bandwidth", "memory_detour"])
        self.assertIn("The NIC's rate is that of one pair", found["notes"][0])
        self.assertEqual(found["notes"][1], "Not determined by these results, and unchanged: pcie, process_bandwidth, "
                                            "fetch, inline_limit, single_copy, cache_bandwidth, memory_detour.")
        self.assertAlmostEqual(found["host"]["bandwidth"], 80 * 4178 / 4096, delta=4)
        # Both processors copy an eager message within a node, one after the other.
        self.assertAlmostEqual(found["host"]["memory_copy_bandwidth"], 80, delta=6)
        self.assertGreater(found["host"]["latency"], 10 * found["host"]["memory_latency"])
        self.assertAlmostEqual(found["host"]["memory_bandwidth"], 214.7, delta=0.1)
        for row in found["comparisons"]:
            if row["fitted"] and row["bytes"] == 8:
                self.assertLess(abs(row["error"]), 0.01)
        # The collective is one of 8 ranks on two nodes.
        bcast = next(row for row in found["comparisons"] if row["operation"] == "bcast")
        self.offramp("calibrate", "-n", "8", "--mpirun", mpirun, "-o", "fitted.toml")
        words = ("predict", "bcast", "--backend", "host", "--ranks", "8", "--bytes", "1024", "--json")
        again = json.loads(self.offramp(*words, "--config", "fitted.toml", OFFRAMP_MACHINE_RANKS_PER_NODE="4").stdout)
        self.assertAlmostEqual(again["time_ns"], bcast["modelled_ns"], places=2)

    def test_says_what_was_not_measured(self):
        apart = json.loads(self.offramp("calibrate", "--mpirun", self.cluster("2 1", {"network": (2e-6, 1e10)}),
                                        "--json").stdout)
        self.assertEqual(set(apart["host"]), self.OF_THE_NIC | self.OF_A_RANK)
        self.assertIn("nothing was measured within a node", apart["notes"][0])
        dealt = json.loads(self.offramp("calibrate", "-n", "4", "--mpirun", self.cluster(
            "2 0", {"node": (3e-7, 1e10), "network": (2e-6, 1e10)}), "--json").stdout)
        self.assertIn("Collectives are not compared", dealt["notes"][0])
        self.assertEqual({row["operation"] for row in dealt["comparisons"]}, {"message"})

    def test_says_what_is_missing(self):
        self.assertIn('cannot find the launcher "no-mpirun" (--launcher)', self.refused("calibrate", "--mpirun", "no-mpirun", code=127))
        self.assertIn("cannot write", self.refused("calibrate", "-o", "none/fitted.toml"))
        self.assertIn("did not finish", self.offramp("calibrate", "--mpirun", "false", code=1).stderr)

    # Measures what `predict` says of a host with this link, overhead and latency; the fit then finds these values again.
    MACHINE = {"latency": 700, "overhead": 150, "bandwidth": 50, "eager_limit": 4096, "copy_bandwidth": 60}

    def made_up(self, **others):
        """By benchmark: its output (bytes and value) for the host itself with these values."""
        values = {"fetch": 550, "inline_limit": 128, "pcie": 208} | self.MACHINE | others
        known = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
        sizes = [1 << shift for shift in range(3, 23)]
        (self.folder / "one.csv").write_text(self.COLUMNS + "\n" + "".join(
            f"osu_latency,2,1,{size},1\nosu_bw,2,1,{size},1\n" for size in sizes))
        said = json.loads(self.offramp("calibrate", "--from", "one.csv", "--json", *known).stdout)
        found = {"osu_latency": [], "osu_bw": []}
        for row in said["comparisons"]:
            if row["operation"] == "message":
                found["osu_latency"].append((row["bytes"], row["modelled_ns"] / 1000))
            else:
                found["osu_bw"].append((row["bytes"], row["bytes"] / row["modelled_ns"] * 1000))
        return found

    def write_outputs(self, measured):
        for name, title in (("osu_latency", "Latency Test"), ("osu_bw", "Bandwidth Test")):
            lines = ["srun: job 7 queued", f"# OSU MPI {title} v5.6.2", "# Size          Value"]
            lines += [f"{size:<10} {value:>20.4f}" for size, value in measured[name]]
            (self.folder / f"{name}.out").write_text("\n".join(lines) + "\nslurmstepd: 3 done\n")

    def test_finds_a_machine_again_from_outputs_of_osu(self):
        measured = self.made_up()
        self.write_outputs(measured)
        found = json.loads(self.offramp("calibrate", "--from", "osu_latency.out", "--from", "osu_bw.out", "--json",
                                        "-o", "fitted.toml").stdout)
        for key, value in self.MACHINE.items():
            self.assertAlmostEqual(found["host"][key] / value, 1, delta=0.05, msg=key)
        self.assertLess(max(abs(row["error"]) for row in found["comparisons"]), 0.03)
        self.assertTrue({"memory_latency", "memory_bandwidth", "gap", "combine_bandwidth"} < set(found["undetermined"]))
        self.assertFalse(set(found["undetermined"]) & set(found["host"]))
        # A table gives the same fit with any collectives: they are compared, and nothing is fitted to them.
        rows = [f"{name},2,1,{size},{value:.4f}" for name, pairs in measured.items() for size, value in pairs]
        for time in (10, 1000):
            (self.folder / "table.csv").write_text("\n".join(["# of nowhere", self.COLUMNS, *rows, f"osu_allreduce,2,4,8,{time}"]))
            table = json.loads(self.offramp("calibrate", "--from", "table.csv", "--json").stdout)
            self.assertEqual(table["host"], found["host"])
            row = table["comparisons"][-1]
            self.assertEqual((row["operation"], row["ranks"], row["ranks_per_node"], row["fitted"], row["measured_ns"]),
                             ("allreduce", 8, 4, False, time * 1000))
        text = self.offramp("calibrate", "--from", "table.csv").stdout
        self.assertRegex(text, r"\n# allreduce: median error [\d.]+ % over 1 size, worst error [\d.]+ %\n")
        # The section is a configuration.
        said = self.offramp("predict", "send", "--backend", "host", "--bytes", "8", "--config", "fitted.toml", "--json").stdout
        self.assertGreater(json.loads(said)["time_ns"], 0)

    def test_leaves_alone_what_is_known(self):
        self.write_outputs(self.made_up(pcie=40))
        outputs = ("calibrate", "--from", "osu_latency.out", "--from", "osu_bw.out", "--json")
        unknown = json.loads(self.offramp(*outputs).stdout)
        self.assertIn("pcie", unknown["undetermined"])
        known = json.loads(self.offramp(*outputs, "--set", "bandwidth=50", "--set", "host.transport=ucx").stdout)["host"]
        self.assertEqual((known["bandwidth"], known["transport"]), (50, "ucx"))
        # Nothing takes the place of a given value.
        self.assertNotIn("pcie", known)
        self.assertNotIn("process_bandwidth", known)
        self.assertIn('has no parameter "latencie"', self.refused("calibrate", "--from", "osu_bw.out", "--set", "latencie=3"))
        self.assertIn("is not KEY=VALUE", self.refused("calibrate", "--set", "latency"))

    def of_table(self, *rows, place="--from"):
        (self.folder / "table.csv").write_text("\n".join([self.COLUMNS, *rows]) + "\n")
        return json.loads(self.offramp("calibrate", place, "table.csv", "--json").stdout)

    def test_tells_the_rate_of_a_process_from_that_of_the_nic(self):
        pair = ("osu_latency,2,1,8,1.8", "osu_bw,2,1,4194304,12000")
        alone = self.of_table(*pair)
        self.assertAlmostEqual(alone["host"]["bandwidth"], 98, delta=1)
        self.assertTrue(any("NIC's rate is that of one pair" in note for note in alone["notes"]))
        several = self.of_table(*pair, "osu_mbw_mr,2,8,4194304,24000", "osu_mbw_mr,2,8,8,100")
        self.assertAlmostEqual(several["host"]["bandwidth"], 196, delta=1)
        self.assertAlmostEqual(several["host"]["process_bandwidth"], 96, delta=1)
        self.assertEqual(several["from"]["bandwidth"], "fitted to messages of 4 MiB of 8 pairs")
        rate = next(row for row in several["comparisons"] if row["operation"] == "rate")
        self.assertEqual((rate["pairs"], rate["bytes"]), (8, 4194304))
        self.assertLess(abs(rate["error"]), 0.08)  # the last messages of each process
        # Pairs that all move the same amount reveal no limit.
        self.assertNotIn("process_bandwidth", self.of_table(*pair, "osu_mbw_mr,2,8,4194304,12010")["host"])

    def test_finds_the_eager_limit_between_few_sizes(self):
        latencies = {8: 21.72, 1024: 22.32, 8192: 30.32, 65536: 45.05, 262144: 128.3, 1048576: 425.3, 4194304: 1551}
        rates = {8: 5.25, 1024: 682, 8192: 4000, 65536: 4855, 262144: 4648, 1048576: 5610, 4194304: 5566}
        found = self.of_table(*(f"osu_latency,2,1,{size},{value}" for size, value in latencies.items()),
                              *(f"osu_bw,2,1,{size},{value}" for size, value in rates.items()))
        self.assertEqual(found["host"]["eager_limit"], 65536)
        error = next(row["error"] for row in found["comparisons"] if (row["operation"], row["bytes"]) == ("message", 65536))
        self.assertLess(abs(error), 0.25)

    def test_tells_a_full_node_from_a_pair_in_it(self):
        found = self.of_table("osu_latency,1,2,8,0.3", "osu_multi_lat,1,32,8,0.7", "osu_bw,1,2,4194304,8000",
                              "osu_mbw_mr,1,32,65536,30000", "osu_mbw_mr,1,32,4194304,20000", place="--from-node")
        self.assertAlmostEqual(found["host"]["cache_bandwidth"], 240, delta=8)
        self.assertAlmostEqual(found["host"]["memory_bandwidth"], 160, delta=5)
        self.assertRegex(found["from"]["memory_latency"], r"fitted to messages of 8 B, 16 pairs: [+-]0\.\d %")
        for row in found["comparisons"]:
            if row["operation"] in ("loaded", "rate"):
                self.assertLess(abs(row["error"]), 0.05, row)

    def test_takes_both_ways_as_a_lower_bound_of_the_nic(self):
        """One way a process is slower than each of both ways: then the link is not what limits it."""
        one_way = ((8, 20), (1024, 21), (65536, 46), (262144, 125), (1048576, 420), (4194304, 1560))
        both = ((65536, 9700), (262144, 9400), (1048576, 11200), (4194304, 11100))
        found = self.of_table(*(f"osu_latency,2,1,{size},{us}" for size, us in one_way),
                              *(f"osu_bibw,2,1,{size},{rate}" for size, rate in both))
        self.assertAlmostEqual(found["host"]["bandwidth"], 45.7, delta=0.5)
        self.assertIn("at least half of messages of 1 MiB both ways", found["from"]["bandwidth"])
        for row in found["comparisons"]:
            if row["operation"] == "both ways":
                self.assertLess(abs(row["error"]), 0.25, row)
        slow = next(row for row in found["comparisons"] if (row["operation"], row["bytes"]) == ("message", 4194304))
        self.assertEqual((slow["fitted"], slow["cause"]),
                         (False, "one way is slower than both ways or several pairs: what limits it is not in the model"))

    def test_refuses_results_of_one_node_as_those_of_two(self):
        (self.folder / "table.csv").write_text(f"{self.COLUMNS}\nosu_latency,2,1,8,0.31\nosu_bw,2,1,4194304,9000\n")
        self.assertIn("8 B take 310.0 ns between two nodes, faster than any NIC; if the ranks shared a node, use --from-node",
                      self.refused("calibrate", "--from", "table.csv"))

    def test_fits_a_full_node_to_an_exchange_of_all_its_ranks(self):
        times = {8: 0.7, 1024: 1.4, 4096: 2.8, 16384: 7.7, 65536: 31, 262144: 137, 1048576: 632, 4194304: 2871}
        found = self.of_table("osu_latency,1,2,8,0.3", "osu_latency,1,2,4194304,600", "osu_allgather,2,64,4194304,4e5",
                              *(f"imb_sendrecv,1,64,{size},{2 * size / us}" for size, us in times.items()))
        self.assertAlmostEqual(found["host"]["memory_bandwidth"], 8 * 64 * 4194304 / 2871e3, delta=20)
        self.assertNotIn("memory_latency", found["host"])  # neighbours do not show that of distant ranks
        rows = [row for row in found["comparisons"] if row["operation"] == "exchange"]
        self.assertEqual({row["pairs"] for row in rows}, {32})
        for row in rows:
            if row["bytes"] > 262144:
                self.assertLess(abs(row["error"]), 0.3, row)
        alone = next(row for row in found["comparisons"] if (row["operation"], row["bytes"]) == ("message", 4194304))
        self.assertFalse(alone["fitted"])

    def test_names_the_likely_cause_of_large_errors(self):
        found = self.of_table("osu_latency,2,1,8,1.8", "osu_bw,2,1,4194304,12000", "osu_allgather,2,32,1048576,9e5", "osu_allgather,2,32,8,6")
        long, short = (next(row for row in found["comparisons"] if (row["operation"], row["bytes"]) == ("allgather", size))
                       for size in (1048576, 8))
        self.assertIn("a full node's memory is not measured", long["cause"])
        self.assertNotIn("cause", short)
        self.assertGreater(abs(long["error"]), found["expected_error"])
        text = self.offramp("calibrate", "--from", "table.csv").stdout
        self.assertRegex(text, r"\n# allgather +all +1048576 .* !\n")
        self.assertRegex(text, r"\n# !: further off than nine tenths of the model's known errors \(\d+ %\)")

    def test_expands_quoted_wildcards(self):
        for name, row in (("a-1.out", "osu_latency,2,1,8,1.8"), ("a-2.out", "osu_bw,2,1,4194304,12000"), ("b.out", "no table")):
            (self.folder / name).write_text(f"{self.COLUMNS}\n{row}\n")
        found = json.loads(self.offramp("calibrate", "--from", "a-*.out", "--json").stdout)
        self.assertAlmostEqual(found["host"]["bandwidth"], 98, delta=1)
        self.assertIn("cannot read c-*.out", self.refused("calibrate", "--from", "c-*.out"))

    def test_refuses_outputs_that_are_broken_with_their_lines(self):
        def refused(text, *options):
            (self.folder / "x.out").write_bytes(text if isinstance(text, bytes) else text.encode())
            return self.refused("calibrate", "--from", "x.out", *options)

        self.assertIn("cannot read none.out", self.refused("calibrate", "--from", "none.out"))
        self.assertIn("x.out has no results", refused(""))
        self.assertIn("x.out has no results", refused(os.urandom(5000).replace(b"#", b"-").replace(b"b", b"-")))
        latency = "# OSU MPI Latency Test v5.6.2\n"
        for line, problem in (("8", "no value follows the size"), ("8 nan", '"nan" is not a result'), ("8 -1", '"-1" is not a result'),
                              ("8 0", '"0" is not a result'), ("8 1e300", "is not a result"), ("99999999999 1", "exceed the maximum")):
            self.assertRegex(refused(latency + line), rf"x\.out:2: .*{problem}")
        table = self.COLUMNS + "\n"
        for line, problem in (("osu_bw,2,1,8", "4 columns instead of 5"), ("osu_cry,2,1,8,1", 'unknown benchmark "osu_cry"'),
                              ("osu_bw,0,1,8,1", '"0" is not a number of nodes'), ("osu_bw,2,x,8,1", "not a number of ranks per node"),
                              ("osu_bw,2,1,-8,1", "is not a number of bytes"), ("osu_latency,2,2,8,1", "message benchmarks need two ranks"),
                              ("osu_allreduce,4096,4096,8,1", "cannot be compared"), ("osu_bw,2,1,8,", "is not a result")):
            self.assertRegex(refused(table + "\n" + line), rf"x\.out:3: .*{problem}")
        self.assertRegex(refused("# OSU MPI Allreduce Latency Test v7.1\n8 1\n"), r"x\.out:1: .*--ranks-per-node")
        self.assertIn("ping-pong results (osu_latency) are missing", refused("# OSU MPI Bandwidth Test v7.1\n8 1\n"))
        self.assertIn("ping-pong results (osu_latency) are missing", refused("# OSU MPI Allreduce Latency Test v7.1\n8 1\n", "-n", "4", "--ranks-per-node", "2"))
        self.assertIn("x.out:2002: more than 2000 results", refused(latency + "8 1\n" * 2001))
        self.assertIn("larger than 4 MiB", refused(b" " * (5 << 20)))


class Explain(CliTest):
    def test_lists_topics_and_shows_one(self):
        self.assertIn("header", self.offramp("explain").stdout)
        self.assertIn("  28     4  end", self.offramp("explain", "header", "--backend", "zrlmpi").stdout)
        self.assertIn('"header"', self.refused("explain", "hedder", "--backend", "zrlmpi"))


class SharedOptions(CliTest):
    """An option has the same meaning in every subcommand that has it."""

    def test_reach_the_settings(self):
        for option, value, key in (("--nodes", "3", "machine.nodes"), ("--ranks-per-node", "4", "machine.ranks_per_node"),
                                   ("--network", "star", "network.topology"), ("--noise", "1ms:25us", "stragglers.noise"),
                                   ("--slow-nodes", "1:2", "stragglers.slow_nodes")):
            with self.subTest(option=option):
                setting = json.loads(self.offramp("info", "--json", option, value).stdout)["settings"][key]
                self.assertEqual((setting["value"], setting["source"]), (value, option))
        self.assertRegex(self.offramp("info", "--backend", "cclo", "--set", "link=40").stdout, r"\n  link +40 .*\(default ")

    def test_read_the_file_that_is_named(self):
        (self.folder / "other.toml").write_text("[host]\nlatency = '7us'\n")
        settings = json.loads(self.offramp("info", "--json", "--config", "other.toml").stdout)["settings"]
        self.assertIn("other.toml", settings["host.latency"]["source"])
        times = {("predict", "send"): lambda told: told["time_ps"],
                 ("replay", "pattern:pingpong:2:8"): lambda told: told["results"][0]["modelled_time_ps"]}
        for arguments, time_of in times.items():
            with self.subTest(arguments=arguments):
                usual, other = (time_of(json.loads(self.offramp(*arguments, "--backend", "host", "--json", *config).stdout))
                                for config in ((), ("--config", "other.toml")))
                self.assertGreater(other, usual + 5_000_000)  # the default latency is below 2 us

    def test_of_the_machine_are_checked_alike(self):
        for arguments in (("predict", "send"), ("replay", "pattern:ring:2:8"), ("explain", "algorithms"),
                          ("run", "--", "/bin/true"), ("check", "/bin/true"), ("record", "-o", "a.rec", "--", "/bin/true")):
            with self.subTest(arguments=arguments):
                dashes = arguments.index("--") if "--" in arguments else len(arguments)
                words = (*arguments[:dashes], "--set", "machine.nodes=-1", *arguments[dashes:])
                self.assertIn("machine.nodes", self.refused(*words))
                words = (*arguments[:dashes], "--set", "machine.nodes", *arguments[dashes:])
                self.assertIn(f'"machine.nodes" is not KEY=VALUE; see offramp {arguments[0]} --help', self.refused(*words))

    def test_compare_adds_to_backend(self):
        told = json.loads(self.offramp("predict", "bcast", "--backend", "host", "--compare", "cclo,host", "--json").stdout)
        self.assertEqual([one["backend"] for one in told], ["host", "cclo"])


class Programs(CliTest):
    """Every subcommand recognises replayable files by content, not by name."""

    def test_that_are_none(self):
        (self.folder / "script").write_text("#!/bin/sh\n")
        for arguments in (("info", "script"), ("replay", "script", "--backend", "host"),
                          ("replay", "--job", "script", "--job", "pattern:ring:2:8", "--backend", "host")):
            with self.subTest(arguments=arguments):
                lines = self.offramp(*arguments, code=2).stderr.splitlines()
                self.assertEqual(lines[:2], ['offramp: cannot read script: unknown format (text that begins "#!/bin/sh")', "supported formats:"])
                self.assertIn("  pattern (pattern:NAME:RANKS:BYTES[:ROUNDS])", lines)
                self.assertIn("  recording (offramp record, offramp run --record)", lines)
        (self.folder / "packed").write_bytes(b"\x1f\x8b")
        self.assertEqual(self.refused("info", "packed"), "offramp: cannot read packed: it is compressed by gzip: unpack it first\n")

    def test_info_of_a_pattern(self):
        contents = json.loads(self.offramp("info", "pattern:ring:4:8:3", "--json").stdout)
        self.assertTrue(contents["complete"])
        self.assertEqual(len(contents["ranks"]), 4)
        self.assertEqual({rank["events"] for rank in contents["ranks"]}, {contents["ranks"][0]["events"]})
        self.assertIn('pattern "pattern:ring:4:8:3": 4 ranks\n', self.offramp("info", "pattern:ring:4:8:3").stdout)
        self.assertIn("0 MPI_", self.offramp("info", "pattern:ring:4:8:3", "--events").stdout)


if __name__ == "__main__":
    unittest.main()
