"""Debian packages made by CPack: four of them, whose contents, unpacked into an empty folder, run a program and compile one."""

import glob
import os
import subprocess
import tempfile

from launch import base_environment, mpi_of, run as launch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 300
# What a package has to have.
CONTENTS = {
    "libofframp0": ["libofframp.so", "offramp/offramp-fabric-ucx.so", "libofframp-dpu.so", "libofframp-tinsel.so"],
    "offramp": ["bin/offramp", "libexec/offramp/offramp-measure", "man1/offramp.1", "bash-completion/completions/offramp",
                "wireshark"],
    "libofframp-dev": ["include/offramp/dpu/", "include/offramp/tinsel.h", "pkgconfig/offramp.pc", "offrampConfig.cmake"],
    "offramp-doc": ["LICENSE", "docs/tutorial.md", "examples/jacobi/jacobi.c"],
}
NEEDS = {"libofframp0": ["libc6", "libucx0"], "offramp": ["libofframp0", "libhwloc15"], "libofframp-dev": ["libofframp0"]}


def text_of(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def run(arguments, tally):
    with tempfile.TemporaryDirectory() as folder:
        made = launch(["cpack", "-G", "DEB", "--config", os.path.join(arguments.build, "CPackConfig.cmake"), "-B", folder],
                      base_environment(), LIMIT, cwd=folder)
        files = {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(folder, "*.deb"))}
        tally.record("packages/cpack makes them", made.ok and sorted(files) == sorted(CONTENTS), made.output, made.seconds)
        if sorted(files) != sorted(CONTENTS):
            return
        root = os.path.join(folder, "root")
        for name, path in files.items():
            listed = text_of("dpkg-deb", "--contents", path)
            needed = text_of("dpkg-deb", "--field", path, "Depends")
            ok = all(part in listed for part in CONTENTS[name]) and all(part in needed for part in NEEDS.get(name, []))
            tally.record(f"packages/{name} has what belongs to it, and asks for what it needs", ok, listed + needed)
            subprocess.run(["dpkg-deb", "--extract", path, root], check=True, timeout=60)
        offramp = os.path.join(root, "usr/bin/offramp")
        program = os.path.join(arguments.build, "tests/mpi/fixed_pattern")
        result = launch([offramp, "run", "-n", "2", "--backend", "zrlmpi", "--", program], base_environment(), 60)
        tally.record("packages/what is unpacked runs a program", result.ok and "ok fixed_pattern" in result.output and
                     "backend zrlmpi" in result.output, result.output, result.seconds)
        found = glob.glob(os.path.join(root, "usr/lib/**/pkgconfig"), recursive=True)
        env = base_environment({"PKG_CONFIG_PATH": ":".join(found)})
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "offramp"], env=env, capture_output=True, text=True,
                               timeout=60, check=False).stdout.split()
        binary = os.path.join(folder, "jacobi")
        source = os.path.join(ROOT, "examples/jacobi/jacobi.c")
        result = launch([mpi_of(arguments.build).compiler, source, "-o", binary, *flags, "-lm"], env, 60)
        if result.ok:
            result = launch([*mpi_of(arguments.build).start(2, {"OFFRAMP_BACKEND": "cclo"}), binary], env, 60)
        tally.record("packages/what is unpacked is linked", result.ok and "backend cclo" in result.output, result.output,
                     result.seconds)
