// A function is looked up in three lists: point-to-point and communicators by name, collectives by the names
// in kOperationKinds, and local functions by prefix. Any other name counts as unknown rather than local, so
// that a function of a later MPI is reported instead of taking no time unnoticed.
#include "lib/programs/import/mpi_functions.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lib/base/text_format.hpp"
#include "lib/programs/import/lines.hpp"
#include "offramp/kernel/immortal.hpp"

namespace offramp::trace {
namespace {

using recording::kBlocking;
using recording::kBuffered;
using recording::kSynchronous;

// A row of the table below. Names are compared as written, in C's spelling.
struct NamedFunction {
  std::string_view name;
  Function function;
};

// A row for a function that begins a message.
constexpr Function message(FunctionKind kind, MpiFunction call, int flags = 0, bool sends = false) {
  return {.kind = kind, .call = call, .flags = static_cast<std::uint8_t>(flags), .sends = sends};
}
// A row for a function that makes a communicator or a group.
constexpr Function making(Making::Method method) {
  return {.kind = FunctionKind::kMaking, .making = method};
}

constexpr auto kMpiFunctions = [] {
  using enum FunctionKind;
  using enum Making::Method;
  return std::to_array<NamedFunction>({
      {"MPI_Init", {.call = MpiFunction::kInit}},
      {"MPI_Init_thread", {.call = MpiFunction::kInit}},
      {"MPI_Finalize", {.call = MpiFunction::kFinalize}},
      {"MPI_Send", message(kSend, MpiFunction::kSend, kBlocking)},
      // A ready send may be an ordinary one: MPI 4.1, section 3.4.
      {"MPI_Rsend", message(kSend, MpiFunction::kSend, kBlocking)},
      {"MPI_Ssend", message(kSend, MpiFunction::kSsend, kBlocking | kSynchronous)},
      {"MPI_Bsend", message(kSend, MpiFunction::kBsend, kBlocking | kBuffered)},
      {"MPI_Isend", message(kSend, MpiFunction::kIsend)},
      {"MPI_Irsend", message(kSend, MpiFunction::kIsend)},
      {"MPI_Issend", message(kSend, MpiFunction::kIssend, kSynchronous)},
      {"MPI_Ibsend", message(kSend, MpiFunction::kIbsend, kBuffered)},
      {"MPI_Recv", message(kReceive, MpiFunction::kRecv, kBlocking)},
      {"MPI_Irecv", message(kReceive, MpiFunction::kIrecv)},
      {"MPI_Send_init", message(kPersistent, MpiFunction::kIsend, 0, true)},
      {"MPI_Rsend_init", message(kPersistent, MpiFunction::kIsend, 0, true)},
      {"MPI_Ssend_init", message(kPersistent, MpiFunction::kIssend, kSynchronous, true)},
      {"MPI_Bsend_init", message(kPersistent, MpiFunction::kIbsend, kBuffered, true)},
      {"MPI_Recv_init", message(kPersistent, MpiFunction::kIrecv)},
      {"MPI_Start", {.kind = kStart}},
      {"MPI_Startall", {.kind = kStartall}},
      {"MPI_Sendrecv", {.kind = kSendrecv, .call = MpiFunction::kSendrecv}},
      {"MPI_Sendrecv_replace", {.kind = kSendrecvReplace, .call = MpiFunction::kSendrecv}},
      {"MPI_Wait", {.kind = kWait, .call = MpiFunction::kWait}},
      {"MPI_Waitall", {.kind = kWaitall, .call = MpiFunction::kWaitall}},
      {"MPI_Waitany", {.kind = kWaitany, .call = MpiFunction::kWaitany}},
      {"MPI_Waitsome", {.kind = kWaitsome, .call = MpiFunction::kWaitsome}},
      {"MPI_Test", {.kind = kTest, .call = MpiFunction::kTest}},
      {"MPI_Testall", {.kind = kTestall, .call = MpiFunction::kTest}},
      {"MPI_Testany", {.kind = kTestany, .call = MpiFunction::kTest}},
      {"MPI_Testsome", {.kind = kTestsome, .call = MpiFunction::kTest}},
      {"MPI_Probe", {.kind = kProbe, .call = MpiFunction::kProbe}},
      {"MPI_Iprobe", {.kind = kIprobe}},
      {"MPI_Cancel", {.kind = kCancel}},
      {"MPI_Request_free", {.kind = kRequestFree}},
      {"MPI_Comm_dup", making(kDuplicate)},
      // Counts as a copy, as if the new ranks kept the order of the old ones.
      {"MPI_Graph_create", making(kDuplicate)},
      {"MPI_Comm_split", making(kSplit)},
      {"MPI_Comm_create", making(kCreate)},
      {"MPI_Cart_create", making(kGrid)},
      {"MPI_Cart_sub", making(kSubgrid)},
      {"MPI_Comm_group", making(kGroup)},
      {"MPI_Group_incl", making(kInclude)},
      {"MPI_Group_excl", making(kExclude)},
  });
}();

/// Prefixes, without MPI_, of functions that neither move data nor wait for other ranks. All others without
/// an event are unknown and are reported: functions of later versions of MPI, and invalid names.
constexpr std::string_view kLocal =
    "Add_error_ Address Aint_ Alloc_mem Attr_ Buffer_ Cart_ Cartdim_get Close_port Comm_c2f "
    "Comm_call_errhandler Comm_compare Comm_create_errhandler Comm_create_keyval Comm_delete_attr "
    "Comm_f2c Comm_free Comm_get_ Comm_rank Comm_remote_ Comm_set_ Comm_size Comm_test_inter Dims_create "
    "Dist_graph_neighbors Errhandler_ Error_ F_sync_reg File_call_errhandler File_create_errhandler "
    "File_get_ File_set_errhandler Finalized Free_mem Get_address Get_count Get_elements "
    "Get_hw_resource_info Get_library_version Get_processor_name Get_version Graph_ Graphdims_get "
    "Grequest_ Group_ Info_ Initialized Is_thread_main Keyval_ Lookup_name Op_ Open_port Pack Pcontrol "
    "Publish_name Query_thread Register_datarep Remove_error_ Request_get_status Session_ Sizeof Status_ "
    "T_ Test_cancelled Topo_test Type_ Unpack Unpublish_name Win_call_errhandler Win_create_errhandler "
    "Win_create_keyval Win_delete_attr Win_free_keyval Win_get_ Win_set_ Wtick Wtime";

/// Finds "bcast" in "MPI_Ibcast".
std::optional<Function> collective_of(std::string_view name) {
  const std::string lower = in_lower_case(name);
  for (const bool blocking : {true, false}) {
    const std::string_view wanted = std::string_view(lower).substr(blocking ? 0 : 1);
    // Only nonblocking functions have the additional letter.
    if (!blocking && !lower.starts_with('i')) break;
    // Its types differ between blocks, and no model has such a collective.
    if (wanted == "alltoallw") break;
    for (const KindTraits& kind : kOperationKinds) {
      // Sends are in the table, with their modes.
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
  if (!name.starts_with(kPrefix)) return {.kind = FunctionKind::kUnknown};
  name.remove_prefix(kPrefix.size());
  // Before local functions: some collectives begin with a local prefix.
  if (const auto collective = collective_of(name)) return *collective;
  // Split once, and never destroyed: threads may still look names up at the exit.
  static const std::vector<std::string_view>& local = immortal([] {
    std::vector<std::string_view> prefixes;
    split(kLocal, prefixes);
    return prefixes;
  }());
  const bool is_local = std::any_of(local.begin(), local.end(),
                                    [&](std::string_view begin) { return name.starts_with(begin); });
  return is_local ? Function() : Function{.kind = FunctionKind::kUnknown};
}

}  // namespace offramp::trace
