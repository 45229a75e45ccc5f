#!/usr/bin/env python3
"""Generates the table of interposed MPI functions and its exported entry points.

usage: generate.py functions.txt table.hpp entries.cpp function_list.hpp header...

The headers belong to one MPI library: mpi.h, and other headers of it that declare functions.
"""

import re
import sys


class Function:
    """One name of a line, with the line's kind.

    optional: a library may lack it. forms: since MPI 4 it also has a form with large counts, NAME_c. form: "IntForm",
    "LargeForm", or None for functions with a single form."""

    def __init__(self, name, word, form=None):
        self.name, self.kind, self.optional, self.forms = name, word.rstrip("?+"), "?" in word, "+" in word
        self.form = form

    def twins(self, word):
        if not self.forms:
            return [self]
        return [Function(self.name, word, "IntForm"), Function(f"{self.name}_c", word, "LargeForm")]


def read_functions(path):
    """All functions in the order of the file; each form with large counts follows the other one."""
    functions = []
    for line in open(path, encoding="utf-8"):
        words = line.split("#")[0].split()
        for name in words[1:]:
            functions += Function(name, words[0]).twins(words[0])
    return functions


def read_prototypes(paths):
    """Name -> (result, parameters, arguments, prefix) of every function that the headers declare.

    The standard's function is preferred to an extension of the same name."""
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


# Written by hand: in namespace api, or as templates for those with two forms (dispatch.hpp).
BY_HAND = {"own", "beside"}
# Called through the table of natives, without counting.
AS_THEY_ARE = {"library"}
# What is called around the library's function, with which handles: one that is given, one that is made or freed.
AROUND = {"meet": ("pass_and_sync", "given"), "neighbour": ("pass_and_sync_neighbours", "given", "sizes"),
          "ineighbour": ("start_and_sync_neighbours", "given", "sizes", "request"),
          "pneighbour": ("make_persistent_blocks", "given", "sizes", "request"), "construct": ("construct", "given", "made"),
          "assemble": ("construct", "MPI_COMM_NULL", "made"), "open": ("open_beside", "given", "made"),
          "close": ("close_beside", "made")}
# How a function accesses memory, and whether its data goes to the target and back. Its form with a request begins with R.
ACCESSES = {"Put": ("kWrite", "true", "false"), "Get": ("kRead", "false", "true"), "Accumulate": ("kCombine", "true", "false"),
            "Get_accumulate": ("kCombine", "op != MPI_NO_OP", "true"), "Fetch_and_op": ("kCombine", "op != MPI_NO_OP", "true"),
            "Compare_and_swap": ("kCombine", "true", "true")}
# The number of a collective's arguments that follow those of its operation.
COLLECTIVES = {"collective": 1, "icollective": 2, "pcollective": 3}
# Which ranks send and receive on an intercommunicator: by default each to and from all of the other group.
FLOWS = {"Bcast": "kFromRoot", "Scatter": "kFromRoot", "Scatterv": "kFromRoot", "Reduce": "kToRoot", "Gather": "kToRoot",
         "Gatherv": "kToRoot", "Scan": "kNone", "Exscan": "kNone"}
CARRIED = {"own", "construct", "assemble", *COLLECTIVES}

HEADER = """// Generated from functions.txt and mpi.h. Do not edit.
"""


def builder(function):
    """The function that builds a collective's operation, named after the blocking collective."""
    name = function.name.removesuffix("_c").removesuffix("_init").lower()
    return "build_" + (name[1:] if function.kind == "icollective" else name)


def sizes_between_groups(function, words):
    """The blocks of a collective on an intercommunicator."""
    name = function.name.removesuffix("_c")
    name = name[1:].capitalize() if function.kind == "icollective" else name
    if name.startswith("Reduce_scatter"):
        return f"whole_sizes({words[2]}, datatype, comm)"
    blocks = [word for word in words if re.fullmatch(r"(send|recv)(count|type)s?", word)]
    blocks = blocks or (["count", "datatype"] * 2 if "count" in words else ["0", "MPI_BYTE"] * 2)
    flow = FLOWS.get(name, "kAll")
    return f"block_sizes({', '.join(blocks)}, BlockSizes::Flow::{flow}{', root' if 'root' in words else ''})"


def body(function, prototype):
    """The body of a generated entry point."""
    _, parameters, arguments, _ = prototype
    name, kind = function.name, function.kind
    native_call = f"native.{name}({arguments})"
    if kind in COLLECTIVES:
        words = arguments.split(", ")
        built, rest = words[:-COLLECTIVES[kind]], words[-COLLECTIVES[kind]:]
        if kind == "pcollective":
            rest.append("op" if "op" in built else "MPI_OP_NULL")
        else:
            rest.append(f"[&] {{ return {sizes_between_groups(function, words)}; }}")
        call = ", ".join([f"Function::k{name}", *rest, builder(function), f"native.{name}", *built])
        return f"  return start_{kind}({call});\n"
    if kind == "access":
        words, function_name = arguments.split(", "), name.removesuffix("_c")
        request = "request" if function_name not in ACCESSES else "nullptr"
        how, to, back = ACCESSES[function_name if request == "nullptr" else function_name[1:].capitalize()]
        of = "target_datatype" if "target_datatype" in words else "datatype"
        count = words[words.index(of) - 1] if of == "target_datatype" else "1"
        accessed = f"[&] {{ return accessed_data(Access::{how}, {to}, {back}, {count}, {of}); }}"
        return (f"  return pass_access(Function::k{name}, {accessed}, win, target_rank, {request},\n"
                f"                     [&] {{ return {native_call}; }});\n")
    if kind in AROUND:
        called, *handles = AROUND[kind]
        named = {"given": r"MPI_(?:Comm|Win|File) (\w+)", "made": r"MPI_(?:Comm|Win|File) \*\s*(\w+)"}
        handles = [re.search(named[handle], parameters).group(1) if handle in named else handle for handle in handles]
        if "sizes" in handles:
            blocks = [word for word in arguments.split(", ") if re.fullmatch(r"(send|recv)(count|type)s?", word)]
            handles[handles.index("sizes")] = f"block_sizes({', '.join(blocks)})"
        return f"  return {called}(Function::k{name}, {', '.join(handles)}, [&] {{ return {native_call}; }});\n"
    if kind != "serve":
        return f"  const NativeCall call(Function::k{name});\n  return {native_call};\n"
    made = re.search(r"MPI_Comm \*\s*(\w+)", parameters)
    return (f"  const NativeCall call(Function::k{name});\n  const BackgroundProgress serving;\n"
            f"  return {f'made_by_library({native_call}, {made.group(1)})' if made else native_call};\n")


def write_forms(out, functions):
    """Writes IntForm and LargeForm, which give both forms of a function one name."""
    for form, count, displacement in (("IntForm", "int", "int"), ("LargeForm", "MPI_Count", "MPI_Aint")):
        members = [function for function in functions if function.form == form]
        if not members:
            continue
        out.write(f"struct {form} {{\n  using Count = {count};\n  using Displacement = {displacement};\n")
        for function in members:
            name = function.name.removesuffix("_c")
            out.write(f"  static constexpr Function k{name} = Function::k{function.name};\n")
            out.write(f"  static constexpr auto {name} = &MpiTable::{function.name};\n")
        out.write("};\n\n")


def main():
    listed, table, entries, function_list = sys.argv[1:5]
    prototypes = read_prototypes(sys.argv[5:])
    known = read_functions(listed)
    missing = [f.name for f in known if f.name not in prototypes and not f.optional and f.form != "LargeForm"]
    if missing:
        sys.exit(f"generate.py: mpi.h does not declare {', '.join(missing)}")
    functions = [function for function in known if function.name in prototypes]

    with open(table, "w", encoding="utf-8") as out:
        out.write(HEADER + "#pragma once\n\n#include <mpi.h>\n\n#include <cstdint>\n\n")
        out.write("// What the library declares of the functions that not every one has.\n")
        for function in functions:
            if function.optional and function.form != "LargeForm":
                out.write(f"#define OFFRAMP_HAS_{function.name}\n")
        if any(function.form == "LargeForm" for function in functions):
            out.write("#define OFFRAMP_HAS_LARGE_COUNTS\n")
        out.write("\nnamespace offramp {\n\n")
        out.write("/// One pointer for every exported function.\nstruct MpiTable {\n")
        for function in functions:
            result, parameters, _, _ = prototypes[function.name]
            out.write(f"  {result} (*{function.name})({parameters}) = nullptr;\n")
        out.write("};\n\nenum class Function : std::uint16_t {\n")
        for function in functions:
            out.write(f"  k{function.name},\n")
        out.write("  kCount\n};\n\n/// \"MPI_Send\", ...\nextern const char* const kFunctionNames[];\n\n")
        out.write("// The functions that have a form with int and one with large counts, in either form.\n")
        write_forms(out, functions)
        out.write("namespace api {\n")
        for function in functions:
            if function.kind in BY_HAND and function.form is None:
                result, parameters, _, _ = prototypes[function.name]
                out.write(f"{result} {function.name}({parameters});\n")
        out.write("}  // namespace api\n\n}  // namespace offramp\n")

    with open(function_list, "w", encoding="utf-8") as out:
        out.write(HEADER + "#pragma once\n\n#include <string_view>\n\nnamespace offramp {\n\n")
        out.write("/// The functions that Offramp exports for an MPI library that has them: MPI_Send, MPIX_Bcast_init. own: carried\n"
                  "/// while a backend is on.\n")
        out.write("struct ListedFunction {\n  std::string_view name;\n  bool own;\n};\n")
        out.write("inline constexpr ListedFunction kFunctionList[] = {\n")
        for function in known:
            own = "true" if function.kind in CARRIED else "false"
            prefix = prototypes[function.name][3] if function.name in prototypes else "MPI_"
            for spelling in sorted({"MPI_", prefix}):
                out.write(f'    {{"{spelling}{function.name}", {own}}},\n')
        out.write("};\n\n}  // namespace offramp\n")

    with open(entries, "w", encoding="utf-8") as out:
        out.write(HEADER)
        for header in ("api/collective_calls", "api/constructors", "api/entries", "runtime/background_progress",
                       "runtime/native_calls"):
            out.write(f'#include "lib/run/mpi/{header}.hpp"\n')
        out.write("\nnamespace offramp {\n\nconst char* const kFunctionNames[] = {\n")
        for function in functions:
            out.write(f'    "{prototypes[function.name][3]}{function.name}",\n')
        out.write("};\n\nnamespace {\n\n")
        generated = [function for function in functions if function.kind not in BY_HAND | AS_THEY_ARE]
        for function in generated:
            result, parameters, _, _ = prototypes[function.name]
            out.write(f"{result} enter_{function.name}({parameters}) {{\n{body(function, prototypes[function.name])}}}\n\n")
        out.write("}  // namespace\n\nvoid resolve_natives(MpiTable& table, void* (*find)(const char* name)) {\n")
        for function in functions:
            name, prefix = function.name, prototypes[function.name][3]
            out.write(f'  table.{name} = reinterpret_cast<decltype(table.{name})>(find("P{prefix}{name}"));\n')
        out.write("}\n\nvoid fill_active(MpiTable& table) {\n")
        for function in generated:
            out.write(f"  table.{function.name} = enter_{function.name};\n")
        for function in functions:
            if function.kind in BY_HAND and function.form is None:
                out.write(f"  table.{function.name} = api::{function.name};\n")
        for form in sorted({function.form for function in functions if function.form is not None}):
            out.write(f"  fill_forms<{form}>(table);\n")
        out.write("}\n\n}  // namespace offramp\n\n")
        out.write('// MPI_X and PMPI_X are one function: the Fortran bindings call PMPI_X.\nextern "C" {\n')
        for function in functions:
            result, parameters, arguments, prefix = prototypes[function.name]
            name = prefix + function.name
            out.write(f"OFFRAMP_EXPORT {result} {name}({parameters}) {{\n")
            out.write(f"  return offramp::table_for(__builtin_return_address(0)).{function.name}({arguments});\n}}\n")
            out.write(f'OFFRAMP_EXPORT {result} P{name}({parameters}) __attribute__((alias("{name}")));\n')
        out.write("}\n")


if __name__ == "__main__":
    main()
