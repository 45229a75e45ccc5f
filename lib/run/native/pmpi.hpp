// The MPI library's functions that Offramp calls but does not export: calling PMPI_X by name is only safe if
// this library does not define it. Exported functions are called through the table `native`.
#pragma once

#include <mpi.h>

#include "offramp/generated/mpi_table.hpp"

namespace offramp::pmpi {

// NOLINTBEGIN(readability-identifier-naming)
inline constexpr auto Type_get_envelope = &::PMPI_Type_get_envelope;
inline constexpr auto Type_get_contents = &::PMPI_Type_get_contents;
#ifdef OFFRAMP_HAS_LARGE_COUNTS
inline constexpr auto Type_get_envelope_c = &::PMPI_Type_get_envelope_c;
inline constexpr auto Type_get_contents_c = &::PMPI_Type_get_contents_c;
#endif
inline constexpr auto Type_size_x = &::PMPI_Type_size_x;
inline constexpr auto Type_get_extent = &::PMPI_Type_get_extent;
inline constexpr auto Type_get_true_extent = &::PMPI_Type_get_true_extent;
int Type_free(MPI_Datatype* type);  // exported by this library, so it uses the table
inline constexpr auto Comm_get_parent = &::PMPI_Comm_get_parent;
inline constexpr auto Comm_get_errhandler = &::PMPI_Comm_get_errhandler;
inline constexpr auto Comm_set_errhandler = &::PMPI_Comm_set_errhandler;
inline constexpr auto Errhandler_free = &::PMPI_Errhandler_free;
inline constexpr auto Comm_get_name = &::PMPI_Comm_get_name;
inline constexpr auto Comm_rank = &::PMPI_Comm_rank;
inline constexpr auto Comm_size = &::PMPI_Comm_size;
inline constexpr auto Comm_group = &::PMPI_Comm_group;
inline constexpr auto Comm_remote_group = &::PMPI_Comm_remote_group;
inline constexpr auto Comm_test_inter = &::PMPI_Comm_test_inter;
inline constexpr auto Group_size = &::PMPI_Group_size;
inline constexpr auto Group_translate_ranks = &::PMPI_Group_translate_ranks;
inline constexpr auto Group_free = &::PMPI_Group_free;
#ifdef OFFRAMP_HAS_Session_init
inline constexpr auto Group_from_session_pset = &::PMPI_Group_from_session_pset;
inline constexpr auto Session_get_info = &::PMPI_Session_get_info;
inline constexpr auto Info_get = &::PMPI_Info_get;
inline constexpr auto Info_set = &::PMPI_Info_set;
inline constexpr auto Info_create = &::PMPI_Info_create;
inline constexpr auto Info_free = &::PMPI_Info_free;
#endif
inline constexpr auto Win_get_group = &::PMPI_Win_get_group;
inline constexpr auto Topo_test = &::PMPI_Topo_test;
inline constexpr auto Cartdim_get = &::PMPI_Cartdim_get;
inline constexpr auto Cart_shift = &::PMPI_Cart_shift;
inline constexpr auto Graph_neighbors_count = &::PMPI_Graph_neighbors_count;
inline constexpr auto Graph_neighbors = &::PMPI_Graph_neighbors;
inline constexpr auto Dist_graph_neighbors_count = &::PMPI_Dist_graph_neighbors_count;
inline constexpr auto Dist_graph_neighbors = &::PMPI_Dist_graph_neighbors;
inline constexpr auto Error_class = &::PMPI_Error_class;
inline constexpr auto Op_commutative = &::PMPI_Op_commutative;
inline constexpr auto Add_error_code = &::PMPI_Add_error_code;
inline constexpr auto Add_error_string = &::PMPI_Add_error_string;
inline constexpr auto Get_processor_name = &::PMPI_Get_processor_name;
inline constexpr auto Get_library_version = &::PMPI_Get_library_version;
inline constexpr auto Query_thread = &::PMPI_Query_thread;
inline constexpr auto Initialized = &::PMPI_Initialized;
inline constexpr auto T_category_get_info = &::PMPI_T_category_get_info;
// NOLINTEND(readability-identifier-naming)

}  // namespace offramp::pmpi
