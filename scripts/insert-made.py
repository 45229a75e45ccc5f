"""Puts the outputs of commands into the pages of docs: between `<!-- made by: offramp ... -->` and `<!-- end -->`, or
`<!-- made by: scripts/... -->`, a script that is given OFFRAMP.

Usage: insert-made.py OFFRAMP [--check] [PAGE ...]; without pages: all. With --check it changes nothing, names what differs, and fails."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Without this machine's settings: the pages show the defaults.
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("OFFRAMP_")}
MADE = re.compile(r"(<!-- made by: (offramp .+?|scripts/\S+) -->\n)(.*?)(<!-- end -->)", re.S)


def made(program, text):
    """The up-to-date text of a page."""
    def fill(found):
        first, *others = found.group(2).split()
        words = [program, *others] if first == "offramp" else [ROOT / first, program]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=PLAIN)
        return found.group(1) + done.stdout.rstrip("\n") + "\n" + found.group(4)
    return MADE.sub(fill, text)


def main():
    program, check = sys.argv[1], "--check" in sys.argv[2:]
    chosen = [ROOT / word for word in sys.argv[2:] if word != "--check"]
    differs = False
    for page in chosen or sorted((ROOT / "docs").rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = made(program, before)
        if after == before:
            continue
        differs = True
        if check:
            print(f"{page.relative_to(ROOT)} is not what its commands say: run scripts/update-docs")
        else:
            page.write_text(after, encoding="utf-8")
    return 1 if check and differs else 0


if __name__ == "__main__":
    sys.exit(main())
