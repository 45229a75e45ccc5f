#!/usr/bin/env python3
"""docs/configuration.md and docs/backends/*.md say what `offramp info` says. OFFRAMP_BUILD names the build folder."""

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


def offramp(*arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OFFRAMP_")}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([OFFRAMP, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                              timeout=60, check=True).stdout


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


if __name__ == "__main__":
    unittest.main()
