// The library merges the threads' records by time (otf2_records.hpp). Records between entry and exit of an
// MPI function form a call (Call); others are a call each. At the end of a call its records become items.
// Operations that block together in one call, as in MPI_Sendrecv, all begin before the first wait.
#include "lib/programs/import/otf2_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/base/text_format.hpp"
#include "lib/programs/import/otf2_library.hpp"

namespace offramp::otf2 {

using trace::FunctionKind;

namespace {

namespace fs = std::filesystem;

/// The number of items between the beginning and the end of a receive.
/// Limits memory: all items behind an unfinished receive are held.
constexpr std::size_t kMostHeld = std::size_t{1} << 22U;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50U;  // of one message, or of one rank's collective

/// Returns true if a location has its own file of definitions.
bool has_definitions_of(const std::string& anchor, std::uint64_t location) {
  std::error_code error;
  return fs::exists(fs::path(anchor).replace_extension() / fmt::format("{}.def", location), error);
}

}  // namespace

// A call whose end has not been read. Times are in ticks.
struct RankCalls::OpenCall {
  const Region* region = nullptr;
  std::uint64_t begin = 0;
  std::vector<Record> records;
};

// The state of one location.
struct RankCalls::OneThread {
  std::uint32_t depth = 0;  // nesting of MPI functions
  OpenCall call;
  std::optional<std::uint64_t> last;  // end of the previous call
  std::uint64_t flushed = 0;          // ticks of flushes since then
  // Has made at least one call.
  bool calls = false;
};

/// Open files, and the reader that merges the threads.
struct RankCalls::Source {
  ReaderHandle reader;
  OTF2_GlobalEvtReader* events = nullptr;
  // Records that the definitions announce and that have not been read.
  std::uint64_t expected = 0;
};

// --- records ---

RankCalls::RankCalls(std::shared_ptr<const Definitions> definitions, int rank)
    : definitions_(std::move(definitions)), rank_(rank) {
  open_source();
}

void RankCalls::open_source() {
  const std::vector<Thread>& threads = definitions_->ranks[static_cast<std::size_t>(rank_)];
  threads_.resize(threads.size());
  // Closes the files too, so that a rank with an error holds none.
  const auto failed = [this](OTF2_ErrorCode code) {
    error_ =
        fmt::format("{}: rank {}: {}", printable(definitions_->anchor), rank_, printable(text_of(code), 400));
    source_.reset();
  };
  install_error_handler();
  source_ = std::make_unique<Source>();
  source_->reader.reset(OTF2_Reader_Open(definitions_->anchor.c_str()));
  OTF2_Reader* const reader = source_->reader.get();
  if (reader == nullptr) return failed(OTF2_ERROR_INVALID);
  // The library is written for parallel readers; this one reads alone.
  OTF2_ErrorCode code = OTF2_Reader_SetSerialCollectiveCallbacks(reader);
  // Locations without events may lack a file.
  for (std::uint32_t i = 0; i < threads.size() && code == OTF2_SUCCESS; ++i) {
    if (threads[i].events == 0) continue;
    threads_by_location_[threads[i].location] = i;
    source_->expected += threads[i].events;
    code = OTF2_Reader_SelectLocation(reader, threads[i].location);
  }
  if (code != OTF2_SUCCESS) return failed(code);
  // A rank without events has no file to open.
  if (source_->expected == 0) return source_.reset();
  // Each location may have its own numbers and clock, which its definitions map to the global ones.
  const bool has_definitions = OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS;
  code = OTF2_Reader_OpenEvtFiles(reader);
  for (const Thread& thread : threads) {
    if (code != OTF2_SUCCESS) break;
    if (thread.events == 0) continue;
    OTF2_DefReader* const own = has_definitions ? OTF2_Reader_GetDefReader(reader, thread.location) : nullptr;
    if (own != nullptr) {
      std::uint64_t count = 0;
      code = OTF2_Reader_ReadAllLocalDefinitions(reader, own, &count);
      OTF2_Reader_CloseDefReader(reader, own);
      // The file exists but cannot be opened: its numbers and clock would be wrong.
    } else if (has_definitions && has_definitions_of(definitions_->anchor, thread.location)) {
      code = OTF2_ERROR_INVALID;
    } else {
      // Discards the library's message about the missing file.
      install_error_handler();  // it has none
    }
    if (code == OTF2_SUCCESS && OTF2_Reader_GetEvtReader(reader, thread.location) == nullptr)
      code = OTF2_ERROR_INVALID;
  }
  if (has_definitions) OTF2_Reader_CloseDefFiles(reader);
  if (code != OTF2_SUCCESS) return failed(code);
  source_->events = OTF2_Reader_GetGlobalEvtReader(reader);
  if (source_->events == nullptr) return failed(OTF2_ERROR_INVALID);
  code = read_records(reader, source_->events, *this);
  if (code != OTF2_SUCCESS) failed(code);
}

RankCalls::~RankCalls() = default;

std::size_t RankCalls::threads() const {
  return static_cast<std::size_t>(
      std::count_if(threads_.begin(), threads_.end(), [](const OneThread& thread) { return thread.calls; }));
}

bool RankCalls::next(Item& item) {
  // Items leave in order: one that is held holds all later ones back.
  while (error_.empty() && (items_.empty() || items_.front().is_held)) {
    if (items_.size() > kMostHeld) {
      error_ = fmt::format("{}: rank {}: more than {} events occur during one receive",
                           printable(definitions_->anchor), rank_, kMostHeld);
    } else if (!read_more()) {
      return false;
    }
  }
  if (!error_.empty()) return false;
  item = std::move(items_.front());
  items_.pop_front();
  ++first_;
  return true;
}

/// Returns false at the end.
bool RankCalls::read_more() {
  constexpr std::uint64_t kAtOnce = 4096;
  if (source_ == nullptr) return false;
  install_error_handler();
  const std::uint64_t before = records_;
  std::uint64_t read = 0;
  const OTF2_ErrorCode code =
      OTF2_Reader_ReadGlobalEvents(source_->reader.get(), source_->events, kAtOnce, &read);
  // A damaged archive may have more records than it announces.
  source_->expected -= std::min(read, source_->expected);
  // The callback ended the reading; its error is more exact than the library's code.
  if (!error_.empty()) return false;
  if (code != OTF2_SUCCESS) {
    error_ = fmt::format("{}: rank {}, after record {}: {}", printable(definitions_->anchor), rank_,
                         before + read, printable(text_of(code), 400));
    source_.reset();
    return false;
  }
  // Fewer records than requested mean the end.
  if (read == kAtOnce) return true;
  if (source_->expected > 0) {
    error_ = fmt::format("{}: rank {}: {} of its records are missing", printable(definitions_->anchor), rank_,
                         source_->expected);
    source_.reset();
    return false;
  }
  source_.reset();  // closes its files
  at_end();
  return true;
}

/// Closes open calls; open receives and collectives become native items.
void RankCalls::at_end() {
  for (std::uint32_t i = 0; i < threads_.size() && error_.empty(); ++i) {
    OneThread& thread = threads_[i];
    if (thread.depth == 0) continue;
    // The latest time that is known of the open call.
    const std::uint64_t last =
        thread.call.records.empty() ? thread.call.begin : thread.call.records.back().time;
    end_call(i, thread, last);
  }
  for (Item& item : items_) {
    if (!item.is_held) continue;
    item.is_held = false;
    item.kind = Item::Action::kNative;
    notes_.insert("receives and collectives without an end are left out");
  }
}

void RankCalls::fail(const Record& record, std::string_view what) {
  if (error_.empty())
    error_ = fmt::format("{}: rank {}, record {} ({}): {}", printable(definitions_->anchor), rank_,
                         record.number, name_of(record.what), what);
}

bool RankCalls::add_record(const Record& given) {
  Record record = given;
  record.number = ++records_;
  add(record);
  return error_.empty();
}

std::uint32_t RankCalls::region_of(std::uint32_t context) const {
  const auto found = definitions_->regions_of_contexts.find(context);
  return found == definitions_->regions_of_contexts.end() ? OTF2_UNDEFINED_REGION : found->second;
}

void RankCalls::add(const Record& record) {
  const auto found = threads_by_location_.find(record.location);
  if (found == threads_by_location_.end()) return;
  OneThread& thread = threads_[found->second];
  switch (record.what) {
    case What::kEnter:
      return enter(thread, record);
    case What::kLeave:
      return leave(thread, record);
    case What::kFlush:
      // A flush's end is in `bytes`. Within a call it delays nothing that counts as computing.
      if (thread.depth == 0 && record.bytes > record.time) thread.flushed += record.bytes - record.time;
      return;
    case What::kSwitched:
      if (record.operation == OTF2_MEASUREMENT_OFF)
        notes_.insert("measurement was switched off at times: events of these periods are missing");
      return;
    case What::kCollectiveBegun:
      // Without functions, the pair of records shows how long the collective takes.
      if (thread.depth == 0) thread.call.begin = record.time;
      return;
    default:
      break;
  }
  if (thread.depth > 0) {
    thread.call.records.push_back(record);
    return;
  }
  // A begin before the end of the previous call belongs to an earlier collective.
  const bool has_begun = record.what == What::kCollective && thread.call.begin > thread.last.value_or(0);
  thread.call = {nullptr, has_begun ? thread.call.begin : record.time, {record}};
  end_call(found->second, thread, record.time);
}

void RankCalls::enter(OneThread& thread, const Record& record) {
  const auto region = definitions_->regions.find(record.reference);
  // Only MPI's functions end computing; the program's own are part of it.
  if (region == definitions_->regions.end() || !region->second.is_mpi) return;
  // MPI functions that call others count as one call: the outermost.
  if (thread.depth++ == 0) thread.call = {&region->second, record.time, {}};
}

void RankCalls::leave(OneThread& thread, const Record& record) {
  const auto region = definitions_->regions.find(record.reference);
  // An exit without an entry occurs where measurement was switched on within a call.
  if (region == definitions_->regions.end() || !region->second.is_mpi || thread.depth == 0) return;
  if (--thread.depth == 0) end_call(threads_by_location_[record.location], thread, record.time);
}

std::uint64_t RankCalls::nanoseconds(std::uint64_t ticks) const {
  __extension__ using Wide = unsigned __int128;
  constexpr std::uint64_t kSecond = 1'000'000'000;
  // The product exceeds 64 bits after some seconds of a nanosecond clock.
  const Wide all = Wide{ticks} * kSecond / definitions_->ticks;
  return all > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(all);
}

// --- calls ---

void RankCalls::end_call(std::uint32_t number, OneThread& thread, std::uint64_t end) {
  OpenCall call = std::exchange(thread.call, OpenCall());
  thread.depth = 0;
  thread.calls = true;
  std::vector<Item> items;
  std::vector<std::uint64_t> ended;  // requests
  // Records of blocking messages, which have no request.
  const auto blocks = [](const Record& one) { return one.what == What::kSend || one.what == What::kReceive; };
  // The messages of a window's epochs come one after the other.
  const bool is_epoch = call.region != nullptr && call.region->name.starts_with("MPI_Win_");
  if (!is_epoch && std::count_if(call.records.begin(), call.records.end(), blocks) > 1)
    messages_at_once(call, items);
  for (const Record& record : call.records) {
    if (!error_.empty()) return;
    one_of_call(record, call.region, items, ended);
  }
  // A freed request needs no wait.
  const bool frees = call.region != nullptr && call.region->function.kind == FunctionKind::kRequestFree;
  wait_for(ended, items, frees ? Item::Action::kFree : Item::Action::kWait);
  // A call without records still separates computing before and after it.
  if (items.empty()) items.emplace_back();
  if (call.region != nullptr) {
    const FunctionKind kind = call.region->function.kind;
    if (kind == FunctionKind::kUnknown && call.records.empty()) {
      unknown_.insert(call.region->name);
      // No model knows its time, so the measured one is kept.
      items.front().native = nanoseconds(end - std::min(end, call.begin));
    }
    if (kind == FunctionKind::kProbe || kind == FunctionKind::kIprobe)
      notes_.insert("probes take no time: their source and tag are not in the archive");
  }
  // Clocks of damaged archives may go back, which is no computing.
  const std::uint64_t since = thread.last && call.begin > *thread.last ? call.begin - *thread.last : 0;
  // Writing the trace is no computing of the program.
  items.front().computed = nanoseconds(since - std::min(since, thread.flushed));
  thread.flushed = 0;
  thread.last = end;
  for (Item& item : items) {
    item.thread = number;
    item.region = call.region;
    item.continues = &item != &items.front();
    items_.push_back(std::move(item));
  }
}

void RankCalls::wait_for(std::vector<std::uint64_t>& ended, std::vector<Item>& items, Item::Action how) {
  if (ended.empty()) return;
  items.push_back({.kind = how, .requests = std::exchange(ended, {})});
}

/// Messages that block together begin before the first wait, receives first.
void RankCalls::messages_at_once(const OpenCall& call, std::vector<Item>& items) {
  Item wait;
  wait.kind = Item::Action::kWait;
  for (const What what : {What::kReceive, What::kSend}) {
    for (const Record& record : call.records) {
      if (record.what != what) continue;
      Item item = message_of(record, what == What::kSend);
      item.blocking = false;
      item.request = requests_++;
      wait.requests.push_back(item.request);
      items.push_back(std::move(item));
    }
  }
  items.push_back(std::move(wait));
}

void RankCalls::one_of_call(const Record& record, const Region* region, std::vector<Item>& items,
                            std::vector<std::uint64_t>& ended) {
  switch (record.what) {
    case What::kSend:
    case What::kReceive:
      // A wait shows that messages_at_once() has already added all blocking messages.
      if (std::none_of(items.begin(), items.end(),
                       [](const Item& one) { return one.kind == Item::Action::kWait; }))
        items.push_back(message_of(record, record.what == What::kSend));
      return;
    case What::kSendBegun: {
      Item item = message_of(record, true);
      item.blocking = false;
      item.request = requests_++;
      // A send's arguments are known at its start: no item has to be found later.
      open_[record.request] = {0, item.request, true};
      items.push_back(std::move(item));
      return;
    }
    case What::kReceiveBegun:
      return defer(record, items, {.kind = Item::Action::kReceive});
    case What::kCollectiveRequest:
      return defer(record, items, {.kind = Item::Action::kCollective});
    case What::kSendDone:
      return end_of_request(record, ended);
    case What::kReceiveDone:
    case What::kCollectiveDone:
      return end_of_receive(record, items, ended);
    case What::kCancelled:
      return cancelled(record, items);
    case What::kCollective: {
      Item item;
      if (collective_of(record, item)) items.push_back(std::move(item));
      return;
    }
    default:
      if (record.what >= What::kPut && record.what <= What::kOtherRma)
        in_window(record, region != nullptr ? region->name : std::string_view(), items, ended);
      return;
  }
}

/// The events are those of a recording: see docs/replay.md.
void RankCalls::in_window(Record record, std::string_view function, std::vector<Item>& items,
                          std::vector<std::uint64_t>& ended) {
  const std::uint32_t window = record.reference;
  if (record.what == What::kAccessDone) {
    // An access may be reported complete at a fence before.
    if (const auto access = accesses_.extract({window, record.request})) ended.push_back(access.mapped());
    return;
  }
  const auto known = definitions_->windows.find(window);
  if (known == definitions_->windows.end() || record.what == What::kOtherRma) {
    notes_.insert("notifications in windows, and windows that are not MPI's, are left out");
    return;
  }
  // From here on, the record names the window's communicator.
  record.reference = known->second;
  const Communicator* const communicator = communicator_of(record);
  if (communicator == nullptr) return;
  // A fence ends all accesses of its window.
  if (record.what == What::kFence) {
    const auto end = accesses_.lower_bound({window + 1, 0});
    for (auto one = accesses_.lower_bound({window, 0}); one != end; one = accesses_.erase(one))
      ended.push_back(one->second);
  }
  // The end of an epoch waits for its accesses first.
  if (record.what >= What::kUnlock) wait_for(ended, items, Item::Action::kWait);
  if (record.what == What::kEpoch) return epoch(record, *communicator, function, items);
  // Score-P writes a request for a lock, and may write that it was granted.
  if (record.what == What::kLock && !locks_.emplace(window, record.peer).second) return;
  if (record.what == What::kUnlock) locks_.erase({window, record.peer});
  Item& item = items.emplace_back();
  item.communicator = record.reference;
  if (record.what == What::kFence) {
    item.kind = Item::Action::kCollective;
    item.operation = OperationKind::kBarrier;
    return;
  }
  // Bytes. A lock is taken and released by an atomic access to the target.
  constexpr std::uint64_t kAtomicBytes = 8;
  item.kind = Item::Action::kAccess;
  item.blocking = record.what == What::kLock || record.what == What::kUnlock;
  if (item.blocking) record.bytes = record.received = kAtomicBytes;
  item.bytes = record.bytes;
  item.received = record.received;
  const std::uint64_t most = std::max(item.bytes, item.received);
  if (most > kMostBytes) fail(record, fmt::format("{} bytes are too many", most));
  // MPI_Win_lock_all locks no certain target; one access is enough for its time.
  const bool is_of_all = item.blocking && record.peer == OTF2_UNDEFINED_UINT32;
  item.peer = is_of_all ? 0 : rank_in(*communicator, record.peer, record);
  // Archives do not say which combining access it was. Up to 8 bytes, an adapter's atomic may do it.
  item.tag = static_cast<int>(record.what == What::kPut   ? Access::kWrite
                              : record.what == What::kGet ? Access::kRead
                              : most <= kAtomicBytes      ? Access::kAtomic
                                                          : Access::kCombine);
  if (!item.blocking) accesses_[{window, record.request}] = item.request = requests_++;
}

/// Messages without data between a target and its origins.
void RankCalls::epoch(const Record& record, const Communicator& communicator, std::string_view function,
                      std::vector<Item>& items) {
  // The exposing side's MPI_Win_post meets MPI_Win_start, and MPI_Win_complete meets MPI_Win_wait.
  const bool begins = function == "MPI_Win_post" || function == "MPI_Win_start";
  // For an epoch, the peer of the record is a group.
  const auto group = definitions_->groups.find(record.peer);
  if (group == definitions_->groups.end()) return fail(record, "its group is not defined");
  for (const std::uint64_t member : group->second) {
    const auto found = std::ranges::find(communicator.members, static_cast<int>(member));
    if (found == communicator.members.end()) return fail(record, "its group is not one of its window");
    Item& item = items.emplace_back();
    item.kind = function == "MPI_Win_post" || function == "MPI_Win_complete" ? Item::Action::kSend
                                                                             : Item::Action::kReceive;
    item.communicator = record.reference;
    item.peer = static_cast<int>(found - communicator.members.begin());
    // Tags below those of neighbourhoods, which no program's message has: beginning and end never match.
    item.tag = recording::kNeighboursTag - (begins ? 1 : 2);
  }
}

std::optional<RankCalls::Open> RankCalls::closed(std::uint64_t id) {
  const auto found = open_.find(id);
  if (found == open_.end()) {
    notes_.insert("completions of requests whose start is missing are left out");
    return std::nullopt;
  }
  const Open open = found->second;
  open_.erase(found);
  return open;
}

void RankCalls::defer(const Record& record, std::vector<Item>& items, Item item) {
  item.blocking = false;
  item.is_held = true;
  item.request = requests_++;
  // The item's future position: all queued items and those of this call come first.
  open_[record.request] = {first_ + items_.size() + items.size(), item.request, false};
  items.push_back(std::move(item));
}

/// items: those of the call that is not queued yet.
Item& RankCalls::deferred_item(const Open& open, std::vector<Item>& items) {
  const std::uint64_t queued = first_ + items_.size();
  return open.item < queued ? items_[open.item - first_] : items[open.item - queued];
}

void RankCalls::end_of_request(const Record& record, std::vector<std::uint64_t>& ended) {
  if (const auto open = closed(record.request); open && open->sends) ended.push_back(open->request);
}

void RankCalls::end_of_receive(const Record& record, std::vector<Item>& items,
                               std::vector<std::uint64_t>& ended) {
  const auto open = closed(record.request);
  if (!open || open->sends) return;
  Item known;
  if (record.what == What::kReceiveDone) {
    known = message_of(record, false);
  } else if (!collective_of(record, known)) {
    // A collective that moves no data becomes a native call without time.
    known = Item();
  }
  Item& held = deferred_item(*open, items);
  if (known.kind != held.kind && known.kind != Item::Action::kNative)
    return fail(record, fmt::format("request {} was started as another operation", record.request));
  // What the start determined stays; the rest comes from the end.
  known.blocking = false;
  known.request = held.request;
  known.continues = held.continues;
  known.thread = held.thread;
  known.region = held.region;
  known.computed = held.computed;
  held = std::move(known);
  if (held.kind != Item::Action::kNative) ended.push_back(open->request);
}

void RankCalls::cancelled(const Record& record, std::vector<Item>& items) {
  const auto open = closed(record.request);
  if (!open) return;
  // A send already left the queue; its request is freed without waiting.
  if (open->sends) {
    items.push_back({.kind = Item::Action::kFree, .requests = {open->request}});
    return;
  }
  Item& held = deferred_item(*open, items);
  held.is_held = false;
  held.kind = Item::Action::kNative;
  notes_.insert("receives that were cancelled are left out");
}

// --- what they name ---

const Communicator* RankCalls::communicator_of(const Record& record) {
  // The membership of a large communicator is only searched once.
  if (const auto used = communicators_.find(record.reference); used != communicators_.end())
    return used->second;
  const auto found = definitions_->communicators.find(record.reference);
  if (found == definitions_->communicators.end()) {
    fail(record, fmt::format("communicator {} is not defined, or joins two groups", record.reference));
    return nullptr;
  }
  const Communicator& communicator = found->second;
  const bool is_in = communicator.is_self || communicator.is_world ||
                     std::find(communicator.members.begin(), communicator.members.end(), rank_) !=
                         communicator.members.end();
  if (is_in) return communicators_[record.reference] = &communicator;
  fail(record, fmt::format("this rank is not a member of communicator {}", record.reference));
  return nullptr;
}

int RankCalls::rank_in(const Communicator& communicator, std::uint32_t rank, const Record& record) {
  const std::size_t size = communicator.size(definitions_->ranks.size());
  // Most writers name ranks of the communicator.
  std::size_t own = rank;
  if (communicator.has_global_ranks && communicator.is_self) {
    own = rank == static_cast<std::uint32_t>(rank_) ? 0 : size;
  } else if (communicator.has_global_ranks && !communicator.is_world) {
    const std::vector<int>& members = communicator.members;
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](int member) { return static_cast<std::uint32_t>(member) == rank; });
    own = static_cast<std::size_t>(found - members.begin());
  }
  if (own >= size) fail(record, fmt::format("communicator {} has no rank {}", record.reference, rank));
  // After an error, any rank will do.
  return static_cast<int>(std::min(own, size));
}

Item RankCalls::message_of(const Record& record, bool sends) {
  Item item;
  item.kind = sends ? Item::Action::kSend : Item::Action::kReceive;
  const Communicator* const communicator = communicator_of(record);
  if (communicator == nullptr) return item;
  // MPI's tags are of type int.
  if (record.tag > INT32_MAX) fail(record, fmt::format("invalid tag {}", record.tag));
  if (record.bytes > kMostBytes) fail(record, fmt::format("{} bytes are too many", record.bytes));
  item.communicator = record.reference;
  item.peer = rank_in(*communicator, record.peer, record);
  item.tag = static_cast<int>(record.tag);
  item.bytes = record.bytes;
  return item;
}

/// Returns false if the record is no collective that moves data.
bool RankCalls::collective_of(const Record& record, Item& item) {
  const auto operation = kind_of(record.operation);
  if (!operation) return false;
  const Communicator* const communicator = communicator_of(record);
  if (communicator == nullptr) return false;
  if (record.bytes > kMostBytes || record.received > kMostBytes)
    fail(record, fmt::format("{} and {} bytes are too many", record.bytes, record.received));
  item.kind = Item::Action::kCollective;
  item.operation = *operation;
  item.communicator = record.reference;
  item.bytes = record.bytes;
  item.received = record.received;
  if (!has_root(*operation)) return true;
  // The root of a communicator of one rank has no number.
  if (record.peer == OTF2_COLLECTIVE_ROOT_SELF && communicator->is_self) return true;
  item.peer = rank_in(*communicator, record.peer, record);
  return true;
}

}  // namespace offramp::otf2
