"""Runs one program under mpirun: with a time limit, and a stack trace of every rank when it is exceeded."""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass


# Messages of hwloc, which is part of every MPI library, and of UCX about machines without /sys and the like.
OF_OTHER_LIBRARIES = re.compile(r"\[hwloc/|\[\d+\.\d+\] \[[^]]*\] +\S+:\d+ +UCX +[A-Z]+ ")


@dataclass
class Result:
    ok: bool
    output: str
    seconds: float

    def lines(self):
        """The output of the program and of Offramp."""
        return [line.rstrip() for line in self.output.splitlines() if not OF_OTHER_LIBRARIES.match(line)]


@functools.cache
def openmpi_release():
    """The major version of the Open MPI whose mpirun is on the path, 0 for another library. From 5 on mpirun is PRRTE's prterun, some of
    whose components and parameters have other names."""
    if shutil.which("mpirun") is None:
        return 0
    said = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    found = re.search(r"\(Open MPI\) (\d+)\.", said)
    return int(found[1]) if found else 0


def base_environment(extra=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("OFFRAMP_") and k != "LD_PRELOAD"}
    if os.geteuid() == 0:
        env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    if openmpi_release() >= 5:
        # If an interface has addresses of both families, its TCP finds no pair of them (5.0.7): every rank reports that, and spawned
        # processes are unreachable.
        env["OMPI_MCA_btl_tcp_disable_family"] = "6"
    env.update(extra or {})
    return env


def compiler_cache():
    """Options of cmake for a build that a suite makes."""
    if shutil.which("ccache") is None:
        return []
    return ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]


def descendants(pid):
    """Process ids below pid, by one pass over /proc."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                    parent = int(f.read().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(entry))
            except OSError:
                pass
    found, todo = [], [pid]
    while todo:
        for child in children.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def stack_traces(pids):
    text = ""
    gdb = shutil.which("gdb")
    for pid in pids:
        try:
            os.kill(pid, signal.SIGUSR2)  # Offramp's own report of the rank's waits
        except OSError:
            continue
    time.sleep(0.5)
    for pid in pids:
        if gdb:
            done = subprocess.run([gdb, "-p", str(pid), "-batch", "-ex", "thread apply all bt 14"],
                                  capture_output=True, text=True, check=False, timeout=60)
            frames = [line for line in done.stdout.splitlines() if line.startswith(("#", "Thread"))]
            text += f"--- process {pid}\n" + "\n".join(frames) + "\n"
    return text


def run(command, env, limit, cwd=None):
    """By default all mpiruns of a user have their session folders in one folder. One that ends removes that folder while another is
    creating its own in it, which then fails, or waits for its end forever. So each run has a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="offramp_session_", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o1777)  # writable like /tmp: the program may run as another user
        places = {"OMPI_MCA_orte_tmpdir_base": folder, "PRTE_MCA_prte_tmpdir_base": folder}  # of Open MPI 4, and of 5
        return run_in_session(command, {**places, **env}, limit, cwd)


STARTED = []


def started():
    """The number of programs that this process has run."""
    return len(STARTED)


def run_in_session(command, env, limit, cwd):
    begin = time.monotonic()
    STARTED.append(command[0])
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True, cwd=cwd)
    try:
        output, _ = process.communicate(timeout=limit)
        ok = process.returncode == 0
        if not ok:
            output += f"\nexit status {process.returncode}\n"
    except subprocess.TimeoutExpired:
        ranks = descendants(process.pid)
        traces = stack_traces(ranks)
        for pid in ranks + [process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        output, _ = process.communicate()
        output += f"\nstill running after {limit} s\n{traces}"
        ok = False
    output = output.replace("\0", "")  # which mpirun of Open MPI 5 appends to its own messages
    return Result(ok, output, time.monotonic() - begin)


def lost_by_mpirun(output):
    """Now and then, Open MPI 4's mpirun reports a rank that ended well as vanished ("rank 0 with PID 0"), even without any other
    library: github.com/open-mpi/ompi/issues/7833. It says nothing about the program."""
    return "with PID 0 on" in output and "exiting improperly" in output


@functools.cache
def starts_several_programs():
    """Whether mpirun can start more than one program in a job. Debian 13's (Open MPI 5.0.7, PMIx 5.0.7) crashes with a segmentation
    fault in PMIx_server_setup_fork, for `mpirun -n 1 a : -n 1 b` and for MPI_Comm_spawn_multiple."""
    return run(["mpirun", "--oversubscribe", "-n", "1", "true", ":", "-n", "1", "true"], base_environment(), 60).ok


@dataclass(frozen=True)
class Mpi:
    """The MPI library that a build (or a folder of one) is for, and all differences between the families: mpi.json of the build."""
    family: str  # openmpi, mpich
    launcher: str
    compiler: str  # of C

    def start(self, ranks, variables=None, options=()):
        """The launcher's command line up to the program; variables: for the environment of the ranks."""
        line = [self.launcher, *(["--oversubscribe"] if self.family == "openmpi" else []), "-n", str(ranks), *options]
        for name, value in (variables or {}).items():
            line += ["-genv", name, str(value)] if self.family == "mpich" else ["-x", f"{name}={value}"]
        return line

    def tool(self, name):
        """Another command of the same installation, named like the compiler: mpifort.mpich beside mpicc.mpich."""
        return os.path.join(os.path.dirname(self.compiler), os.path.basename(self.compiler).replace("mpicc", name))

    def command(self, name):
        """The command by its name alone, as a user types it."""
        return os.path.basename(self.tool(name))

    def skips(self, tally, what, needed, why):
        """Whether this library is of another family than a test needs; prints that if so."""
        if self.family != needed:
            tally.skip(what, why)
        return self.family != needed


@functools.cache
def mpi_of(build):
    with open(os.path.join(build, "mpi.json"), encoding="utf-8") as file:
        return Mpi(**json.load(file))


@functools.cache
def lacks_processes(build):
    """The reason why processes cannot come and go, from the native run of tests/mpi/dynamic_processes; empty if they can."""
    if mpi_of(build).family == "openmpi":
        return ""
    said = mpirun(build, None, 2, [os.path.join(build, "tests/mpi/dynamic_processes")]).output
    return "".join(re.findall(r"^note: (.*)$", said, re.M))


DEALER = "dealer"  # the carrier of tests/fixtures/dealer.cpp


def plugins(build):
    """The folder of the tests' plugins. A build for another MPI library shares it with the build that contains it."""
    return os.path.join(os.path.dirname(os.path.realpath(os.path.join(build, "lib"))), "tests/plugins")


def mpirun(build, backend, ranks, command, limit=60, settings=None, options=(), cwd=None, variables=None):
    """backend: None for a native run; settings: OFFRAMP_* variables, with a backend only; variables: others, for any run."""
    env = base_environment()
    variables = dict(variables or {})
    if backend is not None:
        variables |= {"LD_PRELOAD": os.path.join(build, "lib/libofframp.so"), "OFFRAMP_BACKEND": backend,
                      "OFFRAMP_HANG_TIMEOUT": str(limit / 2), **(settings or {})}
    if backend == DEALER:
        variables["OFFRAMP_PLUGIN_PATH"] = plugins(build)
    line = mpi_of(build).start(ranks, variables, options)
    result = run(line + list(command), env, limit, cwd)
    return run(line + list(command), env, limit, cwd) if lost_by_mpirun(result.output) else result
