"""The ways to put Offramp in front of a program, and the symbols that the library exports."""

import argparse
import os
import re
import shutil
import subprocess
import tempfile

from launch import base_environment, mpi_of, mpirun, run as launch, starts_several_programs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "tests/mpi/fixed_pattern.c")
PROOF = "offramp: host, 2 ranks"


def test_exported_symbols(arguments, tally):
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
        mpi = mpi_of(arguments.build)
        compiled = launch([mpi.compiler, "-o", binary, PROGRAM, *flags, "-lm"], base_environment(), 60)
        line = mpi.start(2, {"OFFRAMP_BACKEND": "host", "LD_LIBRARY_PATH": f"{prefix}/lib"})
        result = launch([*line, binary], base_environment(), 60)
        ok = compiled.ok and result.ok and PROOF in result.output
        tally.record(f"interposition/{name}", ok, compiled.output + result.output, result.seconds)


def test_installed(arguments, tally):
    """cmake --install, then pkg-config, find_package and the installed command."""
    prefix = tempfile.mkdtemp()
    try:
        done = launch(["cmake", "--install", arguments.build, "--prefix", f"{prefix}/usr"], base_environment(), 60)
        if not done.ok:
            tally.record("interposition/cmake --install", False, done.output)
            return
        wanted = ["bin/offramp", "lib/libofframp.so", "lib/offramp/offramp-fabric-ucx.so", "lib/offramp/offramp-audit.so",
                  "lib/pkgconfig/offramp.pc",
                  "include/offramp/offramp.h", "include/offramp/model/backend.hpp", "include/offramp/kernel/time.hpp",
                  "lib/cmake/offramp/offrampConfig.cmake"]
        missing = [path for path in wanted if not os.path.exists(f"{prefix}/usr/{path}")]
        tally.record("interposition/cmake --install", not missing, f"missing: {missing}")

        env = base_environment({"PKG_CONFIG_PATH": f"{prefix}/usr/lib/pkgconfig"})
        flags = subprocess.run(["pkg-config", "--libs", "offramp"], env=env, capture_output=True, text=True,
                               check=True).stdout.split()
        built_against(arguments, tally, "link order with pkg-config", flags, f"{prefix}/usr")
        find_package(arguments, tally, prefix)
        command = [f"{prefix}/usr/bin/offramp", "run", "-n", "2", "--backend", "host", "--",
                   os.path.join(arguments.build, "tests/mpi/fixed_pattern")]
        result = launch(command, base_environment(), 60)
        tally.record("interposition/the installed offramp run", result.ok and PROOF in result.output, result.output,
                     result.seconds)
    finally:
        shutil.rmtree(prefix)


def find_package(arguments, tally, prefix):
    mpi = mpi_of(arguments.build)
    project = os.path.join(prefix, "consumer")
    os.makedirs(project)
    shutil.copy(PROGRAM, os.path.join(project, "app.c"))
    for header in ("check.h", "cases.h"):
        shutil.copy(os.path.join(ROOT, "tests/mpi", header), project)
    with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write("cmake_minimum_required(VERSION 3.25)\nproject(consumer C)\nfind_package(MPI REQUIRED)\n"
                   "find_package(offramp REQUIRED)\nadd_executable(app app.c)\n"
                   "target_link_libraries(app offramp::offramp MPI::MPI_C m)\n")
    for step in [["cmake", "-G", "Ninja", "-S", project, "-B", f"{project}/build", f"-DCMAKE_PREFIX_PATH={prefix}/usr",
                  f"-DMPI_C_COMPILER={mpi.compiler}"],
                 ["cmake", "--build", f"{project}/build"]]:
        done = launch(step, base_environment(), 120)
        if not done.ok:
            tally.record("interposition/find_package", False, done.output)
            return
    result = launch([*mpi.start(2, {"OFFRAMP_BACKEND": "host"}), f"{project}/build/app"], base_environment(), 60)
    tally.record("interposition/find_package", result.ok and PROOF in result.output, result.output, result.seconds)


def test_bystanders(arguments, tally):
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


def test_calls_past_preloaded_libraries(arguments, tally):
    """MPI functions from a handle, and those of a library that is opened with RTLD_DEEPBIND."""
    mpi = mpi_of(arguments.build)
    source = os.path.join(ROOT, "tests/fixtures/past_preload.c")
    with tempfile.TemporaryDirectory() as folder:
        program, library = os.path.join(folder, "app"), os.path.join(folder, "app.so")
        for command in (["gcc", "-DPROGRAM", "-o", program, source], [mpi.compiler, "-shared", "-fPIC", "-o", library, source]):
            subprocess.run(command, check=True, timeout=60)
        offramp = os.path.join(arguments.build, "bin/offramp")
        for way in ("by_handle", "by_linker"):
            result = launch([offramp, "run", "-n", "2", "--backend", "host", "--", program, library, way], base_environment(), 60)
            ok = result.ok and PROOF in result.output and "sum 1, nothing to audit" in result.output
            tally.record(f"interposition/calls that go past preloaded libraries, {way}", ok, result.output, result.seconds)
        result = launch([*mpi.start(2, preload_of(arguments)), program, library, "by_handle"], base_environment(), 60)
        ok = result.ok and "sum 1," in result.output and len(said(result)) == 1 and "used MPI without Offramp" in said(result)[0]
        tally.record("interposition/calls that go past Offramp are named", ok, result.output, result.seconds)


def test_script_that_drops_offramp(arguments, tally):
    program = os.path.join(arguments.build, "tests/mpi/fixed_pattern")
    result = launch([os.path.join(arguments.build, "bin/offramp"), "run", "-n", "2", "--backend", "host", "--", "sh", "-c",
                     f"unset LD_PRELOAD LD_AUDIT; {program}"], base_environment(), 60)
    ok = ("exit status 74" in result.output and "ok fixed_pattern" in result.output
          and "no rank was carried: MPI_Init was not called, or not with LD_PRELOAD" in result.output)
    tally.record("interposition/a script that drops Offramp", ok, result.output, result.seconds)


def test_libraries_of_the_program(arguments, tally):
    """An older C++ library and a library with much thread-local memory, in a program and behind a script."""
    libraries = [os.path.join(arguments.build, "lib", name) for name in ("libofframp.so", "offramp/offramp-fabric-ucx.so")]
    needed = subprocess.run(["readelf", "-d", *libraries], capture_output=True, text=True, check=True).stdout
    shared = re.findall(r"\[(lib(?:stdc\+\+|fmt|expat|z)\.so\S*)\]", needed)
    tally.record("interposition/the library contains what it needs", not shared, str(shared))
    with tempfile.TemporaryDirectory() as folder:
        path = subprocess.run(["g++", "-print-file-name=libstdc++.so.6"], capture_output=True, text=True, check=True).stdout.strip()
        with open(path, "rb") as file:
            content = file.read()
        newest = max(re.findall(rb"GLIBCXX_3\.4\.(\d+)\0", content), key=int)
        with open(os.path.join(folder, "libstdc++.so.6"), "wb") as file:
            file.write(content.replace(b"GLIBCXX_3.4." + newest + b"\0", b"GLIBCXX_3.4." + newest[:-1] + b"z\0"))
        source = os.path.join(ROOT, "tests/fixtures/own_libraries.cpp")
        library, program = os.path.join(folder, "libcache.so"), os.path.join(folder, "app")
        for words in (["g++", "-shared", "-fPIC", "-DLIBRARY", "-o", library, source],
                      [mpi_of(arguments.build).tool("mpicxx"), "-o", program, source, library, f"-Wl,--disable-new-dtags,-rpath,{folder}"]):
            subprocess.run(words, check=True, timeout=60)
        offramp = [os.path.join(arguments.build, "bin/offramp"), "run", "-n", "2", "--backend", "host", "--"]
        for tunables, command in (("none", ["sh", "-c", program]), ("glibc.rtld.optional_static_tls=600:glibc.malloc.perturb=1", [program])):
            environment = {"LD_LIBRARY_PATH": folder, **({} if tunables == "none" else {"GLIBC_TUNABLES": tunables})}
            result = launch([*offramp, *command], base_environment(environment), 60)
            ok = result.ok and PROOF in result.output and f"caught 2, children get {tunables}\n" in result.output
            tally.record(f"interposition/libraries of the program, tunables {tunables}", ok, result.output, result.seconds)


def test_some_ranks_without(arguments, tally):
    """Jobs of several programs, some of them without Offramp: started by hand; offramp run gives it to all."""
    label = "interposition/ranks without Offramp are named"
    if not starts_several_programs():
        tally.skip(label, "mpirun starts one program only")
        return
    mpi = mpi_of(arguments.build)
    program = os.path.join(arguments.build, "tests/mpi/fixed_pattern")
    with_offramp = [word for name, value in preload_of(arguments).items()
                    for word in (["-env", name, value] if mpi.family == "mpich" else ["-x", f"{name}={value}"])]
    for first, second, expected in ((with_offramp, [], "rank 1 has no Offramp; rank 0 has Offramp"),
                                    ([], with_offramp, "rank 0 has no Offramp; rank 1 has Offramp")):
        result = launch([*mpi.start(1), *first, program, ":", "-n", "1", *second, program], base_environment(), 60)
        ok = not result.ok and "still running" not in result.output and result.output.count("offramp: ") == 1
        tally.record(label, ok and expected in result.output, result.output, result.seconds)
    offramp = os.path.join(arguments.build, "bin/offramp")
    result = launch([offramp, "run", "-n", "1", "--backend", "host", "--", program, ":", "-n", "1", program], base_environment(), 60)
    tally.record("interposition/offramp run with several programs", result.ok and PROOF in result.output, result.output, result.seconds)


def said(result):
    return [line for line in result.output.splitlines() if line.startswith("offramp:")]


def preload_of(arguments):
    return {"LD_PRELOAD": os.path.join(arguments.build, "lib/libofframp.so"), "OFFRAMP_BACKEND": "host"}


def preloaded(arguments, settings=None):
    return base_environment({**preload_of(arguments), **(settings or {})})


def test_any_other_mpi(arguments, tally):
    """A library of an unknown MPI: Offramp prints one line, and the program runs natively."""
    with tempfile.TemporaryDirectory() as folder:
        library, program = os.path.join(folder, "libmpi.so.12"), os.path.join(folder, "app")
        source = os.path.join(folder, "app.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stdio.h>\nint MPI_Init(int*, char***);\nint MPI_Finalize(void);\n"
                       'int main(int n, char** v) { MPI_Init(0, 0); printf("%s runs\\n", v[n - 1]); return MPI_Finalize(); }\n')
        for command in (["gcc", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", "-o", library,
                         os.path.join(ROOT, "tests/fixtures/other_mpi/library.c")],
                        ["gcc", "-o", program, source, library, f"-Wl,-rpath,{folder}"]):
            subprocess.run(command, check=True, timeout=60)
        loaded = launch([program, "a b", ""], preloaded(arguments), 20)
        ok = loaded.ok and " runs" in loaded.output.splitlines() and len(said(loaded)) == 1 and library in said(loaded)[0]
        tally.record("interposition/a program of any other MPI runs by itself", ok, loaded.output, loaded.seconds)
        if mpi_of(arguments.build).skips(tally, "interposition/check of any other MPI", "openmpi", "libmpi.so.12 is of MPICH's family"):
            return
        told = launch([os.path.join(for_one_library(arguments.build, folder), "bin/offramp"), "check", program], base_environment(), 20)
        ok = not told.ok and "libmpi.so.12" in told.output and len(said(told)) == 1
        tally.record("interposition/a program of any other MPI is refused by check", ok, told.output, told.seconds)


MPICH_PROGRAMS = ["nonblocking.c", "other_collectives.c", "rma_beside.c", "files_beside.c", "threads_beside.c",
                  "performance_variables.c"]

# The Fortran programs of tests/mpi need Open MPI.
IN_FORTRAN = """program ring
  use mpi
  implicit none
  integer :: rank, ranks, error, total, got

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 7, got, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 7, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)

  call MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  total = ranks * (ranks - 1) / 2
  if (got /= total) call MPI_Abort(MPI_COMM_WORLD, 1, error)
  if (rank == 0) print '(a)', 'ok ring'
  call MPI_Finalize(error)
end program
"""

SHOWS_LIBRARIES = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  while (fgets(line, sizeof line, maps) != NULL) fputs(line, stdout);
  return MPI_Finalize();
}
"""

# Like an interpreter's module: the library comes with it, and its functions are found by name.
OPENS_MPI = """#include <dlfcn.h>
#include <stdio.h>
int MPI_Init(int*, char***);
int main(void) {
  if (dlopen("libmpich.so.12", RTLD_NOW | RTLD_GLOBAL) == NULL) return 3;
  int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(RTLD_DEFAULT, "MPI_Init");
  if (init == NULL) return 4;
  init(NULL, NULL);
  puts("it goes on");
  return 0;
}
"""


def compile_with_mpich(source, binary, flags=()):
    compiler = "mpifort.mpich" if source.endswith(".f90") else "mpicc.mpich"
    return launch([compiler, "-I", ROOT, "-o", binary, source, *flags, "-lm"], base_environment(), 60)


def for_one_library(build, folder):
    """A copy without the libraries for other families."""
    copy = os.path.join(folder, "for-one-library")
    for part in ("bin/offramp", "lib/libofframp.so"):
        os.makedirs(os.path.dirname(os.path.join(copy, part)), exist_ok=True)
        shutil.copy(os.path.join(build, part), os.path.join(copy, part))
    os.symlink("libofframp.so", os.path.join(copy, "lib/libofframp.so.0"))
    os.symlink(os.path.join(build, "lib/offramp"), os.path.join(copy, "lib/offramp"))
    return copy


def mpich_program(arguments, tally, folder, source):
    """With the preload, the only change is a line printed by one rank."""
    name = os.path.basename(source)
    label = f"interposition/MPICH beside Open MPI: {name}"
    if not tally.wants(label):
        return
    binary = os.path.join(folder, name.split(".")[0])
    compiled = compile_with_mpich(source, binary)
    result = launch(["mpiexec.mpich", "-n", "2", binary], preloaded(arguments), 60)
    ok = compiled.ok and result.ok and "ok " in result.output and len(said(result)) == 1
    tally.record(label, ok and "libmpich.so.12" in said(result)[0], compiled.output + result.output, result.seconds)


def test_mpich(arguments, tally):
    """Debian's own, installed beside Open MPI, and an Offramp built for Open MPI alone. mpich.py tests an Offramp built for both."""
    if mpi_of(arguments.build).skips(tally, "interposition/MPICH", "openmpi", "it is this build's own library"):
        return
    if shutil.which("mpiexec.mpich") is None or shutil.which("mpicc.mpich") is None:
        tally.skip("interposition/MPICH", "MPICH is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        arguments = argparse.Namespace(**{**vars(arguments), "build": for_one_library(arguments.build, folder)})
        offramp = os.path.join(arguments.build, "bin/offramp")
        fortran = os.path.join(folder, "ring.f90")
        with open(fortran, "w", encoding="utf-8") as file:
            file.write(IN_FORTRAN)
        for source in [fortran, *(os.path.join(ROOT, "tests/mpi", name) for name in MPICH_PROGRAMS)]:
            mpich_program(arguments, tally, folder, source)
        binary = os.path.join(folder, "app")
        compiled = compile_with_mpich(os.path.join(ROOT, "tests/mpi/sizes.c"), binary)
        off = launch(["mpiexec.mpich", "-n", "2", binary], preloaded(arguments, {"OFFRAMP_BACKEND": "off"}), 60)
        tally.record("interposition/off says nothing of MPICH", compiled.ok and off.ok and not said(off), off.output)
        loader = launch(["/lib64/ld-linux-x86-64.so.2", binary], preloaded(arguments), 60)
        tally.record("interposition/a program of MPICH that the loader is called with", loader.ok and len(said(loader)) == 1,
                     loader.output)
        shown = os.path.join(folder, "shown.c")
        with open(shown, "w", encoding="utf-8") as file:
            file.write(SHOWS_LIBRARIES)
        compiled = compile_with_mpich(shown, binary + "_maps")
        maps = launch([binary + "_maps"], preloaded(arguments), 30)
        left = re.findall(r"/\S*(?:libmpi\.so\.40|libopen-|libofframp)\S*", "\n".join(maps.output.splitlines()[1:]))
        tally.record("interposition/nothing of Open MPI or Offramp stays in a process of MPICH",
                     compiled.ok and maps.ok and "libmpich" in maps.output and not left, compiled.output + maps.output)
        for command, expected in ((["run", "-n", "2", "--", binary], 126), (["check", binary], 2)):
            refused = subprocess.run([offramp, *command], env=base_environment(), capture_output=True, text=True, timeout=60,
                                     check=False)
            ok = (refused.returncode == expected and refused.stdout == "" and refused.stderr.count("\n") == 1 and
                  "libmpich.so.12" in refused.stderr and "built for Open MPI" in refused.stderr)
            tally.record(f"interposition/offramp {command[0]} refuses a program of MPICH", ok, refused.stdout + refused.stderr)
        linked = compile_with_mpich(PROGRAM, binary, [f"-L{arguments.build}/lib", f"-Wl,-rpath,{arguments.build}/lib",
                                                      "-Wl,--no-as-needed", "-lofframp"])
        result = launch([binary], base_environment(), 30)
        ok = linked.ok and "exit status 1" in result.output and len(said(result)) == 1 and "the program is linked to it" in result.output
        tally.record("interposition/MPICH with libofframp linked in", ok, linked.output + result.output, result.seconds)
        source = os.path.join(folder, "opens.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(OPENS_MPI)
        subprocess.run(["gcc", "-o", binary, source], check=True, timeout=60)
        result = launch([binary], preloaded(arguments), 30)
        ok = "exit status 1" in result.output and "has opened another MPI library" in result.output
        tally.record("interposition/MPICH that is opened later", ok and "it goes on" not in result.output, result.output,
                     result.seconds)
