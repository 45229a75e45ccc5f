// Open requests in order of their start. A completion puts itself into the set's heap, so that a wait costs
// the same for any number of open requests.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "simulators/world/world_rank.hpp"

namespace offramp {

RequestSet::RequestSet(RankHandle& rank) : thread_(rank.thread_) {}

RequestSet::~RequestSet() {
  while (head_ != nullptr) delete std::exchange(head_, head_->next_part);
}

void RequestSet::add(RankRequest&& request, std::size_t name, const Note& note) {
  world::Operation& operation = *std::exchange(request.operation_, nullptr);
  operation.in_set = true;
  operation.set = this;
  operation.name = static_cast<std::uint32_t>(name);
  operation.noted_bytes = note.bytes;
  operation.noted = note.other;
  operation.previous_part = tail_;
  (tail_ != nullptr ? tail_->next_part : head_) = &operation;
  tail_ = &operation;
  ++size_;
  if (operation.done) completed(operation);
}

world::Operation* RequestSet::remove(world::Operation& operation) {
  world::Operation* const next = std::exchange(operation.next_part, nullptr);
  world::Operation* const previous = std::exchange(operation.previous_part, nullptr);
  (previous != nullptr ? previous->next_part : head_) = next;
  (next != nullptr ? next->previous_part : tail_) = previous;
  operation.in_set = false;
  operation.collective = nullptr;
  operation.waiter = nullptr;
  --size_;
  return &operation;
}

void RequestSet::abandon() {
  first_ = {};
  later_.clear();
  while (head_ != nullptr) thread_.core().abandon(*remove(*head_));
}

bool RequestSet::later_first(const Complete& a, const Complete& b) {
  return a.done_at != b.done_at ? a.done_at > b.done_at : a.operation->name > b.operation->name;
}

void RequestSet::completed(world::Operation& operation) {
  Complete complete{operation.done_at, &operation};
  if (first_.operation == nullptr) {
    first_ = complete;
  } else {
    if (later_first(first_, complete)) std::swap(first_, complete);
    later_.push_back(complete);
    std::push_heap(later_.begin(), later_.end(), later_first);
  }
  if (thread_.awaited == this) thread_.core().wake(thread_, later(operation.done_at, thread_.clock));
}

/// The world has reached the program's clock when an operation counts as complete.
bool RequestSet::is_some_done() {
  if (first_.operation == nullptr) return false;
  const Time next = later(thread_.clock, first_.done_at);
  if (next <= thread_.core().now()) return true;
  thread_.core().wake(thread_, next);
  return false;
}

std::optional<std::size_t> RequestSet::fetch_first(unsigned step) const {
  const world::Operation* const first = first_.operation;
  if (step == 0) fetch_ahead(first, sizeof(world::Operation));
  if (first == nullptr || step == 0) return std::nullopt;
  if (step == 1) {
    fetch_line(first->next_part);
    fetch_line(first->previous_part);
    fetch_ahead(first->message(), sizeof(world::Message));
  }
  return first->name;
}

RequestSet::Complete RequestSet::pop_front() {
  const Complete first = std::exchange(first_, {});
  if (later_.empty()) return first;
  std::pop_heap(later_.begin(), later_.end(), later_first);
  first_ = later_.back();
  later_.pop_back();
  return first;
}

void RequestSet::finish_receive(const Complete& complete, std::vector<Learned>& learned) {
  const Note note{complete.operation->noted_bytes, complete.operation->noted};  // remove() overwrites it
  const std::unique_ptr<world::Operation> operation(remove(*complete.operation));
  learned.push_back({operation->name, note, thread_.observe(*operation)});
}

void RequestSet::finish_some(std::vector<Learned>& learned, std::size_t most) {
  finish_receive(pop_front(), learned);
  const auto is_complete = [&] {
    return first_.operation != nullptr && first_.done_at <= thread_.core().now();
  };
  if (most == 1 || !is_complete()) return;
  std::vector<Complete> more;
  while (is_complete() && more.size() + 1 < most) more.push_back(pop_front());
  std::sort(more.begin(), more.end(),
            [](const auto& a, const auto& b) { return a.operation->name < b.operation->name; });
  for (const Complete& one : more) finish_receive(one, learned);
}

}  // namespace offramp
