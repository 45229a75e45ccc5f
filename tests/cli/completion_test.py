#!/usr/bin/env python3
"""What bash, fish and zsh offer behind the words of a command line, asked of each shell itself. OFFRAMP_BUILD names the build
folder."""

import json
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time
import unittest

from manual_test import ENVIRONMENT, OFFRAMP, FolderTest
from terminals import why_not

WITH_COMMAND = {**ENVIRONMENT, "TERM": "dumb", "PATH": f"{OFFRAMP.parent}:{os.environ['PATH']}"}


class Terminal:
    """A shell that somebody types into."""

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
        """Until done() is true; whatever the shell prints is read meanwhile, and kept in `seen`."""
        deadline = time.monotonic() + seconds
        while not done() and time.monotonic() < deadline:
            if select.select([self.end], [], [], 0.02)[0]:
                try:
                    self.seen += os.read(self.end, 65536)
                except OSError:  # the shell has ended
                    break
        return done()


class OffersOfShell:
    """The same questions for each shell, whose class says how they are asked."""

    shell = ""

    def setUp(self):
        super().setUp()
        if shutil.which(self.shell) is None:
            self.skipTest(f"{self.shell} is not installed")
        self.script = self.folder / {"zsh": "_offramp", "fish": "offramp.fish", "bash": "offramp"}[self.shell]
        self.script.write_text(self.offramp("completion", self.shell), encoding="utf-8")
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()

    def test_subcommands_and_options(self):
        self.assertLessEqual(set(self.subcommands()), set(self.complete("offramp", "")))
        self.assertNotIn("manual", self.complete("offramp", ""))
        self.assertEqual(self.complete("offramp", "--vers"), ["--version"])
        for sub in self.subcommands():
            help_text = self.offramp(sub, "--help").split("Options:")[1].split("\n\n")[0]
            options = set(re.findall(r"^ +(?:-\w,)?(--[a-z0-9-]+)", help_text, flags=re.MULTILINE))
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
        self.assertEqual(set(self.complete("offramp", "completion", "")), {"bash", "fish", "zsh"})

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

    def test_the_program_is_left_to_the_shell(self):
        (self.scratch / "input file").touch()
        self.assertIn("mpirun", self.complete("offramp", "run", "-n", "4", "--", "mpiru"))
        self.assertIn("mpirun", self.complete("offramp", "run", "-n", "4", "mpiru"))
        self.assertEqual(self.complete("offramp", "run", "-n", "4", "cat", "inp"), ["input file"])
        self.assertEqual(self.complete("offramp", "run", "--backend", "host", "cat", "--backend", "zr"), [])


class Bash(OffersOfShell, FolderTest):
    shell = "bash"

    def complete(self, *words):
        """What the function offers for the last word; words are cut at "=" as bash cuts them."""
        test = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _offramp; printf "%s\\n" "${COMPREPLY[@]}"'
        cut = [part for word in words[:-1] for part in re.split("(=)", word)]
        cut += [part for part in re.split("(=)", words[-1]) if part] or [""]
        done = subprocess.run(["bash", "--norc", "-c", test, "bash", self.script, *cut], capture_output=True, text=True,
                              cwd=self.scratch, timeout=180, check=False)
        self.assertEqual(done.stderr, "")
        before = words[-1][:words[-1].rfind("=") + 1]
        return [before + line for line in done.stdout.splitlines() if line]

    def test_typed(self):
        terminal = Terminal(self, "bash", "--norc", "--noprofile", "-i")
        terminal.type("bind 'set enable-bracketed-paste off'; source <(offramp completion bash)\n")
        terminal.type("offramp predict --back\tzr\tallr\t--set zrlmpi.preset=m\t --json\n")
        terminal.wait(lambda: b'"time_ps"' in terminal.seen)
        terminal.type("exit\n")
        self.assertIn(b'"backend": "zrlmpi"', terminal.seen, terminal.seen.decode(errors="replace"))
        self.assertIn(b"zrlmpi.preset=mpe2", terminal.seen)


class Fish(OffersOfShell, FolderTest):
    shell = "fish"

    def complete(self, *words):
        line = " ".join([*map(shlex.quote, words[:-1]), words[-1]])
        done = subprocess.run(["fish", "--no-config", "-c", f"source {self.script}; complete -C {shlex.quote(line)}"],
                              env={**WITH_COMMAND, "HOME": str(self.folder)}, capture_output=True, text=True, cwd=self.scratch,
                              timeout=180, check=False)
        self.assertEqual(done.stderr, "")
        return [re.sub(r"\\(.)", r"\1", offer.split("\t")[0]) for offer in done.stdout.splitlines()]

    def test_options_have_descriptions(self):
        done = subprocess.run(["fish", "--no-config", "-c", f"source {self.script}; complete -C 'offramp run --rank'"],
                              env=WITH_COMMAND, capture_output=True, text=True, timeout=180, check=True)
        self.assertIn("--ranks\tnumber of processes; by default mpirun decides\n", done.stdout)


class Zsh(OffersOfShell, FolderTest):
    shell = "zsh"
    # Control-T puts all that is offered into the line; Control-P writes the line to a file and empties it.
    SETUP = """
        PS1=; fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D
        zle -C offer complete-word _generic
        zstyle ':completion:offer:*' completer _all_matches _complete
        zstyle ':completion:offer:*' insert yes
        keep() {{ print -r -- "$BUFFER" > {folder}/line.new; mv {folder}/line.new {folder}/line; BUFFER= }}
        zle -N keep
        bindkey '^T' offer; bindkey '^P' keep; unsetopt beep; stty -ixon; cd {folder}/scratch; touch {folder}/ready
    """

    def setUp(self):
        super().setUp()
        self.terminal = Terminal(self, "zsh", "-f", "-i")
        self.addCleanup(self.terminal.type, "\x15exit\n")
        setup = self.folder / "setup.zsh"
        setup.write_text(self.SETUP.format(folder=self.folder), encoding="utf-8")
        self.terminal.type(f"source {setup}\n")
        self.assertTrue(self.terminal.wait((self.folder / "ready").exists), self.terminal.seen)

    def complete(self, *words):
        line = self.folder / "line"
        line.unlink(missing_ok=True)
        self.terminal.type(" ".join([*map(shlex.quote, words[:-1]), words[-1]]) + "\x14\x10")
        self.assertTrue(self.terminal.wait(line.exists), self.terminal.seen)
        offers = shlex.split(line.read_text(encoding="utf-8"))[len(words) - 1:]
        # What follows an option or one of a list is there until something else is typed.
        return [] if offers == [words[-1]] else [re.sub("^(--[^=]*)=$|,$", r"\1", offer) for offer in offers]

    def test_typed(self):
        out = self.folder / "out.json"
        self.terminal.type(f"offramp predict --back\tzr\t allr\t --set zrlmpi.preset=m\t --json > {out}; touch {out}.done\n")
        self.assertTrue(self.terminal.wait((self.folder / "out.json.done").exists), self.terminal.seen)
        self.assertIn('"backend": "zrlmpi"', out.read_text(encoding="utf-8"), self.terminal.seen.decode(errors="replace"))

    def test_read_by_a_shell_that_runs(self):
        """Without the file in its place."""
        self.script.unlink()
        self.terminal.type("source <(offramp completion zsh)\n")
        self.assertEqual(self.complete("offramp", "run", "--backend", "zr"), ["zrlmpi"])


class OtherShells(FolderTest):
    def test_are_refused(self):
        self.assertIn("there is one for bash, fish, zsh", self.offramp("completion", "tcsh", code=2))


if __name__ == "__main__":
    unittest.main()
