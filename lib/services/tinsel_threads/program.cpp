// Threads and the machine alternate in one thread of the process. The machine's events call delivered(),
// on_sent(), and timer(), and a thread whose time has come runs as a fiber until it sleeps. A thread has no
// clock of its own: spend() reserves the time of a call on the shared core, schedules the thread's next turn
// among the machine's events (call_at()), and pauses it. tinselWork only adds to the time of the next call.
// The first error of a thread ends the whole program with a message (fail()). That thread never returns, so
// its stack must not contain objects that need destruction.
#include "lib/services/tinsel_threads/program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

namespace offramp::tinsel {
namespace {

constexpr std::uint64_t kMaster = ~std::uint64_t{0};  // timer of idle detection
constexpr std::uint32_t kUseKey = 1U << 12U;          // mailbox address that marks a key
constexpr unsigned kCanSend = 1;
constexpr unsigned kCanReceive = 2;
constexpr int kAllIdle = 1;  // results of idle detection
constexpr int kAllVoted = 3;
constexpr unsigned kIndexBits = 16;  // of a thread, in a timer's cookie

thread_local Program* running_program = nullptr;

std::uint32_t id_of(const Mesh& mesh, const ThreadLocation& place) {
  const auto board = static_cast<std::uint32_t>(mesh.y(place.board) << 3 | mesh.x(place.board));
  return board << 10U | std::uint32_t{place.mailbox} << 6U | place.thread;
}

std::string name_of(const Mesh& mesh, const ThreadLocation& place) {
  return fmt::format("thread {:#06x} (board ({}, {}), mailbox ({}, {}), thread {})", id_of(mesh, place),
                     mesh.x(place.board), mesh.y(place.board), place.mailbox % kMailboxColumns,
                     place.mailbox / kMailboxColumns, place.thread);
}

}  // namespace

Program::Program(Machine& machine, const Options& options)
    : machine_(machine),
      options_(options),
      detection_(machine, IdleSpec(), *this),
      boards_(static_cast<std::size_t>(machine.spec().mesh.boards())),
      cores_(boards_.size() * kMailboxes * kCores) {}
Program::~Program() = default;

Program* Program::running() {
  return running_program;
}

std::size_t Program::index_of(const ThreadLocation& place) const {
  return (std::size_t{place.board} * kMailboxes + place.mailbox) * kThreadsPerMailbox + place.thread;
}

bool Program::run(void (*entry)(void*), void* argument) {
  entry_ = entry;
  argument_ = argument;
  const std::size_t count = boards_.size() * kThreadsPerBoard;
  if (!stacks_.reserve(count, options_.stack_bytes)) {
    error_ = fmt::format("no memory for {} stacks of {} bytes", count, options_.stack_bytes);
    return false;
  }
  threads_ = std::vector<Thread>(count);
  left_ = count;
  machine_.reset();
  machine_.run_on(this);
  for (std::size_t i = 0; i < count; ++i) {
    Thread& thread = threads_[i];
    thread.program = this;
    thread.place = {static_cast<std::uint16_t>(i / kThreadsPerBoard),
                    static_cast<std::uint8_t>(i / kThreadsPerMailbox % kMailboxes),
                    static_cast<std::uint8_t>(i % kThreadsPerMailbox)};
    call_at({}, thread);
  }
  detection_.begin_round({});
  const bool whole = machine_.run();
  machine_.run_on(nullptr);
  if (!whole && error_.empty()) error_ = fmt::format("a router has stopped: {}", to_string(machine_.trap()));
  if (error_.empty() && left_ > 0) error_ = fmt::format("{} threads have not returned", left_);
  return error_.empty();
}

void Program::enter(void* argument) {
  auto& thread = *static_cast<Thread*>(argument);
  Program& program = *thread.program;
  program.entry_(program.argument_);
  program.spend(0);
  thread.sleep = Sleep::kReturned;
  thread.fiber.leave();
}

void Program::call_at(Time at, const Thread& thread) {
  machine_.set_timer(later(at, machine_.now()), thread.resumed << kIndexBits | index_of(thread.place));
}

void Program::timer(Time at, std::uint64_t cookie) {
  if (!error_.empty()) return;
  if (cookie == kMaster) return detection_.begin_round(at);
  Thread& thread = threads_[cookie & ((1U << kIndexBits) - 1)];
  if (cookie >> kIndexBits != thread.resumed) return;  // it was resumed for another reason
  if (at > options_.limit) return stop_with_error("the program did not end within the time limit");
  if (thread.sleep != Sleep::kNot && !wakes(thread)) return;
  resume(thread);
}

/// Returns true if a sleeping thread can continue because its condition holds.
bool Program::wakes(Thread& thread) {
  if (thread.sleep == Sleep::kReturned) return false;
  const bool message = has_message(thread);
  if (thread.sleep == Sleep::kIdles) {
    if (!message && thread.answer == 0) return false;
    BoardState& board = boards_[thread.place.board];
    ++board.awake;
    if (!thread.vote) --board.against;
  } else if (((thread.condition & kCanReceive) == 0 || !message) &&
             ((thread.condition & kCanSend) == 0 || !ready_to_send(thread))) {
    return false;
  }
  thread.sleep = Sleep::kNot;
  return true;
}

void Program::resume(Thread& thread) {
  changed_ = true;
  ++thread.resumed;
  if (thread.stack == nullptr) {
    thread.stack = stacks_.acquire();
    thread.fiber.prepare(thread.stack, stacks_.bytes(), enter, &thread);
  }
  current_ = &thread;
  running_program = this;
  thread.fiber.resume();
  running_program = nullptr;
  current_ = nullptr;
  if (!Stacks::is_whole(thread.stack)) {
    std::fprintf(stderr, "offramp: tinsel: %s has used more than its stack of %zu bytes\n",
                 name_of(machine_.spec().mesh, thread.place).c_str(), stacks_.bytes());
    std::abort();
  }
  if (thread.sleep != Sleep::kReturned) return;
  stacks_.release(thread.stack);
  --boards_[thread.place.board].awake;
  end_ = later(end_, machine_.now());
  --left_;
}

void Program::spend(int instructions, int words) {
  Thread& thread = *current_;
  const MachineSpec& spec = machine_.spec();
  const auto count = static_cast<std::int64_t>(thread.pending) + instructions;
  thread.pending = 0;
  if (count == 0 && words == 0) return;
  const Time now = machine_.now();
  Arbiter& core = cores_[index_of(thread.place) / kThreadsPerCore];
  Time done = later(core.acquire(now, spec.cycles(count)).end, now + spec.cycles(count * calls_.pipeline));
  if (words > 0) done = later(done, machine_.touch(now, thread.place, words));
  call_at(done, thread);
  thread.fiber.pause();
}

void Program::sleep(Sleep kind) {
  current_->sleep = kind;
  current_->fiber.pause();
}

void Program::stop_with_error(const std::string& why) {
  if (error_.empty()) error_ = why;
}

void Program::fail(std::string&& why) {
  Thread& thread = *current_;
  stop_with_error(fmt::format("{}: {}", name_of(machine_.spec().mesh, thread.place), why));
  std::string().swap(why);
  thread.sleep = Sleep::kWaits;
  thread.condition = 0;
  for (;;) thread.fiber.pause();
}

std::uint32_t Program::id() const {
  return id_of(machine_.spec().mesh, current_->place);
}

std::uint64_t Program::cycles() {
  spend(calls_.call);
  return static_cast<std::uint64_t>(machine_.spec().clock.cycles_in(machine_.now()));
}

void Program::work(std::uint64_t instructions) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 36U;
  if (instructions > kMost - std::min(kMost, current_->pending))
    fail("tinselWork: more than 2^36 instructions at once");
  current_->pending += instructions;
}

volatile void* Program::send_slot(bool extra) {
  return current_->slots[extra ? 1 : 0].data();
}

bool Program::ready_to_send(const Thread& thread) const {
  return machine_.now() >= thread.can_send && boards_[thread.place.board].enabled;
}

bool Program::can_send() {
  spend(calls_.call);
  return ready_to_send(*current_);
}

void Program::set_length(int n) {
  if (n < 0 || n >= kMaximumFlits) fail(fmt::format("tinselSetLen: {} is not 0 to {}", n, kMaximumFlits - 1));
  current_->pending += static_cast<std::uint64_t>(calls_.call);
  current_->flits = n + 1;
}

void Program::multicast(const char* call, std::uint32_t mailbox, std::uint64_t mask, volatile void* slot) {
  Thread& thread = *current_;
  const int words = thread.flits * kWordsPerFlit;
  spend(calls_.send + words, words);
  const auto own = std::find_if(thread.slots.begin(), thread.slots.end(),
                                [slot](const auto& each) { return each.data() == slot; });
  if (own == thread.slots.end()) fail(fmt::format("{}: the address is not a send slot of this thread", call));
  if (!ready_to_send(thread)) fail(fmt::format("{}: tinselCanSend() is false", call));
  MailboxMessage message;
  message.flits = static_cast<std::uint8_t>(thread.flits);
  message.words = *own;
  if (mailbox == kUseKey) {
    message.to = Address::with_key(static_cast<std::uint32_t>(mask));
  } else {
    const Mesh& mesh = machine_.spec().mesh;
    const auto x = static_cast<int>(mailbox >> 4U & 7U);
    const auto y = static_cast<int>(mailbox >> 7U & 7U);
    if (mailbox >> 10U != 0 || !mesh.has(x, y))
      fail(fmt::format("{}: mailbox {:#x} does not exist", call, mailbox));
    if (mask == 0) fail(fmt::format("{}: no destination thread", call));
    message.to = Address::threads(static_cast<std::uint16_t>(mesh.at(x, y)),
                                  static_cast<std::uint8_t>(mailbox & 15U), mask);
  }
  thread.can_send = Time::never();
  machine_.send(machine_.now(), thread.place, message);
}

bool Program::has_message(const Thread& thread) const {
  return !thread.arrived.empty() && thread.arrived.front().at <= machine_.now();
}

bool Program::can_receive() {
  spend(calls_.call);
  return has_message(*current_);
}

volatile void* Program::receive() {
  Thread& thread = *current_;
  spend(calls_.call);
  if (!has_message(thread)) fail("tinselRecv: tinselCanRecv() is false");
  const std::uint32_t index = thread.arrived.front().slot;
  thread.arrived.erase(thread.arrived.begin());
  machine_.on_pointer_taken(thread.place);
  thread.held.push_back(index);
  SlotMemory& slot = received_[index];
  const int words = slot.flits * kWordsPerFlit;
  spend(words, words);
  return slot.words.data();
}

void Program::free(volatile void* address) {
  Thread& thread = *current_;
  spend(calls_.call);
  const auto held = std::find_if(thread.held.begin(), thread.held.end(), [&](std::uint32_t index) {
    return received_[index].words.data() == address;
  });
  if (held == thread.held.end()) fail("tinselFree: the address is not a message that this thread holds");
  machine_.free(machine_.now(), *held);
  thread.held.erase(held);
}

void Program::wait_until(unsigned condition) {
  Thread& thread = *current_;
  if (condition == 0 || condition > (kCanSend | kCanReceive))
    fail(fmt::format("tinselWaitUntil: unknown condition {}", condition));
  spend(calls_.call);
  if ((condition & kCanReceive) != 0 && has_message(thread)) return;
  if ((condition & kCanSend) != 0 && ready_to_send(thread)) return;
  thread.condition = condition;
  if ((condition & kCanReceive) != 0 && !thread.arrived.empty()) call_at(thread.arrived.front().at, thread);
  if ((condition & kCanSend) != 0 && thread.can_send != Time::never()) call_at(thread.can_send, thread);
  sleep(Sleep::kWaits);
}

int Program::idle(bool vote) {
  Thread& thread = *current_;
  spend(calls_.call);
  if (has_message(thread)) return 0;
  BoardState& board = boards_[thread.place.board];
  thread.vote = vote;
  thread.answer = 0;
  --board.awake;
  if (!vote) ++board.against;
  if (!thread.arrived.empty()) call_at(thread.arrived.front().at, thread);
  sleep(Sleep::kIdles);
  return thread.answer;
}

void Program::delivered(const Delivery& delivery) {
  if (detection_.delivered(delivery)) return;
  const MailboxMessage& message = delivery.message;
  while (received_.size() <= delivery.slot) received_.emplace_back();
  received_[delivery.slot] = {message.words, message.flits};
  ThreadLocation place{message.board, message.mailbox, 0};
  for (; place.thread < kThreadsPerMailbox; ++place.thread) {
    if ((message.to.mask >> place.thread & 1U) == 0) continue;
    Thread& thread = threads_[index_of(place)];
    thread.arrived.push_back({delivery.pointer[place.thread], delivery.slot});
    if (thread.sleep != Sleep::kNot) call_at(delivery.pointer[place.thread], thread);
  }
}

void Program::on_sent(Time at, const ThreadLocation& from) {
  Thread& thread = threads_[index_of(from)];
  thread.can_send = at;
  if (thread.sleep == Sleep::kWaits) call_at(at, thread);
}

IdleThreads::State Program::token(Time at, int index, IdlePhase phase, bool vote) {
  BoardState& board = boards_[static_cast<std::size_t>(index)];
  const State state{board.awake == 0, board.against == 0};
  if (phase == IdlePhase::kProbe) return state;
  board.enabled = phase == IdlePhase::kEnable;
  const Sleep concerned = board.enabled ? Sleep::kWaits : Sleep::kIdles;
  const std::size_t first = static_cast<std::size_t>(index) * kThreadsPerBoard;
  for (std::size_t i = first; i < first + kThreadsPerBoard; ++i) {
    Thread& thread = threads_[i];
    if (thread.sleep != concerned) continue;
    if (!board.enabled) thread.answer = vote ? kAllVoted : kAllIdle;
    call_at(at, thread);
  }
  return state;
}

/// The master begins one round after another. A round without a running thread may still find that a board
/// received a message earlier. If the next one also finds no rest and no events are left, it is a deadlock.
void Program::round_over(Time end, IdlePhase phase) {
  ++idle_rounds_;
  if (left_ == 0 || !error_.empty()) return;
  const bool found = phase != IdlePhase::kProbe || detection_.phase() != IdlePhase::kProbe;
  quiet_rounds_ = found || changed_ ? 0 : quiet_rounds_ + 1;
  if (quiet_rounds_ > 1 && !machine_.has_more()) {
    const auto sleeping = [this](Sleep kind) {
      return std::count_if(threads_.begin(), threads_.end(),
                           [kind](const Thread& thread) { return thread.sleep == kind; });
    };
    return stop_with_error(fmt::format(
        "deadlock: {} threads are in tinselWaitUntil, {} in tinselIdle, {} messages are not freed",
        sleeping(Sleep::kWaits), sleeping(Sleep::kIdles),
        machine_.counters().delivered - machine_.counters().freed));
  }
  changed_ = false;
  machine_.set_timer(end, kMaster);
}

}  // namespace offramp::tinsel
