#!/usr/bin/env python3
"""The pages agree with `offramp info`, the source, and the backends' verdicts. OFFRAMP_BUILD names the build folder."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import registry  # noqa: E402  # pylint: disable=wrong-import-position

BUILD = pathlib.Path(os.environ.get("OFFRAMP_BUILD", ROOT / "build")).resolve()
OFFRAMP = BUILD / "bin" / "offramp"


def run(*arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OFFRAMP_")} | variables
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([OFFRAMP, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                              timeout=180, check=False)


def offramp(*arguments, **variables):
    done = run(*arguments, **variables)
    done.check_returncode()
    return done.stdout


def rows(*pages):
    """Key -> its row in a table whose first cells are keys in code style."""
    found = {}
    for page in pages:
        for line in page.read_text(encoding="utf-8").splitlines():
            match = re.match(r"\| `([^`]+)` \|", line)
            if match:
                found.setdefault(match.group(1), line)
    return found


def default_text(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"{value:.15g}"
    return value.strip('"') or "empty"


# Parameters of the service library, which is no backend.
SERVICE_VARIABLES = {"OFFRAMP_DPU_SECRET", "OFFRAMP_DPU_SECRET_FILE"}


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

    def test_the_parameters_that_pages_name_are_as_they_say(self):
        """A page has the parameters that matter, with rows equal to those of the table of parameters."""
        for backend in self.facts["backends"]:
            known = {parameter["name"]: parameter for parameter in backend["parameters"]}
            shown = {key: row for key, row in rows(self.pages[backend["name"]]).items() if key in known and row.count(" | ") == 4}
            self.assertGreaterEqual(len(shown), min(len(known), 8), backend["name"])
            for name, row in shown.items():
                with self.subTest(backend=backend["name"], parameter=name):
                    self.check_row(shown, name, known[name]["default"], "")
                    for column in ("unit", "allowed", "description", "source"):
                        if known[name][column] not in ("", "1"):
                            self.assertIn(known[name][column], row)

    def test_names_nothing_that_is_gone(self):
        known = {name for key in self.facts["keys"] for name in (key["key"], key["variable"]) if name}
        for backend in self.facts["backends"]:
            known |= {f"{backend['name']}.{p['name']}" for p in backend["parameters"]}
        keys = {key for key, row in rows(self.general).items() if re.search(r"\| (`OFFRAMP_\w+`|file only) \|", row)}
        self.assertEqual(sorted(keys - known), [])
        variables = known | {p["variable"] for b in self.facts["backends"] for p in b["parameters"]}
        for backend, page in self.pages.items():
            text = page.read_text(encoding="utf-8")
            with self.subTest(backend=backend):
                self.assertEqual(set(re.findall(rf"\bOFFRAMP_{backend.upper()}_[A-Z_]+\b", text)) - variables - SERVICE_VARIABLES, set())
                # A row of five cells that begins with one word in code style describes a parameter.
                self.assertEqual({key for key, row in rows(page).items() if row.count(" | ") == 4 and "assumed" in row and "." in key} - known, set())


    def test_names_every_line_of_the_sample(self):
        """The keys of the sample, as a user would read it, are those of the page and of the tables of parameters."""
        table = set(rows(self.general)) | {f"{b['name']}.{p['name']}" for b in self.facts["backends"] for p in b["parameters"]}
        section = ""
        for line in offramp("info", "-c").splitlines():
            heading = re.fullmatch(r"(?:# )?\[\[?(\w+)\]?\]", line)
            section = heading.group(1) if heading else section
            setting = re.match(r"(?:# )?(\w+) = [^;]*$", line)
            if setting:
                name = setting.group(1)
                full = f"{section}.{name}" if section else name
                self.assertTrue(full in table or name in table, f"{full} is in the sample, and neither in a table nor a parameter")


def text_of(path):
    """A file on one line, so that sentences can be found across line breaks."""
    return re.sub(r"\s+", " ", (ROOT / path).read_text(encoding="utf-8"))


class Figures(unittest.TestCase):
    """Limits on pages are the constants of the source."""

    PLACES = [
        ("README.md", "The tests take at most 20 minutes", "docs/reliability.md", "takes at most 20 minutes on 2 cores"),
        ("CONTRIBUTING.md", "one row in the table in `lib/base/configuration/configuration_keys.cpp`", "lib/base/configuration/configuration_keys.cpp",
         "constexpr Row kRows[] = {"),
        ("docs/architecture.md", "Only `lib/run/fabric/ucx_fabric.cpp` and `lib/services/dpu_service/ucx_transport.cpp` know UCX",
         "tests/suites/layers.py", 'KNOW_UCX = ("lib/run/fabric/ucx_fabric.cpp", "lib/services/dpu_service/ucx_transport.cpp")'),
        ("docs/architecture.md", "Only that file includes Open MPI's internal headers", "tests/suites/layers.py",
         'KNOWS_OPEN_MPI = "lib/run/native/openmpi.c"'),
        ("docs/architecture.md", "keeps up to 64 MiB in memory", "lib/programs/recording/recorder.hpp", "limit = std::size_t{64} << 20;"),
        ("docs/write-a-backend.md", "the plugin was built, 14 at present", "include/offramp/model/backend.hpp", "kAbi = 14;"),
        ("docs/architecture.md", "Every sixteen idle turns", "lib/run/mpi/runtime/session.hpp", "kTurnsAlone = 16;"),
        ("docs/architecture.md", "up to 16 of them", "lib/run/fabric/node_fabric.hpp", "kMostRanksOfNodeFabric = 16;"),
        ("docs/architecture.md", "up to 8 KiB go through a ring", "lib/run/fabric/node_rings.hpp", "kLargestInRing = 8192;"),
        ("docs/architecture.md", "Payloads up to 64 KiB are fetched", "lib/run/engine/engine.cpp", "kMostUnattached = 1 << 16;"),
        ("docs/architecture.md", "256 KiB each at least", "lib/run/engine/payload_window.hpp", "kLeast = std::size_t{256} << 10;"),
        ("docs/architecture.md", "32 MiB shared by all peers", "lib/run/engine/payload_window.hpp", "kTotal = std::size_t{32} << 20;"),
        ("docs/configuration.md", "4 000 000 spans each at most", "lib/answers/report/trace.hpp", "kMost = 4'000'000;"),
        ("docs/report.md", "keeps 200 000 calls", "lib/answers/report/receipts.hpp", "kMostCalls = 200'000;"),
        ("docs/report.md", "1 000 000 stages at most", "lib/answers/report/receipts.hpp", "kMostSpans = 1'000'000;"),
        ("docs/report.md", "After 256 MiB of frames", "lib/answers/report/capture.hpp", "kMostBytes = 256 << 20;"),
        ("docs/report.md", "Rank r has the IP address 10.10.10.(1 + r)", "lib/answers/report/capture.cpp",
         "kFirstAddress = 0x0a0a0a01;"),
        ("docs/report.md", "UDP, port 2718", "simulators/zrlmpi/protocol.hpp", "kUdpPort = 2718;"),
        ("docs/report.md", "port 5500 + rank", "simulators/cclo/tap.hpp", "kFirstPort = 5500;"),
        ("docs/report.md", "Ethernet frames of type 0x88B5", "simulators/tinsel/frame.hpp", "kFrameType = 0x88b5;"),
        ("docs/backends/host.md", "with an MTU of 4096 bytes", "backends/host/host.cpp", "kMtu = 4096;"),
        ("docs/backends/host.md", "82 bytes of framing per packet", "backends/host/parameters.cpp", "kRoce = 82;"),
        ("docs/backends/cclo.md", "8 KB of bytes", "simulators/cclo/layout.hpp", "kIoSpaceBytes = 8192;"),
        ("docs/backends/cclo.md", "64 bytes per cycle", "simulators/cclo/header.hpp", "kWordBytes = 64;"),
        ("docs/backends/cclo.md", "One 64-byte header per segment", "simulators/cclo/header.hpp", "kHeaderBytes = kWordBytes;"),
        ("docs/backends/cclo.md", "gen2 3 moves", "simulators/cclo/processor.hpp", "kGen2InFlight = 3;"),
        ("docs/backends/cclo.md", "packets of 1536 bytes (gen2 4096)", "simulators/cclo/spec.hpp", "? 1536 : 4096;"),
        ("docs/backends/cclo.md", "after three duplicate acknowledgements", "simulators/cclo/network.cpp",
         "kDuplicatesBeforeRepeat = 3;"),
        ("docs/backends/cclo.md", "sends up to 64 KiB never wait", "backends/cclo/backend.hpp", "kBuffered = 64 * 1024;"),
        ("docs/backends/cclo.md", "up to 16 MiB; no hardware", "backends/cclo/parameters.cpp", "16777216"),
        ("docs/backends/zrlmpi.md", "takes two cycles (initiation interval 2)", "simulators/zrlmpi/protocol.hpp",
         "kInitiationInterval = 2;"),
        ("docs/backends/zrlmpi.md", "at most 1416 bytes of UDP payload: 1384 bytes", "simulators/zrlmpi/protocol.hpp",
         "kDatagramBytes = 1416;"),
        ("docs/backends/zrlmpi.md", "A wire adds 66 bytes to each", "simulators/zrlmpi/protocol.hpp", "kFramingBytes = 66;"),
        ("docs/backends/zrlmpi.md", "**Header**, 32 bytes", "simulators/zrlmpi/protocol.hpp", "kHeaderBytes = 32;"),
        ("docs/backends/zrlmpi.md", "The extension block is 16 bytes", "simulators/zrlmpi/protocol.hpp", "kBlockBytes = 16;"),
        ("docs/backends/zrlmpi.md", "UDP port 2718", "simulators/zrlmpi/protocol.hpp", "kUdpPort = 2718;"),
        ("docs/backends/zrlmpi.md", "a two-level tree of groups of four", "simulators/zrlmpi/protocol.hpp", "kGroup = 4;"),
        ("docs/backends/aie.md", "than 30,688 B per rank", "simulators/aie/array.hpp", "stack_bytes = 1024;"),
        ("docs/backends/aie.md", "the windows are halved down to 128 B", "backends/aie/planner.cpp", "kLeastShrunk = 128;"),
        ("docs/backends/aie.md", "**barrier** an allreduce of 16 bytes", "backends/aie/planner.hpp", "kBarrierBytes = 16;"),
        ("docs/backends/aie.md", "5-bit identifiers on two channels", "backends/aie/messages.hpp", "kIdentifiers = 32;"),
        ("docs/backends/aie.md", "allows each of these plans 1 s", "tests/aie/plan_test.cpp", "kLimit = 1;"),
        ("docs/backends/aie.md", "as are 1,000 random trees", "tests/aie/plan_test.cpp", "KeepEveryLimitWithAThousandRandomTrees"),
        ("docs/backends/tinsel.md", "from 0x01804000 on", "simulators/tinsel/table.hpp", "kFirstBeat = 0x01804000 / kBeatBytes;"),
        ("docs/backends/tinsel.md", "Boards of 4 x 4 mailboxes; 64 threads", "simulators/tinsel/spec.hpp",
         "kThreadsPerMailbox = 64;"),
        ("docs/backends/tinsel.md", "512 slots", "simulators/tinsel/spec.hpp", "kReceiveSlots = 448;"),
        ("docs/backends/tinsel.md", "eight fetchers", "simulators/tinsel/spec.hpp", "kFetchers = kLinks + kMailboxColumns;"),
        ("docs/backends/tinsel.md", "a request per four beats", "simulators/tinsel/spec.hpp", "kMaximumBurst = 4;"),
        ("docs/backends/tinsel.md", "16 beats per latency over all fetchers", "simulators/tinsel/spec.hpp",
         "kOutstandingBeats = 16;"),
        ("docs/backends/tinsel.md", "Fragments of 60 bytes", "simulators/tinsel/stream.hpp", "kFragmentBytes = 60;"),
        ("docs/backends/tinsel.md", "an envelope of 16 bytes", "simulators/tinsel/stream.hpp", "kEnvelopeBytes = 16;"),
        ("docs/backends/tinsel.md", "After 1000 attempts the link counts as broken", "simulators/tinsel/spec.hpp",
         "retries = 1000;"),
        ("docs/backends/tinsel.md", "2 MiB of DRAM per thread", "simulators/tinsel/spec.hpp", "kThreadMemory = 2U << 20U;"),
        ("docs/backends/dpu.md", "**Notifications** are a 56-byte header", "simulators/dpu/node.hpp",
         "kNotificationHeader = 56;"),
        ("docs/backends/dpu.md", "at 1.6 times the speed", "simulators/dpu/machine.cpp", "kHostSpeedTenths = 16;"),
        ("docs/backends/dpu.md", "256 service processes and", "backends/dpu/dpu.cpp", "kMostProcesses = 256;"),
        ("docs/backends/dpu.md", "and 10 000 peers", "backends/dpu/dpu.cpp", "kMostPeers = 10000;"),
        ("docs/backends/dpu.md", "a pool that grows by 32", "simulators/dpu_protocol/events.hpp", "kGrowth = 32;"),
        ("docs/backends/dpu.md", "the limit of 8 sends to a peer", "simulators/dpu_protocol/events.hpp", "kPostedSends = 8;"),
        ("docs/backends/dpu.md", "active messages (id 34)", "lib/services/dpu_service/ucx_transport.cpp", "kActiveMessageId = 34;"),
        ("docs/backends/dpu.md", "waits, at most 2 s, for peers", "lib/services/dpu_service/ucx_transport.cpp",
         "kGoodbyeLimit = std::chrono::seconds(2);"),
        ("docs/backends/dpu.md", "one of the peer's next 16 calls", "lib/services/dpu_service/ucx_transport.cpp", "kLook = 16;"),
        ("docs/backends/dpu.md", "`stall_timeout_ms` (10 s)", "lib/services/dpu_service/engine.cpp", "kStallLimit = 10'000;"),
        ("docs/backends/dpu.md", "`connect_timeout_ms` (30 s)", "lib/services/dpu_service/engine.cpp", "kConnectLimit = 30'000;"),
        ("docs/backends/dpu.md", "at most 1.25 times the limit", "lib/services/dpu_service/pulse.hpp", "limit_ / 4;"),
        ("docs/backends/dpu.md", "(default 11111)", "lib/services/dpu_service/engine.cpp", "kDefaultPort = 11111;"),
        ("docs/backends/dpu.md", "descriptor with arguments (36)", "lib/services/dpu_service/operations.hpp", "kStartOperation = 36;"),
        ("docs/backends/dpu.md", "status and result in it (37)", "lib/services/dpu_service/operations.hpp", "kEndOperation = 37;"),
        ("docs/backends/dpu.md", "`send_key_to_dpu`, 38;", "lib/services/dpu_service/operations.hpp", "kAddKey = 38;"),
        ("docs/backends/dpu.md", "`revoke_key_on_dpu`, 39)", "lib/services/dpu_service/operations.hpp", "kRevokeKey = 39;"),
        ("docs/backends/dpu.md", "`send_cache_request` (40)", "lib/services/dpu_service/cache_service.hpp", "kCacheRequest = 40;"),
        ("docs/backends/dpu.md", "all entries (41)", "lib/services/dpu_service/cache_service.hpp", "kCacheEntries = 41;"),
        ("docs/backends/dpu.md", "`send_cache_entry_request` (42)", "lib/services/dpu_service/cache_service.hpp", "kEntryRequest = 42;"),
        ("docs/backends/dpu.md", "all service processes (46)", "lib/services/dpu_service/cache_service.hpp", "kProcessData = 46;"),
        ("docs/performance.md", "more than 5 % above", "tests/suites/speed.py", "TOLERANCE = 1.05"),
        ("docs/performance.md", "MPI library look at its own every 16th time", "lib/run/mpi/runtime/session.hpp", "kTurnsAlone = 16;"),
        ("docs/performance.md", "Up to 8 KiB a message is copied twice", "lib/run/fabric/node_rings.hpp", "kLargestInRing = 8192;"),
        ("docs/reliability.md", "`scripts/nightly` makes 1,200 runs", "scripts/nightly", '"--runs", type=int, default=1200'),
        ("docs/reliability.md", "`scripts/nightly` takes a minute each", "scripts/nightly", '"--fuzz-seconds", type=int, default=60'),
        ("docs/reliability.md", "Five seconds each, two at a time", "tests/suites/fuzz.py", 'get("OFFRAMP_FUZZ_SECONDS", "5")'),
        ("docs/reliability.md", "Five seconds each, two at a time", "tests/suites/fuzz.py", "max_workers=2"),
        ("docs/reliability.md", "ends with 74 instead of 0", "lib/base/output_file.hpp", "kOutputLost = 74;"),
        ("docs/reliability.md", "a rank stays for half a second more", "lib/run/mpi/runtime/untimely_end.cpp", "kHalfSecond = 500'000'000;"),
        ("docs/reliability.md", "at the sender up to 700 bytes", "tests/suites/soak.py", "SENDER_BYTES = 700"),
        ("docs/reliability.md", "not asked for it up to 320 bytes", "tests/suites/soak.py", "RECEIVER_BYTES = 320"),
        ("docs/reliability.md", "for each such message is less than 3 KiB", "tests/suites/limits.py", "PER_MESSAGE_KIB = 3 "),
        ("docs/reliability.md", "A message of up to 4096 bytes takes no room", "lib/run/mpi/runtime/bsend.hpp", "kUncounted = 4096;"),
        ("docs/reliability.md", "each backend 2 s on 3 ranks and one of them 2 s on 16 ranks. With `--thorough` it is 100 s each",
         "tests/suites/soak.py", "SECONDS = {False: 2, True: 100} MANY_RANKS = 16"),
        ("docs/reliability.md", "8 and 25 ranks for each core (50 at most)", "tests/suites/soak.py", "CROWDS = (8, 25)"),
        ("docs/reliability.md", "8 and 25 ranks for each core (50 at most)", "tests/suites/soak.py",
         "min(50, ranks_per_core * cores)"),
        ("docs/reliability.md", "three busy processes for each core", "tests/suites/soak.py", "BUSY = 3"),
        ("docs/reliability.md", "100,000 messages (with `--thorough` 1,000,000)", "tests/suites/soak.py",
         "IN_FLIGHT = {False: 100_000, True: 1_000_000}"),
        ("docs/reliability.md", "Only the last 4,096 are kept", "lib/run/engine/engine.hpp", "kRetiredKnown = 4096;"),
        ("docs/reliability.md", "offramp: rank N called MPI_Abort with code C", "lib/run/mpi/api/environment.cpp",
         '"offramp: rank %d called MPI_Abort with code %d'),
        ("docs/reliability.md", "offramp: rank N ended without MPI_Finalize", "lib/run/mpi/api/environment.cpp",
         '"offramp: rank %d ended without MPI_Finalize'),
        ("docs/reliability.md", "`offramp: rank 1: cclo gave up receiving ...`", "lib/run/engine/engine_accounts.cpp",
         '"offramp: rank {}: {} gave up receiving'),
        ("docs/reliability.md", "a folder `.offramp-` with twelve letters and digits", "lib/base/output_place.cpp", "i < 12"),
        ("docs/reliability.md", "claims more than 2^36 events of a rank", "lib/programs/recording/rank_reader.cpp", "kMostEvents = std::uint64_t{1} << 36U"),
        ("CHANGES.md", "`offramp/model/backend.hpp`, abi 14", "include/offramp/model/backend.hpp", "kAbi = 14;"),
        ("docs/replay.md", "reached 64 KiB", "lib/programs/recording/format.hpp", "kPayloadTarget = std::size_t{64} << 10U;"),
        ("docs/replay.md", "up to 64 MiB of blocks in memory", "lib/programs/recording/recorder.hpp", "limit = std::size_t{64} << 20;"),
        ("docs/replay.md", "length of the payload, 32 bits, at most 64 MiB", "lib/programs/recording/format.hpp",
         "kMostPayload = std::size_t{64} << 20U;"),
        ("docs/replay.md", "over 65,536 events at most", "lib/programs/recording/format.hpp", "kWindow = std::size_t{64} << 10U;"),
        ("docs/replay.md", "at most 8192 symbols", "lib/programs/recording/format.hpp", "kMostSymbols = 8192;"),
        ("docs/replay.md", "at most 1,048,576 values", "lib/programs/recording/format.hpp", "kMostValues = std::size_t{1} << 20U;"),
        ("docs/replay.md", "three times as many", "lib/programs/recording/format.hpp", "kMostBlockValues = 3 * kMostValues;"),
        ("docs/replay.md", "version, 32 bits: 6", "lib/programs/recording/format.hpp", "kVersion = 6;"),
        ("docs/replay.md", "gaps of up to 1 us", "lib/programs/recording/event.hpp", "kBriefGap = 1000;"),
        ("docs/replay.md", "`FILE.rank-N`", "lib/programs/recording/recording.cpp", '"{}.rank-{}"'),
        ("docs/report.md", "up to 2^24 messages", "lib/answers/replay/replay_log.hpp", "kMostWaits = std::size_t{1} << 24;"),
        ("docs/report.md", "Up to 64 ranks and 20 000 slices", "lib/answers/report/report_timeline.hpp", "kMostSlices = 20'000;"),
        ("docs/report.md", "Up to 64 ranks and 20 000 slices", "lib/answers/report/report_timeline.hpp", "kMostRanks = 64;"),
        ("docs/report.md", "JSON, version 1.", "lib/answers/report/report_fields.hpp", "kReportSchema = 1;"),
        ("docs/install.md", "for each rank there: 1 MiB,", "lib/run/fabric/ucx_fabric.hpp", "kNarrow ? kMebibyte : 0;"),
        ("docs/install.md", "share is 19 MiB where", "lib/run/fabric/ucx_fabric.hpp", "return 19 * kMebibyte;"),
        ("docs/install.md", "than a quarter of what was free, or 256 MiB", "lib/run/mpi/runtime/open_fabric.cpp",
         "kMost = 256 * 0x1p20;"),
        ("docs/install.md", "the MPI library is not Open MPI 4.1; the program runs without Offramp", "lib/run/native/openmpi.c",
         '"the MPI library is not Open MPI " SUPPORTED'),
        ("docs/install.md", "is not Open MPI 4.1; the program runs without Offramp", "lib/run/mpi/runtime/startup.cpp",
         "{}; the program runs without Offramp"),
    ]

    def test_are_those_of_the_source(self):
        for page, words, source, constant in self.PLACES:
            with self.subTest(page=page, words=words):
                self.assertIn(words, text_of(page))
                self.assertIn(constant, text_of(source))


class Maps(unittest.TestCase):
    """Lists on pages are complete."""

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
        files = (ROOT / "tests/suites").glob("*.py")
        suites = {path.stem for path in files if "\ndef test_" in path.read_text(encoding="utf-8")} | {"cli"}
        cells = re.findall(r"(?m)^\| (`[^|]*`) \|", (ROOT / "docs/reliability.md").read_text(encoding="utf-8").split("\n## Tests\n")[1])
        self.assertEqual({name for cell in cells for name in re.findall(r"`(\w+)`", cell)}, suites)

    def test_the_index_leads_to_every_page(self):
        named = set(re.findall(r"\(([\w/.-]+\.md)\)", (ROOT / "docs/README.md").read_text(encoding="utf-8")))
        pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")} - {"README.md"}
        self.assertEqual(pages - named, set())
        self.assertIn("(docs/README.md)", (ROOT / "README.md").read_text(encoding="utf-8"))

    def test_the_readme_is_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()), 110)

    def test_functions_txt_uses_the_seventeen_words_that_its_head_explains(self):
        text = (ROOT / "lib/run/mpi/api/functions.txt").read_text(encoding="utf-8")
        used = {line.split()[0].rstrip("?+") for line in text.splitlines() if line and not line.startswith("#")}
        explained = set(re.findall(r"`(\w+)`", "\n".join(line for line in text.splitlines() if line.startswith("#"))))
        self.assertEqual(len(used), 17)
        self.assertLessEqual(used, explained)
        self.assertIn("the seventeen words", text_of("CONTRIBUTING.md"))


    def test_benchmarks_has_every_program_and_every_option(self):
        page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
        programs, options = page.split("\n## Benchmarks\n")[1].split("\n## Options\n")
        named = set(re.findall(r"`(\w+)`", "".join(line for line in programs.splitlines() if line.startswith("| `"))))
        collectives = re.search(r"foreach\(name ([a-z_ ]+)\)\s+add_mpi_benchmark\(\$\{name\} collective", text_of("bench/CMakeLists.txt"))[1].split()
        programs = {path.stem.removeprefix("mpi_") for path in (ROOT / "bench").glob("mpi_*.c")}
        self.assertEqual(named, {*programs, *collectives, *(f"i{name}" for name in collectives)})
        letters = set(re.findall(r"`-(\w)\b", "".join(line for line in options.splitlines() if line.startswith("| `"))))
        self.assertEqual(letters, set(re.findall(r"case '(\w)':", text_of("bench/options.c"))))

    def test_configuration_has_every_performance_variable_with_its_class(self):
        page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
        classes = {"TIMER": "timer", "COUNTER": "counter", "HIGHWATERMARK": "high watermark"}
        named = {name: kind for names, kind in re.findall(r"(?m)^\| (offramp_[\w, ]+) \| ([\w ]+) \|", page)
                 for name in names.split(", ")}
        there = re.findall(r'\{"(offramp_\w+)",.*?MPI_T_PVAR_CLASS_(\w+),', text_of("lib/run/mpi/api/tools_interface.cpp"))
        self.assertEqual(named, {name: classes[kind] for name, kind in there})

    def test_configuration_has_units_that_are_read(self):
        page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
        known = {"time": "host.latency", "size": "host.eager_limit", "frequency": "cclo.clock", "rate": "host.bandwidth"}
        for kind, key in known.items():
            units = re.search(rf"(?m)^\| {kind} \| ([^:|(]+)(?:\(also ([^)]+)\))?([^:|]*)", page)
            for unit in re.findall(r"[\w/]+", " ".join(filter(None, units.groups())).replace(" or ", " ")):
                with self.subTest(unit=unit):
                    told = run("predict", "send", "--backend", key.split(".")[0], "--set", f"{key}=1{unit}")
                    self.assertNotIn("unit", told.stderr)
                    self.assertTrue(told.returncode == 0 or " .. " in told.stderr, told.stderr)

    def test_reliability_counts_the_programs_under_valgrind(self):
        programs = re.search(r"PROGRAMS = \[(.*?)\]", text_of("tests/suites/valgrind.py")).group(1).count(",") + 1
        self.assertIn(f"and {programs} programs over every backend", text_of("docs/reliability.md"))

    def test_performance_has_the_instructions_of_the_suite_speed(self):
        figures = json.loads((ROOT / "bench/instructions.json").read_text(encoding="utf-8"))
        page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
        for row, operation in (("message", "message"), ("allreduce, both ranks", "allreduce")):
            cells = " | ".join(str(figures[operation][backend]) for backend in registry.backends(BUILD))
            self.assertIn(f"| {row} | {cells} |", page)

    def test_pages_name_files_that_are_there(self):
        for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            text = page.read_text(encoding="utf-8")
            for place in re.findall(r"`((?:simulators|backends|lib|include|tests|tools|bench|scripts|examples)/[\w./-]+)`", text):
                with self.subTest(page=page.name, place=place):
                    built = place.startswith("lib/") and place.endswith(".so")
                    self.assertTrue(built or "NAME" in place or (ROOT / place).exists())

    def test_the_page_of_dpu_names_tests_that_are_there(self):
        sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*_test.cpp"))
        tests = {f"{suite}.{name}" for suite, name in re.findall(r"TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", sources)}
        for name, rest in re.findall(r"`(\w+\.(?:[A-Z]\w*)?)(\.\.\.|\*)?`", text_of("docs/backends/dpu.md")):
            with self.subTest(name=name):
                self.assertTrue(any(test.startswith(name) if rest else test == name for test in tests))

    def test_pages_of_backends_name_every_topic_of_explain(self):
        for backend in ("cclo", "dpu"):
            listed = re.search(r"Topics of `offramp explain`:(.*?) ## ", text_of(f"docs/backends/{backend}.md")).group(1)
            topics = {line.split()[1] for line in offramp("explain", "--backend", backend).splitlines() if line}
            self.assertEqual(set(re.findall(r"`([\w-]+)`", listed)), topics)


class Forecasts(unittest.TestCase):
    """Modelled figures on pages are those of `offramp predict` and `offramp explain`."""

    TIMES = [  # page, text, us, and the command that predicts them
        ("docs/backends/host.md", "about 2 o + L = 1.5 us", 1.5, "send --backend host --bytes 8"),
        ("docs/backends/host.md", "an allreduce of 8 bytes on 3 ranks, where one rank folds into another first, takes 3.5 us", 3.5,
         "allreduce --backend host --ranks 3 --bytes 8"),
        ("docs/backends/host.md", "an allgather of 8 bytes 17.4 us", 17.4, "allgather --backend host --ranks 512 --bytes 8 --network star"),
        ("docs/backends/host.md", "takes 71.2 ms by `knomial`", 71215.0, "bcast --backend host --ranks 512 --bytes 64MiB --network star"),
        ("docs/backends/host.md", "on 512 ranks takes 21.1 ms", 21094.0, "allreduce --backend host --ranks 512 --bytes 64MiB --network star"),
        ("docs/backends/zrlmpi.md", "a gather of 8 bytes on 64 ranks takes 87.7 us", 87.7,
         "gather --backend zrlmpi --ranks 64 --bytes 8"),
        ("docs/backends/tinsel.md", "takes 25.7, 27.0 and 29.5 us", 25.7, "dram_latency=60"),
        ("docs/backends/tinsel.md", "takes 25.7, 27.0 and 29.5 us", 27.0, "dram_latency=80"),
        ("docs/backends/tinsel.md", "takes 25.7, 27.0 and 29.5 us", 29.5, "dram_latency=120"),
    ]

    def test_times(self):
        for page, words, expected, what in self.TIMES:
            with self.subTest(page=page, what=what):
                self.assertIn(words, text_of(page))
                if "=" in what:
                    what = f"bcast --backend tinsel --ranks 49152 --bytes 64 --set {what}"
                told = json.loads(offramp("predict", *what.split(), "--json"))
                self.assertEqual(round(told["time_ns"] / 1000, 1), expected)

    @staticmethod
    def predict(what, field="time_ns"):
        return json.loads(offramp("predict", *what.split(), "--json"))[field]

    @staticmethod
    def table(page, heading):
        """The cells of the first table after the given text, without its head."""
        text = (ROOT / page).read_text(encoding="utf-8").split(heading, 1)[1]
        lines = re.search(r"(?m)(?:^\|.*\n)+", text).group().splitlines()
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]

    @staticmethod
    def validation(backend):
        """The table's rows as the command makes them: quantity, published, ours, error, fitted, reason."""
        lines = offramp("explain", "validation", "--backend", backend).splitlines()
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:] if line.startswith("|")]

    @staticmethod
    def size(text):
        number, _, unit = text.partition(" ")
        return int(number) * {"": 1, "Ki": 1 << 10, "KiB": 1 << 10, "Mi": 1 << 20, "MiB": 1 << 20}[unit]

    def test_pages_have_the_sums_of_each_validation(self):
        rows_ = self.validation("all")
        self.assertEqual([row[0] for row in rows_], registry.backends(BUILD))
        for backend, published, fitted, _, half, most, *_ in rows_:
            with self.subTest(backend=backend):
                self.assertIn(f"`offramp explain validation --backend {backend}` runs the model for {published} figures; {fitted} are fitted. "
                              f"Half of the others are within {half}, nine tenths within {most}", text_of(f"docs/backends/{backend}.md"))

    def test_the_validation_of_aie(self):
        rows_ = self.validation("aie")
        page = text_of("docs/backends/aie.md")
        errors = []
        for quantity, published, ours, error, fitted, reason in rows_:
            if not error:  # a bound
                continue
            with self.subTest(quantity=quantity):
                off = 100 * (float(ours) / float(published) - 1)
                self.assertAlmostEqual(off, 0 if error == "0" else float(error.split()[0]), delta=0.02)
                self.assertLess(abs(off), 14 if "DMA" in quantity else 10 if quantity.startswith(("tile memory", "latency of neigh")) else 5)
                self.assertIn(fitted, ("yes", "no"))
                self.assertTrue(reason)
                tree = re.fullmatch(r"tree time, L = (\d), (\d+) B, cycles", quantity)
                if not tree:
                    continue
                errors.append(abs(off))
                window = tree[2]
                what = (f"reduce --backend aie --ranks {2 ** int(tree[1]) - 1} --bytes {window} --type int32 "
                        f"--set window={window} --set data=tiles")
                self.assertLessEqual(abs(self.predict(what, "cycles") - float(ours)), 1)
        self.assertEqual(len(errors), 17)
        self.assertIn(f"are off by {max(errors):.2f} % at worst and {sum(errors) / len(errors):.2f} % on average", page)
        stated = [100 * (float(row[2]) / float(row[1]) - 1) for row in rows_ if row[0].startswith("the same, placement")]
        self.assertEqual(len(stated), 7)
        self.assertIn(f"seven rows are off by {min(stated):.1f} to {max(stated):.1f} %", page)

    def test_the_window_of_aie(self):
        times = [self.predict(f"reduce --backend aie --ranks {ranks} --bytes 40000 --type int32") / 1000 for ranks in (16, 17)]
        self.assertIn("takes {:.0f} us on 16 ranks and {:.0f} on 17".format(*times), text_of("docs/backends/aie.md"))

    def test_the_sharing_of_zrlmpi(self):
        told = {}
        for program, tests in (("model_test", "*Sharing*"), ("zrlmpi_test", "ZrlmpiWorld.*")):
            said = subprocess.run([BUILD / "tests" / program, f"--gtest_filter={tests}"], capture_output=True, text=True, check=True)
            for part in said.stdout.split("[ RUN      ] ")[1:]:
                test, _, hardware = part.split()[0].removeprefix("Backends/").partition("/")
                found = re.findall(r": ([\d.]+) us, bound ([\d.]+) us", part)
                told.setdefault((test, "mpe2" if hardware == "mpe2" else "seed"), []).extend(found if hardware != "host" else [])
        listed = self.table("docs/backends/zrlmpi.md", "**Sharing.**")
        self.assertGreater(len(listed), 8)
        for case, preset, bound, model, error, test in listed:
            with self.subTest(case=case, preset=preset):
                time, least = map(float, told[(test.strip("`"), preset)].pop(0))
                self.assertEqual((bound, model), (f"{least:.0f}", f"{time:.0f}"))
                self.assertEqual(error, f"{100 * (time / least - 1):+.1f} %")
                self.assertLessEqual(float(error.split()[0]), 3)

    def test_the_jumps_of_tinsel(self):
        listed = self.table("docs/backends/tinsel.md", "So one rank more never means a smaller mesh.")
        self.assertEqual(len(listed), 4)
        for what, *cells in listed:
            operation, size = re.match(r"(\w+) of (64 KiB|64)", what).groups()
            for ranks, cell in zip((768, 769, 3072, 3073), cells):
                with self.subTest(what=what, ranks=ranks):
                    time = self.predict(f"{operation} --backend tinsel --ranks {ranks} --bytes {self.size(size)}") / 1000
                    self.assertAlmostEqual(float(cell), time, delta=0.051)

    def test_the_records_of_trees_of_tinsel(self):
        said = subprocess.run([BUILD / "tests" / "tinsel_test", "--gtest_filter=TinselTrees.*"], capture_output=True, text=True,
                              check=True).stdout
        told = {"; ".join(pair) for pair in re.findall(r"(?:MRM|URM1) (\d+) and (\d+) ns", said)}
        listed = self.table("docs/backends/tinsel.md", "and with at most 16 MRM")
        self.assertEqual(len(listed), 4)
        for what, *cells in listed:
            with self.subTest(what=what):
                self.assertLessEqual(set(cells), told)

    def test_what_ranks_of_tinsel_share(self):
        said = subprocess.run([BUILD / "tests" / "tinsel_test", "--gtest_filter=TinselWorld.*:TinselReduction.*"], capture_output=True, text=True,
                              check=True).stdout
        told = [tuple(map(float, pair)) for pair in re.findall(r"(?:bound|one machine) +([\d.]+) us, world +([\d.]+) us", said)]
        listed = self.table("docs/backends/tinsel.md", "one machine:")
        self.assertEqual(len(listed), 9)
        for case, bound, world, error in listed:
            with self.subTest(case=case):
                pair = (float(bound.removeprefix("at least ").removesuffix(" us")), float(world.removesuffix(" us")))
                self.assertIn(pair, told)
                self.assertEqual(error, f"{100 * (pair[1] / pair[0] - 1):+.1f} %")

    def test_functions_has_every_function_of_functions_txt(self):
        done = subprocess.run([sys.executable, ROOT / "scripts/insert-made.py", OFFRAMP, "--check", ROOT / "docs/functions.md"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        page = (ROOT / "docs/functions.md").read_text(encoding="utf-8")
        tables, others = page.split("<!-- end -->")
        listed = set(re.findall(r"\w+", " ".join(re.findall(r"(?m)^\| MPI_([^|]+) \| `", tables))))
        lines = (ROOT / "lib/run/mpi/api/functions.txt").read_text(encoding="utf-8").splitlines()
        self.assertEqual(listed, {name for line in lines if not line.startswith("#") for name in line.split()[1:]})
        self.assertEqual(listed & set(re.findall(r"MPI_([A-Z]\w+)", others)), {"Wait", "Win_allocate_shared"})

    @pytest.mark.thorough
    def test_tables_are_what_their_commands_make(self):
        """Tables over many programs and machines."""
        pages = [page for page in (ROOT / "docs").rglob("*.md") if "<!-- made by: " in page.read_text(encoding="utf-8")]
        self.assertTrue(pages)
        done = subprocess.run([sys.executable, ROOT / "scripts/insert-made.py", OFFRAMP, "--check", *pages], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_machines_counts_what_its_tables_say(self):
        """The page of machines that were never fitted to: the number of medians within the aims."""
        words = "none one two three four five six seven eight nine".split()
        rows_ = [re.split(r" *\| *", line.strip("| ")) for line in
                 (ROOT / "docs/trust.md").read_text(encoding="utf-8").splitlines() if re.match(r"\| (AlaSKA|CSD3), (Open|Intel) MPI \|", line)]
        medians = {length: [int(row[-3].removesuffix(" %")) for row in rows_ if len(row) == length] for length in (6, 9)}
        self.assertEqual([len(medians[6]), len(medians[9])], [18, 9])
        within = words[sum(error <= 25 for error in medians[6])], words[sum(error <= 20 for error in medians[9])]
        self.assertIn(f"The first is reached in {within[0]} row", text_of("docs/trust.md"))
        self.assertIn(f"the second in {within[1]} of nine", text_of("docs/trust.md"))

    def test_the_picture_of_the_readme_shows_what_a_replay_says(self):
        with tempfile.NamedTemporaryFile(suffix=".svg") as drawn:
            subprocess.run([sys.executable, ROOT / "scripts/draw-hpcc.py", OFFRAMP, drawn.name], check=True)
            now = pathlib.Path(drawn.name).read_text(encoding="utf-8")
        self.assertEqual((ROOT / "docs/images/hpcc.svg").read_text(encoding="utf-8"), now, "run scripts/update-docs")

    def test_the_validation_of_zrlmpi_says_what_it_misses(self):
        rows_ = self.validation("zrlmpi")
        self.assertGreater(len(rows_), 25)
        for quantity, published, ours, error, fitted, reason in rows_:
            if not error:  # a bound
                continue
            with self.subTest(quantity=quantity):
                off = 100 * (float(ours) / float(published) - 1)
                self.assertAlmostEqual(off, 0 if error == "0" else float(error.split()[0]), delta=0.02)
                self.assertLess(abs(off), 3.5)
                self.assertIn(fitted, ("yes", "no"))
                self.assertTrue(reason)

    def test_the_validation_of_dpu_says_what_it_misses(self):
        rows_ = self.validation("dpu")
        self.assertGreater(len(rows_), 100)
        for quantity, published, ours, error, fitted, reason in rows_:
            with self.subTest(quantity=quantity):
                if error:
                    off = 100 * (float(ours) / float(published) - 1)
                    self.assertAlmostEqual(off, 0 if error == "0" else float(error.split()[0]), delta=0.05)
                self.assertIn(fitted, ("yes", "no"))
                self.assertTrue(reason)

    def test_the_validation_of_host_says_what_it_misses(self):
        rows_ = self.validation("host")
        self.assertGreater(len(rows_), 35)
        for quantity, published, ours, error, fitted, reason in rows_:
            with self.subTest(quantity=quantity):
                self.assertIn(fitted, ("yes", "no"))
                what, _, why = reason.partition(";")
                self.assertTrue(what)
                if float(published) == 0:  # a published 0 has no relative error
                    self.assertEqual(error, "")
                    self.assertLess(float(ours), 1)
                    continue
                off = 100 * (float(ours) / float(published) - 1)
                self.assertAlmostEqual(off, 0 if error == "0" else float(error.split()[0]), delta=0.02)
                if abs(off) > 10:
                    self.assertTrue(why, f"{quantity} misses by {error} and does not say why")
        errors = sorted(abs(float(error.split()[0])) for *_, error, fitted, _ in rows_ if error and fitted == "no")
        within, over = sum(error <= 10 for error in errors), sum(error > 35 for error in errors)
        said = re.search(r"Half of those are within ([\d.]+) %; (\d+) of (\d+) are within 10 %, and (\d+) are off by more than 35 %",
                         text_of("docs/backends/host.md"))
        self.assertEqual([float(said[1]), int(said[2]), int(said[3]), int(said[4])],
                         [round(errors[len(errors) // 2], 1), within, len(errors), over])

    def test_the_nics_of_host(self):
        rows_ = self.table("docs/backends/host.md", "take the NIC that is nearest:")
        self.assertEqual([row[0] for row in rows_], ["`100g`", "`bf2`", "`200g`", "`400g`"])
        for nic, latency, overhead, _, bandwidth, framing, time, _ in rows_:
            with self.subTest(nic=nic):
                self.assertAlmostEqual(2 * float(overhead) + float(latency), float(time.removesuffix(" us")) * 1000, delta=15)
                send = f"send --backend host --set host.nic={nic.strip('`')} --bytes "
                self.assertEqual(f"{self.predict(send + '8') / 1000:.2f} us", time)
                long = self.predict(send + "1GiB")
                framed = (1 << 33) / long * (4096 + int(framing)) / 4096
                self.assertAlmostEqual(framed, float(bandwidth), delta=0.002 * float(bandwidth))

    def test_the_times_of_han_on_nodes(self):
        page = text_of("docs/backends/host.md")
        on_four = "-n 128 --backend host"
        for words, nodes, ranks, runs in (
                ("a bcast of 8 bytes takes 7.3 us by `openmpi` and 3.8 us by `han`", 32, on_four,
                 {"bcast --bytes 8": 7.3, "bcast --bytes 8 --set host.bcast=han": 3.8}),
                ("an allreduce of 4 KiB 63.4 and 37.5 us", 32, on_four,
                 {"allreduce --bytes 4KiB": 63.4, "allreduce --bytes 4KiB --set host.allreduce=han": 37.5}),
                ("an allgather of 64 KiB 10988 and 11772 us", 32, on_four,
                 {"allgather --bytes 64KiB": 10988, "allgather --bytes 64KiB --set host.allgather=han": 11772}),
                ("takes 1.86 ms, and with the default 2.84 ms", 2, "-n 4 --backend host --set host.bcast=han",
                 {"bcast --bytes 16MiB --set host.han_segment=256KiB": 1856, "bcast --bytes 16MiB": 2839})):
            self.assertIn(words, page)
            for what, us in runs.items():
                with self.subTest(what=what):
                    told = offramp("predict", *what.split(), *ranks.split(), "--json", OFFRAMP_MACHINE_RANKS_PER_NODE=str(nodes))
                    self.assertAlmostEqual(json.loads(told)["time_ns"] / 1000, us, delta=0.005 * us + 0.05)

    def test_the_algorithms_of_host(self):
        page = text_of("docs/backends/host.md")
        facts = json.loads(offramp("info", "--json"))
        host = next(backend for backend in facts["backends"] if backend["name"] == "host")
        for parameter in host["parameters"]:
            for name in re.findall(r"[\w.-]+", parameter["allowed"]) if "auto" in parameter["allowed"] else []:
                with self.subTest(collective=parameter["name"], algorithm=name):
                    self.assertIn(f"`{name}`", page)

    def test_the_ideal_of_the_benchmark_parser_of_cclo(self):
        """m bytes at 100 Gb/s, half a round trip 250 ns; a ring that forwards segments of 64 KiB counts one per hop."""
        def ideal(operation, m):
            one, hop, hops = 0.08 * m, 0.08 * min(m, 65536), 7
            return {"bcast": one * hops, "scatter": one * hops, "gather": one * hops + 250, "reduce": one + (250 + hop) * 6,
                    "allreduce": (250 + 0.01 * m) * 2 * hops}.get(operation, (250 + one) * hops)

        rows_ = self.table("docs/backends/cclo.md", "Ideal durations")
        self.assertEqual(len(rows_), 7)
        for operation, *ratios in rows_:
            for size, ratio in zip((8192, 131072, 1048576), ratios):
                with self.subTest(operation=operation, size=size):
                    what = (f"{operation} --backend cclo -n 8 --set transport=udp --set data=device --set driver=mapped --type int32 "
                            f"--bytes {size}")
                    digits = len(ratio.partition(".")[2])
                    self.assertAlmostEqual(self.predict(what) / ideal(operation, size), float(ratio), delta=0.51 * 10 ** -digits)

    def test_what_multicast_buys_on_tinsel(self):
        listed = offramp("explain", "multicast", "--backend", "tinsel")
        for ranks in (96, 768):
            listed += offramp("explain", "multicast", "--backend", "tinsel", "--operation", "bcast", "-n", str(ranks),
                              "--bytes", "65536")
        figures = {tuple(line.split()[:2]): [float(x) for x in line.split()[2:]] for line in listed.splitlines()
                   if re.match(r" *\d", line)}
        rows_ = self.table("docs/backends/tinsel.md", "## What multicast buys")
        self.assertEqual(len(rows_), 10)
        for ranks, size, *cells in rows_:
            for cell, figure in zip(cells, figures[ranks, size]):
                with self.subTest(ranks=ranks, size=size, cell=cell):
                    digits = len(cell.partition(".")[2])
                    self.assertAlmostEqual(float(cell), figure, delta=0.51 * 10 ** -digits)

    def test_a_larger_exchange_memory(self):
        self.assertIn("1024 ranks needs 5122 words: `--what-if` forecasts with an exchange memory of 32768 bytes",
                      text_of("docs/backends/cclo.md"))
        told = offramp(*"predict bcast --backend cclo -n 1024 --bytes 8 --what-if".split())
        self.assertIn("of 1024 ranks needs 5122 words", told)
        self.assertIn("with an exchange memory of 32768 bytes", told)

    def test_edges_of_trees_that_share_memory(self):
        self.assertIn("92 of 126 and 187 of 254 edges share memory (refined: 123 and 247)", text_of("docs/backends/aie.md"))
        for ranks, placement, edges in ((127, "auto", 92), (255, "auto", 187), (127, "refined", 123), (255, "refined", 247)):
            told = offramp("explain", "limits", "--backend", "aie", "--set", f"placement={placement}", f"ranks={ranks}",
                           "bytes=16")
            self.assertRegex(told, rf"windows in shared memory +{edges} ")

    def test_trees_of_many_children(self):
        self.assertIn("| 400 kernels, arity 11 to 13 | declined", text_of("docs/backends/aie.md"))
        for arity, fits in ((10, True), (11, False)):
            told = offramp("explain", "limits", "--backend", "aie", "--set", f"arity={arity}", "ranks=400", "bytes=16")
            self.assertEqual("does not fit" not in told, fits, arity)


class Carried(unittest.TestCase):
    """The table of what each backend carries, against the backends' own verdicts."""

    OPERATIONS = ("send bcast reduce gather allreduce scatter allgather reduce_scatter alltoall barrier scan exscan").split()

    def carries(self, operation, *options):
        done = run("predict", operation, "--json", "--bytes", "8", *options)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return done.returncode == 0

    def carried(self, *options):
        return {operation for operation in self.OPERATIONS if self.carries(operation, "-n", "4", *options)}

    def row(self, backend):
        lines = (ROOT / "docs/README.md").read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if line.startswith(f"| [`{backend}`]")).split("|")[3]

    def test_the_table_is_true(self):
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
                   ("allreduce", "aie", ["--type", "int16"], True), ("allreduce", "aie", ["--type", "float64"], True),
                   ("bcast", "dpu", ["-n", "64", "--set", "service_processes=4"], True),
                   ("bcast", "dpu", ["-n", "65", "--set", "service_processes=4"], False),
                   ("allreduce", "dpu", ["--function", "user"], False),
                   ("bcast", "tinsel", ["-n", "49153"], False)]
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
