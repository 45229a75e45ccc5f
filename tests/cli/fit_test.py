#!/usr/bin/env python3
"""scripts/fit-dpu finds the values that the dpu backend has, and they hold for what had no part in the fit."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OFFRAMP_BUILD", ROOT / "build")).resolve()
OFFRAMP = BUILD / "bin" / "offramp"


def fit(*arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OFFRAMP_")}
    done = subprocess.run([ROOT / "scripts" / "fit-dpu", "--offramp", OFFRAMP, *arguments], capture_output=True, text=True,
                          env=environment, timeout=120, check=True)
    return done.stdout


def root_mean_squares(text):
    return {name: (part, float(error)) for name, part, error in
            re.findall(r"^(\w+): (fitted|held out), root mean square ([\d.]+) %$", text, re.M)}


class Fit(unittest.TestCase):
    def test_finds_the_values_of_the_cards(self):
        text = fit()
        source = (ROOT / "simulators" / "dpu" / "platform.hpp").read_text() + (ROOT / "simulators" / "dpu" / "platform.cpp").read_text()
        values = re.match(r"pair (\d+) ns, import (\d+) ns \(bf3\); .*: pair (\d+) ns, import (\d+) ns \(bf2\)", text).groups()
        have = [int(re.search(rf"{name} = Time::ns\((\d+)\)", part).group(1))
                for part in (source[source.index("bluefield3() {"):], source) for name in ("pair", "import")]
        for found, value in zip(values, have):
            self.assertAlmostEqual(int(found) / value, 1, delta=0.002)
        errors = root_mean_squares(text)
        self.assertEqual({name: part for name, (part, _) in errors.items()},
                         {"bf3": "fitted", "ialltoall": "fitted", "bf2": "held out"})
        self.assertLess(errors["bf2"][1], 3)
        self.assertLess(errors["ialltoall"][1], 10)

    def test_holds_out_another_set(self):
        errors = root_mean_squares(fit("--hold-out", "ialltoall"))
        self.assertEqual(errors["ialltoall"][0], "held out")
        self.assertGreater(errors["ialltoall"][1], 10)


if __name__ == "__main__":
    unittest.main()
