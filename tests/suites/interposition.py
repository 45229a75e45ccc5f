"""The ways in which users put Offramp in front of a program, and what the library shows to the outside."""

import os
import re
import shutil
import subprocess
import tempfile

from launch import base_environment, mpirun, run as launch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "tests/mpi/fixed_pattern.c")
PROOF = "offramp: backend host, 2 ranks"


def exported_symbols(arguments, tally):
    library = os.path.join(arguments.build, "lib/libofframp.so")
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in text.splitlines()]
    others = [name for name in names if not re.match(r"(P?MPIX?_|offramp_)", name)]
    pairs = [name for name in names if name.startswith(("MPI_", "MPIX_")) and "P" + name not in names]
    ok = not others and not pairs and "MPI_Send" in names and "offramp_modelled_time_ps" in names
    tally.record("interposition/only MPI and offramp_ symbols are exported", ok, f"{others} {pairs}")


def built_against(arguments, tally, name, flags, prefix):
    """Compiles a program with the flags and runs it without a preload."""
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "app")
        compiled = launch(["mpicc", "-o", binary, PROGRAM, *flags, "-lm"], base_environment(), 60)
        env_flags = ["-x", "OFFRAMP_BACKEND=host", "-x", f"LD_LIBRARY_PATH={prefix}/lib"]
        result = launch(["mpirun", "--oversubscribe", "-n", "2", *env_flags, binary], base_environment(), 60)
        ok = compiled.ok and result.ok and PROOF in result.output
        tally.record(f"interposition/{name}", ok, compiled.output + result.output, result.seconds)


def installed(arguments, tally):
    """cmake --install, then pkg-config, find_package and the installed command."""
    prefix = tempfile.mkdtemp()
    try:
        done = launch(["cmake", "--install", arguments.build, "--prefix", f"{prefix}/usr"], base_environment(), 60)
        if not done.ok:
            tally.record("interposition/cmake --install", False, done.output)
            return
        wanted = ["bin/offramp", "lib/libofframp.so", "lib/offramp/offramp-fabric-ucx.so", "lib/pkgconfig/offramp.pc",
                  "include/offramp/offramp.h", "include/offramp/model/backend.hpp", "include/offramp/kernel/time.hpp",
                  "lib/cmake/offramp/offrampConfig.cmake"]
        missing = [path for path in wanted if not os.path.exists(f"{prefix}/usr/{path}")]
        tally.record("interposition/cmake --install", not missing, f"missing: {missing}")

        env = base_environment({"PKG_CONFIG_PATH": f"{prefix}/usr/lib/pkgconfig"})
        flags = subprocess.run(["pkg-config", "--libs", "offramp"], env=env, capture_output=True, text=True,
                               check=True).stdout.split()
        built_against(arguments, tally, "link order with pkg-config", flags, f"{prefix}/usr")
        find_package(tally, prefix)
        command = [f"{prefix}/usr/bin/offramp", "run", "-n", "2", "--backend", "host", "--",
                   os.path.join(arguments.build, "tests/mpi/fixed_pattern")]
        result = launch(command, base_environment(), 60)
        tally.record("interposition/the installed offramp run", result.ok and PROOF in result.output, result.output,
                     result.seconds)
    finally:
        shutil.rmtree(prefix)


def find_package(tally, prefix):
    project = os.path.join(prefix, "consumer")
    os.makedirs(project)
    shutil.copy(PROGRAM, os.path.join(project, "app.c"))
    for header in ("check.h", "cases.h"):
        shutil.copy(os.path.join(ROOT, "tests/mpi", header), project)
    with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write("cmake_minimum_required(VERSION 3.25)\nproject(consumer C)\nfind_package(MPI REQUIRED)\n"
                   "find_package(offramp REQUIRED)\nadd_executable(app app.c)\n"
                   "target_link_libraries(app offramp::offramp MPI::MPI_C m)\n")
    for step in [["cmake", "-S", project, "-B", f"{project}/build", f"-DCMAKE_PREFIX_PATH={prefix}/usr"],
                 ["cmake", "--build", f"{project}/build"]]:
        done = launch(step, base_environment(), 120)
        if not done.ok:
            tally.record("interposition/find_package", False, done.output)
            return
    result = launch(["mpirun", "--oversubscribe", "-n", "2", "-x", "OFFRAMP_BACKEND=host", f"{project}/build/app"],
                    base_environment(), 60)
    tally.record("interposition/find_package", result.ok and PROOF in result.output, result.output, result.seconds)


def bystanders(arguments, tally):
    """Preloaded into programs that are not MPI programs, and switched off."""
    env = base_environment({"LD_PRELOAD": os.path.join(arguments.build, "lib/libofframp.so")})
    result = launch(["/bin/sh", "-c", "echo fine | cat"], env, 20)
    tally.record("interposition/a program without MPI is left alone", result.output == "fine\n", result.output)
    program = os.path.join(arguments.build, "tests/mpi/fixed_pattern")
    off = mpirun(arguments.build, "off", 2, [program], 60)
    tally.record("interposition/off says and does nothing", off.ok and "offramp:" not in off.output, off.output,
                 off.seconds)
    offline = launch([os.path.join(arguments.build, "bin/offramp"), "run", "-n", "2", "--backend", "host", "--", program],
                     base_environment(), 60)
    tally.record("interposition/offramp run from the build folder", offline.ok and PROOF in offline.output,
                 offline.output, offline.seconds)


def another_mpi(arguments, tally):
    """A program of another MPI, with a library that stands in for it: one line, and it runs by itself."""
    with tempfile.TemporaryDirectory() as folder:
        library, program = os.path.join(folder, "libmpich.so.12"), os.path.join(folder, "app")
        source = os.path.join(folder, "app.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stdio.h>\nint MPI_Init(int*, char***);\nint MPI_Finalize(void);\n"
                       'int main(void) { MPI_Init(0, 0); puts("it runs"); return MPI_Finalize(); }\n')
        for command in (["gcc", "-shared", "-fPIC", "-Wl,-soname,libmpich.so.12", "-o", library,
                         os.path.join(ROOT, "tests/fixtures/other_mpi/library.c")],
                        ["gcc", "-o", program, source, library, f"-Wl,-rpath,{folder}"]):
            subprocess.run(command, check=True, timeout=60)
        preload = {"LD_PRELOAD": os.path.join(arguments.build, "lib/libofframp.so"), "OFFRAMP_BACKEND": "host"}
        loaded = launch([program], base_environment(preload), 20)
        lines = [line for line in loaded.output.splitlines() if line.startswith("offramp:")]
        ok = loaded.ok and "it runs" in loaded.output and len(lines) == 1 and library in lines[0]
        tally.record("interposition/a program of another MPI is refused at load", ok, loaded.output, loaded.seconds)
        told = launch([os.path.join(arguments.build, "bin/offramp"), "check", program], base_environment(), 20)
        ok = not told.ok and "libmpich.so.12" in told.output and told.output.count("offramp:") == 1
        tally.record("interposition/a program of another MPI is refused by check", ok, told.output, told.seconds)


def run(arguments, tally):
    if not tally.wants("interposition"):
        return
    exported_symbols(arguments, tally)
    bystanders(arguments, tally)
    another_mpi(arguments, tally)
    installed(arguments, tally)
