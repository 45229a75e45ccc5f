#!/usr/bin/env python3
"""Texts cite the bibliography (`offramp info --sources`) by keys in brackets, and name no source of a figure in any other way.
OFFRAMP_BUILD names the build folder."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OFFRAMP_BUILD", ROOT / "build")).resolve()

CODE = (".c", ".h", ".cpp", ".hpp")
KEY = re.compile(r"(?<![\w\])>*&!\[])\[(?=[a-z0-9-]{3,}\])([a-z][a-z0-9]*(?:-[a-z0-9]+)*)\](?![\[({])")
# The texts of C and C++ files: comments and string literals.
SAID = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.S)
MADE_OF_KEYS = ("tools/text/sources.cpp", "tools/text/sources.hpp", "tests/cli/sources_test.py")
# Words that name a source vaguely, and numbers of lists that are not in the repository.
OLD = re.compile(r"original document|\bseed (?:0\d\d|document)|fact sheet|\bread in code\b|(?://|[(\"|]) *[VP]\d{1,2}\b", re.I)
MODELS = ("backends/", "simulators/", "lib/dpu", "include/", "docs/backends/", "docs/configuration.md",
          *(f"tests/{backend.name}/" for backend in (ROOT / "backends").iterdir()))


def offramp(*arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OFFRAMP_")}
    return subprocess.run([BUILD / "bin/offramp", *arguments], env=environment, capture_output=True, text=True, timeout=180, check=True).stdout


def texts():
    """Path -> the text of the file, for all files that may cite."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                            check=False).stdout.split()
    for path in listed:
        if path in MADE_OF_KEYS or not (ROOT / path).is_file():
            continue
        if path.endswith(CODE):
            yield path, "\n".join(SAID.findall((ROOT / path).read_text(encoding="utf-8")))
        elif path.endswith(".md"):
            page = re.sub(r"(?ms)^ *```.*?^ *```|^    .*?$|^## Section .*?$", "", (ROOT / path).read_text(encoding="utf-8"))
            yield path, re.sub(r"`[^`\n]*`", "", page)


class Sources(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keys = {source["key"] for source in json.loads(offramp("info", "--sources", "--json"))}
        cls.facts = json.loads(offramp("info", "--json"))

    def cited(self, text):
        return set(KEY.findall(text)) & self.keys

    def test_every_key_is_in_the_bibliography(self):
        # Sections of a configuration are in brackets, too.
        sections = {key["key"].split(".")[0] for key in self.facts["keys"]} | {backend["name"] for backend in self.facts["backends"]}
        for path, text in texts():
            if not path.startswith(MODELS):
                continue
            with self.subTest(path=path):
                self.assertEqual(set(KEY.findall(text)) - self.keys - sections, set())

    def test_every_entry_is_cited(self):
        used = set().union(*(self.cited(text) for _, text in texts()))
        inside = set(re.findall(r"\[([a-z0-9-]+)\]", json.dumps(json.loads(offramp("info", "--sources", "--json")))))
        self.assertEqual(self.keys - used - (inside & self.keys), set())

    def test_no_section_of_a_configuration_is_a_key(self):
        self.assertEqual(self.keys & {backend["name"] for backend in self.facts["backends"]}, set())

    def test_every_parameter_says_where_its_default_is_from(self):
        for backend in self.facts["backends"]:
            for parameter in backend["parameters"]:
                with self.subTest(backend=backend["name"], parameter=parameter["name"]):
                    self.assert_names_its_source(parameter["source"])

    def test_every_row_of_a_validation_says_where_its_figure_is_from(self):
        for backend in self.facts["backends"]:
            table = offramp("explain", "validation", "--backend", backend["name"])
            for line in [line for line in table.splitlines() if line.startswith("|")][2:]:
                with self.subTest(backend=backend["name"], line=line[:60]):
                    self.assert_names_its_source(line.split("|")[-2])

    def assert_names_its_source(self, text):
        if self.cited(text):
            return
        self.assertNotRegex(text, r"(?<!not )\b(published|read in)\b", "without a key")
        self.assertRegex(text, r"\b(assumed|inferred|ours|design|measured)\b", "neither a key nor what else it is")

    def test_the_old_names_of_sources_do_not_come_back(self):
        for path, text in texts():
            if path.startswith(MODELS):
                with self.subTest(path=path):
                    self.assertIsNone(OLD.search(text), OLD.search(text))


if __name__ == "__main__":
    sys.exit(unittest.main())
