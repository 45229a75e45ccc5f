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
    "lib/recording": ("lib/recording/", *INTERFACE),
    "lib/configuration": ("lib/configuration/", "simulators/model/", "simulators/network/", *INTERFACE),
    "lib/engine": ("lib/engine/", "lib/configuration/", "lib/fabric/", "lib/recording/", "simulators/model/", *INTERFACE),
    "lib/live_clock": ("lib/live_clock/", "lib/engine/", "lib/fabric/", "simulators/model/", *INTERFACE),
    # What both count, and the certificate of what both did, are the engine's.
    "lib/replay": ("lib/replay/", "lib/engine/counters.hpp", "lib/engine/certificate.hpp", "lib/configuration/", "lib/recording/",
                   "simulators/model/", "simulators/network/", *INTERFACE),
    "lib/trace": ("lib/trace/", "lib/replay/", "lib/recording/", "lib/configuration/", "lib/report/words.hpp", *INTERFACE),
    "lib/native": ("lib/native/", "offramp/generated/", *GROUND),
    "lib/mpi/marshal": ("lib/mpi/marshal/", "lib/native/", "lib/engine/", "lib/recording/", *INTERFACE),
    "lib/mpi/runtime": ("lib/mpi/runtime/", "lib/mpi/marshal/", "lib/native/", "lib/configuration/", "lib/engine/", "lib/live_clock/",
                        "lib/replay/", "lib/recording/", "lib/report/", "lib/fabric/", "simulators/model/", "offramp/"),
    "lib": ("lib/", "offramp/"),
    "tools": ("tools/", "lib/", "offramp/"),
}
for simulator in ("aie", "cclo", "network", "tinsel", "zrlmpi"):
    ALLOWED[f"simulators/{simulator}"] = (f"simulators/{simulator}/", "simulators/model/", *INTERFACE)
ALLOWED["simulators/dpu"] = ("simulators/dpu/", "simulators/model/", "lib/dpu_protocol/", *INTERFACE)
# The one table that names the built-in backends.
EXCEPTIONS = {"lib/configuration/registry.cpp": ("backends/",)}
NO_MPI = ("include", "simulators", "backends", "lib/configuration", "lib/engine", "lib/live_clock", "lib/replay", "lib/recording", "lib/trace", "lib/fabric",
          "lib/dpu_protocol", "lib/dpu_service", "lib/tinsel_threads", "tools")
# A program for mpirun.
KNOW_MPI = ("tools/measure.c",)
KNOWS_OPEN_MPI = "lib/native/openmpi.c"
KNOW_UCX = ("lib/fabric/ucx_fabric.cpp", "lib/dpu_service/ucx_transport.cpp")


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


def run(_arguments, tally):
    errors = []
    for top in ("include", "simulators", "backends", "lib", "tools"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in files:
                if name.endswith((".cpp", ".hpp", ".h", ".c")):
                    full = os.path.join(folder, name)
                    with open(full, encoding="utf-8") as file:
                        errors += check(os.path.relpath(full, ROOT), file.read())
    tally.record("layers/includes follow the arrows", not errors, "\n".join(errors))
    planted = check("simulators/zrlmpi/x.cpp", '#include "lib/engine/engine.hpp"\n#include <mpi.h>\n'
                    '#include "ompi/request/request.h"\n#include <ucp/api/ucp.h>\n')
    tally.record("layers/a planted include is found", len(planted) == 4, "\n".join(planted))
