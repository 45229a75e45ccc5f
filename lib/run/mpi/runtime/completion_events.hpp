// The events of a call that completes requests: which they are in the recording, collected before the call
// lets go of their handles, and what has become of them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "lib/run/mpi/runtime/request.hpp"

namespace offramp {

class CompletionEvents {
 public:
  CompletionEvents(Call& call, int count, const MPI_Request* requests)
      : call_(call), recorder_(call.recorder()) {
    if (recorder_ != nullptr && requests != nullptr && count > 0) collect(count, requests);
  }

  /// Where the library is to tell the statuses: where the program wants them, or here if the recording does.
  MPI_Status* statuses(MPI_Status* wanted) { return library_ ? own_statuses(wanted) : wanted; }

  /// The library has told them already, before this was there; the requests are a copy from before that.
  void has_told(const MPI_Status* statuses) {
    if (library_) library_->told = statuses;
  }

  // What the program learns.
  void all();
  /// The call has failed: those that it has completed.
  void all_completed(int count, const MPI_Request* requests);
  /// flag: how it was asked. places: indices of the list, with their statuses in this order.
  void some(std::span<const int> places, recording::EventFlag flag);

 private:
  /// One value for each request of the call: few need no memory of their own.
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
  struct Known {
    MPI_Request handle;
    std::uint32_t wildcard;
  };
  /// Where the library carries all. It lets go of a request before the call returns. With threads, another
  /// one may have the same handle by then; else they are looked up when the call has completed something.
  struct OfLibrary {
    OfLibrary() {}  // not the default one, which would clear the arrays first
    PerRequest<Known> requests;
    PerRequest<MPI_Status> statuses;
    const MPI_Status* told = nullptr;
    bool looked_up = false;
  };

  void collect(int count, const MPI_Request* requests);
  void look_up();
  MPI_Status* own_statuses(MPI_Status* wanted);
  void took(std::size_t place, std::size_t told);

  Call& call_;
  ProgramRecorder* recorder_;
  PerRequest<std::uint32_t> numbers_;
  std::optional<OfLibrary> library_;
};

}  // namespace offramp
