"""This machine as it would be after some commands: an overlay above the machine's own file system takes their output, and vanishes with
them. So packages can be installed in a test as an administrator does it. Needs root.

usage, as made by on_top() below: overlay.py FOLDER,... COMMAND...
"""

import os
import subprocess
import sys

PLACE = "/mnt"  # hidden behind a private file system while the commands run
NAMESPACES = ["unshare", "--mount", "--propagation", "private"]


def why_not():
    """The reason why this machine does not allow it; None if it does."""
    if os.geteuid() != 0:
        return "an overlay over the whole system needs root"
    done = subprocess.run(on_top(["true"]), capture_output=True, text=True, check=False, timeout=60)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def on_top(command, folders=()):
    """The command line that runs a command there. Mounts other than / and the system's own are empty, except for these folders."""
    return [*NAMESPACES, sys.executable, os.path.abspath(__file__), ",".join(folders), *command]


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def main():
    mount("-t", "tmpfs", "-o", "size=2g", "tmpfs", PLACE)
    upper, work, root = (os.path.join(PLACE, name) for name in ("upper", "work", "root"))
    for folder in (upper, work, root):
        os.mkdir(folder)
    mount("-t", "overlay", "-o", f"lowerdir=/,upperdir={upper},workdir={work}", "overlay", root)
    for folder in ["/proc", "/sys", "/dev", *filter(None, sys.argv[1].split(","))]:
        os.makedirs(root + folder, exist_ok=True)
        mount("--rbind", folder, root + folder)
    os.chroot(root)
    os.chdir("/")
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
