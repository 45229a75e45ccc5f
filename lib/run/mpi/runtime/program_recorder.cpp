// The time-stamp counter measures the time between two calls and in them. For long gaps, the kernel's CPU
// clock shows how much of it the thread was running. The rest is the time in which it was ready and had no
// processor, which is not the program's and which /proc/thread-self/schedstat shows, or the thread was
// blocked. Reading the clock takes about 0.3 us, the file 3 us. The file is read only if there is a rest.
// Both are also read after long calls, and the clock at intervals, so that each reading shows what a gap
// itself took. A program that polls (MPI_Test and the like) would mostly pay for measuring. In a run of
// failed polls only every 2nd, 4th, and at most 8th poll reads the counter (CallWatch::step). The elapsed
// time is divided among them when a poll succeeds or the run ends (end_run(), read_late()).
#include "lib/run/mpi/runtime/program_recorder.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <fmt/format.h>

namespace offramp {
namespace {

using recording::EventFlag;

std::uint64_t nanoseconds_of(clockid_t clock) {
  std::timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// A counter that a thread can read without a system call.
std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return nanoseconds_of(CLOCK_MONOTONIC);
#endif
}

/// Gaps are added up until the sum has this length.
constexpr std::uint64_t kShortTicks = 2'000;
constexpr std::uint64_t kLongTicks = 250'000;          // the kernel's answer takes about a hundredth of this
constexpr std::uint64_t kStaleTicks = 4 * kLongTicks;  // age of a CPU time that is read again
/// Nanoseconds without CPU that are not looked into.
constexpr std::uint64_t kLeastIdle = 10'000;

std::uint64_t size_of(Bytes bytes) {
  return bytes.size();
}

/// The time in nanoseconds in which this thread was ready to run and had no processor. `nullopt` if the
/// kernel does not report it (CONFIG_SCHED_INFO). Opened each time: programs may close what they did not
/// open.
std::optional<std::uint64_t> ready_time() {
  // The program must not see that errno changed between two of its calls.
  const int error = errno;
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  std::array<char, 128> text{};
  const ssize_t size = file < 0 ? -1 : read(file, text.data(), text.size());
  if (file >= 0) (void)::close(file);
  errno = error;
  const char* const end = text.data() + std::max<ssize_t>(size, 0);
  const char* const second = std::find(text.data(), const_cast<char*>(end), ' ');
  std::uint64_t ready = 0;
  if (second == end || std::from_chars(second + 1, end, ready).ec != std::errc()) return std::nullopt;
  return ready;
}

/// The number of the node's cores. A launcher may bind each rank to one of them. 0: unknown.
std::uint64_t cores_of_node() {
  return static_cast<std::uint64_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 0L));
}

}  // namespace

ProgramRecorder::ProgramRecorder(const recording::RecorderOptions& options, bool threads, bool times)
    : recorder_(options),
      is_shared_(threads),
      times_(times),
      first_ticks_(ticks()),
      first_time_(nanoseconds_of(CLOCK_MONOTONIC)) {
  thread_ = ++threads_;
  if (!times_) return;
  constexpr std::uint64_t kEnough = 200'000;  // ns, for an error of about 1e-4
  // Two readings of both clocks this far apart give the rate of the counter.
  while (nanoseconds_of(CLOCK_MONOTONIC) - first_time_ < kEnough) continue;
  measure_ticks();
  flushed_ = ticks();
  constexpr double kSecond = 1e9;  // ns
  between_flushes_ = static_cast<std::uint64_t>(kSecond / tick_);
}

// --- time ---

void ProgramRecorder::restart(std::chrono::nanoseconds init) {
  init_ = init;
  watch_ = {};
  if (times_) read_ready_time();
  ready_at_begin_ = watch_.ready;
  began_ = watch_.left = ticks();
  read_cpu_time(watch_.left);
}

void ProgramRecorder::measure_ticks() {
  const std::uint64_t passed = std::max<std::uint64_t>(ticks() - first_ticks_, 1);
  tick_ = static_cast<double>(nanoseconds_of(CLOCK_MONOTONIC) - first_time_) / static_cast<double>(passed);
  brief_gap_ = static_cast<std::uint64_t>(static_cast<double>(recording::kBriefGap) / tick_);
}

void ProgramRecorder::read_cpu_time(std::uint64_t now) {
  const std::uint64_t before = watch_.cpu;
  watch_.cpu = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
  const std::uint64_t wall = nanoseconds(now - watch_.cpu_read);
  // Wall time beyond the CPU time since the last reading. It has no cause yet.
  watch_.idle += wall - std::min(wall, watch_.cpu - before);
  watch_.cpu_read = now;
}

void ProgramRecorder::read_ready_time() {
  watch_.idle = 0;
  if (!has_ready_time_) return;
  const std::optional<std::uint64_t> ready = ready_time();
  has_ready_time_ = ready.has_value();
  watch_.ready = ready.value_or(0);
}

/// Divides a long gap of `passed` ticks, which began when the last call ended.
ProgramRecorder::Gap ProgramRecorder::split(std::uint64_t passed, std::uint64_t now) {
  measure_ticks();
  const std::uint64_t wall = nanoseconds(passed);
  // CPU time that was spent before the gap does not belong to it.
  const std::uint64_t earlier = nanoseconds(watch_.left - std::min(watch_.left, watch_.cpu_read));
  const std::uint64_t cpu_before = watch_.cpu;
  read_cpu_time(now);
  const std::uint64_t spent = watch_.cpu - cpu_before;
  const std::uint64_t computing = std::min(wall, spent - std::min(spent, earlier));
  const std::uint64_t rest = wall - computing;
  constexpr std::uint64_t kNoise = 64;
  if (rest < std::max(kLeastIdle, wall / kNoise) || !has_ready_time_) return {computing, 0};
  // As the first reading returns, a thread often loses its processor. That is no part of the gap.
  watch_.idle = 0;
  read_cpu_time(ticks());
  const std::uint64_t since = watch_.ready + watch_.idle;
  read_ready_time();
  const std::uint64_t ready = watch_.ready - std::min(watch_.ready, since);
  return {computing, has_ready_time_ ? rest - std::min(rest, ready) : 0};
}

/// asks_again: the call may be a failed poll.
void ProgramRecorder::begin_time(bool asks_again) {
  const std::uint64_t now = ticks();
  watch_.entered = now;
  if (watch_.left == 0) {
    watch_.left = now;
    read_cpu_time(now);
    read_ready_time();
  }
  if (now - flushed_ > between_flushes_) [[unlikely]] {
    recorder_.flush();
    flushed_ = now;
  }
  // The time since the counter was read consists of several gaps and the polls between them.
  if (watch_.was_poll) {
    end_run(now, watch_.unread_calls + std::uint64_t{1}, asks_again);
  } else {
    watch_.outside += now - watch_.left;
  }
  if (watch_.outside <= kShortTicks) return;
  const std::uint64_t passed = std::exchange(watch_.outside, 0);
  const Gap gap = passed > kLongTicks ? split(passed, now) : Gap{nanoseconds(passed), 0};
  recorder_.passed(gap.computing, gap.blocked);
}

/// The counter has been read again. The time since then consists of `gaps` gaps and the calls between them.
void ProgramRecorder::end_run(std::uint64_t now, std::uint64_t gaps, bool asks_again) {
  const std::uint64_t calls = std::exchange(watch_.unread_calls, 0);
  std::uint64_t passed = now - watch_.left;
  // The calls that were not read count as long as the shortest one that was.
  const std::uint64_t inside = std::min(passed, calls * watch_.shortest);
  passed -= inside;
  if (calls > 0) {
    CallTicks& times = call_ticks(watch_.polled, watch_.site);
    times.count += calls;
    times.sum += inside;
  }
  watch_.was_poll = false;
  watch_.to_skip = 0;
  if (!asks_again && calls == 0) {
    watch_.step = 0;
    watch_.outside += passed;
    return;
  }
  // A poll gap is brief, so only a longer one is worth the reading of the CPU clock.
  const bool is_long = passed > gaps * brief_gap_ && (calls > 0 || passed > kLongTicks / 4);
  const Gap gap = is_long ? split(passed, now) : Gap{nanoseconds(passed), 0};
  const std::uint64_t time = gap.computing + gap.blocked;
  if (passed <= gaps * brief_gap_ || time <= gaps * recording::kBriefGap)
    return recorder_.add_poll_gaps({time, 0});
  watch_.step = 0;
  // One call may have been slower than the others. If it was a gap, the next polls are read one by one.
  constexpr std::uint64_t kDoubtful = 8;
  if (asks_again && calls > 0 && time <= kDoubtful * gaps * recording::kBriefGap)
    return recorder_.add_poll_gaps({time, 0});
  if (asks_again) {
    recorder_.add_poll_gaps({0, time});
  } else {
    recorder_.passed(gap.computing, gap.blocked);
  }
}

/// A poll whose beginning was not read has succeeded, or the call is no poll.
[[gnu::noinline, gnu::cold]] void ProgramRecorder::read_late() {
  watch_.unread = false;
  watch_.entered = ticks();
  end_run(watch_.entered, std::max<std::uint64_t>(watch_.unread_calls, 1), true);
}

void ProgramRecorder::end_time(Function function) {
  constexpr std::uint32_t kMostSteps = 8;
  const std::uint64_t now = ticks();
  const std::uint64_t inside = now - watch_.entered;
  watch_.left = now;
  if (watch_.was_poll) watch_.site = number_of(watch_.place);
  CallTicks& times = call_ticks(function, watch_.site);
  ++times.count;
  times.sum += inside;
  times.least = std::min(times.least, inside);
  times.greatest = std::max(times.greatest, inside);
  // A modelled call needs no duration of its own: the world computes it.
  if (watch_.ticket != 0) [[unlikely]]
    recorder_.lasted(std::exchange(watch_.ticket, 0) - 1, watch_.is_modelled ? 0 : nanoseconds(inside));
  if (!watch_.was_poll) {
    watch_.step = 0;
    if (inside > kLongTicks || now - watch_.cpu_read > kStaleTicks) [[unlikely]] {
      read_cpu_time(now);
      if (watch_.idle > kLeastIdle) {
        read_ready_time();
        // Here too, the thread may have lost its processor, which `ready` then includes.
        watch_.left = ticks();
        read_cpu_time(watch_.left);
        watch_.idle = 0;
      }
    }
    return;
  }
  watch_.polled = function;
  // If the call itself is slow, the processor is shared, and each gap is measured.
  watch_.shortest = watch_.step == 0 ? inside : std::min(watch_.shortest, inside);
  watch_.step = inside > brief_gap_ ? 0 : std::min(std::max(2 * watch_.step, 1U), kMostSteps);
  watch_.to_skip = watch_.step > 0 ? watch_.step - 1 : 0;
  if (now - watch_.cpu_read > kLongTicks) read_cpu_time(now);
}

void ProgramRecorder::close() {
  switch_to_this_thread();
  enter(Function::kFinalize, {});
  ended_ = ticks();
  leave(Function::kFinalize);
  if (times_) read_ready_time();
  ready_at_end_ = watch_.ready;
}

std::string ProgramRecorder::finish() {
  if (!times_) return recorder_.finish();
  measure_ticks();
  recording::NativeRun run;
  std::array<char, 256> host{};
  (void)gethostname(host.data(), host.size() - 1);
  run.host = host.data();
  run.cores = cores_of_node();
  run.run = nanoseconds(ended_ - began_);
  run.init = static_cast<std::uint64_t>(init_.count());
  if (has_ready_time_) run.ready = ready_at_end_ - std::min(ready_at_end_, ready_at_begin_);
  const auto add = [&](std::uint32_t site, const CallTicks& ticks) {
    if (ticks.function == CallTicks::kUnused ||
        ticks.function == static_cast<std::uint16_t>(Function::kFinalize))
      return;
    run.calls.push_back({kFunctionNames[ticks.function], site == 0 ? std::string() : site_names_[site - 1],
                         ticks.count, nanoseconds(ticks.sum), nanoseconds(ticks.least),
                         nanoseconds(ticks.greatest)});
  };
  for (std::size_t site = 0; site < call_ticks_.size(); ++site)
    add(static_cast<std::uint32_t>(site), call_ticks_[site]);
  for (const auto& [key, ticks] : other_call_ticks_) add(key.first, ticks);
  return recorder_.finish(&run);
}

/// Times of a call site's first call, or of another function that is called there.
CallTicks& ProgramRecorder::other_call_ticks(std::uint16_t function, std::uint32_t site) {
  if (site >= call_ticks_.size()) call_ticks_.resize(site + std::size_t{1});
  CallTicks& usual = call_ticks_[site];
  const bool is_first = usual.function == CallTicks::kUnused;
  CallTicks& found = is_first ? usual : other_call_ticks_[{site, function}];
  found.function = function;
  return found;
}

// --- events ---

ProgramRecorder::Event ProgramRecorder::event(EventKind kind, Function function, std::uint8_t flags,
                                              std::uint32_t communicator) {
  Event made;
  made.kind = kind;
  made.call = static_cast<std::uint16_t>(function);
  made.flags = flags;
  made.communicator = communicator;
  return made;
}

[[gnu::always_inline]] inline std::uint32_t ProgramRecorder::add(Event event) {
  if (watch_.hidden > 0) return 0;
  if (watch_.unread) [[unlikely]]
    read_late();
  // A further event of the same call, which takes no time between calls.
  event.flags |= static_cast<std::uint8_t>(watch_.silent ? 0 : recording::kContinues);
  calls_ += watch_.silent && !is_question(static_cast<Function>(event.call)) ? 1 : 0;
  watch_.silent = false;
  constexpr auto kWithoutModel =
      1U << static_cast<unsigned>(EventKind::kNative) | 1U << static_cast<unsigned>(EventKind::kMeet) |
      1U << static_cast<unsigned>(EventKind::kCommunicator) | 1U << static_cast<unsigned>(EventKind::kWait);
  watch_.is_modelled = watch_.is_modelled || (kWithoutModel >> static_cast<unsigned>(event.kind) & 1U) == 0;
  watch_.site = event.site = number_of(watch_.place);
  return recorder_.add(event);
}

namespace {

/// The return addresses on the stack of this call, innermost first.
struct Frames {
  std::array<const void*, 64> returns{};
  std::size_t count = 0;
};

Frames frames_here() {
  Frames frames;
  const auto take = [](_Unwind_Context* context, void* data) {
    Frames& all = *static_cast<Frames*>(data);
    all.returns[all.count++] = reinterpret_cast<const void*>(_Unwind_GetIP(context));
    return all.count < all.returns.size() ? _URC_NO_REASON : _URC_END_OF_STACK;
  };
  _Unwind_Backtrace(take, &frames);
  return frames;
}

/// The address to which the function containing `site` returns. Null if it cannot be found.
const void* caller_of(const void* site) {
  const Frames frames = frames_here();
  const auto end = frames.returns.begin() + static_cast<std::ptrdiff_t>(frames.count);
  const auto found = std::find(frames.returns.begin(), end, site);
  return found == end || found + 1 == end ? nullptr : *(found + 1);
}

/// The distance in words from the slot up to the address, or 0. Reads other functions' stack memory.
__attribute__((no_sanitize("address"))) std::uint32_t words_up_to(const void* address,
                                                                  const void* const* slot) {
  constexpr std::uint32_t kReach = 1024;  // the layers' frames have some hundred bytes
  for (std::uint32_t up = 1; address != nullptr && up < kReach; ++up) {
    if (slot[up] == address) return up;
  }
  return 0;
}

}  // namespace

// Fortran calls layers of the MPI library, which call Offramp. A layer's frame has a fixed size, so its
// return address lies at a fixed distance from that of its call. The unwinder takes microseconds: it finds
// the distance once and checks it again for each new caller.
const ProgramRecorder::KnownSite& ProgramRecorder::look_up(CallPlace place) {
  const auto [known, is_new] = sites_.try_emplace(place.site, KnownSite{place.site, 0, 0});
  if (!is_new) return known->second;
  static const std::string own = call_site(reinterpret_cast<const void*>(&call_names)).path;
  const CallSite found = call_site(place.site);
  // A call from Offramp itself comes from a part that is not inlined into the interface function.
  if (found.object.empty() || found.path == own) return known->second;
  if (found.object.starts_with("libmpi")) {
    if (place.slot != nullptr) known->second.up = words_up_to(caller_of(place.site), place.slot);
    return known->second;
  }
  std::string name = fmt::format("{}+{:#x}", found.object, found.offset);
  known->second.number = recorder_.site(name);
  if (known->second.number != 0) site_names_.push_back(std::move(name));
  if (std::ranges::find(objects_, found.object, &LoadedObject::name) == objects_.end())
    objects_.push_back({found.object, build_id_of(found.path), found.path});
  return known->second;
}

std::uint32_t ProgramRecorder::number_of_other(CallPlace place) {
  for (;;) {
    KnownSite& at_hand = known_site(place.site);
    if (at_hand.site != place.site) at_hand = look_up(place);
    if (at_hand.up == 0) return at_hand.number;
    const CallPlace outer = {place.slot[at_hand.up], place.slot + at_hand.up};
    // A caller that was not seen before is checked once with the unwinder.
    if (!sites_.contains(outer.site) && caller_of(place.site) != outer.site) {
      sites_[place.site].up = at_hand.up = 0;  // its frames vary after all
      return 0;
    }
    place = outer;
  }
}

void ProgramRecorder::add_native(Function function) {
  // Then a wait without an event may be for such a message, and otherwise for a file.
  const bool waits = function == Function::kWait || function == Function::kWaitall ||
                     function == Function::kWaitany || function == Function::kWaitsome;
  if (waits && has_outside_) return communicates(function, 0);
  add(event(EventKind::kNative, function, 0));
  if (function != Function::kFinalize) time_call();
}

void ProgramRecorder::communicates(Function function, std::uint64_t bytes) {
  has_outside_ = true;
  Event made = event(EventKind::kNative, function, recording::kCommunicates);
  made.bytes = bytes;
  add(made);
  time_call();
}

std::uint32_t ProgramRecorder::started(Function function, const Event& again, std::uint32_t& wildcard) {
  Event made = again;
  made.call = static_cast<std::uint16_t>(function);
  const std::uint32_t request = add(made);
  wildcard = made.kind == EventKind::kReceive ? this->wildcard(made.peer, made.tag, made.communicator) : 0;
  // A buffered send is complete for the program, so no wait belongs to it.
  return (made.flags & recording::kBuffered) != 0 ? 0 : request;
}

ProgramRecorder::Event ProgramRecorder::message_event(Function function, EventKind kind, const Point& point,
                                                      std::uint8_t flags) {
  Event made = event(kind, function, flags, point.communicator->recorded);
  made.element = point.type->element;
  made.peer = place_of(made.communicator, point.peer);
  made.tag = point.tag;
  made.bytes = point.type->bytes(point.count);
  return made;
}

std::uint32_t ProgramRecorder::message(Function function, EventKind kind, const Point& point,
                                       std::uint8_t flags) {
  return add(message_event(function, kind, point, flags));
}

std::uint32_t ProgramRecorder::begin(Function function, EventKind kind, const Point& point,
                                     std::uint8_t flags) {
  if (!is_shared_) flags |= recording::kBlocking;
  return message(function, kind, point, flags);
}

ProgramRecorder::Event ProgramRecorder::collective_event(Function function,
                                                         const CollectiveCall& collective) {
  const Operation& operation = collective.operation;
  const CollectiveBuffers& buffers = collective.buffers;
  const bool one = !buffers.send.empty() && buffers.send.data() == buffers.receive.data();
  Event made = event(EventKind::kCollective, function, one ? recording::kInPlace : 0);
  if (!operation.commutative) made.flags |= recording::kNotCommutative;
  made.element = operation.element;
  made.function = operation.function;
  made.operation = operation.kind;
  made.communicator = collective.communicator;
  made.peer = operation.root;
  const bool differ = has_blocks_of_different_sizes(operation.kind);
  made.bytes = differ ? buffers.send.size() : operation.bytes;
  made.extra = reduces(operation.kind) ? operation.elements : differ ? buffers.receive.size() : 0;
  const auto sizes = [this](const auto& blocks) -> std::uint32_t {
    if (blocks.empty()) return 0;
    scratch_.resize(blocks.size());
    std::transform(blocks.begin(), blocks.end(), scratch_.begin(), size_of);
    return recorder_.list(scratch_);
  };
  made.list = sizes(buffers.send_blocks);
  made.second_list = sizes(buffers.receive_blocks);
  return made;
}

std::uint32_t ProgramRecorder::begin(Function function, CollectiveCall& collective) {
  // A kept call has no lists, which belong to one event.
  if (!collective.event) collective.event = collective_event(function, collective);
  Event made = *collective.event;
  if (!is_shared_) made.flags |= recording::kBlocking;
  return add(made);
}

std::uint32_t ProgramRecorder::collective(Function function, const CollectiveCall& collective) {
  return add(collective_event(function, collective));
}

std::uint32_t ProgramRecorder::probe(Function function, EventKind kind, const Point& point, std::size_t bytes,
                                     recording::Match match) {
  Event made = event(kind, function, kind == EventKind::kProbe ? recording::kBlocking : 0);
  made.communicator = point.communicator->recorded;
  made.peer = place_of(made.communicator, point.peer);
  made.tag = point.tag;
  made.bytes = bytes;
  const std::uint32_t request = add(made);
  matched(wildcard(point), match.source, match.tag);
  return request;
}

// --- completion ---

void ProgramRecorder::about(EventKind kind, Function function, std::uint32_t request, std::uint8_t flags) {
  if (request == 0) return;
  Event made = event(kind, function, flags);
  // Requests are written as distances to the present event: small numbers take few bytes.
  made.extra = recorder_.distance(request);
  add(made);
}

std::uint32_t ProgramRecorder::distances(std::span<const std::uint32_t> requests) {
  scratch_.resize(requests.size());
  std::size_t recorded = 0;
  for (const std::uint32_t request : requests) {
    scratch_[recorded] = recorder_.distance(request);
    if (request != 0) ++recorded;
  }
  return recorder_.list(std::span(scratch_).first(recorded));
}

void ProgramRecorder::wait_all(Function function, std::span<const std::uint32_t> requests,
                               std::uint8_t flags) {
  Event made = event(EventKind::kWait, function, flags);
  made.list = distances(requests);
  if (made.list != 0) add(made);
}

void ProgramRecorder::wait_some(Function function, std::span<const std::uint32_t> requests,
                                std::span<const int> places, recording::EventFlag flag) {
  // The event's list only contains recorded requests.
  positions_.resize(requests.size());
  std::uint32_t position = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    positions_[i] = position;
    if (requests[i] != 0) ++position;
  }
  chosen_.clear();
  for (const int place : places) {
    const auto i = static_cast<std::size_t>(place);
    if (requests[i] != 0) chosen_.push_back(positions_[i]);
  }
  if (chosen_.empty() || watch_.hidden > 0) return;
  wait_all(function, requests, static_cast<std::uint8_t>(flag));
  recorder_.chosen(chosen_);
}

// --- communicators and clocks ---

std::uint32_t ProgramRecorder::communicator(Function function, const Context& members, std::uint64_t id) {
  return new_communicator(event(EventKind::kCommunicator, function, 0), *members.members(), id);
}

std::uint32_t ProgramRecorder::pair(Function function, int one, int other, std::uint64_t id) {
  const std::array members = {std::min(one, other), std::max(one, other)};
  return new_communicator(event(EventKind::kCommunicator, function, 0), members, id);
}

std::uint32_t ProgramRecorder::intercommunicator(Function function, std::span<const int> world,
                                                 std::uint64_t id, std::vector<int> places) {
  const std::uint32_t number = new_communicator(event(EventKind::kCommunicator, function, 0), world, id);
  if (number != 0) between_groups_[number] = std::move(places);
  return number;
}

int ProgramRecorder::place_of(std::uint32_t communicator, int peer) const {
  if (between_groups_.empty() || peer < 0) return peer;
  const auto found = between_groups_.find(communicator);
  return found != between_groups_.end() ? found->second[static_cast<std::size_t>(peer)] : peer;
}

int ProgramRecorder::place_of_match(std::uint32_t wildcard, int source) {
  const auto found = wildcards_between_groups_.extract(wildcard);
  return found ? place_of(found.mapped(), source) : source;
}

std::uint32_t ProgramRecorder::persistent(Function function, const Context& place, std::uint32_t parent) {
  const Event made = event(EventKind::kCommunicator, function, recording::kPersistent, parent);
  return new_communicator(made, *place.members(), place.id());
}

std::uint32_t ProgramRecorder::new_communicator(Event made, std::span<const int> members, std::uint64_t id) {
  if (watch_.hidden > 0) return 0;  // nothing on it is recorded
  scratch_.assign(members.begin(), members.end());
  made.list = recorder_.list(scratch_);
  made.extra = id;
  add(made);
  return communicators_++;
}

std::uint32_t ProgramRecorder::synchronize(Function function, std::uint32_t communicator, bool blocking) {
  const std::uint32_t request =
      add(event(EventKind::kMeet, function, blocking ? recording::kBlocking : 0, communicator));
  time_call();
  return request;
}

std::uint32_t ProgramRecorder::neighbours(Function function, std::uint32_t communicator,
                                          std::span<const std::uint64_t> to,
                                          std::span<const std::uint64_t> from, bool blocking) {
  Event made = event(EventKind::kNeighbours, function, blocking ? recording::kBlocking : 0, communicator);
  made.list = recorder_.list(to);
  made.second_list = recorder_.list(from);
  return add(made);
}

std::uint32_t ProgramRecorder::access(Function function, std::uint32_t communicator, int target, Access kind,
                                      std::uint64_t bytes, std::uint64_t back, bool blocking) {
  Event made = event(EventKind::kAccess, function, blocking ? recording::kBlocking : 0, communicator);
  made.peer = target;
  made.tag = static_cast<std::int32_t>(kind);
  made.bytes = bytes;
  made.extra = back;
  return add(made);
}

std::uint32_t ProgramRecorder::barrier(Function function, std::uint32_t communicator, bool blocking) {
  Event made = event(EventKind::kCollective, function, blocking ? recording::kBlocking : 0, communicator);
  made.operation = OperationKind::kBarrier;
  return add(made);
}

std::uint32_t ProgramRecorder::library_message(Function function, EventKind kind, std::uint32_t communicator,
                                               int peer, int tag, std::uint64_t bytes, bool begins) {
  // A send that begins no request is never waited for, which the format calls buffered.
  const std::uint8_t alone = kind == EventKind::kSend ? recording::kBuffered : recording::kBlocking;
  Event made = event(kind, function, begins ? 0 : alone, communicator);
  made.peer = peer;
  made.tag = tag;
  made.bytes = bytes;
  return add(made);
}

void ProgramRecorder::without_cost(Function function) {
  if (watch_.silent) add(event(EventKind::kNative, function, 0));
}

std::span<const char* const> ProgramRecorder::call_names() {
  constexpr auto kFunctions = static_cast<std::size_t>(Function::kCount);
  static const std::array<const char*, kFunctions + 1> names = [] {
    std::array<const char*, kFunctions + 1> all{};
    std::copy_n(kFunctionNames, kFunctions, all.begin());
    // The index behind the generated functions.
    all.back() = "MPI_Pcontrol";
    return all;
  }();
  return names;
}

std::optional<std::uint64_t> ProgramRecorder::clock_read() {
  if (watch_.hidden > 0) return std::nullopt;
  Event made = event(EventKind::kClock, Function::kWtime, 0);
  // The event below counts as a call, so the number is reset once more after it.
  made.extra = std::exchange(calls_, 0);
  add(made);
  calls_ = 0;
  return made.extra;
}

void ProgramRecorder::phase(int level, std::string_view name) {
  Event made = event(EventKind::kPhase, Function::kCount, 0);
  made.tag = level;
  scratch_.clear();
  // A name is a list of its characters: the format has no other place for text.
  for (const char c : name) scratch_.push_back(static_cast<unsigned char>(c));
  made.list = recorder_.list(scratch_);
  add(made);
}

}  // namespace offramp
