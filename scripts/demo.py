"""Runs hpcc (the HPC Challenge benchmark) natively and over every backend, and compares.

usage: demo.py BUILD
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

from shares import percent

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from real_programs import HPCC_INPUT, hpcc_answers  # noqa: E402

RANKS = 4


def environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith("OFFRAMP_")}
    if os.geteuid() == 0:
        env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return env


def run(command, folder):
    with open(HPCC_INPUT, encoding="utf-8") as file:
        text = re.sub(r"^1000 +Ns", "256         Ns", file.read(), flags=re.M)
    with open(os.path.join(folder, "hpccinf.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    begin = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False,
                          timeout=300)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
    with open(os.path.join(folder, "hpccoutf.txt"), encoding="utf-8", errors="replace") as file:
        answers = hpcc_answers(file.read())
    os.remove(os.path.join(folder, "hpccoutf.txt"))
    return answers, time.monotonic() - begin


def main():
    build = os.path.abspath(sys.argv[1])
    offramp = os.path.join(build, "bin/offramp")
    info = json.loads(subprocess.run([offramp, "info", "--json"], capture_output=True, text=True, check=True).stdout)
    backends = [backend["name"] for backend in info["backends"]]
    print(f"hpcc (HPC Challenge) with {RANKS} ranks, unmodified, from Debian\n")
    print(f"{'':10} {'answers':>18} {'wall time':>10} {'modelled communication':>24} {'offloaded':>10} {'packets':>10}")
    with tempfile.TemporaryDirectory() as folder:
        native, seconds = run(["mpirun", "--oversubscribe", "-n", str(RANKS), "hpcc"], folder)
        print(f"{'native':10} {f'{len(native)} checks':>18} {seconds:9.2f}s {'-':>24} {'-':>10} {'-':>10}")
        agree = True
        for backend in backends:
            path = os.path.join(folder, "report.json")
            command = [offramp, "run", "-n", str(RANKS), "--backend", backend, "--report", path, "--", "hpcc"]
            answers, seconds = run(command, folder)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            same = answers == native
            agree = agree and same
            totals = {key: sum(call[key] for call in report["calls"].values())
                      for key in ("offloaded", "declined", "native")}
            share = totals["offloaded"], sum(totals.values())
            print(f"{backend:10} {'agree with native' if same else 'DIFFER':>18} {seconds:9.2f}s "
                  f"{report['modelled_time_ns'] / 1e6:21.3f} ms {percent(*share):>10} {report['wire']['packets']:10}")
        print("\nmodelled communication: the largest host clock at MPI_Finalize, without the program's own computing")
        if not agree:
            sys.exit("the answers differ")
        recording = os.path.join(folder, "hpcc.rec")
        run([offramp, "record", "-n", str(RANKS), "-o", recording, "--", "hpcc"], folder)
        print("\n$ offramp record -n 4 -o hpcc.rec -- hpcc\n$ offramp advise hpcc.rec --quick", flush=True)
        advised = subprocess.run([offramp, "advise", "hpcc.rec", "--quick"], cwd=folder, env=environment(),
                                 check=False, timeout=300).returncode
        if advised not in (0, 3):
            sys.exit(f"offramp advise failed: exit code {advised}")


main()
