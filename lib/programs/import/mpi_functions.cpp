#include "lib/programs/import/mpi_functions.hpp"

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
    {"MPI_Init", {.call = MpiFunction::kInit}},
    {"MPI_Init_thread", {.call = MpiFunction::kInit}},
    {"MPI_Finalize", {.call = MpiFunction::kFinalize}},
    {"MPI_Send", {.kind = FunctionKind::kSend, .call = MpiFunction::kSend, .flags = recording::kBlocking}},
    {"MPI_Rsend", {.kind = FunctionKind::kSend, .call = MpiFunction::kSend, .flags = recording::kBlocking}},
    {"MPI_Ssend",
     {.kind = FunctionKind::kSend,
      .call = MpiFunction::kSsend,
      .flags = recording::kBlocking | recording::kSynchronous}},
    {"MPI_Bsend",
     {.kind = FunctionKind::kSend,
      .call = MpiFunction::kBsend,
      .flags = recording::kBlocking | recording::kBuffered}},
    {"MPI_Isend", {.kind = FunctionKind::kSend, .call = MpiFunction::kIsend}},
    {"MPI_Irsend", {.kind = FunctionKind::kSend, .call = MpiFunction::kIsend}},
    {"MPI_Issend",
     {.kind = FunctionKind::kSend, .call = MpiFunction::kIssend, .flags = recording::kSynchronous}},
    {"MPI_Ibsend",
     {.kind = FunctionKind::kSend, .call = MpiFunction::kIbsend, .flags = recording::kBuffered}},
    {"MPI_Recv", {.kind = FunctionKind::kReceive, .call = MpiFunction::kRecv, .flags = recording::kBlocking}},
    {"MPI_Irecv", {.kind = FunctionKind::kReceive, .call = MpiFunction::kIrecv}},
    {"MPI_Send_init", {.kind = FunctionKind::kPersistent, .call = MpiFunction::kIsend, .sends = true}},
    {"MPI_Rsend_init", {.kind = FunctionKind::kPersistent, .call = MpiFunction::kIsend, .sends = true}},
    {"MPI_Ssend_init",
     {.kind = FunctionKind::kPersistent,
      .call = MpiFunction::kIssend,
      .flags = recording::kSynchronous,
      .sends = true}},
    {"MPI_Bsend_init",
     {.kind = FunctionKind::kPersistent,
      .call = MpiFunction::kIbsend,
      .flags = recording::kBuffered,
      .sends = true}},
    {"MPI_Recv_init", {.kind = FunctionKind::kPersistent, .call = MpiFunction::kIrecv}},
    {"MPI_Start", {.kind = FunctionKind::kStart}},
    {"MPI_Startall", {.kind = FunctionKind::kStartall}},
    {"MPI_Sendrecv", {.kind = FunctionKind::kSendrecv, .call = MpiFunction::kSendrecv}},
    {"MPI_Sendrecv_replace", {.kind = FunctionKind::kSendrecvReplace, .call = MpiFunction::kSendrecv}},
    {"MPI_Wait", {.kind = FunctionKind::kWait, .call = MpiFunction::kWait}},
    {"MPI_Waitall", {.kind = FunctionKind::kWaitall, .call = MpiFunction::kWaitall}},
    {"MPI_Waitany", {.kind = FunctionKind::kWaitany, .call = MpiFunction::kWaitany}},
    {"MPI_Waitsome", {.kind = FunctionKind::kWaitsome, .call = MpiFunction::kWaitsome}},
    {"MPI_Test", {.kind = FunctionKind::kTest, .call = MpiFunction::kTest}},
    {"MPI_Testall", {.kind = FunctionKind::kTestall, .call = MpiFunction::kTest}},
    {"MPI_Testany", {.kind = FunctionKind::kTestany, .call = MpiFunction::kTest}},
    {"MPI_Testsome", {.kind = FunctionKind::kTestsome, .call = MpiFunction::kTest}},
    {"MPI_Probe", {.kind = FunctionKind::kProbe, .call = MpiFunction::kProbe}},
    {"MPI_Iprobe", {.kind = FunctionKind::kIprobe}},
    {"MPI_Cancel", {.kind = FunctionKind::kCancel}},
    {"MPI_Request_free", {.kind = FunctionKind::kRequestFree}},
    {"MPI_Comm_dup", {.kind = FunctionKind::kMaking, .making = Making::Method::kDuplicate}},
    {"MPI_Graph_create", {.kind = FunctionKind::kMaking, .making = Making::Method::kDuplicate}},
    {"MPI_Comm_split", {.kind = FunctionKind::kMaking, .making = Making::Method::kSplit}},
    {"MPI_Comm_create", {.kind = FunctionKind::kMaking, .making = Making::Method::kCreate}},
    {"MPI_Cart_create", {.kind = FunctionKind::kMaking, .making = Making::Method::kGrid}},
    {"MPI_Cart_sub", {.kind = FunctionKind::kMaking, .making = Making::Method::kSubgrid}},
    {"MPI_Comm_group", {.kind = FunctionKind::kMaking, .making = Making::Method::kGroup}},
    {"MPI_Group_incl", {.kind = FunctionKind::kMaking, .making = Making::Method::kInclude}},
    {"MPI_Group_excl", {.kind = FunctionKind::kMaking, .making = Making::Method::kExclude}},
};

/// Prefixes of functions that neither move data nor wait for other ranks. All others without an event are
/// unknown and are reported: functions of later versions of MPI, and invalid names.
constexpr std::string_view kLocal[] = {"MPI_Add_error_",
                                       "MPI_Address",
                                       "MPI_Aint_",
                                       "MPI_Alloc_mem",
                                       "MPI_Attr_",
                                       "MPI_Buffer_",
                                       "MPI_Cart_",
                                       "MPI_Cartdim_get",
                                       "MPI_Close_port",
                                       "MPI_Comm_c2f",
                                       "MPI_Comm_call_errhandler",
                                       "MPI_Comm_compare",
                                       "MPI_Comm_create_errhandler",
                                       "MPI_Comm_create_keyval",
                                       "MPI_Comm_delete_attr",
                                       "MPI_Comm_f2c",
                                       "MPI_Comm_free",
                                       "MPI_Comm_get_",
                                       "MPI_Comm_rank",
                                       "MPI_Comm_remote_",
                                       "MPI_Comm_set_",
                                       "MPI_Comm_size",
                                       "MPI_Comm_test_inter",
                                       "MPI_Dims_create",
                                       "MPI_Dist_graph_neighbors",
                                       "MPI_Errhandler_",
                                       "MPI_Error_",
                                       "MPI_F_sync_reg",
                                       "MPI_File_call_errhandler",
                                       "MPI_File_create_errhandler",
                                       "MPI_File_get_",
                                       "MPI_File_set_errhandler",
                                       "MPI_Finalized",
                                       "MPI_Free_mem",
                                       "MPI_Get_address",
                                       "MPI_Get_count",
                                       "MPI_Get_elements",
                                       "MPI_Get_hw_resource_info",
                                       "MPI_Get_library_version",
                                       "MPI_Get_processor_name",
                                       "MPI_Get_version",
                                       "MPI_Graph_",
                                       "MPI_Graphdims_get",
                                       "MPI_Grequest_",
                                       "MPI_Group_",
                                       "MPI_Info_",
                                       "MPI_Initialized",
                                       "MPI_Is_thread_main",
                                       "MPI_Keyval_",
                                       "MPI_Lookup_name",
                                       "MPI_Op_",
                                       "MPI_Open_port",
                                       "MPI_Pack",
                                       "MPI_Pcontrol",
                                       "MPI_Publish_name",
                                       "MPI_Query_thread",
                                       "MPI_Register_datarep",
                                       "MPI_Remove_error_",
                                       "MPI_Request_get_status",
                                       "MPI_Session_",
                                       "MPI_Sizeof",
                                       "MPI_Status_",
                                       "MPI_T_",
                                       "MPI_Test_cancelled",
                                       "MPI_Topo_test",
                                       "MPI_Type_",
                                       "MPI_Unpack",
                                       "MPI_Unpublish_name",
                                       "MPI_Win_call_errhandler",
                                       "MPI_Win_create_errhandler",
                                       "MPI_Win_create_keyval",
                                       "MPI_Win_delete_attr",
                                       "MPI_Win_free_keyval",
                                       "MPI_Win_get_",
                                       "MPI_Win_set_",
                                       "MPI_Wtick",
                                       "MPI_Wtime"};

/// Finds "bcast" in "MPI_Ibcast".
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
  if (name.starts_with(kPrefix)) {
    if (const auto collective = collective_of(name.substr(kPrefix.size()))) return *collective;
  }
  const bool is_local = std::any_of(std::begin(kLocal), std::end(kLocal),
                                    [&](std::string_view begin) { return name.starts_with(begin); });
  return is_local ? Function() : Function{.kind = FunctionKind::kUnknown};
}

}  // namespace offramp::trace
