// Implements the entry points of the collectives, which generate.py writes: an operation is built from the
// arguments and carried, or else passed to the MPI library. build: makes the operation
// (collective_build.hpp). library: the MPI library's own function. Both get the same arguments.
#pragma once

#include "lib/run/mpi/marshal/collective_build.hpp"
#include "lib/run/mpi/runtime/native_calls.hpp"
#include "lib/run/mpi/runtime/request.hpp"

namespace offramp {

/// Runs a built collective to completion.
Outcome run(InterposedCall& call, CollectiveCall& collective);

/// The recorded events of a blocking collective.
/// The end is recorded by the destructor, also if the MPI library reports an error.
class BlockingEvents {
 public:
  BlockingEvents(InterposedCall& call, CollectiveCall& collective)
      : recorder_(call.recorder()), function_(call.function()) {
    if (recorder_ != nullptr) request_ = recorder_->begin(function_, collective);
  }
  ~BlockingEvents() {
    if (recorder_ != nullptr) recorder_->end(function_, request_);
  }
  BlockingEvents& operator=(BlockingEvents&&) = delete;

 private:
  ProgramRecorder* recorder_;
  Function function_;
  std::uint32_t request_ = 0;
};

/// A blocking collective, kept from an earlier call with the same arguments or built, and kept at the end.
class BlockingCollective {
 public:
  template <typename Build, typename... Arguments>
  [[gnu::always_inline]] BlockingCollective(MarshalContext& context, Function function, Build build,
                                            Arguments... arguments) {
    if constexpr (KeptCalls::kCanKeep<Arguments...>) {
      const std::uint64_t label = context.communicators.generation() << 16U | static_cast<unsigned>(function);
      KeptCalls::Slot& slot = context.kept_calls.slot(label, arguments...);
      const bool is_kept = slot.has(label, arguments...) && !slot.is_in_use;
      if (!is_kept) [[unlikely]]
        built_ = build(context, arguments...);
      if (is_kept || slot.replace(built_, label, arguments...)) {
        slot_ = &slot;
        slot.is_in_use = true;
      }
      call_ = slot_ != nullptr ? slot.call.get() : built_.get();
    } else {
      built_ = build(context, arguments...);
      call_ = built_.get();
    }
  }
  ~BlockingCollective() {
    if (slot_ == nullptr) return;
    // A kept call is ready for its next use at once.
    call_->rearm();
    slot_->is_in_use = false;
  }
  BlockingCollective& operator=(BlockingCollective&&) = delete;

  /// Null if Offramp does not carry the call.
  [[nodiscard]] CollectiveCall* get() const { return call_; }

 private:
  CollectiveCall* call_ = nullptr;
  KeptCalls::Slot* slot_ = nullptr;  // null: the call is `built_`
  BuiltCall built_;
};

/// sizes(): the BlockSizes of the call on an intercommunicator, whose collectives the library carries.
[[gnu::always_inline]] inline int start_collective(Function function, MPI_Comm comm, auto sizes, auto build,
                                                   auto library, auto... arguments) {
  Outcome outcome = Outcome::kOk;
  {
    InterposedCall call(function);
    const BlockingCollective blocking(call.session.marshal(), function, build, arguments..., comm);
    CollectiveCall* const collective = blocking.get();
    if (collective == nullptr) {
      return pass_blocks(call, context_between_groups(call.session, comm), comm, sizes(),
                         [&] { return library(arguments..., comm); });
    }
    const BlockingEvents events(call, *collective);
    if (!call.session.carries()) return call.leave_to_library([&] { return library(arguments..., comm); });
    outcome = run(call, *collective);
    // The library computes the result of a reduction whose operation it alone can apply. Offramp has counted
    // it.
    if (collective->native_result) {
      const int code = call.unlocked([&] { return library(arguments..., comm); });
      if (code != MPI_SUCCESS) return code;
    }
  }
  /// The lock is released before: an error handler of the program may call MPI.
  return finish(function, comm, outcome);
}

/// A nonblocking collective: the request in `handle` is Offramp's, or the library's if it carries the call.
[[gnu::always_inline]] inline int start_icollective(Function function, MPI_Comm comm, MPI_Request* handle,
                                                    auto sizes, auto build, auto library, auto... arguments) {
  InterposedCall call(function);
  BuiltCall collective = handle != nullptr ? build(call.session.marshal(), arguments..., comm) : nullptr;
  if (collective == nullptr) {
    call.session.library_has_work();
    return start_blocks(call, context_between_groups(call.session, comm), comm, sizes(), handle, [&] {
      return pass_through(call, function, [&] { return library(arguments..., comm, handle); });
    });
  }
  /// The model lets such a collective proceed while the program computes.
  collective->operation.nonblocking = true;
  const std::uint32_t recorded = record_start(call.session, *collective);
  if (!call.session.carries()) {
    const int code = call.leave_to_library([&] { return library(arguments..., comm, handle); });
    if (code == MPI_SUCCESS) track(call.session, comm, *handle, recorded);
    return code;
  }
  if (collective->native_result) {
    call.session.library_has_work();
    const int code = call.unlocked([&] { return library(arguments..., comm, handle); });
    if (code != MPI_SUCCESS) return code;
    collective->start();  // also counts it
    *handle = follow(call.session, comm, *handle, recorded);
    return code;
  }
  CollectiveRequest& request = acquire_collective_request(comm, Request::Kind::kCollective);
  request.recorded = recorded;
  *handle = request.handle;
  start_collective(request, std::move(collective));
  return MPI_SUCCESS;
}

/// A persistent collective of blocks, which the MPI library carries.
int make_persistent_blocks(Function function, MPI_Comm comm, const BlockSizes& sizes, MPI_Request* handle,
                           const std::function<int()>& library);
/// Persistent collectives. build() makes the operation of a start, or null if the call is not carried.
int make_persistent(InterposedCall& call, MPI_Comm comm, MPI_Request* handle, MPI_Op op,
                    std::function<BuiltCall()> build, const std::function<int()>& library)
    REQUIRES(session_lock);

[[gnu::always_inline]] inline int start_pcollective(Function function, MPI_Comm comm, MPI_Info info,
                                                    MPI_Request* handle, MPI_Op op, auto build, auto library,
                                                    auto... arguments) {
  InterposedCall call(function);
  return make_persistent(
      call, comm, handle, op, [=] { return build(Session::current->marshal(), arguments..., comm); },
      [=] { return library(arguments..., comm, info, handle); });
}

}  // namespace offramp
