"""Other users and a run: its files and shared memory are private, and a setuid program ignores the environment."""

import os
import pwd
import shutil
import stat
import tempfile
import threading
import time

from launch import base_environment, descendants, mpi_of, mpirun, run as launch

RANKS = 3
SOURCE = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int value = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("sum %d\\n", sum);
  MPI_Finalize();
  return 0;
}
"""
PLUGIN = """
#include <fcntl.h>
__attribute__((constructor)) static void loaded(void) { open("%s", O_CREAT | O_WRONLY, 0600); }
"""


def test_files_are_private(arguments, tally):
    label = "hostile/files are private whatever the umask"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = {key: os.path.join(folder, key.lower()) for key in ("REPORT", "TRACE", "FAULTS_RECORD")}
        settings = {f"OFFRAMP_{key}": path for key, path in paths.items()}
        settings["OFFRAMP_FAULTS_LOSS"] = "0.1"
        before = os.umask(0)
        try:
            result = mpirun(arguments.build, "zrlmpi", RANKS, [os.path.join(arguments.build, "tests/mpi/fixed_pattern")], 60,
                            settings)
        finally:
            os.umask(before)
        modes = {key: oct(stat.S_IMODE(os.stat(path).st_mode)) if os.path.exists(path) else "none"
                 for key, path in paths.items()}
        ok = result.ok and set(modes.values()) == {"0o600"}
        tally.record(label, ok, f"{modes}\n{result.output}", result.seconds)


def shared_files(pid):
    """Mode and owner of a process's open or mapped files in /tmp and /dev/shm."""
    found = {}
    for kind in ("fd", "map_files"):
        folder = f"/proc/{pid}/{kind}"
        try:
            for name in os.listdir(folder):
                try:
                    target = os.readlink(f"{folder}/{name}")
                    status = os.stat(f"{folder}/{name}")
                except OSError:
                    continue
                if target.startswith(("/tmp/", "/dev/shm/")) and stat.S_ISREG(status.st_mode):
                    found[target] = (stat.S_IMODE(status.st_mode), status.st_uid)
        except OSError:
            pass
    return found


def sees_mappings():
    """Mappings show their files, which are closed and deleted by then, to privileged processes only."""
    try:
        folder = "/proc/self/map_files"
        os.stat(os.path.join(folder, os.listdir(folder)[0]))
        return True
    except OSError:
        return False


def test_memory_is_private(arguments, tally):
    label = "hostile/other users cannot open shared memory or temporary files of a run"
    if not tally.wants(label):
        return
    if not sees_mappings():
        tally.skip(label, "only root may look into /proc/PID/map_files")
        return
    seen, results = {}, []
    before = os.umask(0)
    try:
        program = [os.path.join(arguments.build, "tests/hang")]
        thread = threading.Thread(target=lambda: results.append(
            mpirun(arguments.build, "host", 2, program, 8, {"OFFRAMP_HANG_TIMEOUT": "0"})))
        thread.start()
        end = time.monotonic() + 6
        while time.monotonic() < end and thread.is_alive():
            for pid in descendants(os.getpid()):
                try:
                    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                        if file.read().strip() == "hang":
                            seen.update(shared_files(pid))
                except OSError:
                    continue
            time.sleep(0.1)
        thread.join()
    finally:
        os.umask(before)
    ours = {name: what for name, what in seen.items()
            if ("ucx" in name or "offramp" in name) and not name.startswith(arguments.build)}
    rings = any(name.startswith("/dev/shm/offramp-") for name in ours)
    ok = rings and all(mode & 0o077 == 0 and owner == os.geteuid() for mode, owner in ours.values())
    text = "\n".join(f"{oct(mode)} {owner} {name}" for name, (mode, owner) in seen.items())
    tally.record(label, ok, text + "".join(result.output for result in results), 8)


def compile_at(folder, name, text, *options):
    source = os.path.join(folder, name + ".c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    return launch([*options, "-o", os.path.join(folder, name), source], base_environment(), 60)


def test_setuid_programs_are_left_alone(arguments, tally):
    """The program is linked with the library and runs as another user: its caller's requests have no effect."""
    label = "hostile/a setuid program loads and writes nothing that the environment names"
    if not tally.wants(label):
        return
    if os.geteuid() != 0:
        print(f"note: {label}: only root can make a program of another user's")
        return
    user = pwd.getpwuid(65534)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        plugins = os.path.join(folder, "plugins")
        os.mkdir(plugins, 0o755)
        mark = os.path.join(folder, "loaded")
        library = os.path.join(arguments.build, "lib")
        # Readable by every user; a setuid program loads libraries from nowhere else.
        copy = os.path.join(folder, "lib")
        shutil.copytree(library, copy, symlinks=True, ignore=shutil.ignore_patterns("*.a"))
        built = [compile_at(folder, "program", SOURCE, mpi_of(arguments.build).compiler, f"-L{copy}", "-Wl,--no-as-needed", "-lofframp",
                            f"-Wl,-rpath,{copy}"),
                 compile_at(plugins, "evil.so", PLUGIN % mark, "gcc", "-shared", "-fPIC")]
        program = os.path.join(folder, "program")
        text, ok = "".join(done.output for done in built), all(done.ok for done in built)
        outcomes = {}
        for mode in (0o755, 0o4755) if ok else ():
            os.chown(program, user.pw_uid, user.pw_gid)
            os.chmod(program, mode)
            report = os.path.join(folder, f"report-{mode:o}")
            env = base_environment({"OFFRAMP_BACKEND": "host", "OFFRAMP_PLUGIN_PATH": plugins, "OFFRAMP_REPORT": report,
                                    "HOME": folder})
            result = launch([program], env, 60)
            text += result.output
            outcomes[mode] = (result.ok and "sum 1" in result.output, os.path.exists(mark), os.path.exists(report))
            if os.path.exists(mark):
                os.remove(mark)
        # As an ordinary program it loads and writes them, so the test would notice.
        ok = ok and outcomes == {0o755: (True, True, True), 0o4755: (True, False, False)}
        tally.record(label, ok, f"{outcomes}\n{text}", 0)
