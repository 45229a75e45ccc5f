"""An isolated environment for a test: private processes, shared memory, SysV objects, temporary files and network interfaces, which end
with it. So a test can list what a run leaves behind, make /dev/shm small, and use any address.

usage, as made by isolated() below: isolated.py SHM_SIZE COMMAND...
"""

import os
import subprocess
import sys
import time

NAMESPACES = ["--mount", "--ipc", "--pid", "--net", "--uts", "--fork", "--mount-proc", "--kill-child"]
TEMPORARY = "/mnt"  # a private file system is mounted there: the machine's own files are hidden and safe


def unshare():
    """The command that makes the namespaces; without root it adds one in which the user is root."""
    return ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), *NAMESPACES]


def why_not():
    """The reason why this machine does not allow it; empty if it does."""
    try:
        done = subprocess.run([*unshare(), "mount", "-t", "tmpfs", "tmpfs", TEMPORARY], capture_output=True, text=True,
                              check=False, timeout=30)
        ip = subprocess.run(["ip", "-V"], capture_output=True, check=False)
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 == ip.returncode else done.stderr.strip() or "ip does not work"


def isolated(command, shm="1g"):
    """The command line that runs a command in isolation. Its output ends with a line "left behind: ..." for each thing that remains."""
    return [*unshare(), sys.executable, os.path.abspath(__file__), shm, *command]


def set_up(shm):
    for folder, size in (("/dev/shm", shm), (TEMPORARY, "1g")):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", folder], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    os.environ.update(TMPDIR=TEMPORARY, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def processes():
    """The other processes here, except for zombies."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    name, rest = file.read().rsplit(")", 1)
                if rest.split()[0] != "Z":
                    found.append(f"process {name})")
            except OSError:
                pass
    return found


def left_behind():
    files = [os.path.join(place, name) for folder in ("/dev/shm", TEMPORARY)
             for place, _, names in os.walk(folder) for name in names]
    with open("/proc/sysvipc/shm", encoding="utf-8") as file:
        segments = [f"SysV segment {line.split()[1]}" for line in file.read().splitlines()[1:]]
    return [f"file {name}" for name in files] + segments


def main():
    set_up(sys.argv[1])
    status = subprocess.run(sys.argv[2:], check=False).returncode
    patience = time.monotonic() + 5  # mpirun does not wait for the last of its processes
    while processes() and time.monotonic() < patience:
        time.sleep(0.05)
    for thing in processes() + left_behind():
        print(f"left behind: {thing}", flush=True)
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
