"""The arrows of the architecture: tools -> lib -> backends -> simulators/NAME -> simulators/model -> include. Of a run, the engine
(lib/engine) carries the data, and the live clock (lib/live_clock) stands on it; programs in a world (lib/replay) know neither. All three
read the configuration, and none knows the simulator of a device. The offload service (lib/dpu_service) stands beside the models; what it and the model of its hardware both run has a folder beneath both
(lib/dpu_protocol), which knows no transport. Programs of threads (lib/tinsel_threads) run on their simulator
alone."""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

GROUND = ("offramp/kernel/",)
INTERFACE = ("offramp/kernel/", "offramp/model/")
# Folder -> what its files may include of the project; of several folders that a file lies in, the innermost counts.
ALLOWED = {
    "include/offramp": ("offramp/version.hpp",),
    "include/offramp/dpu": ("offramp/dpu/",),
    "include/offramp/kernel": GROUND,
    "include/offramp/model": INTERFACE,
    "simulators/model": ("simulators/model/", *INTERFACE),
    "backends": ("backends/", "simulators/", *INTERFACE),
    "backends/dpu": ("backends/", "simulators/", "lib/dpu_protocol/", *INTERFACE),
    "lib/fabric": ("lib/fabric/", *GROUND),
    "lib/dpu_protocol": ("lib/dpu_protocol/", *GROUND),
    "lib/dpu_service": ("lib/dpu_service/", "lib/dpu_protocol/", "offramp/dpu/", *GROUND),
    "lib/tinsel_threads": ("lib/tinsel_threads/", "simulators/tinsel/", "offramp/tinsel.h", *GROUND),
    "lib/recording": ("lib/recording/", "lib/configuration/output_file.hpp", *INTERFACE),
    "lib/configuration": ("lib/configuration/", "simulators/model/", "simulators/network/", *INTERFACE),
    "lib/engine": ("lib/engine/", "lib/configuration/", "lib/fabric/", "lib/recording/", "simulators/model/", *INTERFACE),
    "lib/live_clock": ("lib/live_clock/", "lib/engine/", "lib/fabric/", "simulators/model/", *INTERFACE),
    # What both count, and the certificate of what both did, are the engine's.
    "lib/replay": ("lib/replay/", "lib/engine/counters.hpp", "lib/engine/certificate.hpp", "lib/configuration/", "lib/recording/",
                   "simulators/model/", "simulators/network/", *INTERFACE),
    "lib/advice": ("lib/advice/", "lib/replay/", "lib/report/", "lib/configuration/", "lib/recording/", "simulators/model/", *INTERFACE),
    # Plans of MSCCL are XML, as platform files are.
    "lib/trace": ("lib/trace/", "lib/replay/", "lib/recording/", "lib/configuration/", "lib/report/words.hpp", "simulators/network/xml_tree.hpp", *INTERFACE),
    # A program becomes an archive of its calls by a replay.
    "lib/otf2": ("lib/otf2/", "lib/trace/", "lib/replay/", "lib/report/replay_records.hpp", "lib/recording/", "lib/configuration/", *INTERFACE),
    "lib/scale": ("lib/scale/", "lib/trace/", "lib/recording/", "lib/replay/forecast.hpp", "lib/replay/pattern.hpp",
                  "lib/report/words.hpp", *INTERFACE),
    # The names of the spans that a world records itself, and what its operations are about.
    "lib/report": ("lib/", "offramp/", "simulators/model/network.hpp", "simulators/model/world_log.hpp"),
    "lib/native": ("lib/native/", "offramp/generated/", *GROUND),
    "lib/mpi/marshal": ("lib/mpi/marshal/", "lib/native/", "lib/engine/", "lib/recording/", *INTERFACE),
    "lib/mpi/runtime": ("lib/mpi/runtime/", "lib/mpi/marshal/", "lib/native/", "lib/configuration/", "lib/engine/", "lib/live_clock/",
                        "lib/replay/", "lib/recording/", "lib/report/", "lib/fabric/", "simulators/model/", "offramp/"),
    "lib": ("lib/", "offramp/"),
    "tools": ("tools/", "lib/", "offramp/"),
}
for simulator in sorted(set(os.listdir(os.path.join(ROOT, "simulators"))) - {"model", "dpu"}):
    ALLOWED[f"simulators/{simulator}"] = (f"simulators/{simulator}/", "simulators/model/", *INTERFACE)
ALLOWED["simulators/dpu"] = ("simulators/dpu/", "simulators/model/", "lib/dpu_protocol/", *INTERFACE)
# The one table that names the built-in backends; and the door to what is compiled where OTF2's library is.
EXCEPTIONS = {"lib/configuration/registry.cpp": ("backends/",), "lib/trace/otf2.cpp": ("lib/otf2/",)}
NO_MPI = ("include", "simulators", "backends", "lib/configuration", "lib/engine", "lib/live_clock", "lib/replay", "lib/advice", "lib/recording", "lib/trace", "lib/otf2", "lib/scale", "lib/fabric",
          "lib/dpu_protocol", "lib/dpu_service", "lib/tinsel_threads", "tools")
# A program for mpirun.
KNOW_MPI = ("tools/measure.c",)
KNOWS_OPEN_MPI = "lib/native/openmpi.c"
KNOW_UCX = ("lib/fabric/ucx_fabric.cpp", "lib/dpu_service/ucx_transport.cpp")

# The files that each backend has, so that one who knows a backend knows where to look in another one. Where a room is missing, what it would
# hold is in NAME.cpp, or there is nothing of it.
ROOMS = {
    "NAME": "description, and verdicts unless they have a file of their own",
    "parameters": "the table of parameters, and the settings that they make",
    "messages": "the stages of a message",
    "collectives": "which algorithm runs a kind of collective",
    "explain": "the topics of offramp explain",
    "validation": "published figures and the model's",
}
WITHOUT = {("host", "messages"), ("host", "explain"), ("tinsel", "messages")}
# A switch over the kinds of operation names each: a kind that is new, and forgotten somewhere, does not compile.
KINDS = re.compile(r"case (?:OperationKind::)?k(?:Bcast|Reduce|Gather|Allreduce|Alltoall)\b")


def lists(path, text):
    """Lines that name most backends: what goes through all of them asks the registry (tests/registry.py, tests/built_in_names.hpp)."""
    names = os.listdir(os.path.join(ROOT, "backends"))
    return [f"{path}:{number}: a list of backends" for number, line in enumerate(text.splitlines(), 1)
            if sum(re.search(rf"\b{name}\b", line) is not None for name in names) >= len(names) - 1]


def rooms(listed):
    """What is wrong with the rooms of the backends; listed: their files, as backends/NAME/FILE.cpp."""
    errors = []
    for backend in sorted({path.split("/")[1] for path in listed}):
        for room in ROOMS:
            there = f"backends/{backend}/{backend if room == 'NAME' else room}.cpp" in listed
            if there == ((backend, room) in WITHOUT):
                errors.append(f"{backend} {'has' if there else 'has no'} {room}: {ROOMS[room]}")
    return errors


def defaults(path, text):
    """Switches over kinds of operation that have a default."""
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


def folder_of(path):
    return max((folder for folder in ALLOWED if path.startswith(folder + "/")), key=len, default=None)


def check(path, text):
    errors = []
    folder = folder_of(path)
    for line, include in re.findall(r'^(\s*#include\s+[<"]([^">]+)[">])', text, flags=re.M):
        project = re.match(r"(lib|backends|simulators|tools|tests|offramp)/", include)
        allowed = ALLOWED[folder] + EXCEPTIONS.get(path, ())
        if project and not include.startswith(allowed):
            errors.append(f"{path}: {line.strip()} goes against the arrows")
        if path.startswith(NO_MPI) and path not in KNOW_MPI and re.match(r"(mpi\.h|mpi/)", include):
            errors.append(f"{path}: {line.strip()}: only lib/mpi and lib/native know MPI")
        if re.match(r"ucp/|ucs/|uct/", include) and path not in KNOW_UCX:
            errors.append(f"{path}: {line.strip()}: only {', '.join(KNOW_UCX)} know UCX")
        # The folder has what is missing among the headers that Open MPI 5 installs.
        if re.match(r"(ompi|opal)[/_]", include) and not path.startswith((KNOWS_OPEN_MPI, "lib/native/openmpi5/")):
            errors.append(f"{path}: {line.strip()}: only {KNOWS_OPEN_MPI} knows Open MPI's internal headers")
    return errors


def test_architecture(tally):
    errors, switches, drivers = [], [], set()
    for top in ("include", "simulators", "backends", "lib", "tools"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in files:
                if name.endswith((".cpp", ".hpp", ".h", ".c")):
                    full = os.path.join(folder, name)
                    with open(full, encoding="utf-8") as file:
                        path, text = os.path.relpath(full, ROOT), file.read()
                    errors += check(path, text)
                    switches += defaults(path, text)
                    drivers |= {path} if top == "backends" else set()
    tally.record("layers/includes follow the arrows", not errors, "\n".join(errors))
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
    tally.record("layers/switches over kinds of operation name each", not switches, "\n".join(switches))
    planted = defaults("x.cpp", "switch (kind) {\n  case OperationKind::kBcast: { return 1; }\n  default:\n    return 2;\n}\n")
    tally.record("layers/a planted default is found", len(planted) == 1, "\n".join(planted))
    wrong = rooms(drivers)
    tally.record("layers/backends have the same rooms", not wrong, "\n".join(wrong))
    planted = rooms(drivers - {"backends/cclo/explain.cpp"} | {"backends/host/messages.cpp"})
    tally.record("layers/a planted room is found, and one that is missing", len(planted) == 2, "\n".join(planted))
    planted = check("simulators/zrlmpi/x.cpp", '#include "lib/engine/engine.hpp"\n#include <mpi.h>\n'
                    '#include "ompi/request/request.h"\n#include <ucp/api/ucp.h>\n')
    tally.record("layers/a planted include is found", len(planted) == 4, "\n".join(planted))
