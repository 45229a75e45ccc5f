#include "lib/trace/mpi_functions.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace offramp::trace {
namespace {

struct NamedFunction {
  std::string_view name;
  Function function;
};

constexpr NamedFunction kMpiFunctions[] = {
    {"MPI_Init", {.call = Call::kInit}},
    {"MPI_Init_thread", {.call = Call::kInit}},
    {"MPI_Finalize", {.call = Call::kFinalize}},
    {"MPI_Send", {.kind = FunctionKind::kSend, .call = Call::kSend, .flags = recording::kBlocking}},
    {"MPI_Rsend", {.kind = FunctionKind::kSend, .call = Call::kSend, .flags = recording::kBlocking}},
    {"MPI_Ssend",
     {.kind = FunctionKind::kSend,
      .call = Call::kSsend,
      .flags = recording::kBlocking | recording::kSynchronous}},
    {"MPI_Bsend",
     {.kind = FunctionKind::kSend,
      .call = Call::kBsend,
      .flags = recording::kBlocking | recording::kBuffered}},
    {"MPI_Isend", {.kind = FunctionKind::kSend, .call = Call::kIsend}},
    {"MPI_Irsend", {.kind = FunctionKind::kSend, .call = Call::kIsend}},
    {"MPI_Issend", {.kind = FunctionKind::kSend, .call = Call::kIssend, .flags = recording::kSynchronous}},
    {"MPI_Ibsend", {.kind = FunctionKind::kSend, .call = Call::kIbsend, .flags = recording::kBuffered}},
    {"MPI_Recv", {.kind = FunctionKind::kReceive, .call = Call::kRecv, .flags = recording::kBlocking}},
    {"MPI_Irecv", {.kind = FunctionKind::kReceive, .call = Call::kIrecv}},
    {"MPI_Send_init", {.kind = FunctionKind::kPersistent, .call = Call::kIsend, .sends = true}},
    {"MPI_Rsend_init", {.kind = FunctionKind::kPersistent, .call = Call::kIsend, .sends = true}},
    {"MPI_Ssend_init",
     {.kind = FunctionKind::kPersistent,
      .call = Call::kIssend,
      .flags = recording::kSynchronous,
      .sends = true}},
    {"MPI_Bsend_init",
     {.kind = FunctionKind::kPersistent,
      .call = Call::kIbsend,
      .flags = recording::kBuffered,
      .sends = true}},
    {"MPI_Recv_init", {.kind = FunctionKind::kPersistent, .call = Call::kIrecv}},
    {"MPI_Start", {.kind = FunctionKind::kStart}},
    {"MPI_Startall", {.kind = FunctionKind::kStartall}},
    {"MPI_Sendrecv", {.kind = FunctionKind::kSendrecv, .call = Call::kSendrecv}},
    {"MPI_Sendrecv_replace", {.kind = FunctionKind::kSendrecvReplace, .call = Call::kSendrecv}},
    {"MPI_Wait", {.kind = FunctionKind::kWait, .call = Call::kWait}},
    {"MPI_Waitall", {.kind = FunctionKind::kWaitall, .call = Call::kWaitall}},
    {"MPI_Waitany", {.kind = FunctionKind::kWaitany, .call = Call::kWaitany}},
    {"MPI_Waitsome", {.kind = FunctionKind::kWaitsome, .call = Call::kWaitsome}},
    {"MPI_Test", {.kind = FunctionKind::kTest, .call = Call::kTest}},
    {"MPI_Testall", {.kind = FunctionKind::kTestall, .call = Call::kTest}},
    {"MPI_Testany", {.kind = FunctionKind::kTestany, .call = Call::kTest}},
    {"MPI_Testsome", {.kind = FunctionKind::kTestsome, .call = Call::kTest}},
    {"MPI_Probe", {.kind = FunctionKind::kProbe, .call = Call::kProbe}},
    {"MPI_Iprobe", {.kind = FunctionKind::kIprobe}},
    {"MPI_Cancel", {.kind = FunctionKind::kCancel}},
    {"MPI_Request_free", {.kind = FunctionKind::kRequestFree}},
    {"MPI_Comm_dup", {.kind = FunctionKind::kMaking, .making = Making::Kind::kDuplicate}},
    {"MPI_Graph_create", {.kind = FunctionKind::kMaking, .making = Making::Kind::kDuplicate}},
    {"MPI_Comm_split", {.kind = FunctionKind::kMaking, .making = Making::Kind::kSplit}},
    {"MPI_Comm_create", {.kind = FunctionKind::kMaking, .making = Making::Kind::kCreate}},
    {"MPI_Cart_create", {.kind = FunctionKind::kMaking, .making = Making::Kind::kGrid}},
    {"MPI_Cart_sub", {.kind = FunctionKind::kMaking, .making = Making::Kind::kSubgrid}},
    {"MPI_Comm_group", {.kind = FunctionKind::kMaking, .making = Making::Kind::kGroup}},
    {"MPI_Group_incl", {.kind = FunctionKind::kMaking, .making = Making::Kind::kInclude}},
    {"MPI_Group_excl", {.kind = FunctionKind::kMaking, .making = Making::Kind::kExclude}},
};

/// Those that move data or wait for other ranks, and that have no event here.
constexpr std::string_view kUnknowns[] = {"MPI_Put",
                                          "MPI_Get",
                                          "MPI_Accumulate",
                                          "MPI_Rput",
                                          "MPI_Rget",
                                          "MPI_Raccumulate",
                                          "MPI_Fetch_and_op",
                                          "MPI_Compare_and_swap",
                                          "MPI_Get_accumulate",
                                          "MPI_Mprobe",
                                          "MPI_Improbe",
                                          "MPI_Mrecv",
                                          "MPI_Imrecv",
                                          "MPI_Alltoallw",
                                          "MPI_Ialltoallw",
                                          "MPI_Intercomm_create",
                                          "MPI_Intercomm_merge",
                                          "MPI_Comm_accept",
                                          "MPI_Comm_connect",
                                          "MPI_Comm_spawn",
                                          "MPI_Comm_spawn_multiple",
                                          "MPI_Comm_idup",
                                          "MPI_Comm_split_type",
                                          "MPI_Comm_create_group",
                                          "MPI_Dist_graph_create",
                                          "MPI_Dist_graph_create_adjacent"};
/// What begins like this is unknown, too.
constexpr std::string_view kUnknownBeginnings[] = {"MPI_Win_", "MPI_File_", "MPI_Neighbor_",
                                                   "MPI_Ineighbor_"};

/// "bcast" of "MPI_Ibcast".
std::optional<Function> collective_of(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const bool blocking : {true, false}) {
    const std::string_view wanted = std::string_view(lower).substr(blocking ? 0 : 1);
    if (!blocking && !lower.starts_with('i')) break;
    if (wanted == "alltoallw") break;
    for (const KindTraits& kind : kOperationKinds) {
      if (kind.kind == OperationKind::kSend) continue;
      for (std::string_view names = kind.mpi_functions; !names.empty();) {
        const std::size_t end = std::min(names.find(' '), names.size());
        if (names.substr(0, end) == wanted)
          return Function{.kind = FunctionKind::kCollective, .operation = kind.kind, .blocking = blocking};
        names.remove_prefix(std::min(end + 1, names.size()));
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Function function_of(std::string_view name) {
  for (const NamedFunction& one : kMpiFunctions) {
    if (one.name == name) return one.function;
  }
  constexpr std::string_view kPrefix = "MPI_";
  if (!name.starts_with(kPrefix)) return {};
  if (const auto collective = collective_of(name.substr(kPrefix.size()))) return *collective;
  const bool unknown = std::find(std::begin(kUnknowns), std::end(kUnknowns), name) != std::end(kUnknowns) ||
                       std::any_of(std::begin(kUnknownBeginnings), std::end(kUnknownBeginnings),
                                   [&](std::string_view begin) { return name.starts_with(begin); });
  return unknown ? Function{.kind = FunctionKind::kUnknown} : Function();
}

}  // namespace offramp::trace
