"""A real Slurm: srun, salloc and sbatch start programs over a backend, with the times of mpirun's ranks. A job array sweeps a parameter.
Runs the commands of docs/install.md unchanged."""

import functools
import json
import os
import subprocess
import tempfile

import pytest

from cluster_of_one import Cluster, why_not
from launch import base_environment, run as launch
from suites.snippets import all_blocks

pytestmark = pytest.mark.thorough

LIMIT = 90


def times(path):
    """The modelled times of the ranks in a report, in picoseconds."""
    try:
        with open(path, encoding="utf-8") as file:
            return [rank["modelled_time_ps"] for rank in json.load(file)["each_rank"]]
    except (OSError, ValueError):
        return None


class Jobs:
    def __init__(self, arguments, cluster, folder):
        self.offramp = os.path.join(arguments.build, "bin/offramp")
        self.program = os.path.join(arguments.build, "tests/mpi/fixed_pattern")
        self.environment = base_environment(cluster.environment)
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def line(self, report, *options, backend="zrlmpi"):
        return [self.offramp, "run", "-n", "2", "--backend", backend, "--report", self.path(report), *options, "--", self.program]

    def run(self, line):
        return launch(line, self.environment, LIMIT)


def by_srun(jobs):
    result = jobs.run(jobs.line("srun.json", "--launcher", "srun"))
    return result.ok and "ok fixed_pattern" in result.output and times(jobs.path("srun.json")) == jobs.expected, result


def by_hand(jobs):
    """srun with the preload in the environment of the ranks only, as written without our command."""
    library = os.path.join(os.path.dirname(os.path.dirname(jobs.offramp)), "lib/libofframp.so")
    result = jobs.run(["srun", "-n", "2", "--mpi=pmix", f"--export=ALL,LD_PRELOAD={library},OFFRAMP_BACKEND=zrlmpi,"
                       f"OFFRAMP_REPORT={jobs.path('hand.json')}", jobs.program])
    return result.ok and times(jobs.path("hand.json")) == jobs.expected, result


def by_salloc(jobs):
    """mpirun within an allocation."""
    result = jobs.run(["salloc", "-n", "2", "--quiet", *jobs.line("salloc.json")])
    return result.ok and times(jobs.path("salloc.json")) == jobs.expected, result


def failing(jobs):
    """The exit code of the command is that of the program."""
    result = jobs.run([jobs.offramp, "run", "-n", "1", "--launcher", "srun", "--", "/bin/sh", "-c", "exit 7"])
    return not result.ok and "exit status 7" in result.output, result


def by_srun_mpich(jobs):
    """srun starts MPICH's ranks through PMI-2; their times equal those of Open MPI's."""
    build, found = os.path.dirname(os.path.dirname(jobs.offramp)), []
    for name, folder in (("openmpi.json", build), ("mpich.json", os.path.join(build, "mpich"))):
        result = jobs.run([jobs.offramp, "run", "-n", "2", "--backend", "zrlmpi", "--launcher", "srun", "--report", jobs.path(name),
                           "--", os.path.join(folder, "tests/mpi_cases"), "fixed_pattern"])
        found.append(times(jobs.path(name)) if result.ok else None)
    return found[0] is not None and found[0] == found[1], result


def documented(jobs, block):
    """A block of the page in a folder with ./app; a batch script is submitted, everything else is typed. The output belongs to a run of
    the program on 2 ranks; the reports of a job array differ with the link, and one has the default's times."""
    folder = tempfile.mkdtemp(dir=jobs.folder)
    os.symlink(jobs.program, os.path.join(folder, "app"))
    script = os.path.join(folder, "script.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write("\n".join(block.text) + "\n")
    batch = block.text[0] == "#!/bin/sh"
    environment = {**jobs.environment, "PATH": f"{os.path.dirname(jobs.offramp)}:{jobs.environment['PATH']}"}
    command = ["sbatch", "--wait", "--output", "job-%a.txt", script] if batch else ["bash", "-e", script]
    result = launch(command, environment, 3 * LIMIT, cwd=folder)  # sbatch polls for the end of a job at growing intervals
    written = sorted(os.listdir(folder))
    for name in written:
        if name.startswith("job-"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                result.output += file.read()
    reports = [times(os.path.join(folder, name)) for name in written if name.endswith(".json")]
    runs = len(reports) if batch else sum("./app" in line for line in block.text)
    ok = result.ok and runs > 0 and result.output.count("ok fixed_pattern") == runs and \
        all(found is not None and len(found) == 2 for found in reports)
    if any(line.startswith("#SBATCH --array") for line in block.text):
        ok = ok and len(reports) == 3 and len({max(found) for found in reports}) == 3 and jobs.expected in reports
    return ok, result


def test_jobs_of_each_kind(arguments, tally):
    reason = why_not()
    if reason is not None:
        tally.skip("slurm", reason)
        return
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as place:
        with Cluster(place) as cluster:
            jobs = Jobs(arguments, cluster, folder)
            first = jobs.run(jobs.line("mpirun.json", "--launcher", "mpirun"))
            jobs.expected = times(jobs.path("mpirun.json"))
            tally.record("slurm/what mpirun's ranks take", first.ok and jobs.expected is not None, first.output, first.seconds)
            tests = [("srun", by_srun), ("srun by hand", by_hand), ("salloc", by_salloc), ("an exit code through srun", failing)]
            if os.path.isdir(os.path.join(arguments.build, "mpich")):
                tests.append(("srun starts MPICH's ranks", by_srun_mpich))
            for block in all_blocks():
                if "the suite slurm" in block.reason:
                    tests.append((f"as written: {block.label}", functools.partial(documented, block=block)))
            for name, test in tests:
                label = f"slurm/{name}"
                if not tally.wants(label):
                    continue
                ok, result = test(jobs)
                tally.record(label, ok, result.output + ("" if ok else cluster.log()), result.seconds)
            left = subprocess.run(["squeue", "-h"], env={**os.environ, **cluster.environment}, capture_output=True, text=True,
                                  timeout=30, check=False)
            tally.record("slurm/no job is left", left.returncode == 0 and left.stdout.strip() == "", left.stdout + left.stderr)
