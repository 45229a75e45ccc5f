"""Libraries for C programs, and the examples that use them."""

import os
import re

from launch import base_environment, run

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def missing(arguments, library):
    """The reason why there is no such library, or None. The fast tier builds it only after a change of its sources."""
    path = os.path.join(arguments.build, f"lib/lib{library}.so")
    return None if os.path.exists(path) else f"this build has no lib{library} (OFFRAMP_SERVICES)"


def compile_example(arguments, folder, source, library):
    """Compiles an example (below examples/, without .c) into the folder; returns the compiler's output."""
    return run(["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/include",
                f"{ROOT}/examples/{source}.c", "-o", os.path.join(folder, os.path.basename(source)),
                f"-L{arguments.build}/lib", f"-Wl,-rpath,{arguments.build}/lib", f"-l{library}"], base_environment(), 60)


def only_its_functions(arguments, tally, suite, library, headers):
    """A library exports exactly the functions that the headers (below include/offramp/) mark."""
    label = f"{suite}/the library exports the functions of its headers"
    if not tally.wants(label):
        return
    declared = set()
    for name in headers:
        with open(os.path.join(ROOT, "include/offramp", name), encoding="utf-8") as file:
            declared |= set(re.findall(r"^OFFRAMP_[A-Z]+_API [^(;]*?(\w+)\(", file.read(), re.M))
    result = run(["nm", "-D", "--defined-only", os.path.join(arguments.build, f"lib/lib{library}.so")], base_environment(), 30)
    exported = {line.split()[-1] for line in result.output.splitlines() if line}
    tally.record(label, result.ok and exported == declared, str(sorted(exported ^ declared)), result.seconds)
