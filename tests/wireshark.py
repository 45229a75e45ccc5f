"""A tshark that runs our dissectors. Wireshark 4.4 runs no Lua script for root, so root's tshark runs as another user."""

import os
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DISSECTORS = os.path.join(ROOT, "tools/wireshark/offramp.lua")
AS_NOBODY = """#!/bin/sh
exec setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent {} "$@"
"""


def runs_scripts(tshark, script):
    try:
        done = subprocess.run([tshark, "-G", "plugins", "-X", f"lua_script:{script}"], capture_output=True, text=True, timeout=60,
                              check=False)
    except OSError:
        return False
    return os.path.basename(script) in done.stdout


def place_tshark(folder):
    """Leaves the dissectors in the folder and, where needed, a wrapper of tshark, for the front of PATH. Returns the reason why no
    tshark can read our captures; empty if one can."""
    found = shutil.which("tshark")
    if found is None:
        return "tshark is not installed"
    os.chmod(folder, 0o755)
    script = shutil.copy(DISSECTORS, folder)
    if runs_scripts(found, script):
        return ""
    path = os.path.join(folder, "tshark")
    with open(path, "w", encoding="utf-8") as file:
        file.write(AS_NOBODY.format(found))
    os.chmod(path, 0o755)
    return "" if runs_scripts(path, script) else f"tshark runs no Lua script as this user, and none in {folder} as user 65534"
