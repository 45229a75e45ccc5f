#include "lib/mpi/completion_events.hpp"

#include <algorithm>
#include <utility>

namespace offramp {

CompletionEvents::CompletionEvents(Call& call, int count, const MPI_Request* requests)
    : call_(call), recorder_(call.recorder()) {
  if (recorder_ == nullptr || requests == nullptr || count <= 0) return;
  const auto size = static_cast<std::size_t>(count);
  if (size > few_.size()) many_.resize(size);
  numbers_ = size > few_.size() ? std::span(many_) : std::span(few_).first(size);
  std::transform(requests, requests + size, numbers_.begin(),
                 [&](MPI_Request handle) { return recorded_of(call.session, handle); });
  if (call.session.carries) return;
  handles_.assign(requests, requests + size);
  for (const MPI_Request handle : handles_) {
    const TrackedRequest* const tracked = call.session.tracked.find(handle);
    wildcards_.push_back(tracked != nullptr && tracked->recorded != 0 ? tracked->wildcard : 0);
  }
}

MPI_Status* CompletionEvents::statuses(MPI_Status* wanted) {
  const bool needed =
      std::any_of(wildcards_.begin(), wildcards_.end(), [](std::uint32_t wildcard) { return wildcard != 0; });
  if (needed && wanted == MPI_STATUSES_IGNORE) {
    own_statuses_.resize(handles_.size());
    wanted = own_statuses_.data();
  }
  told_ = needed ? wanted : nullptr;
  return wanted;
}

void CompletionEvents::took(std::size_t place, const MPI_Status& status) {
  const std::uint32_t number = numbers_[place];
  if (number == 0) return;
  const bool cancelled = status._cancelled != 0;
  recorder_->matched(wildcards_[place], cancelled ? -1 : status.MPI_SOURCE, cancelled ? 0 : status.MPI_TAG);
  TrackedRequest* const tracked = call_.session.tracked.find(handles_[place]);
  if (tracked == nullptr || tracked->recorded != number) return;  // another thread's by now
  tracked->recorded = 0;
  if (const auto complete = std::exchange(tracked->complete, nullptr); complete != nullptr) complete();
  const bool persists = tracked->repeated != nullptr || tracked->repeat != nullptr;
  if (!persists) call_.session.tracked.remove(handles_[place]);
}

void CompletionEvents::all() {
  if (recorder_ == nullptr) return;
  if (numbers_.size() == 1) {
    recorder_->wait(call_.function(), numbers_.front());
  } else {
    recorder_->wait_all(call_.function(), numbers_);
  }
  for (std::size_t i = 0; i < handles_.size(); ++i) took(i, told_ != nullptr ? told_[i] : MPI_Status());
}

void CompletionEvents::all_completed(int count, const MPI_Request* requests) {
  if (recorder_ == nullptr) return;
  for (int i = 0; i < count && numbers_.size() > 0; ++i) {
    if (offramp_native_request_inactive(requests[i]) != 0) continue;
    numbers_[static_cast<std::size_t>(i)] = 0;
    if (!handles_.empty()) handles_[static_cast<std::size_t>(i)] = MPI_REQUEST_NULL;
  }
  all();
}

void CompletionEvents::some(std::span<const int> places, recording::EventFlag flag) {
  if (recorder_ == nullptr) return;
  recorder_->wait_some(call_.function(), numbers_, places, flag);
  if (handles_.empty()) return;
  for (std::size_t i = 0; i < places.size(); ++i)
    took(static_cast<std::size_t>(places[i]), told_ != nullptr ? told_[i] : MPI_Status());
}

void CompletionEvents::none() {
  if (recorder_ != nullptr) recorder_->polled(call_.function());
}

}  // namespace offramp
