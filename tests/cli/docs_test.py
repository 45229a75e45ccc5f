#!/usr/bin/env python3
"""The pages say what `offramp info`, the source and the backends' verdicts say. OFFRAMP_BUILD names the build folder."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OFFRAMP_BUILD", ROOT / "build")).resolve()
OFFRAMP = BUILD / "bin" / "offramp"


def run(*arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OFFRAMP_")}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([OFFRAMP, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                              timeout=60, check=False)


def offramp(*arguments):
    done = run(*arguments)
    done.check_returncode()
    return done.stdout


def rows(*pages):
    """Key -> the row of a table whose first cell is the key in code style."""
    found = {}
    for page in pages:
        for line in page.read_text(encoding="utf-8").splitlines():
            match = re.match(r"\| `([^`]+)` \|", line)
            if match:
                found[match.group(1)] = line
    return found


def default_text(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"{value:.15g}"
    return value.strip('"') or "empty"


class Documentation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.facts = json.loads(offramp("info", "--json"))
        cls.general = ROOT / "docs/configuration.md"
        cls.pages = {b["name"]: ROOT / "docs/backends" / (b["name"] + ".md") for b in cls.facts["backends"]}

    def check_row(self, table, key, default, variable):
        self.assertIn(key, table, f"no page has a table row for {key}")
        self.assertIn(f"`{default_text(default)}`", table[key], f"the row of {key} lacks its default")
        if variable:
            self.assertIn(f"`{variable}`", table[key], f"the row of {key} lacks its variable")

    def test_names_every_key_with_its_default_and_variable(self):
        table = rows(self.general)
        for key in self.facts["keys"]:
            with self.subTest(key=key["key"] or key["variable"]):
                if key["key"]:
                    self.check_row(table, key["key"], key["default"], key["variable"])
                else:
                    self.assertIn(key["variable"], table)

    def test_names_every_parameter_with_its_default_and_variable(self):
        for backend in self.facts["backends"]:
            page = self.pages[backend["name"]]
            table = rows(self.general, *([page] if page.exists() else []))
            for parameter in backend["parameters"]:
                name = parameter["name"]
                with self.subTest(backend=backend["name"], parameter=name):
                    full = f"{backend['name']}.{name}"
                    key = full if full in table else name
                    self.check_row(table, key, parameter["default"], parameter["variable"])
                    if parameter["unit"] not in ("", "1"):
                        self.assertIn(parameter["unit"], table[key])

    def test_names_nothing_that_is_gone(self):
        known = {name for key in self.facts["keys"] for name in (key["key"], key["variable"]) if name}
        for backend in self.facts["backends"]:
            known |= {f"{backend['name']}.{p['name']}" for p in backend["parameters"]}
        self.assertEqual(sorted(set(rows(self.general)) - known), [])

    def test_names_every_line_of_the_sample(self):
        """The sample's keys, read as a user would, are those of the tables."""
        table = set(rows(self.general, *[page for page in self.pages.values() if page.exists()]))
        section = ""
        for line in offramp("info", "-c").splitlines():
            heading = re.fullmatch(r"(?:# )?\[\[?(\w+)\]?\]", line)
            section = heading.group(1) if heading else section
            setting = re.match(r"(?:# )?(\w+) = [^;]*$", line)
            if setting:
                name = setting.group(1)
                full = f"{section}.{name}" if section else name
                self.assertTrue(full in table or name in table, f"{full} is in the sample and in no table")


def text_of(path):
    """A file on one line, so that sentences can be found across line breaks."""
    return re.sub(r"\s+", " ", (ROOT / path).read_text(encoding="utf-8"))


class Figures(unittest.TestCase):
    """Limits that pages name are the constants of the source."""

    PLACES = [
        ("docs/architecture.md", "up to 24 units per rank", "include/offramp/model/message.hpp", "kMaximum = 24;"),
        ("docs/write-a-backend.md", "`units` (there are 24)", "include/offramp/model/message.hpp", "kMaximum = 24;"),
        ("docs/architecture.md", "The engine takes up to eight lanes", "lib/core/envelope.hpp", "kMaxLanes = 8;"),
        ("docs/report.md", "Up to eight can take part", "lib/core/envelope.hpp", "kMaxLanes = 8;"),
        ("docs/architecture.md", "Every sixteen idle turns", "lib/mpi/session.hpp", "kTurnsAlone = 16;"),
        ("docs/architecture.md", "up to 8 KiB go through a ring", "lib/fabric/ucx_fabric.cpp", "kLargestInRing = 8192;"),
        ("docs/architecture.md", "Payloads up to 64 KiB are fetched", "lib/core/engine.cpp", "kMostUnattached = 1 << 16;"),
        ("docs/architecture.md", "256 KiB each at least", "lib/core/payload_window.hpp", "kLeast = std::size_t{256} << 10;"),
        ("docs/architecture.md", "32 MiB shared by all peers", "lib/core/payload_window.hpp", "kTotal = std::size_t{32} << 20;"),
        ("docs/architecture.md", "found nothing cost 20 ns", "lib/mpi/session.hpp", "kQuery = Time::ns(20);"),
        ("docs/tutorial.md", "Each MPI_Wtime costs 20 ns", "lib/mpi/session.hpp", "kQuery = Time::ns(20);"),
        ("docs/configuration.md", "4 000 000 spans each at most", "lib/report/trace.hpp", "kMost = 4'000'000;"),
        ("docs/receipts.md", "keeps 200 000 calls", "lib/report/receipts.hpp", "kMostCalls = 200'000;"),
        ("docs/receipts.md", "1 000 000 stages at most", "lib/report/receipts.hpp", "kMostSpans = 1'000'000;"),
        ("docs/receipts.md", "After 256 MiB of frames", "lib/report/capture.hpp", "kMostBytes = 256 << 20;"),
        ("docs/receipts.md", "Rank r has the IP address 10.10.10.(1 + r)", "lib/report/capture.cpp", "kFirstAddress = 0x0a0a0a01;"),
        ("docs/receipts.md", "UDP, port 2718", "simulators/zrlmpi/header.hpp", "kUdpPort = 2718;"),
        ("docs/receipts.md", "port 5500 + rank", "simulators/cclo/tap.hpp", "kFirstPort = 5500;"),
        ("docs/receipts.md", "Ethernet frames of type 0x88B5", "simulators/tinsel/frame.hpp", "kFrameType = 0x88b5;"),
        ("docs/report.md", "up to 2^20 messages per rank", "lib/core/path_log.hpp", "kMost = 1 << 20;"),
        ("docs/report.md", "JSON, version 1.", "lib/report/report.hpp", "kReportSchema = 1;"),
        ("docs/troubleshooting.md", "for each rank there: 1 MiB,", "lib/fabric/ucx_fabric.hpp", "kNarrow ? kMebibyte : 0;"),
        ("docs/troubleshooting.md", "It is 19 MiB where", "lib/fabric/ucx_fabric.hpp", "return 19 * kMebibyte;"),
        ("docs/troubleshooting.md", "than a quarter of what was free, or 256 MiB", "lib/mpi/open_fabric.cpp", "kMost = 256 * 0x1p20;"),
        ("docs/troubleshooting.md", "the MPI library is not Open MPI 4.1; the program runs without Offramp", "lib/native/openmpi4.c",
         '"the MPI library is not Open MPI 4.1"'),
        ("docs/troubleshooting.md", "is not Open MPI 4.1; the program runs without Offramp", "lib/mpi/startup.cpp",
         "{}; the program runs without Offramp"),
        ("docs/architecture.md", "compares the clocks of all ranks to the picosecond", "tests/suites/determinism.py", "RUNS, THOROUGH_RUNS = 6, 20"),
    ]

    def test_are_those_of_the_source(self):
        for page, words, source, constant in self.PLACES:
            with self.subTest(page=page, words=words):
                self.assertIn(words, text_of(page))
                self.assertIn(constant, text_of(source))


class Maps(unittest.TestCase):
    """What pages list is what there is."""

    def test_contributing_names_every_folder_and_none_that_is_gone(self):
        named = re.findall(r"(?m)^\| `([^`]+)` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
        for place in named:
            with self.subTest(place=place):
                self.assertTrue((ROOT / place.split("NAME")[0]).exists())
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
        folders = {line.split("/")[0] for line in listed.splitlines() if "/" in line} - {"docs", "cmake", "pkgconfig", "scripts"}
        missing = {folder for folder in folders if not folder.startswith(".")} - {place.split("/")[0] for place in named}
        self.assertEqual(missing, set())

    def test_testing_has_a_row_for_every_suite(self):
        source = (ROOT / "tests/run").read_text(encoding="utf-8")
        suites = re.findall(r'"(\w+)"', re.search(r"SUITES = \[(.*?)\]", source, re.S).group(1))
        table = rows(ROOT / "docs/testing.md")
        self.assertEqual([suite for suite in suites if suite not in table], [])

    def test_functions_txt_uses_the_seven_words_that_its_head_explains(self):
        text = (ROOT / "lib/mpi/functions.txt").read_text(encoding="utf-8")
        used = {line.split()[0] for line in text.splitlines() if line and not line.startswith("#")}
        explained = set(re.findall(r"`(\w+)`", "\n".join(line for line in text.splitlines() if line.startswith("#"))))
        self.assertEqual(len(used), 7)
        self.assertLessEqual(used, explained)
        self.assertIn("the seven words", text_of("CONTRIBUTING.md"))


class Carried(unittest.TestCase):
    """README's table of what each backend carries, against the backends' own verdicts."""

    OPERATIONS = ("send bcast reduce gather allreduce scatter allgather reduce_scatter alltoall barrier scan exscan").split()

    def carries(self, operation, *options):
        done = run("predict", operation, "--json", "--bytes", "8", *options)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return done.returncode == 0

    def carried(self, *options):
        return {operation for operation in self.OPERATIONS if self.carries(operation, "-n", "4", *options)}

    def row(self, backend):
        lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if line.startswith(f"| [`{backend}`]")).split("|")[3]

    def test_the_table_of_the_readme_is_true(self):
        everything = set(self.OPERATIONS)
        self.assertEqual(self.row("host").strip(), "messages and all collectives")
        self.assertEqual(self.carried("--backend", "host"), everything)
        for backend in ("dpu", "tinsel"):
            self.assertIn("all collectives but scan", self.row(backend))
            self.assertEqual(self.carried("--backend", backend), everything - {"scan", "exscan"})
        for backend, options in (("cclo", []), ("zrlmpi", []), ("aie", [])):
            row = self.row(backend).split("; the second generation")[0]
            named = {word for word in re.findall(r"\w+", row) if word in everything} | {"send"}
            self.assertEqual(self.carried("--backend", backend, *options), named, backend)
        self.assertEqual(self.carried("--backend", "cclo", "--set", "profile=gen2"),
                         self.carried("--backend", "cclo") | {"alltoall", "barrier"})

    def test_its_limits_are_true(self):
        limits = [("allreduce", "cclo", ["--type", t], t in ("float32", "float64", "int32", "int64")) for t in
                  ("float32", "float64", "int32", "int64", "int16", "uint32")]
        limits += [("allreduce", "cclo", ["--function", "max"], False),
                   ("allreduce", "cclo", ["--function", "max", "--set", "profile=gen2"], True),
                   ("bcast", "zrlmpi", ["-n", "64"], True), ("bcast", "zrlmpi", ["-n", "65"], False),
                   ("send", "zrlmpi", ["--set", "strict=true", "--type", "float64"], False),
                   ("send", "zrlmpi", ["--set", "strict=true", "--type", "float32"], True),
                   ("reduce", "zrlmpi", ["--set", "strict=true", "--function", "max"], False),
                   ("send", "aie", ["-n", "65"], True), ("send", "aie", ["-n", "66"], False),
                   ("allreduce", "aie", ["-n", "400"], True), ("allreduce", "aie", ["-n", "401"], False),
                   ("allreduce", "aie", ["--type", "int16"], True), ("allreduce", "aie", ["--type", "float64"], False),
                   ("bcast", "dpu", ["-n", "64", "--set", "ranks_per_node=1", "--set", "service_processes=4"], True),
                   ("bcast", "dpu", ["-n", "65", "--set", "ranks_per_node=1", "--set", "service_processes=4"], False),
                   ("allreduce", "dpu", ["--function", "user"], False)]
        self.assertIn("72 ranks in a communicator (layout `seed`, 16 RX buffers), 174 in `dump`, 310 in `gen2`",
                      text_of("docs/backends/cclo.md"))
        for profile, most in (("seed", 72), ("dump", 174), ("gen2", 310)):
            limits += [("bcast", "cclo", ["-n", str(ranks), "--set", f"profile={profile}"], ranks == most)
                       for ranks in (most, most + 1)]
        for operation, backend, options, expected in limits:
            with self.subTest(backend=backend, operation=operation, options=options):
                self.assertEqual(self.carries(operation, "--backend", backend, *options), expected)


if __name__ == "__main__":
    unittest.main()
