#!/usr/bin/env python3
"""Generates the table of interposed MPI functions and its exported entry points.

usage: generate.py functions.txt mpi.h extension.h table.hpp entries.cpp function_list.hpp
"""

import re
import sys


def read_functions(path):
    functions = []
    for line in open(path, encoding="utf-8"):
        words = line.split("#")[0].split()
        if words:
            functions += [(name, words[0]) for name in words[1:]]
    return functions


def read_prototypes(path, prefix):
    """Name -> (result, parameters, arguments, prefix) of every function with the prefix that the header declares."""
    text = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
    prototypes = {}
    pattern = r"OMPI_DECLSPEC\s+(int|double)\s+" + prefix + r"(\w+)\s*\(([^;]*?)\)\s*(?:__\w+.*?)?;"
    for result, name, parameters in re.findall(pattern, text, flags=re.S):
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
MEETINGS = {"meet": "pass_and_meet", "neighbour": "pass_and_meet_neighbours",
            "ineighbour": "start_and_meet_neighbours"}

HEADER = """// Generated from functions.txt and mpi.h. Do not edit.
"""


def main():
    functions = read_functions(sys.argv[1])
    prototypes = {**read_prototypes(sys.argv[3], "MPIX_"), **read_prototypes(sys.argv[2], "MPI_")}
    missing = [name for name, _ in functions if name not in prototypes]
    if missing:
        sys.exit(f"generate.py: mpi.h does not declare {', '.join(missing)}")

    with open(sys.argv[4], "w", encoding="utf-8") as out:
        out.write(HEADER + "#pragma once\n\n#include <mpi.h>\n\n#include <cstdint>\n\nnamespace offramp {\n\n")
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

    with open(sys.argv[6], "w", encoding="utf-8") as out:
        out.write(HEADER + "#pragma once\n\n#include <string_view>\n\nnamespace offramp {\n\n")
        out.write("/// The functions that Offramp exports: MPI_Send, MPIX_Bcast_init. own: carried while a backend is on.\n")
        out.write("struct ListedFunction {\n  std::string_view name;\n  bool own;\n};\n")
        out.write("inline constexpr ListedFunction kFunctionList[] = {\n")
        for name, kind in functions:
            out.write(f'    {{"{prototypes[name][3]}{name}", {"true" if kind == "own" else "false"}}},\n')
        out.write("};\n\n}  // namespace offramp\n")

    with open(sys.argv[5], "w", encoding="utf-8") as out:
        out.write(HEADER + '#include "lib/mpi/background_progress.hpp"\n#include "lib/mpi/native_calls.hpp"\n\nnamespace offramp {\n\n')
        out.write("const char* const kFunctionNames[] = {\n")
        for name, _ in functions:
            out.write(f'    "{prototypes[name][3]}{name}",\n')
        out.write("};\n\nnamespace {\n\n")
        for name, kind in functions:
            if kind in BY_HAND:
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
            target = f"face::{name}" if kind in BY_HAND else f"counted_{name}"
            out.write(f"  table.{name} = {target};\n")
        out.write("}\n\n}  // namespace offramp\n\n")
        out.write('// MPI_X and PMPI_X are one function: the Fortran bindings call PMPI_X.\nextern "C" {\n')
        for name, _ in functions:
            result, parameters, arguments, prefix = prototypes[name]
            out.write(f"OFFRAMP_EXPORT {result} {prefix}{name}({parameters}) {{\n")
            out.write(f"  return offramp::dispatch.{name}({arguments});\n}}\n")
            out.write(f'OFFRAMP_EXPORT {result} P{prefix}{name}({parameters}) __attribute__((alias("{prefix}{name}")));\n')
        out.write("}\n")


main()
