#!/usr/bin/env python3
"""Manual pages and option reference are generated from the command itself, and are correct. OFFRAMP_BUILD names the build folder."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OFFRAMP_BUILD", ROOT / "build")).resolve()
OFFRAMP = BUILD / "bin" / "offramp"
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("OFFRAMP_")}


class FolderTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="offramp_manual_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def offramp(self, *arguments, code=0):
        done = subprocess.run([OFFRAMP, *arguments], cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True,
                              timeout=180, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def subcommands(self):
        help_text = self.offramp("--help")
        return re.findall(r"^  ([a-z-]+) {2,}", help_text[help_text.index("Subcommands:"):], flags=re.M)


class ManualPages(FolderTest):
    def setUp(self):
        super().setUp()
        (self.folder / "command.json").write_text(self.offramp("manual"), encoding="utf-8")
        subprocess.run([ROOT / "scripts/make-manual", "command.json", "--man", "man", "--page", "options.md", "--completion", "completion"],
                       cwd=self.folder, timeout=180, check=True)
        self.pages = {path.name: path.read_text(encoding="utf-8") for path in (self.folder / "man").iterdir()}

    def test_there_is_one_for_the_program_each_subcommand_and_the_file(self):
        expected = {f"offramp-{name}.1" for name in self.subcommands()} | {"offramp.1", "offramp.toml.5"}
        self.assertEqual(set(self.pages), expected)
        self.assertGreaterEqual(len(expected), 9)

    def test_troff_has_nothing_to_complain_about(self):
        for name in self.pages:
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", self.folder / "man" / name], capture_output=True,
                                  text=True, timeout=180, check=True)
            self.assertEqual(done.stderr, "", name)

    def test_troff_is_told_to_complain(self):
        broken = self.folder / "broken.1"
        broken.write_text(".TH X 1\n.SH NAME\nx \\- y\n.nosuchrequest\n")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", broken], capture_output=True, text=True, timeout=180,
                              check=False)
        self.assertIn("nosuchrequest", done.stderr)

    def shown(self, name):
        """The page as a terminal shows it, on one line."""
        done = subprocess.run(["groff", "-man", "-Tascii", "-P-c", "-rLL=400n", self.folder / "man" / name], capture_output=True,
                              text=True, timeout=180, check=True)
        return " ".join(re.sub(".\b", "", done.stdout).split())

    def test_they_say_what_the_help_says(self):
        for sub in self.subcommands():
            page = self.shown(f"offramp-{sub}.1")
            for option in re.findall(r"--[a-z-]+", self.offramp(sub, "--help-all").split("Options:")[1]):
                self.assertIn(option, page, sub)

    def test_the_file_has_every_key_and_parameter(self):
        page = self.shown("offramp.toml.5")
        facts = json.loads(self.offramp("info", "--json"))
        for key in facts["keys"]:
            self.assertIn(key["key"], page)
        for backend in facts["backends"]:
            for parameter in backend["parameters"]:
                self.assertIn(parameter["variable"], page)

    def test_each_subcommand_has_a_section_with_its_exit_codes(self):
        page = (self.folder / "options.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"^## offramp ([a-z-]+)$", page, flags=re.M), self.subcommands())
        facts = json.loads((self.folder / "command.json").read_text(encoding="utf-8"))
        codes = dict(re.findall(r"^\| (\d+|any other) \| (.*) \|$", page.partition("\n## Exit codes\n")[2].partition("\n## ")[0], flags=re.M))
        for command in facts["commands"][1:]:
            section = page.partition(f"\n## offramp {command['name']}\n")[2].partition("\n## ")[0]
            self.assertIn("\nExit codes: ", section, command["name"])
            for one in command["exits"]:
                self.assertIn(one["own"] or one["usual"], section)
                self.assertIn(f"{command['name']}: {one['own']}" if one["own"] else one["usual"], codes[one["code"]])
        other = "the launcher's exit code, which may equal one of those above"
        self.assertEqual(codes["any other"], f"run: {other}; record: {other}")

    def test_the_page_is_the_built_one(self):
        if not (BUILD / "generated/docs/options.md").exists():
            self.skipTest("this build has no offramp-manual")
        self.assertEqual((BUILD / "generated/docs/options.md").read_text(encoding="utf-8"),
                         (self.folder / "options.md").read_text(encoding="utf-8"))


class Sample(FolderTest):
    def test_is_toml_with_every_key_at_its_default(self):
        sample = tomllib.loads(self.offramp("info", "-c"))
        facts = json.loads(self.offramp("info", "--json"))
        for key in facts["keys"]:
            path = key["key"].split(".")
            if key["key"] and path[0] != "route":
                table = sample if len(path) == 1 else sample[path[0]]
                self.assertIn(path[-1], table)
        for backend in facts["backends"]:
            for parameter in backend["parameters"]:
                self.assertEqual(sample[backend["name"]].pop(parameter["name"]), parameter["default"])
            self.assertEqual(sample[backend["name"]], {})


if __name__ == "__main__":
    unittest.main()
