"""Hostile input and scarce resources: files that crash libraries or claim too much, folders of other users, full disks, limits of memory
and of file sizes. Needs OFFRAMP_BUILD, as cli_test.py does."""

import os
import pathlib
import resource
import subprocess
import time
import unittest

from cli_test import OFFRAMP, CliTest, clean_environment

DATA = pathlib.Path(__file__).resolve().parents[1] / "data/hostile"
RING = "pattern:ring:4:8"
DPU_CONFIG = ("explain", "config", "--backend", "dpu")
ESC = "\033"


def otf2_is_there():
    return "built without" not in subprocess.run([OFFRAMP, "convert", RING, "-o", "/nowhere/else", "--to", "otf2"],
                                                 capture_output=True, text=True, check=False).stderr


class HostileTest(CliTest):
    def tried(self, *arguments, seconds=60, limits=None, stdout=subprocess.PIPE):
        """Runs the command under limits. Fails if it takes longer than the given seconds."""
        def set_limits():
            for which, value in (limits or {}).items():
                resource.setrlimit(which, (value, value))
        return subprocess.run([OFFRAMP, *arguments], cwd=self.folder, env=clean_environment(), stdout=stdout, stderr=subprocess.PIPE,
                              text=True, timeout=seconds, check=False, preexec_fn=set_limits)  # pylint: disable=subprocess-popen-preexec-fn


class Limited(HostileTest):
    """Commands under limits of their own."""

    def left(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_a_full_standard_output_is_a_lost_output(self):
        for words in (("replay", RING, "--backend", "host", "--json"), ("info", "--json"), ("completion", "bash"),
                      ("predict", "bcast", "--backend", "host", "--csv")):
            with self.subTest(words=words), open("/dev/full", "w", encoding="utf-8") as full:
                done = self.tried(*words, stdout=full)
                self.assertEqual(done.returncode, 74, done.stderr)
                self.assertIn("cannot write to standard output", done.stderr)

    def test_a_limit_of_file_sizes_is_an_error_and_leaves_nothing(self):
        for words in (("replay", "pattern:alltoall:16:8:10", "--backend", "cclo", "--trace", "t.json"),
                      ("convert", "pattern:alltoall:32:8:10", "-o", "y.goal", "--to", "goal")):
            with self.subTest(words=words):
                done = self.tried(*words, limits={resource.RLIMIT_FSIZE: 20 << 10})
                self.assertEqual(done.returncode, 74, done.stderr)
                self.assertIn("File too large", done.stderr)
                self.assertEqual(self.left(), [])

    def test_too_little_memory_is_said(self):
        done = self.tried("replay", "pattern:alltoall:512:8", "--backend", "host", limits={resource.RLIMIT_DATA: 64 << 20})
        self.assertIn(done.returncode, (1, 2), done.stderr)
        self.assertIn("memory", done.stderr)

    @unittest.skipUnless(otf2_is_there(), "built without OTF2")
    def test_an_archive_that_does_not_fit_leaves_nothing(self):
        words = ("convert", "pattern:ring:8:8:2000", "-o", "otf", "--to", "otf2")
        done = self.tried(*words, limits={resource.RLIMIT_FSIZE: 20 << 10})
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertEqual(self.left(), [])
        self.offramp(*words)
        self.offramp("check", "otf/traces.otf2")
        for path in (self.folder / "otf").rglob("*"):
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)


class Files(HostileTest):
    def test_a_fifo_is_refused_at_once(self):
        os.mkfifo(self.folder / "ff")
        os.mkfifo(self.folder / "ff.xml")
        for words in (("info", "ff"), ("replay", "ff", "--backend", "host"), ("check", "ff"), ("advise", "ff", "--quick"),
                      ("convert", "ff", "-o", "x", "--to", "goal"), ("scale", "ff", "--ranks", "8"), ("report", "ff"),
                      ("replay", RING, "--backend", "host", "--network", "ff.xml"), (*DPU_CONFIG, "topology=ff"),
                      ("calibrate", "--from", "ff")):
            with self.subTest(words=words):
                begin = time.monotonic()
                done = self.tried(*words, seconds=20)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("regular file", done.stderr)
                self.assertLess(time.monotonic() - begin, 10)

    def test_a_fifo_beside_a_trace_is_refused_at_once(self):
        (self.folder / "list").write_text("one\ntwo\n")
        (self.folder / "one").write_text("0 init\n0 finalize\n")
        os.mkfifo(self.folder / "two")
        self.assertIn("regular file", self.refused("info", "list"))

    def test_a_recording_that_claims_too_many_events_is_refused(self):
        bomb = DATA / "claims_many_events.rec"
        for words in (("replay", bomb, "--backend", "host"), ("check", bomb), ("convert", bomb, "-o", "x.goal", "--to", "goal"), ("info", bomb)):
            with self.subTest(words=words):
                done = self.tried(*words, seconds=20)
                self.assertEqual(done.returncode, 2)
                self.assertIn("events, which exceeds the maximum", done.stdout + done.stderr)
        self.assertFalse((self.folder / "x.goal").exists())

    def test_few_bytes_are_not_a_million_ranks(self):
        (self.folder / "big.txt").write_text("0 init\n1048575 init\n")
        self.assertIn("it has lines of rank 1048575 but none of rank 1", self.refused("replay", "big.txt", "--backend", "host"))

    def test_a_topology_that_crashes_hwloc_is_refused(self):
        self.assertIn("hwloc cannot read the topology", self.refused(*DPU_CONFIG, f"topology={DATA / 'no_complete_cpuset.xml'}"))

    def test_nothing_controls_the_terminal(self):
        (self.folder / "smpi.txt").write_text(f"0 init\n0 {ESC}]0;owned\007x 1\n")
        for name in ("smpi.txt", f"no{ESC}[31m.rec"):
            with self.subTest(name=name):
                done = self.offramp("info", name, code=2)
                self.assertNotIn(ESC, done.stdout + done.stderr)
                self.assertIn("\\x1b", done.stderr)


class Folder(HostileTest):
    """An offramp.toml in the current folder."""

    def test_loads_no_code(self):
        plugins = self.folder / "plugins"
        plugins.mkdir()
        (self.folder / "p.c").write_text('#include <stdio.h>\n__attribute__((constructor)) static void x(void) { fputs("code runs\\n", stderr); }')
        subprocess.run(["cc", "-shared", "-fPIC", "-o", plugins / "x.so", "p.c"], cwd=self.folder, check=True, timeout=60)
        (self.folder / "offramp.toml").write_text('plugin_path = "/proc/self/cwd/plugins"\n')
        for words in (("info",), ("explain", "timing", "--backend", "host"), ("replay", RING, "--backend", "host"), ("completion", "bash")):
            with self.subTest(words=words):
                done = self.tried(*words)
                self.assertNotIn("code runs", done.stderr)
                if words[0] != "completion":
                    self.assertIn("plugin_path loads code", done.stdout + done.stderr)
        self.assertIn("code runs", self.offramp("info", OFFRAMP_CONFIG="offramp.toml").stderr)

    def test_names_no_output_outside_of_it(self):
        (self.folder / "offramp.toml").write_text('report = "../run.json"\n')
        self.assertIn("points outside the folder", self.refused("run", "-n", "1", "--", "/bin/true"))


class Devices(CliTest):
    """Names of files that are not regular."""

    def test_a_recording_is_not_made_of_a_device(self):
        for words in (("record", "-o", "/dev/null"), ("run", "--record", "/dev/null")):
            with self.subTest(words=words):
                self.assertIn("not a regular file", self.refused(*words, "-n", "1", "--", "/bin/true"))
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())

    def test_every_output_of_a_command_may_be_dropped(self):
        before = set(os.listdir("/dev"))
        for words in (("replay", RING, "--backend", "host,cclo", "--trace", "/dev/null", "--capture", "/dev/null", "--report", "/dev/null",
                       "--html", "/dev/null"), ("convert", RING, "-o", "/dev/null", "--to", "goal"),
                      ("convert", RING, "-o", "/dev/null", "--to", "recording"),
                      ("predict", "bcast", "--backend", "host", "--sweep", "bytes=1:64", "--svg", "/dev/null")):
            with self.subTest(words=words):
                self.offramp(*words)
        self.assertIn("not a regular file", self.refused("convert", RING, "-o", "/dev/null", "--to", "smpi"))
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())
        self.assertEqual({name for name in set(os.listdir("/dev")) - before if "null" in name}, set())

    @unittest.skipUnless(os.geteuid() == 0, "only root can make files of other users")
    def test_a_strangers_link_is_not_followed(self):
        precious = self.folder / "precious"
        precious.write_text("precious\n")
        shared = self.folder / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        for name in ("run.json", "app.rec.rank-0"):
            os.symlink(precious, shared / name)
            os.lchown(shared / name, 54321, 54321)
        self.assertIn("a symbolic link of another user", self.refused("replay", RING, "--backend", "host", "--report", "shared/run.json"))
        done = self.offramp("record", "-o", "shared/app.rec", "-n", "1", "--", "/bin/true", code=74)
        self.assertNotIn("symbolic link", done.stderr)
        self.assertEqual(precious.read_text(), "precious\n")


if __name__ == "__main__":
    unittest.main()
