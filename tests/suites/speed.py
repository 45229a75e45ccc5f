"""Instructions per 8-byte operation and backend, counted by callgrind: the same on every run, whatever the machine does.
More than 5 % above bench/instructions.json fails. After a change that is worth it: tests/suites/speed.py BUILD --write"""

import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIGURES = os.path.join(ROOT, "bench/instructions.json")
OPERATIONS = ("message", "allreduce")  # between two ranks
BYTES = 8
FEW, MANY = 1000, 3000
TOLERANCE = 1.05


def instructions(build, backend, operation, count):
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
                   os.path.join(build, "bench/operation_cost"), backend, operation, str(BYTES), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    return int(found.group(1)) if done.returncode == 0 and found else None


def per_operation(build, backend, operation):
    few = instructions(build, backend, operation, FEW)
    many = instructions(build, backend, operation, MANY)
    return None if few is None or many is None else round((many - few) / (MANY - FEW))


def run(arguments, tally):
    with open(FIGURES, encoding="utf-8") as file:
        expected = json.load(file)
    for operation in OPERATIONS:
        for backend in arguments.backends:
            label = f"speed/instructions per {operation} {backend}"
            if tally.wants(label):
                seen, known = per_operation(arguments.build, backend, operation), expected[operation].get(backend)
                ok = seen is not None and known is not None and seen <= known * TOLERANCE
                tally.record(label, ok, f"{seen} instructions, expected {known}")


if __name__ == "__main__":
    build = os.path.abspath(sys.argv[1])
    backends = ["host", "cclo", "zrlmpi", "aie", "dpu", "tinsel"]
    figures = {operation: {backend: per_operation(build, backend, operation) for backend in backends}
               for operation in OPERATIONS}
    print(json.dumps(figures, indent=2))
    if "--write" in sys.argv:
        with open(FIGURES, "w", encoding="utf-8") as file:
            file.write(json.dumps(figures, indent=2) + "\n")
