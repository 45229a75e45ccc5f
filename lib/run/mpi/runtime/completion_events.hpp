// The recorded events of a call that completes requests. The request numbers are collected before the call
// releases the handles; afterwards the events say which requests have completed.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "lib/run/mpi/runtime/request.hpp"

namespace offramp {

/// Lives during one call, on its stack. Used with the session's lock, except while the library runs.
class CompletionEvents {
 public:
  CompletionEvents(InterposedCall& call, int count, const MPI_Request* requests)
      : call_(call), recorder_(call.recorder()) {
    if (recorder_ != nullptr && requests != nullptr && count > 0) collect(count, requests);
  }

  /// The array for the library's statuses: the program's, or one of our own if the recording needs it.
  MPI_Status* statuses(MPI_Status* wanted) { return library_ ? own_statuses(wanted) : wanted; }

  /// For statuses that the library has returned already; the requests are a copy from before the call.
  void set_statuses(const MPI_Status* statuses) {
    if (library_) library_->filled = statuses;
  }

  // Records what the program learns from the call.
  void record_all();
  /// For a call that failed: records the requests that it has completed.
  void record_finished(int count, const MPI_Request* requests);
  /// flag: the kind of completion call. places: indices into the list; statuses are in this order.
  void record_some(std::span<const int> places, recording::EventFlag flag);

 private:
  /// One value per request of the call, without an allocation for up to 16.
  template <typename T>
  class PerRequest {
   public:
    void resize(std::size_t size) {
      if (size > few_.size()) many_.resize(size);
      values_ = size > few_.size() ? std::span<T>(many_) : std::span<T>(few_).first(size);
    }
    [[nodiscard]] std::span<T> values() const { return values_; }

   private:
    std::span<T> values_;
    std::array<T, 16> few_;
    std::vector<T> many_;
  };
  /// A request of the library, as known before the call.
  struct Known {
    MPI_Request handle;
    std::uint32_t wildcard;
  };
  /// Used if the MPI library carries all calls. It releases a request before the call returns, and another
  /// thread may get the same handle by then. So the requests are looked up before the call in threaded
  /// programs, otherwise after a completion.
  struct OfLibrary {
    OfLibrary() {}  // user-provided: a defaulted one would clear the arrays
    PerRequest<Known> requests;
    PerRequest<MPI_Status> statuses;
    const MPI_Status* filled = nullptr;
    bool looked_up = false;
  };

  void collect(int count, const MPI_Request* requests);
  /// Fills in the recorded numbers, once.
  void look_up();
  MPI_Status* own_statuses(MPI_Status* wanted);
  /// Ends the recorded operation of a completed request, with what its status says.
  void record_completed(std::size_t place, std::size_t status_index);

  InterposedCall& call_;
  ProgramRecorder* recorder_;
  PerRequest<std::uint32_t> numbers_;
  std::optional<OfLibrary> library_;
};

}  // namespace offramp
