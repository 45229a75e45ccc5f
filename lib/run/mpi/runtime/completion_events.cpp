// If the library carries the calls, the source and tag of a wildcard receive are only in its status.
// own_statuses() therefore replaces MPI_STATUSES_IGNORE where a request has a wildcard, or where it is not
// known yet whether one has. A handle that another thread has reused meanwhile is recognised by its recorded
// number.
#include "lib/run/mpi/runtime/completion_events.hpp"

#include <algorithm>
#include <utility>

namespace offramp {

void CompletionEvents::collect(int count, const MPI_Request* requests) {
  const std::span all(requests, static_cast<std::size_t>(count));
  numbers_.resize(all.size());
  if (call_.session.carries()) {
    std::transform(all.begin(), all.end(), numbers_.values().begin(),
                   [&](MPI_Request handle) { return recorded_of(call_.session, handle); });
    return;
  }
  library_.emplace();
  library_->requests.resize(all.size());
  std::transform(all.begin(), all.end(), library_->requests.values().begin(), [](MPI_Request handle) {
    return Known{handle, 0};
  });
  // See OfLibrary: with threads, the table may change while the library runs.
  if (call_.session.has_threads()) look_up();
}

void CompletionEvents::look_up() {
  if (!library_ || std::exchange(library_->looked_up, true)) return;
  const std::span<Known> known = library_->requests.values();
  for (std::size_t i = 0; i < known.size(); ++i) {
    const TrackedRequest* const tracked = call_.session.tracked().find(known[i].handle);
    numbers_.values()[i] = tracked != nullptr ? tracked->recorded : 0;
    known[i].wildcard = numbers_.values()[i] != 0 ? tracked->wildcard : 0;
  }
}

MPI_Status* CompletionEvents::own_statuses(MPI_Status* wanted) {
  const std::span<const Known> known = library_->requests.values();
  const bool needed = !library_->looked_up || std::any_of(known.begin(), known.end(),
                                                          [](const Known& one) { return one.wildcard != 0; });
  if (!needed) return wanted;
  if (wanted == MPI_STATUSES_IGNORE) {
    library_->statuses.resize(known.size());
    wanted = library_->statuses.values().data();
  }
  library_->filled = wanted;
  return wanted;
}

/// The second argument is the index of its status.
void CompletionEvents::record_completed(std::size_t place, std::size_t status_index) {
  const std::uint32_t number = numbers_.values()[place];
  if (number == 0) return;
  const Known& known = library_->requests.values()[place];
  if (known.wildcard != 0 && library_->filled != nullptr) {
    const MPI_Status& status = library_->filled[status_index];
    const bool cancelled = offramp_native_status_cancelled(&status) != 0;
    // A cancelled receive matched no message, which the recording notes as source -1.
    recorder_->matched(known.wildcard, cancelled ? -1 : status.MPI_SOURCE, cancelled ? 0 : status.MPI_TAG);
  }
  TrackedRequest* const tracked = call_.session.tracked().find(known.handle);
  if (tracked == nullptr || tracked->recorded != number) return;  // another thread has reused the handle
  tracked->recorded = 0;
  if (tracked->more != nullptr) {
    if (const auto complete = std::exchange(tracked->more->complete, nullptr); complete != nullptr)
      complete();
  }
  if (!tracked->persists()) call_.session.tracked().remove(known.handle);
}

void CompletionEvents::record_all() {
  if (recorder_ == nullptr) return;
  look_up();
  const std::span<const std::uint32_t> numbers = numbers_.values();
  if (numbers.size() == 1) {
    recorder_->wait(call_.function(), numbers.front());
  } else {
    recorder_->wait_all(call_.function(), numbers);
  }
  for (std::size_t i = 0; library_ && i < numbers.size(); ++i) record_completed(i, i);
}

void CompletionEvents::record_finished(int count, const MPI_Request* requests) {
  if (recorder_ == nullptr) return;
  look_up();
  const std::span<std::uint32_t> numbers = numbers_.values();
  for (std::size_t i = 0; i < numbers.size() && i < static_cast<std::size_t>(count); ++i) {
    // A request that the failed call did not complete is still active, and gets no event.
    if (offramp_native_request_inactive(requests[i]) == 0) numbers[i] = 0;
  }
  record_all();
}

void CompletionEvents::record_some(std::span<const int> places, recording::EventFlag flag) {
  if (recorder_ == nullptr) return;
  look_up();
  recorder_->wait_some(call_.function(), numbers_.values(), places, flag);
  for (std::size_t i = 0; library_ && i < places.size(); ++i)
    record_completed(static_cast<std::size_t>(places[i]), i);
}

}  // namespace offramp
