#!/usr/bin/env python3
"""Bash's completions for `offramp`, queried from bash itself. OFFRAMP_BUILD names the build folder."""

import json
import os
import pty
import re
import select
import subprocess
import time
import unittest

from manual_test import BUILD, ENVIRONMENT, OFFRAMP, FolderTest
from terminals import why_not

WITH_COMMAND = {**ENVIRONMENT, "TERM": "dumb", "PATH": f"{OFFRAMP.parent}:{os.environ['PATH']}"}


class Terminal:
    """An interactive shell."""

    def __init__(self, test, *command):
        if why_not():
            test.skipTest(why_not())
        child, self.end = pty.fork()
        if child == 0:
            os.chdir(test.folder)
            os.execvpe(command[0], command, {**WITH_COMMAND, "HOME": str(test.folder)})
        test.addCleanup(os.waitpid, child, 0)
        test.addCleanup(os.close, self.end)
        self.seen = b""

    def type(self, text):
        os.write(self.end, text.encode())

    def wait(self, done, seconds=30):
        """Waits until done() is true; reads the shell's output meanwhile into `seen`."""
        deadline = time.monotonic() + seconds
        while not done() and time.monotonic() < deadline:
            if select.select([self.end], [], [], 0.02)[0]:
                try:
                    self.seen += os.read(self.end, 65536)
                except OSError:  # the shell has ended
                    break
        return done()


class Bash(FolderTest):
    def setUp(self):
        super().setUp()
        if not (BUILD / "libexec/offramp/completion.bash").exists():
            self.skipTest("this build has no offramp-manual")
        self.script = self.folder / "offramp"
        self.script.write_text(self.offramp("completion", "bash"), encoding="utf-8")
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()

    def complete(self, *words):
        """The completions of the last word; words are cut at "=" as bash cuts them."""
        test = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _offramp; printf "%s\\n" "${COMPREPLY[@]}"'
        cut = [part for word in words[:-1] for part in re.split("(=)", word)]
        cut += [part for part in re.split("(=)", words[-1]) if part] or [""]
        done = subprocess.run(["bash", "--norc", "-c", test, "bash", self.script, *cut], capture_output=True, text=True,
                              cwd=self.scratch, timeout=180, check=False)
        self.assertEqual(done.stderr, "")
        before = words[-1][:words[-1].rfind("=") + 1]
        return [before + line for line in done.stdout.splitlines() if line]

    def test_subcommands_and_options(self):
        self.assertLessEqual(set(self.subcommands()), set(self.complete("offramp", "")))
        self.assertNotIn("manual", self.complete("offramp", ""))
        self.assertEqual(self.complete("offramp", "--vers"), ["--version"])
        for sub in self.subcommands():
            help_text = self.offramp(sub, "--help-all").split("Options:")[1].split("\n\n")[0]
            options = set(re.findall(r"^  (?:-\w )?(--[a-z0-9-]+)", help_text, flags=re.MULTILINE))
            self.assertGreater(len(options), 0, sub)
            self.assertLessEqual(options, set(self.complete("offramp", sub, "--")), sub)

    def test_backends_operations_and_topics(self):
        backends = {backend["name"] for backend in json.loads(self.offramp("info", "--json"))["backends"]}
        self.assertGreaterEqual(len(backends), 5)
        self.assertLessEqual(backends, set(self.complete("offramp", "run", "--backend", "")))
        self.assertEqual(self.complete("offramp", "run", "--backend", "zr"), ["zrlmpi"])
        self.assertEqual(self.complete("offramp", "run", "--backend=zr"), ["--backend=zrlmpi"])
        self.assertEqual(self.complete("offramp", "run", "--compare", "host,zr"), ["host,zrlmpi"])
        self.assertEqual(self.complete("offramp", "predict", "--backend", "zrlmpi", "barr"), ["barrier"])
        self.assertIn("header", self.complete("offramp", "explain", "--backend", "zrlmpi", "h"))
        self.assertEqual(self.complete("offramp", "run", "--clock", "m"), ["model"])
        self.assertEqual(set(self.complete("offramp", "completion", "")), {"bash"})

    def test_keys_and_their_choices(self):
        self.assertEqual(self.complete("offramp", "run", "--set", "zrlmpi.pre"), ["zrlmpi.preset="])
        self.assertEqual(self.complete("offramp", "run", "--set=zrlmpi.pre"), ["--set=zrlmpi.preset="])
        self.assertEqual(self.complete("offramp", "run", "--set", "zrlmpi.preset=m"), ["zrlmpi.preset=mpe2"])
        self.assertEqual(self.complete("offramp", "run", "--set=zrlmpi.preset=m"), ["--set=zrlmpi.preset=mpe2"])
        keys = set(self.complete("offramp", "run", "--set", "zrlmpi."))
        for backend in json.loads(self.offramp("info", "--json"))["backends"]:
            for parameter in backend["parameters"]:
                if backend["name"] == "zrlmpi":
                    self.assertIn(f"zrlmpi.{parameter['name']}=", keys)

    def test_files(self):
        for name in ("first.json", "second.json", "offramp.toml"):
            (self.scratch / name).touch()
        self.assertEqual(self.complete("offramp", "run", "--config", "offr"), ["offramp.toml"])
        self.assertEqual(self.complete("offramp", "report", "fir"), ["first.json"])
        self.assertEqual(self.complete("offramp", "report", "first.json", "sec"), ["second.json"])
        self.assertEqual(self.complete("offramp", "run", "--clock", "offr"), [])

    def test_files_by_their_type_and_networks(self):
        for name in ("app.rec", "apple.txt", "app.json", "net.xml"):
            (self.scratch / name).touch()
        (self.scratch / "appfolder").mkdir()
        self.assertEqual(self.complete("offramp", "advise", "app"), ["app.rec", "appfolder"])
        self.assertEqual(self.complete("offramp", "report", "app"), ["app.json", "appfolder"])
        self.assertEqual(self.complete("offramp", "advise", "apple"), ["apple.txt"])
        self.assertEqual(self.complete("offramp", "replay", "--network", "f"), ["fat-tree:"])
        self.assertEqual(self.complete("offramp", "replay", "--network", "n"), ["net.xml"])

    def test_keys_of_the_backend_that_is_chosen(self):
        self.assertEqual(self.complete("offramp", "replay", "--backend", "zrlmpi", "--set", "pre"), ["preset="])
        self.assertEqual(self.complete("offramp", "replay", "--backend", "zrlmpi", "--set", "preset=m"), ["preset=mpe2"])
        self.assertEqual(self.complete("offramp", "replay", "--backend=host,zrlmpi", "--set", "pre"), ["preset="])
        self.assertEqual(self.complete("offramp", "replay", "--set", "pre"), [])

    def test_the_lab_has_options_of_its_own(self):
        self.assertNotIn("--jobs", self.complete("offramp", "replay", "--"))

    def test_the_program_is_left_to_the_shell(self):
        (self.scratch / "input file").touch()
        self.assertIn("mpirun", self.complete("offramp", "run", "-n", "4", "--", "mpiru"))
        self.assertIn("mpirun", self.complete("offramp", "run", "-n", "4", "mpiru"))
        self.assertEqual(self.complete("offramp", "run", "-n", "4", "cat", "inp"), ["input file"])
        self.assertEqual(self.complete("offramp", "run", "--backend", "host", "cat", "--backend", "zr"), [])

    def test_typed(self):
        terminal = Terminal(self, "bash", "--norc", "--noprofile", "-i")
        terminal.type("bind 'set enable-bracketed-paste off'; source <(offramp completion bash)\n")
        terminal.type("offramp predict --back\tzr\tallr\t--set zrlmpi.preset=m\t --json\n")
        terminal.wait(lambda: b'"time_ps"' in terminal.seen)
        terminal.type("exit\n")
        self.assertIn(b'"backend": "zrlmpi"', terminal.seen, terminal.seen.decode(errors="replace"))
        self.assertIn(b"zrlmpi.preset=mpe2", terminal.seen)


class OtherShells(FolderTest):
    def test_are_refused(self):
        self.assertIn("available: bash", self.offramp("completion", "zsh", code=2))


if __name__ == "__main__":
    unittest.main()
