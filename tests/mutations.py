"""One mistake for each suite: a change of the product that the suite must notice. scripts/mutations makes them one by one, and runs the
suite; tests/suites/harness.py checks that each still applies."""

import os
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUITES = os.path.join(ROOT, "tests/suites")
NO_SUITES = {"mpi4", "__init__"}  # a part of the suite mpich
LIBRARY = ("offramp", "offramp-tool")


@dataclass(frozen=True)
class Mutation:
    suite: str
    tests: str  # part of the names of those that must fail
    breaks: str
    file: str
    old: str  # occurs once in the file
    new: str
    targets: tuple[str, ...] = LIBRARY


MUTATIONS = [
    Mutation("mpi", "mpi/probe", "the status of a probe names its message", "lib/run/mpi/api/probe.cpp",
             "offramp::fill_status(status, e.source, e.tag, e.bytes);", "offramp::fill_status(status, e.tag, e.source, e.bytes);"),
    Mutation("mpi", "handles freed early", "a freed type is forgotten", "lib/run/mpi/api/communicators.cpp",
             "if (type != nullptr) {", "if (type != nullptr && *type == MPI_DATATYPE_NULL) {"),
    Mutation("mpi", "handles freed early", "a persistent collective retains its types", "lib/run/mpi/marshal/datatype.cpp",
             "if (lifetime_ == Lifetime::kOfTable) offramp", "if (lifetime_ == Lifetime::kOfTable && known_.size() > 9) offramp"),
    Mutation("mpich", "handles freed early", "an operation in progress has its function", "lib/run/native/mpich_handles.cpp",
             "op == nullptr || !operations().put_off(*op)", "op == nullptr || *op != MPI_OP_NULL", ("offramp-mpich",)),
    Mutation("mpich", "handles freed early", "requests keep a communicator", "lib/run/native/mpich_handles.cpp",
             "session_callbacks().locked == nullptr || comm == nullptr", "session_callbacks().locked != nullptr || comm == nullptr",
             ("offramp-mpich",)),
    Mutation("dpu", "when", "messages that went another way are counted", "backends/dpu/messages.cpp",
             "if (rerouted) ++wire_.rerouted;", "if (!rerouted) ++wire_.rerouted;"),
    Mutation("recording", "MPI_Pcontrol names phases", "a recording has the names of phases", "lib/run/mpi/api/pcontrol.cpp",
             "return printable ? name : std::string_view();", "return printable ? name.substr(0, 1) : std::string_view();"),
    Mutation("profiles", "profiles/zrlmpi strict", "zrlmpi.strict has an effect", "backends/zrlmpi/zrlmpi.cpp",
             "return strict_ ? strict_objection_to(operation) : std::string_view();",
             "return strict_ && operation.ranks < 0 ? strict_objection_to(operation) : std::string_view();"),
    Mutation("fortran", "fortran/", "calls of Fortran programs arrive", "lib/run/mpi/api/generate.py",
             "OFFRAMP_EXPORT {result} P{name}({parameters})", "OFFRAMP_EXPORT {result} MPIX_{name}({parameters})"),
    Mutation("receipts", "receipts/tshark reads", "packets have right checksums", "lib/answers/report/capture.cpp",
             "checksum == 0 && !tcp ? 0xffff : checksum);", "checksum == 0 && !tcp ? 0xffff : checksum + 1);"),
    Mutation("snippets", "snippets/links", "links between pages lead somewhere", "README.md",
             "[building and installing](docs/install.md)", "[building and installing](docs/built.md)", ()),
    Mutation("compare", "compare/certificates", "a certificate depends on the data", "lib/base/certificate.cpp",
             "XXH3_64bits_withSeed(bytes.data(), bytes.size(), before)", "XXH3_64bits_withSeed(bytes.data(), 0, before)"),
    Mutation("campaign", "campaign/all ranks concerned", "a rank whose message failed gets an error", "lib/run/engine/engine.cpp",
             "if (e.failed()) record.outcome = Outcome::kFault;", "if (e.failed()) record.outcome = Outcome::kOk;"),
    Mutation("programs", "programs/fftw", "whole messages arrive in programs of others", "lib/run/engine/engine.cpp",
             "std::memcpy(record.buffer.data(), data, record.received);",
             "std::memcpy(record.buffer.data(), data, record.received - (record.received > 512 ? 1 : 0));"),
    Mutation("bench", "bench/modelled times side by side", "benchmarks read settled times", "lib/run/mpi/runtime/settled_clock.cpp",
             "return last_ = reads_[next_++].time.seconds();", "return last_ = 0 * reads_[next_++].time.seconds();"),
    Mutation("reports", "reports/wildcards are counted", "matches of wildcards are counted", "lib/run/engine/engine.cpp",
             "if (record.source == kAnySource && record.context->size() > 2)", "if (record.source == kAnySource && record.context->size() > 200)"),
    Mutation("faults", "faults/a message that cannot be repaired", "a failed message is an MPI error", "lib/run/engine/engine_sending.cpp",
             "if (!fault.failed) return;", "if (fault.failed) return;"),
    Mutation("cli", "cli_test.py::Info", "a wrong value is answered with the nearest right one", "lib/base/configuration/load_configuration.cpp",
             "string message = not_allowed(entry.value, path, allowed, listed(allowed));",
             "string message = not_allowed(entry.value, path, allowed, {});"),
    Mutation("dpu_service", "dpu_service", "ranks with another configuration are refused", "lib/services/dpu_service/greeting.cpp",
             "if (differ(server.config, client.config))", "if (differ(server.config, server.config))", ("offramp-dpu",)),
    Mutation("tinsel_threads", "tinsel_threads", "addresses of threads name their core", "lib/services/tinsel_threads/api.cpp",
             "static_cast<std::uint8_t>(id >> 6U & 15U)", "static_cast<std::uint8_t>(id >> 6U & 7U)", ("offramp-tinsel",)),
    Mutation("determinism", "of fixed_pattern host", "modelled time depends on the program only", "backends/host/host.cpp",
             "passage.host_free = passage.begin = passage.issued + overhead(local);",
             "passage.host_free = passage.begin =\n"
             "        passage.issued + overhead(local) + Time::ps(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(this) >> 12 & 255));"),
    Mutation("beside", "beside/programs that the program starts", "the children of a program are not preloaded", "lib/run/mpi/runtime/program.cpp",
             "if (!entry.empty() && is_meant(entry)) entry = std::exchange(found, true) ? std::string() : instead;",
             "if (!entry.empty() && is_meant(entry)) found = instead.empty();"),
    Mutation("errors", "errors/mistakes in messages", "a truncated message has its error class", "lib/run/mpi/runtime/session.cpp",
             "return MPI_ERR_TRUNCATE;", "return MPI_ERR_OTHER;"),
    Mutation("valgrind", "valgrind/fabric_test", "the fabric frees what it allocates", "lib/run/fabric/node_fabric.cpp",
             "const std::unique_ptr<Remote> from(static_cast<Remote*>(remote));\n    if (from->place.address == 0) return begin_pull(*from, nullptr",
             "Remote* const from = static_cast<Remote*>(remote);\n    if (from->place.address == 0) return begin_pull(*from, nullptr",
             ("fabric_test",)),
    Mutation("interposition", "interposition", "the library exports MPI's functions and its own only", "cmake/offramp.map",
             "local:\n    *;", "local:\n    internal_*;"),
    Mutation("plugins", "plugins", "values of a plugin's parameters are checked", "lib/base/registry/registry.cpp",
             "number && *number >= p.minimum && *number <= p.maximum;", "number && *number <= p.maximum;"),
    Mutation("mpich", "mpich/probe", "statuses over MPICH name the sender", "lib/run/native/mpich.h",
             "status->MPI_SOURCE = source;", "status->MPI_SOURCE = source + 1;", ("offramp-mpich",)),
    Mutation("slurm", "slurm/srun", "processes know their number under srun", "lib/base/launched_job.cpp",
             "return {*rank, size};", "return {*rank / 2, size};"),
    Mutation("packages", "packages/", "packages have the dissector for Wireshark", "cmake/install.cmake",
             "install(DIRECTORY tools/wireshark DESTINATION ${CMAKE_INSTALL_DATADIR}/offramp COMPONENT tools)",
             "install(DIRECTORY tools/wireshark DESTINATION ${CMAKE_INSTALL_DATADIR}/wireshark COMPONENT tools)", ("all",)),
    Mutation("hostile", "hostile/files are private", "only the owner reads outputs", "lib/base/output_file.cpp",
             "return S_IRUSR | S_IWUSR;", "return S_IRUSR | S_IWUSR | S_IRGRP;"),
    Mutation("layers", "layers/includes", "the engine knows nothing of the commands", "lib/base/counters.cpp",
             '#include "lib/base/counters.hpp"\n', '#include "lib/base/counters.hpp"\n#include "tools/text/report.hpp"\n', ()),
    Mutation("language", "language/habits", "comments keep to plain sentences", "lib/base/counters.cpp",
             '#include "lib/base/counters.hpp"\n', '// Of the counters: whose they are, nobody told.\n#include "lib/base/counters.hpp"\n', ()),
    Mutation("compile_costs", "compile_costs/", "a header that many include stays small", "include/offramp/kernel/time.hpp",
             "#include <cstdint>\n", "#include <cstdint>\n#include <nlohmann/json.hpp>\n#include <CLI/CLI.hpp>\n", ("all",)),
    Mutation("harness", "harness/cases under one MPI_Init", "a run that fails at its end is a failure", "tests/mpi_programs.py",
             'if result.ok and "ok all" in result.output', 'if "ok all" in result.output', ()),
    Mutation("sanitizers", "sanitizers/", "buffered messages fit into their memory", "lib/run/mpi/runtime/bsend.cpp",
             "std::max<std::size_t>(1, bytes));\n", "std::max<std::size_t>(1, bytes - bytes / 8));\n", ()),
    Mutation("fuzz", "fuzz/zrlmpi", "a header that is too short is refused", "simulators/zrlmpi/header.cpp",
             "if (bytes.size() < kHeaderBytes)", "if (bytes.size() + 1 < kHeaderBytes)", ()),
    Mutation("units", "units/tinsel_test", "records of routing tables have their published layout", "simulators/tinsel/record.cpp",
             '{Field::kDirection, 43, 2, "dir"}', '{Field::kDirection, 42, 2, "dir"}', ("tinsel_test",)),
    Mutation("speed", "speed/instructions per", "a message costs no more instructions", "lib/run/engine/engine.cpp",
             "record.done = false;\n", "record.done = false;\n  for (int i = 0; i < 200; ++i) asm volatile(\"\");\n", ("all",)),
    Mutation("limits", "limits/unreceived", "messages without a receive take a bounded part of memory", "lib/run/engine/engine.cpp",
             "window_(fabric.ranks()) {\n", "window_(fabric.ranks()) {\n  window_.resize(std::size_t{1} << 40);\n"),
    Mutation("process_faults", "process_faults/kill", "shared memory goes when its processes end", "lib/run/fabric/node_rings.cpp",
             "if (leads && !name.empty()) shm_unlink", "if (leads && name.empty()) shm_unlink"),
    Mutation("hosts", "hosts/transports", "ranks of two hosts share no memory", "lib/run/mpi/runtime/open_fabric.cpp",
             "if (all[i] == own) ranks.push_back", "if (!own.empty()) ranks.push_back"),
    Mutation("soak", "messages in flight", "a message that waits for its receive takes little memory", "lib/run/engine/records.hpp",
             "std::uint64_t arrival = 0;", "std::uint64_t arrival = 0, spare[8] = {};"),
]


def found(mutation, root=ROOT):
    """How often the text occurs in its file."""
    path = os.path.join(root, mutation.file)
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as file:
        return file.read().count(mutation.old)


def problems():
    """What has to be mended in this file."""
    suites = {name[:-3] for name in os.listdir(SUITES) if name.endswith(".py")} - NO_SUITES
    return [f"the suite {suite} has no mutation" for suite in sorted(suites - {mutation.suite for mutation in MUTATIONS})] + [
        f"{mutation.suite}: {mutation.old!r} occurs {found(mutation)} times in {mutation.file}, expected once"
        for mutation in MUTATIONS if found(mutation) != 1]
