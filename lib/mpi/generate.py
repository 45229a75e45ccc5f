#!/usr/bin/env python3
"""Generates the table of interposed MPI functions and its exported entry points.

usage: generate.py functions.txt table.hpp entries.cpp function_list.hpp header...

The headers are those of one MPI library: mpi.h, and what it includes or has beside it that declares functions.
"""

import re
import sys


def read_functions(path):
    """(name, kind, whether a library may lack it) of every function, in the order of the file."""
    functions = []
    for line in open(path, encoding="utf-8"):
        words = line.split("#")[0].split()
        if words:
            functions += [(name, words[0].rstrip("?"), words[0].endswith("?")) for name in words[1:]]
    return functions


def read_prototypes(paths):
    """Name -> (result, parameters, arguments, prefix) of every function that the headers declare. Where a library has a
    function by the standard's name and as an extension, it is the standard's."""
    text = "".join(open(path, encoding="utf-8").read() for path in paths)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    prototypes = {}
    pattern = r"^\s*(?:OMPI_DECLSPEC\s+)?(int|double)\s+(MPIX?_)(\w+)\s*\(([^;]*?)\)\s*(?:\b[A-Z_]\w*.*?)?;"
    for result, prefix, name, parameters in re.findall(pattern, text, flags=re.S | re.M):
        if name in prototypes and prefix == "MPIX_":
            continue
        parameters = " ".join(parameters.split())
        arguments = []
        if "..." in parameters:
            continue
        if parameters != "void":
            for parameter in parameters.split(","):
                arguments.append(re.search(r"(\w+)\s*(?:\[[^\]]*\])*\s*$", parameter).group(1))
        prototypes[name] = (result, parameters, ", ".join(arguments), prefix)
    return prototypes


# Written by hand, in namespace face.
BY_HAND = {"own", "beside"}
# What the table of natives has, uncounted.
AS_THEY_ARE = {"library"}
MEETINGS = {"meet": "pass_and_meet", "neighbour": "pass_and_meet_neighbours",
            "ineighbour": "start_and_meet_neighbours"}

HEADER = """// Generated from functions.txt and mpi.h. Do not edit.
"""


def main():
    listed, table, entries, function_list = sys.argv[1:5]
    prototypes = read_prototypes(sys.argv[5:])
    functions = read_functions(listed)
    missing = [name for name, _, optional in functions if name not in prototypes and not optional]
    if missing:
        sys.exit(f"generate.py: mpi.h does not declare {', '.join(missing)}")
    functions = [(name, kind) for name, kind, _ in functions if name in prototypes]

    with open(table, "w", encoding="utf-8") as out:
        out.write(HEADER + "#pragma once\n\n#include <mpi.h>\n\n#include <cstdint>\n\n")
        out.write("// What the library declares of the functions that not every one has.\n")
        for name, _, optional in read_functions(listed):
            if optional and name in prototypes:
                out.write(f"#define OFFRAMP_HAS_{name}\n")
        out.write("\nnamespace offramp {\n\n")
        out.write("/// One pointer for every exported function.\nstruct MpiTable {\n")
        for name, _ in functions:
            result, parameters, _, _ = prototypes[name]
            out.write(f"  {result} (*{name})({parameters}) = nullptr;\n")
        out.write("};\n\nenum class Function : std::uint16_t {\n")
        for name, _ in functions:
            out.write(f"  k{name},\n")
        out.write("  kCount\n};\n\n/// \"MPI_Send\", ...\nextern const char* const kFunctionNames[];\n\n")
        out.write("namespace face {\n")
        for name, kind in functions:
            if kind in BY_HAND:
                result, parameters, _, _ = prototypes[name]
                out.write(f"{result} {name}({parameters});\n")
        out.write("}  // namespace face\n\n}  // namespace offramp\n")

    with open(function_list, "w", encoding="utf-8") as out:
        out.write(HEADER + "#pragma once\n\n#include <string_view>\n\nnamespace offramp {\n\n")
        out.write("/// The functions that Offramp exports: MPI_Send, MPIX_Bcast_init. own: carried while a backend is on.\n")
        out.write("struct ListedFunction {\n  std::string_view name;\n  bool own;\n};\n")
        out.write("inline constexpr ListedFunction kFunctionList[] = {\n")
        for name, kind in functions:
            out.write(f'    {{"{prototypes[name][3]}{name}", {"true" if kind == "own" else "false"}}},\n')
        out.write("};\n\n}  // namespace offramp\n")

    with open(entries, "w", encoding="utf-8") as out:
        out.write(HEADER + '#include "lib/mpi/background_progress.hpp"\n#include "lib/mpi/native_calls.hpp"\n\nnamespace offramp {\n\n')
        out.write("const char* const kFunctionNames[] = {\n")
        for name, _ in functions:
            out.write(f'    "{prototypes[name][3]}{name}",\n')
        out.write("};\n\nnamespace {\n\n")
        for name, kind in functions:
            if kind in BY_HAND or kind in AS_THEY_ARE:
                continue
            result, parameters, arguments, prefix = prototypes[name]
            native_call = f"native.{name}({arguments})"
            out.write(f"{result} counted_{name}({parameters}) {{\n")
            if kind in MEETINGS:
                handle = re.search(r"MPI_(?:Comm|Win|File) (\w+)", parameters).group(1)
                handle += ", request" if kind == "ineighbour" else ""
                out.write(f"  return {MEETINGS[kind]}(Function::k{name}, {handle}, [&] {{ return {native_call}; }});\n}}\n\n")
                continue
            out.write(f"  const NativeCall call(Function::k{name});\n")
            if kind == "serve":
                out.write("  const BackgroundProgress serving;\n")
            out.write(f"  return {native_call};\n}}\n\n")
        out.write("}  // namespace\n\nvoid resolve_natives(MpiTable& table, void* (*find)(const char* name)) {\n")
        for name, _ in functions:
            out.write(f'  table.{name} = reinterpret_cast<decltype(table.{name})>(find("P{prototypes[name][3]}{name}"));\n')
        out.write("}\n\nvoid fill_active(MpiTable& table) {\n")
        for name, kind in functions:
            if kind in AS_THEY_ARE:
                continue
            target = f"face::{name}" if kind in BY_HAND else f"counted_{name}"
            out.write(f"  table.{name} = {target};\n")
        out.write("}\n\n}  // namespace offramp\n\n")
        out.write('// MPI_X and PMPI_X are one function: the Fortran bindings call PMPI_X.\nextern "C" {\n')
        for name, _ in functions:
            result, parameters, arguments, prefix = prototypes[name]
            out.write(f"OFFRAMP_EXPORT {result} {prefix}{name}({parameters}) {{\n")
            out.write(f"  return offramp::table_for(__builtin_return_address(0)).{name}({arguments});\n}}\n")
            out.write(f'OFFRAMP_EXPORT {result} P{prefix}{name}({parameters}) __attribute__((alias("{prefix}{name}")));\n')
        out.write("}\n")


main()
