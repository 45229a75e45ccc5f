"""What a browser makes of a page, and what no page and no picture has in it."""

import re
import shutil
import subprocess
import tempfile

FIGURES_OF_NOTHING = re.compile(r"(?<![\w./-])[-+]?(?:inf(?:inity)?|nan)(?![\w./-])", re.IGNORECASE)


def figures_of_nothing(text):
    """Where a page or picture has infinity, or what is no number: a few characters around each."""
    return [text[max(0, found.start() - 60):found.end() + 30] for found in FIGURES_OF_NOTHING.finditer(text)]


def command_of(profile):
    """Chromium without a window; nothing: it is not installed."""
    path = shutil.which("chromium")
    return path and [path, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]


def console_of(page):
    """What a browser complains of in a file. None: there is no browser."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = command_of(profile)
        if command is None:
            return None
        done = subprocess.run([*command, "--enable-logging=stderr", "--dump-dom", f"file://{page}"], capture_output=True, text=True,
                              timeout=90, check=False, errors="replace")
    if done.returncode != 0 or not re.search(r"<(html|svg)", done.stdout):
        return [f"the browser shows nothing: {done.stderr[-1000:]}"]
    return [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
