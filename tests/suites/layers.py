"""The architecture: a file includes only rooms that its own room links according to the build files (offramp_room); the linker enforces
that for calls, this suite for headers. Few files use MPI, UCX, and the internals of Open MPI. All backends have the same files."""

import functools
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

GROUND = ("offramp/kernel/",)
INTERFACE = ("offramp/kernel/", "offramp/model/")
# Folder -> the public headers that its files may include, if not those of INTERFACE.
PUBLIC = {
    "include/offramp": ("offramp/version.hpp",),
    "include/offramp/dpu": ("offramp/dpu/",),
    "include/offramp/kernel": GROUND,
    "include/offramp/model": INTERFACE,
    "lib/run/fabric": GROUND,
    "simulators/dpu_protocol": GROUND,
    "lib/services/dpu_service": ("offramp/dpu/", *GROUND),
    "lib/services/tinsel_threads": ("offramp/tinsel.h", *GROUND),
    "lib/answers/report": ("offramp/",),
    "lib/run/native": ("offramp/generated/", *GROUND),
    "lib/run/mpi/api": ("offramp/",),
    "lib/run/mpi/runtime": ("offramp/",),
    "tools": ("offramp/",),
}
# Libraries of their own, not rooms.
LIBRARIES = {"lib/services/dpu_service": ["simulators/dpu_protocol"], "lib/services/tinsel_threads": ["simulators/tinsel"]}
# The table that names the built-in backends.
EXCEPTIONS = {"lib/base/registry/registry.cpp": ("backends/",)}
# The rooms of the command are one target, because subcommands register themselves: each may include those before it.
COMMAND = ("tools/command_line", "tools/launch", "tools/text", "tools/page", "tools/commands")
APART = {"tools/shell": COMMAND[:1], "tools/calibrate": COMMAND[:3]}
MAY_KNOW_MPI = ("lib/run/mpi/", "lib/run/native/")
# An MPI program.
KNOW_MPI = ("tools/calibrate/measure.c",)
KNOWS_OPEN_MPI = "lib/run/native/openmpi.c"
KNOW_UCX = ("lib/run/fabric/ucx_fabric.cpp", "lib/services/dpu_service/ucx_transport.cpp")

# The files of each backend have fixed names, so that they are easy to find. A missing file means that its contents are in NAME.cpp, or that
# there are none.
ROOMS = {
    "NAME": "description, and verdicts unless they have a file of their own",
    "parameters": "the table of parameters, and the settings that they make",
    "messages": "the stages of a message",
    "collectives": "which algorithm runs a kind of collective",
    "explain": "the topics of offramp explain",
    "validation": "published figures and the model's",
}
WITHOUT = {("host", "messages"), ("host", "explain"), ("tinsel", "messages")}
# A switch over the kinds of operation names each, so that a forgotten new kind does not compile.
KINDS = re.compile(r"case (?:OperationKind::)?k(?:Bcast|Reduce|Gather|Allreduce|Alltoall)\b")


def lists(path, text):
    """Lines that name most backends: code for all of them uses the registry (tests/registry.py, tests/built_in_names.hpp)."""
    names = os.listdir(os.path.join(ROOT, "backends"))
    return [f"{path}:{number}: a list of backends" for number, line in enumerate(text.splitlines(), 1)
            if sum(re.search(rf"\b{name}\b", line) is not None for name in names) >= len(names) - 1]


def rooms(listed):
    """Problems with the rooms of the backends; listed: their files, as backends/NAME/FILE.cpp."""
    errors = []
    for backend in sorted({path.split("/")[1] for path in listed}):
        for room in ROOMS:
            there = f"backends/{backend}/{backend if room == 'NAME' else room}.cpp" in listed
            if there == ((backend, room) in WITHOUT):
                errors.append(f"{backend} {'has' if there else 'has no'} {room}: {ROOMS[room]}")
    return errors


def defaults(path, text):
    """Switches with a default over kinds of operation."""
    errors = []
    for found in re.finditer(r"switch \(", text):
        depth, end = 0, text.index("{", found.end())
        while True:
            depth += (text[end] == "{") - (text[end] == "}")
            if depth == 0:
                break
            end += 1
        block = text[found.start():end]
        if KINDS.search(block) and re.search(r"\bdefault:", block):
            errors.append(f"{path}:{text[:found.start()].count(chr(10)) + 1}: a switch over kinds of operation has a default")
    return errors


@functools.cache
def links():
    """Room -> the rooms that it links according to the build files."""
    found = dict(LIBRARIES)
    for name in ("CMakeLists.txt", "cmake/mpi.cmake"):
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            for room, words in re.findall(r"^ *offramp_room\(([a-z]\S*?)(?=[\s)])([^)]*)\)", file.read(), flags=re.M):
                linked = re.search(r"\bLINKS((?:\s+[^A-Z\s]\S*)*)", words)
                found[room] = [word for word in linked[1].split() if os.path.isdir(os.path.join(ROOT, word))] if linked else []
    return found


@functools.cache
def reach(room):
    """The room, and all rooms that it links, directly or not."""
    return frozenset({room}.union(*(reach(each) for each in links().get(room, ()))))


@functools.cache
def allowed(folder):
    """The folders that the files of a folder may include from."""
    if folder in APART:
        return reach("tools") | {folder, *APART[folder]}
    if folder in COMMAND:
        return reach("tools") | set(COMMAND[:COMMAND.index(folder) + 1])
    return reach(folder) | ({"tools/command_line"} if folder == "tools" else set())


def public(folder):
    """The public headers that the files of a folder may include."""
    return next((PUBLIC[each] for each in sorted(PUBLIC, key=len, reverse=True) if f"{folder}/".startswith(f"{each}/")), INTERFACE)


def check(path, text):
    errors = []
    folder = os.path.dirname(path)
    for line, include in re.findall(r'^(\s*#include\s+[<"]([^">]+)[">])', text, flags=re.M):
        project = re.match(r"(lib|backends|simulators|tools|tests|examples|offramp)/", include)
        if project and os.path.dirname(include) not in allowed(folder) and not include.startswith(public(folder) + EXCEPTIONS.get(path, ())):
            errors.append(f"{path}: {line.strip()} goes against the arrows")
        if not path.startswith(MAY_KNOW_MPI) and path not in KNOW_MPI and re.match(r"(mpi\.h|mpi/)", include):
            errors.append(f"{path}: {line.strip()}: only lib/run/mpi and lib/run/native know MPI")
        if re.match(r"ucp/|ucs/|uct/", include) and path not in KNOW_UCX:
            errors.append(f"{path}: {line.strip()}: only {', '.join(KNOW_UCX)} know UCX")
        # The folder has the headers that Open MPI 5 does not install.
        if re.match(r"(ompi|opal)[/_]", include) and not path.startswith((KNOWS_OPEN_MPI, "lib/run/native/openmpi5/")):
            errors.append(f"{path}: {line.strip()}: only {KNOWS_OPEN_MPI} knows Open MPI's internal headers")
    return errors


@functools.cache
def sources():
    """Path -> text, for all sources of the product, and of the rooms that only tests and examples link."""
    found = {}
    for top in ("include", "simulators", "backends", "lib", "tools", *(room for room in links() if room.startswith("tests/"))):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in files:
                if name.endswith((".cpp", ".hpp", ".h", ".c")):
                    path = os.path.relpath(os.path.join(folder, name), ROOT)
                    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                        found[path] = file.read()
    return found


def test_includes(tally):
    errors = [error for path, text in sources().items() for error in check(path, text)]
    tally.record("layers/includes follow the links", not errors, "\n".join(errors))
    planted = check("simulators/zrlmpi/x.cpp", '#include "lib/run/engine/engine.hpp"\n#include <mpi.h>\n'
                    '#include "ompi/request/request.h"\n#include <ucp/api/ucp.h>\n')
    planted += check("backends/cclo/x.cpp", '#include "tests/cclo/card/machine.hpp"\n')
    tally.record("layers/a planted include is found", len(planted) == 5, "\n".join(planted))


def test_lists(tally):
    by_hand = []
    for top in ("tests", "bench", "scripts", "tools", "lib", "cmake"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in files:
                if "corpus" not in folder and "__pycache__" not in folder and not name.endswith((".tsv", ".svg", ".json")):
                    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                        by_hand += lists(os.path.relpath(os.path.join(folder, name), ROOT), file.read())
    tally.record("layers/no list of all backends is written by hand", not by_hand, "\n".join(by_hand))
    planted = lists("x", ",".join(os.listdir(os.path.join(ROOT, "backends"))))
    tally.record("layers/a planted list is found", len(planted) == 1, "\n".join(planted))


def test_switches(tally):
    switches = [error for path, text in sources().items() for error in defaults(path, text)]
    tally.record("layers/switches over kinds of operation name each", not switches, "\n".join(switches))
    planted = defaults("x.cpp", "switch (kind) {\n  case OperationKind::kBcast: { return 1; }\n  default:\n    return 2;\n}\n")
    tally.record("layers/a planted default is found", len(planted) == 1, "\n".join(planted))


def test_rooms(tally):
    drivers = {path for path in sources() if path.startswith("backends/")}
    wrong = rooms(drivers)
    tally.record("layers/backends have the same rooms", not wrong, "\n".join(wrong))
    planted = rooms(drivers - {"backends/cclo/explain.cpp"} | {"backends/host/messages.cpp"})
    tally.record("layers/a planted room is found, and one that is missing", len(planted) == 2, "\n".join(planted))


def test_code_lines(tally):
    """Each room of the product has at most the code lines that tests/code_lines.json says, and all together the limit there."""
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/code-lines"), "--check"], capture_output=True, text=True)
    tally.record("layers/rooms grow only with their number (scripts/code-lines)", done.returncode == 0, done.stdout + done.stderr)
