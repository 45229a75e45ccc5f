// Wraps calls that wait for other processes inside MPICH, whose progress engine has no hooks: meanwhile a
// thread serves Offramp's fabric. Completion calls poll instead (mpich_completion.cpp).
#include <type_traits>

#include "lib/run/native/mpich_inner.hpp"

namespace offramp::mpich {
namespace {

MpiTable blocking;  // the wrapped functions

template <auto Entry, typename Pointer>
struct Served;
template <auto Entry, typename Result, typename... Arguments>
struct Served<Entry, Result (*)(Arguments...)> {
  static Result call(Arguments... arguments) {
    // Without messages of Offramp nothing has to be served, and the call costs one test.
    if (!has_progress()) return (blocking.*Entry)(arguments...);
    Result result{};
    run_by(session_callbacks().serving, [&] { result = (blocking.*Entry)(arguments...); });
    return result;
  }
};

template <auto... Entries>
void serve(MpiTable& table) {
  ((table.*Entries = &Served<Entries, std::decay_t<decltype(table.*Entries)>>::call), ...);
}

/// Wraps the functions that have two forms.
template <typename F>
void serve_form(MpiTable& table) {
  serve<F::Send, F::Bsend, F::Ssend, F::Rsend, F::Recv, F::Sendrecv, F::Sendrecv_replace, F::Mrecv,
        F::Buffer_detach>(table);
  serve<F::Bcast, F::Reduce, F::Gather, F::Allreduce, F::Scatter, F::Allgather, F::Alltoall,
        F::Reduce_scatter, F::Reduce_scatter_block, F::Scan, F::Exscan, F::Gatherv, F::Scatterv,
        F::Allgatherv, F::Alltoallv, F::Alltoallw, F::Neighbor_allgather, F::Neighbor_allgatherv,
        F::Neighbor_alltoall, F::Neighbor_alltoallv, F::Neighbor_alltoallw>(table);
  serve<F::Win_create, F::Win_allocate, F::Win_allocate_shared, F::File_write_ordered, F::File_read_ordered,
        F::File_write_all, F::File_read_all, F::File_write_at_all, F::File_read_at_all>(table);
}

}  // namespace

void replace_blocking(MpiTable& table) {
  using T = MpiTable;
  // The functions that are wrapped here include those that replace_completion() has put into the table.
  blocking = table;
  serve_form<IntForm>(table);
#ifdef OFFRAMP_HAS_LARGE_COUNTS
  serve_form<LargeForm>(table);
#endif
  serve<&T::Probe, &T::Mprobe, &T::Barrier>(table);
  serve<&T::Comm_dup, &T::Comm_dup_with_info, &T::Comm_split, &T::Comm_split_type, &T::Comm_create,
        &T::Comm_create_group, &T::Cart_create, &T::Cart_sub, &T::Graph_create, &T::Dist_graph_create,
        &T::Dist_graph_create_adjacent, &T::Intercomm_create, &T::Intercomm_merge, &T::Comm_free,
        &T::Comm_disconnect>(table);
#ifdef OFFRAMP_HAS_Comm_create_from_group
  serve<&T::Comm_create_from_group>(table);
#endif
  serve<&T::Win_create_dynamic, &T::Win_free, &T::Win_start, &T::Win_complete, &T::Win_wait, &T::Win_fence,
        &T::Win_lock, &T::Win_lock_all, &T::Win_unlock, &T::Win_unlock_all, &T::Win_flush, &T::Win_flush_all,
        &T::Win_flush_local, &T::Win_flush_local_all, &T::Win_post>(table);
  serve<&T::File_open, &T::File_close, &T::File_set_view, &T::File_set_size, &T::File_sync,
        &T::File_seek_shared, &T::File_preallocate, &T::File_set_atomicity>(table);
}

}  // namespace offramp::mpich
