// Calls that wait for other processes inside MPICH, whose progress engine turns nothing of ours: a thread
// serves Offramp's fabric meanwhile. Completion calls are not among them: those ask again and again
// (mpich_completion.cpp).
#include "lib/mpi/background_progress.hpp"
#include "lib/mpi/session.hpp"
#include "lib/native/mpich_inner.hpp"

namespace offramp::mpich {
namespace {

MpiTable blocking;  // behind the functions here

template <auto Entry, typename Pointer>
struct Served;
template <auto Entry, typename Result, typename... Arguments>
struct Served<Entry, Result (*)(Arguments...)> {
  static Result call(Arguments... arguments) {
    if (!has_progress()) return (blocking.*Entry)(arguments...);
    const BackgroundProgress serving;
    return (blocking.*Entry)(arguments...);
  }
};

template <auto... Entries>
void serve(MpiTable& table) {
  ((table.*Entries = &Served<Entries, std::decay_t<decltype(table.*Entries)>>::call), ...);
}

}  // namespace

void stand_in_for_blocking(MpiTable& table) {
  using T = MpiTable;
  blocking = table;
  serve<&T::Send, &T::Bsend, &T::Ssend, &T::Rsend, &T::Recv, &T::Sendrecv, &T::Sendrecv_replace, &T::Probe,
        &T::Mprobe, &T::Mrecv, &T::Buffer_detach>(table);
  serve<&T::Comm_dup, &T::Comm_dup_with_info, &T::Comm_split, &T::Comm_split_type, &T::Comm_create,
        &T::Comm_create_group, &T::Cart_create, &T::Cart_sub, &T::Graph_create, &T::Dist_graph_create,
        &T::Dist_graph_create_adjacent, &T::Intercomm_create, &T::Intercomm_merge, &T::Comm_free,
        &T::Comm_disconnect>(table);
#ifdef OFFRAMP_HAS_Comm_create_from_group
  serve<&T::Comm_create_from_group>(table);
#endif
  serve<&T::Bcast, &T::Reduce, &T::Gather, &T::Allreduce, &T::Scatter, &T::Allgather, &T::Alltoall,
        &T::Barrier, &T::Reduce_scatter, &T::Reduce_scatter_block, &T::Scan, &T::Exscan, &T::Gatherv,
        &T::Scatterv, &T::Allgatherv, &T::Alltoallv, &T::Alltoallw, &T::Neighbor_allgather,
        &T::Neighbor_allgatherv, &T::Neighbor_alltoall, &T::Neighbor_alltoallv, &T::Neighbor_alltoallw>(
      table);
  serve<&T::Win_create, &T::Win_allocate, &T::Win_allocate_shared, &T::Win_create_dynamic, &T::Win_free,
        &T::Win_start, &T::Win_complete, &T::Win_wait, &T::Win_fence, &T::Win_lock, &T::Win_lock_all,
        &T::Win_unlock, &T::Win_unlock_all, &T::Win_flush, &T::Win_flush_all, &T::Win_post>(table);
  serve<&T::File_open, &T::File_close, &T::File_set_view, &T::File_set_size, &T::File_sync,
        &T::File_write_ordered, &T::File_read_ordered, &T::File_seek_shared, &T::File_write_all,
        &T::File_read_all, &T::File_write_at_all, &T::File_read_at_all, &T::File_preallocate,
        &T::File_set_atomicity>(table);
}

}  // namespace offramp::mpich
