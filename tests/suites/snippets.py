"""Runs the commands of the documents in an empty folder beside an installed Offramp, and compares the output with the documents.

- A block ```sh is run and has to succeed. So is a block that is indented by four blanks and begins with offramp.
- In a block ```console each line behind "$ " is run, with those behind "> ", and its output is what follows. "..." matches any text, on a line
  of its own any lines. Offramp's own lines may come at other places among the program's, because they use another stream.
- Blocks ```toml are configurations, ```cpp of write-a-backend.md parts of the example.
- A block that cannot be run has a comment before it: <!-- not run: reason -->.
- Other blocks must not look like commands.

After a change of a model, tests/suites/snippets.py BUILD --write (see scripts/update-docs) puts new outputs into the pages."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from launch import base_environment, lost_by_mpirun, mpi_of, run as launch  # noqa: E402
from wireshark import place_tshark  # noqa: E402

LIMIT = 120
COMMAND = re.compile(r"(\$ |\./|offramp |OFFRAMP_\w+=|mpirun |mpicc |python3 |cmake |build/|g\+\+ )")
EXAMPLE = os.path.join(ROOT, "examples/plugin/wormhole.cpp")


@dataclass
class Block:
    page: str
    line: int  # of the first line of text
    kind: str
    text: list
    reason: str  # the reason why it is not run; empty if it is

    @property
    def label(self):
        return f"{self.page}:{self.line}"


def pages():
    found = ["README.md", "CONTRIBUTING.md", *glob.glob("docs/*.md", root_dir=ROOT),
             *glob.glob("docs/backends/*.md", root_dir=ROOT)]
    return sorted(found)


def blocks_of(page, text):
    blocks, fenced, reason, indented = [], None, "", None
    for number, line in enumerate(text.splitlines(), 1):
        marker = re.fullmatch(r"<!-- not run: (.+) -->", line.strip())
        if fenced is not None:
            if line.startswith("```"):
                fenced = None
            else:
                fenced.text.append(line)
        elif line.startswith("```"):
            fenced = Block(page, number + 1, line[3:].strip(), [], reason)
            blocks.append(fenced)
        elif line.startswith("    ") and (indented or re.match(r"    (OFFRAMP_\w+=\S+ )*offramp ", line)):
            if indented is None:
                indented = Block(page, number, "sh", [], reason)
                blocks.append(indented)
            indented.text.append(line[4:])
            continue
        indented = None
        if line.strip():
            reason = marker.group(1) if marker else ""
    return blocks


def all_blocks():
    for page in pages():
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            yield from blocks_of(page, file.read())


# --- comparing ---


def pattern_of(line):
    return ".*".join(re.escape(part) for part in line.rstrip().split("..."))


def matches(expected, actual):
    """Line by line; a line "..." matches any number of lines."""
    if not expected:
        return not actual
    if expected[0].strip() == "...":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and re.fullmatch(pattern_of(expected[0]), actual[0].rstrip()) is not None \
        and matches(expected[1:], actual[1:])


def shown(result):
    """The output without the note that a recorded program is not on this machine: recordings of the source tree are of others."""
    return [line for line in result.lines() if not re.match(r'offramp: note: ".*" is missing or has changed since the recording', line)]


def sorted_by_source(lines):
    return [line for line in lines if not line.startswith("offramp:")] + \
        [line for line in lines if line.startswith("offramp:")]


def of_one_source(lines, by_offramp):
    """The printed lines of the program or Offramp, and the gaps, which may contain lines of both."""
    return [line for line in lines if line.strip() == "..." or line.startswith("offramp:") == by_offramp]


def shown_as_expected(expected, actual):
    return matches(expected, actual) or all(
        matches(of_one_source(expected, by_offramp), of_one_source(actual, by_offramp)) for by_offramp in (False, True))


def steps_of(block):
    """Command and expected lines of a console block."""
    steps = []
    for line in block.text:
        if line.startswith("$ "):
            steps.append([line[2:], []])
        elif steps and not steps[-1][1] and line.startswith("> "):
            steps[-1][0] += "\n" + line[2:]
        elif steps:
            steps[-1][1].append(line)
    return steps


# --- running ---


class Scratch:
    """A reader's folder: the source tree and its build, an installation, and a program ./app."""

    def __init__(self, build, folder):
        self.folder = folder
        prefix = os.path.join(folder, "installed")
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True, timeout=LIMIT)
        self.prefix = prefix
        place = os.path.join(folder, "wireshark")
        os.mkdir(place)
        os.chmod(folder, 0o755)  # root's tshark may run as another user
        self.no_tshark = place_tshark(place)
        path = f"{prefix}/bin:{place}:{os.environ['PATH']}"
        self.environment = base_environment({
            "PATH": path, "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig:{prefix}/lib/x86_64-linux-gnu/pkgconfig",
            "LD_LIBRARY_PATH": f"{prefix}/lib"})
        self.build = build
        self.app = os.path.join(folder, "app")
        subprocess.run(["mpicc", "-O2", "-o", self.app, os.path.join(ROOT, "examples/jacobi/jacobi.c")], check=True,
                       timeout=LIMIT)

    def page_folder(self, page):
        folder = os.path.join(self.folder, page.replace("/", "_"))
        if os.path.isdir(folder):
            return folder
        os.mkdir(folder)
        for name in ("bench", "docs", "examples", "include", "scripts", "simulators", "tests"):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        os.symlink(self.build, os.path.join(folder, "build"))
        shutil.copy(self.app, os.path.join(folder, "app"))
        shutil.copy(os.path.join(ROOT, "examples/jacobi/jacobi.c"), os.path.join(folder, "app.c"))
        return folder

    def execute(self, page, script):
        command = ["bash", "-euo", "pipefail", "-c", script]
        result = launch(command, self.environment, LIMIT, self.page_folder(page))
        lost = lost_by_mpirun(result.output)
        return launch(command, self.environment, LIMIT, self.page_folder(page)) if lost else result


def run_console(scratch, block):
    """The differences from the page, or nothing."""
    for command, expected in steps_of(block):
        result = scratch.execute(block.page, command)
        if not result.ok or not shown_as_expected(expected, shown(result)):
            return "\n".join([f"$ {command}", *expected, "--- now:", result.output])
    return ""


def shows_nothing(block):
    """The commands that end in a filter and have no output: the filter matches nothing any more. A command that prints nothing on purpose
    is in a block ```sh."""
    return [f"{block.label}: {command}" for command, expected in steps_of(block) if not any(line.strip() for line in expected)
            and re.search(r"\|\s*(grep|sed|awk)\b[^|]*$", command)]


def check_toml(scratch, block):
    path = os.path.join(scratch.page_folder(block.page), "snippet.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(block.text) + "\n")
    return scratch.execute(block.page, f"offramp run --dry-run --config {path} -- /bin/true")


def bare(code):
    return re.sub(r"\s+", "", re.sub(r"//[^\n]*", "", code))


def is_part_of(code, source):
    """The parts between "..." occur in the source one after the other, with any line breaks."""
    rest = bare(source)
    for part in bare(code).rstrip(";").split("..."):
        found = rest.find(part)
        if found < 0:
            return False
        rest = rest[found + len(part):]
    return True


def check_block(scratch, block, tally):
    label = f"snippets/{block.label}"
    if block.kind in ("sh", "console", "toml") and not tally.wants(label):
        return
    if scratch.no_tshark and any("tshark" in line for line in block.text):
        tally.skip(label, scratch.no_tshark)
        return
    begin = time.monotonic()
    if block.kind == "sh":
        result = scratch.execute(block.page, "\n".join(block.text))
        tally.record(label, result.ok, result.output, result.seconds)
    elif block.kind == "console":
        difference = run_console(scratch, block)
        tally.record(label, not difference, difference, time.monotonic() - begin)
    elif block.kind == "toml":
        result = check_toml(scratch, block)
        tally.record(label, result.ok, result.output, result.seconds)


def hidden_commands(blocks):
    known = ("sh", "console", "toml", "cpp", "c", "json", "lua")
    return [f"{block.label}: {line}" for block in blocks if not block.reason and block.kind not in known
            for line in block.text if COMMAND.match(line)]


def need_cores(blocks):
    """Commands that a machine with fewer cores than ranks would refuse, whether run here or not."""
    return [f"{block.label}: {line}" for block in blocks if block.kind in ("sh", "console") for line in block.text
            if re.match(r"(\$ )?(\w+=\S+ )*mpirun ", line) and "--oversubscribe" not in line]


def anchors_of(text):
    """The anchors that GitHub makes from headings."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page, text):
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(ROOT, os.path.dirname(page), name)) if name else os.path.join(ROOT, page)
        good = os.path.exists(path)
        if good and anchor:
            with open(path, encoding="utf-8") as file:
                good = anchor in anchors_of(file.read())
        dead += [] if good else [f"{page}: {target}"]
    return dead


def test_links(tally):
    label = "snippets/links lead somewhere"
    if not tally.wants(label):
        return
    dead = []
    for page in pages():
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            dead += dead_links(page, file.read())
    planted = dead_links("docs/x.md", "[a](../README.md#limits) [b](nowhere.md) [c](../README.md#nowhere)")
    tally.record(label, not dead and len(planted) == 2, "\n".join(dead + planted))


def test_texts(tally):
    """Checks without running commands."""
    blocks = list(all_blocks())
    label = "snippets/commands stand in blocks that are run"
    if tally.wants(label):
        hidden = hidden_commands(blocks)
        planted = hidden_commands([Block("x.md", 1, "", ["offramp run"], "")])
        tally.record(label, not hidden and planted == ["x.md:1: offramp run"], "\n".join(hidden))
    label = "snippets/mpirun starts more ranks than there are cores"
    if tally.wants(label):
        refused = need_cores(blocks)
        planted = need_cores([Block("x.md", 1, "sh", ["mpirun -n 4 ./app", "mpirun --oversubscribe -n 4 ./app"], "")])
        tally.record(label, not refused and planted == ["x.md:1: mpirun -n 4 ./app"], "\n".join(refused))
    label = "snippets/filters leave something"
    if tally.wants(label):
        empty = [one for block in blocks if block.kind == "console" and not block.reason for one in shows_nothing(block)]
        planted = shows_nothing(Block("x.md", 1, "console", ["$ offramp info | sed -n '/x/p'", "$ a | grep b", "b", "$ true"], ""))
        tally.record(label, not empty and planted == ["x.md:1: offramp info | sed -n '/x/p'"], "\n".join(empty))
    label = "snippets/the code of write-a-backend is the example's"
    if tally.wants(label):
        with open(EXAMPLE, encoding="utf-8") as file:
            source = file.read()
        code = [block for block in blocks if block.page == "docs/write-a-backend.md" and block.kind == "cpp"]
        strange = [block.label for block in code if not is_part_of("\n".join(block.text), source)]
        tally.record(label, len(code) >= 5 and not strange and not is_part_of("int x;", source), "\n".join(strange))
    label = "snippets/outputs are compared"
    if tally.wants(label):
        good = shown_as_expected(["a ... c", "...", "offramp: x"], ["offramp: x", "a b c", "d", "e"]) and \
            shown_as_expected(["a", "...", "offramp: x", "..."], ["offramp: x", "offramp: y", "a", "b"]) and \
            not shown_as_expected(["a", "...", "offramp: x"], ["a", "offramp: x", "b", "offramp: y"]) and \
            not shown_as_expected(["a"], ["a", "b"]) and not shown_as_expected(["a"], ["b"])
        tally.record(label, good)


def test_what_is_installed(scratch, tally):
    label = "snippets/manual pages, completion, docs and examples are installed"
    if tally.wants(label):
        wanted = ("share/man/man1/offramp.1", "share/man/man1/offramp-run.1", "share/man/man5/offramp.toml.5",
                  "share/bash-completion/completions/offramp", "share/doc/offramp/README.md", "share/doc/offramp/LICENSE",
                  "share/doc/offramp/docs/tutorial.md", "share/doc/offramp/docs/options.md", "share/doc/offramp/examples/jacobi/jacobi.c")
        missing = [name for name in wanted if not os.path.isfile(os.path.join(scratch.prefix, name))]
        tally.record(label, not missing, "\n".join(missing))
    label = "snippets/pkg-config gives plain paths"
    if tally.wants(label):
        found = [os.path.basename(path)[:-3] for path in glob.glob(os.path.join(scratch.prefix, "lib*/**/offramp*.pc"), recursive=True)]
        result = launch(["pkg-config", "--libs", *found], scratch.environment, LIMIT)
        tally.record(label, result.ok and "-lofframp " in f"{result.output} " and "//" not in result.output, result.output)


@pytest.fixture(scope="module", name="scratch")
def scratch_folder(arguments):
    if mpi_of(arguments.build).family != "openmpi":
        pytest.skip("the pages type Open MPI's mpirun and mpicc")
    with tempfile.TemporaryDirectory(prefix="offramp_snippets_") as folder:
        yield Scratch(arguments.build, folder)


def pages_with_commands():
    return sorted({block.page for block in all_blocks() if not block.reason and block.kind in ("sh", "console", "toml")})


# Many replays, which other pages show as well.
IN_THE_THOROUGH_TIER = ("docs/questions.md",)


@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.thorough] if page in IN_THE_THOROUGH_TIER else [])
                                  for page in pages_with_commands()])
def test_page(scratch, tally, page):
    for block in all_blocks():
        if block.page == page and not block.reason:
            check_block(scratch, block, tally)


def with_gaps(expected, actual):
    """Placeholders of a line stay where the line still fits."""
    open_lines = [line for line in expected if "..." in line and line.strip() != "..."]
    return [next((line for line in open_lines if re.fullmatch(pattern_of(line), one.rstrip())), one) for one in actual]


def current(scratch, block):
    """A console block with the present outputs; lines that still fit are unchanged."""
    lines = []
    for command, expected in steps_of(block):
        result = scratch.execute(block.page, command)
        if not result.ok:
            sys.exit(f"{block.label}: {command}\n{result.output}")
        actual = sorted_by_source(shown(result))
        lines += ("$ " + command.replace("\n", "\n> ")).splitlines()
        lines += expected if shown_as_expected(expected, actual) else with_gaps(expected, actual)
    return lines


def rewrite(build):
    with tempfile.TemporaryDirectory(prefix="offramp_snippets_") as folder:
        scratch = Scratch(build, folder)
        for page in pages():
            path = os.path.join(ROOT, page)
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
            changes = []
            for block in blocks_of(page, "\n".join(lines)):
                if block.kind == "sh" and not block.reason:
                    scratch.execute(page, "\n".join(block.text))
                elif block.kind == "console" and not block.reason:
                    changes.append((block, current(scratch, block)))
            for block, text in reversed(changes):
                lines[block.line - 1:block.line - 1 + len(block.text)] = text
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] != "--write":
        sys.exit(__doc__)
    rewrite(os.path.abspath(sys.argv[1]))
