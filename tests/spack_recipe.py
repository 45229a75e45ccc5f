"""Checks the Spack recipe in packaging/spack without Spack: it is valid Python, and it requires the same packages as CMake."""

import ast
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = os.path.join(ROOT, "packaging/spack/spack_repo/offramp/packages")
# Name in CMakeLists.txt -> Spack's name. Threads are the C library's.
SPACK_NAMES = {
    "MPI": "mpi", "fmt": "fmt", "CLI11": "cli11", "nlohmann_json": "nlohmann-json", "tomlplusplus": "tomlplusplus",
    "xxhash.h": "xxhash", "Threads": None, "EXPAT": "expat", "ZLIB": "zlib-api", "Python3": "python", "PkgConfig": "pkgconfig", "ucx": "ucx",
    "hwloc": "hwloc", "libelf": "elfutils",
}
# Only in the recipe: the compilers, CMake itself, and bounds for providers of mpi.
OF_SPACK = {"c", "cxx", "cmake", "openmpi", "mpich"}
# Optional: CMakeLists.txt has an option with the variant's name, and searches the package in a file of its own.
OPTIONAL = {"otf2"}


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def looked_for(cmake):
    """The packages that a CMakeLists.txt requires."""
    return re.findall(r"^find_package\((\w+) REQUIRED", cmake, flags=re.M) + \
        re.findall(r"^pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (\S+)\)", cmake, flags=re.M) + \
        re.findall(r"^find_path\(\w+ (\S+) REQUIRED\)", cmake, flags=re.M)


def calls(recipe, name):
    """The first arguments of all calls of a directive in the class."""
    body = next(node for node in ast.parse(recipe).body if isinstance(node, ast.ClassDef)).body
    return [node.value.args[0].value for node in body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and
            isinstance(node.value.func, ast.Name) and node.value.func.id == name]


def complaints(recipe, cmake):
    """The mismatches, one per line."""
    found = []
    required = looked_for(cmake)
    found += [f"tests/spack_recipe.py does not know what Spack calls {name}" for name in required if name not in SPACK_NAMES]
    wanted = {SPACK_NAMES.get(name) for name in required} - {None}
    has = {re.split("[@+~ ]", spec)[0] for spec in calls(recipe, "depends_on")} - OF_SPACK - OPTIONAL
    found += [f"CMake requires {name}, the recipe does not" for name in sorted(wanted - has)]
    found += [f"the recipe requires {name}, CMake does not" for name in sorted(has - wanted)]
    version = re.search(r"^project\(offramp VERSION ([\d.]+)", cmake, flags=re.M)[1]
    if calls(recipe, "version") != [version]:
        found.append(f"the project is version {version}, the recipe has {calls(recipe, 'version')}")
    least = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", cmake)[1]
    if f"cmake@{least}:" not in calls(recipe, "depends_on"):
        found.append(f"CMake has to be {least} at least")
    found += [f"the recipe has no variant {name}" for name in sorted(OPTIONAL) if name not in calls(recipe, "variant")]
    options = set(re.findall(r"self\.define(?:_from_variant)?\(\"(\w+)\"", recipe))
    found += [f"CMake has no option {name}" for name in sorted(options) if not re.search(rf"\b{name}\b", cmake)
              and not name.startswith("MPI_")]
    return found


def check(tally):
    label = "packages/the Spack recipe asks for what CMake asks for"
    if not tally.wants(label):
        return
    recipe, cmake = text_of(PACKAGES, "offramp/package.py"), text_of("CMakeLists.txt")
    strange = complaints(recipe, cmake)
    for planted in (cmake + "\nfind_package(Nothing REQUIRED)\n", cmake.replace("find_package(EXPAT REQUIRED)", ""),
                    cmake.replace("find_package(fmt REQUIRED)", "find_package(ZLIB REQUIRED)"),
                    cmake.replace("offramp VERSION 0", "offramp VERSION 9"), cmake.replace("VERSION 3.25", "VERSION 3.30"),
                    cmake.replace("OFFRAMP_TESTS", "OFFRAMP_OTHERS")):
        if not complaints(recipe, planted):
            strange.append("a planted difference was not seen")
    compile(text_of(PACKAGES, "openmpi/package.py"), "openmpi/package.py", "exec")
    tally.record(label, not strange, "\n".join(strange))
