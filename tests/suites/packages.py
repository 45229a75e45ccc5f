"""Installations of Offramp. Four Debian packages by CPack: unpacked into an empty folder they run a program and compile one; they are
also installed over this machine's own system, and removed again. The modulefile of an installation that was moved. The Spack recipe."""

import glob
import os
import subprocess
import tempfile

import pytest

import overlay
import spack_recipe
from c_library import missing
from launch import base_environment, mpi_of, run as launch
from suites.snippets import all_blocks

pytestmark = pytest.mark.thorough

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 300
# The required files of a package.
CONTENTS = {
    "libofframp0": ["libofframp.so", "offramp/offramp-fabric-ucx.so", "libofframp-dpu.so", "libofframp-tinsel.so"],
    "offramp": ["bin/offramp", "libexec/offramp/offramp-measure", "man1/offramp.1", "bash-completion/completions/offramp",
                "offramp/wireshark/offramp.lua", "wireshark/plugins/offramp.lua -> ../"],
    "libofframp-dev": ["include/offramp/dpu/", "include/offramp/tinsel.h", "pkgconfig/offramp.pc", "offrampConfig.cmake"],
    "offramp-doc": ["LICENSE", "docs/tutorial.md", "examples/jacobi/jacobi.c"],
}
NEEDS = {"libofframp0": ["libc6", "libucx0"], "offramp": ["libofframp0", "libhwloc15"], "libofframp-dev": ["libofframp0"]}


def text_of(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


# The steps of an administrator and a user; $1: the folder with the packages, $2: the build, $3: the sources.
INSTALLED = """
set -ex
dpkg --path-include='/usr/share/*' --install "$1"/*.deb
cd "$(mktemp -d)"

test "$(command -v offramp)" = /usr/bin/offramp
test -s /usr/share/doc/offramp/LICENSE && test -s /usr/share/doc/offramp/docs/tutorial.md && test -s /usr/share/man/man1/offramp.1*

offramp run -n 2 --backend zrlmpi -- "$2/tests/mpi/fixed_pattern"

mpicc /usr/share/doc/offramp/examples/jacobi/jacobi.c -o linked $(pkg-config --cflags --libs offramp) -lm

ldd linked | grep -F 'libofframp.so.0 =>' | grep -v 'not found'
mpirun --oversubscribe -n 2 -x OFFRAMP_BACKEND=cclo ./linked
cmake -S /usr/share/doc/offramp/examples/tinsel -B tinsel && cmake --build tinsel

cmake -S /usr/share/doc/offramp/examples/plugin -B plugin && cmake --build plugin
bash -c '. /usr/share/bash-completion/completions/offramp; complete -p offramp'

tshark -G plugins | grep offramp.lua
dpkg --purge libofframp-dev offramp-doc offramp libofframp0
test -z "$(find /usr -path '*offramp*' -not -path "$3/*" -not -path "$2/*")"
echo all steps of an installation are done
"""


def installed(arguments, folder, tally):
    label = "packages/what is installed runs, compiles and completes, and goes again"
    if not tally.wants(label):
        return
    reason = overlay.why_not()
    if reason is not None:
        tally.skip(label, reason)
        return
    line = overlay.on_top(["sh", "-c", INSTALLED, "sh", folder, arguments.build, ROOT], [folder, arguments.build, ROOT])
    result = launch(line, base_environment({"TMPDIR": "/tmp"}), LIMIT, cwd="/")
    tally.record(label, result.ok and "all steps of an installation are done" in result.output, result.output, result.seconds)


# $1: the installation. The page's commands are inserted, in a folder with ./app. Unloading undoes everything.
MODULE = """
set -e
prefix=$1
{documented}
test "$(pkg-config --modversion offramp)" = "$(basename "$1"/share/modulefiles/offramp/*)"
test -f "${{MANPATH%%:*}}/man1/offramp.1"
module unload offramp
! command -v offramp
case :$LD_LIBRARY_PATH:$MANPATH:$CMAKE_PREFIX_PATH: in *"$1"*) exit 1 ;; esac
echo the module is unloaded
"""
MODULE_SYSTEMS = ["/usr/share/modules/init/sh", "/usr/share/lmod/lmod/init/sh"]  # environment-modules, Lmod


def module(arguments, folder, tally):
    label = "packages/a module of an installation that has been moved"
    if not tally.wants(label):
        return
    inits = [path for path in MODULE_SYSTEMS if os.path.exists(path)]
    if not inits:
        tally.skip(label, "neither environment-modules nor Lmod is installed")
        return
    first, moved = os.path.join(folder, "first"), os.path.join(folder, "moved")
    launch(["cmake", "--install", arguments.build, "--prefix", first], base_environment(), LIMIT)
    os.rename(first, moved)
    os.symlink(os.path.join(arguments.build, "tests/mpi/fixed_pattern"), os.path.join(folder, "app"))
    block = next(block for block in all_blocks() if block.page == "docs/install.md" and "the suite packages runs" in block.reason)
    script = MODULE.format(documented="\n".join(block.text))
    for init in inits:
        result = launch(["sh", "-c", f". {init}\n{script}", "sh", moved], base_environment(), LIMIT, cwd=folder)
        tally.record(label, result.ok and "offramp: zrlmpi, " in result.output and "the module is unloaded" in result.output,
                     result.output, result.seconds)


# $1: the sources; $2: the unpacked packages. They are removed from the system, and compilations must include them from $2.
OWN_DEPENDENCIES = """
set -ex
packages="$(dpkg-query -W -f='${Package} ' libfmt-dev 'libfmt[0-9]*' libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev)"

for package in $packages; do
  dpkg -L "$package" | while read -r file; do test -d "$file" || cp --parents -P "$file" "$2"; done
done

dpkg --force-depends --purge $packages
cd "$(mktemp -d)"
! cmake -G Ninja -S "$1" -B without -DOFFRAMP_TESTS=OFF
cmake -G Ninja -S "$1" -B build -DOFFRAMP_TESTS=OFF -DCMAKE_UNITY_BUILD=OFF -DCMAKE_PREFIX_PATH="$2/usr" -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON

cd build
for source in configuration.dir/lib/base/configuration/configuration_file engine.dir/lib/run/engine/certificate report_cold.dir/lib/answers/report/report; do
  ninja CMakeFiles/offramp_$source.cpp.o
done
grep -q "$2/usr/include" build.ninja
echo all of it is found in the folder
"""


def own_dependencies(folder, tally):
    label = "packages/dependencies in a folder of the user's own"
    if not tally.wants(label):
        return
    reason = overlay.why_not()
    if reason is not None:
        tally.skip(label, reason)
        return
    place = os.path.join(folder, "deps")
    os.mkdir(place)
    line = overlay.on_top(["bash", "-c", OWN_DEPENDENCIES, "bash", ROOT, place], [folder, ROOT])
    result = launch(line, base_environment({"TMPDIR": "/tmp"}), LIMIT, cwd="/")
    tally.record(label, result.ok and "all of it is found in the folder" in result.output, result.output, result.seconds)


def test_ways_to_install(arguments, tally):
    spack_recipe.check(tally)
    with tempfile.TemporaryDirectory() as folder:
        packages(arguments, folder, tally)
        module(arguments, folder, tally)
        if arguments.thorough:
            own_dependencies(folder, tally)


def packages(arguments, folder, tally):
    if missing(arguments, "offramp-dpu"):
        tally.skip("packages/cpack makes them", missing(arguments, "offramp-dpu"))
        return
    made = launch(["cpack", "-G", "DEB", "--config", os.path.join(arguments.build, "CPackConfig.cmake"), "-B", folder],
                  base_environment(), LIMIT, cwd=folder)
    files = {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(folder, "*.deb"))}
    tally.record("packages/cpack makes them", made.ok and sorted(files) == sorted(CONTENTS), made.output, made.seconds)
    if sorted(files) != sorted(CONTENTS):
        return
    installed(arguments, folder, tally)
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
                 "offramp: zrlmpi, " in result.output, result.output, result.seconds)
    found = glob.glob(os.path.join(root, "usr/lib/**/pkgconfig"), recursive=True)
    env = base_environment({"PKG_CONFIG_PATH": ":".join(found)})
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "offramp"], env=env, capture_output=True, text=True,
                           timeout=60, check=False).stdout.split()
    binary = os.path.join(folder, "jacobi")
    source = os.path.join(ROOT, "examples/jacobi/jacobi.c")
    result = launch([mpi_of(arguments.build).compiler, source, "-o", binary, *flags, "-lm"], env, 60)
    if result.ok:
        result = launch([*mpi_of(arguments.build).start(2, {"OFFRAMP_BACKEND": "cclo"}), binary], env, 60)
    tally.record("packages/what is unpacked is linked", result.ok and "offramp: cclo, " in result.output, result.output,
                 result.seconds)
