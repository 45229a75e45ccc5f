// The calls of one rank of an archive, thread by thread, in the order of their ends. Receives are held back
// until their end shows the matched message.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/programs/import/otf2_definitions.hpp"
#include "lib/programs/import/otf2_records.hpp"

namespace offramp::otf2 {

/// One action of a call.
struct Item {
  /// kNative lasts as long as measured; kFree ends requests without waiting.
  enum class Action : std::uint8_t { kNative, kSend, kReceive, kCollective, kAccess, kWait, kFree };
  Action kind = Action::kNative;
  bool continues = false;  // belongs to the same call as the previous item
  bool blocking = true;
  bool is_held = false;            // unknown until its end
  std::uint32_t thread = 0;        // of the rank
  const Region* region = nullptr;  // null: the archive does not contain the function
  std::uint64_t computed = 0;      // nanoseconds before it
  std::uint64_t native = 0;        // nanoseconds of a call without a model
  std::uint64_t request = 0;       // begun by it, unless it blocks; unique within the rank
  std::uint32_t communicator = 0;  // its reference
  int peer = 0;                    // rank in the communicator, or root
  int tag = 0;                     // or an Access
  std::uint64_t bytes = 0;         // of a message; of a collective or an access, sent by this rank
  std::uint64_t received = 0;      // of a collective or an access
  OperationKind operation = OperationKind::kCount;
  std::vector<std::uint64_t> requests = {};  // of a wait
};

/// Reads all threads of one rank. Belongs to one thread: OTF2's messages are kept per thread.
class RankCalls final : private RecordSink {
 public:
  /// Opens the rank's files; an error() may exist from the beginning.
  RankCalls(std::shared_ptr<const Definitions> definitions, int rank);
  ~RankCalls() override;

  /// Returns false at the end or on an error().
  bool next(Item& item);
  /// Names the file, the rank, and the record.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// What was left out so far, one line per kind.
  [[nodiscard]] const std::set<std::string>& notes() const { return notes_; }
  /// Functions that move data or wait but have no equivalent.
  [[nodiscard]] const std::set<std::string>& unknown() const { return unknown_; }
  /// The number of threads that call MPI.
  [[nodiscard]] std::size_t threads() const;

 private:
  struct OpenCall;
  struct Source;
  struct OneThread;
  /// A request that has begun and has not ended.
  struct Open {
    std::uint64_t item = 0;  // counted from the rank's first item
    std::uint64_t request = 0;
    bool sends = false;
  };

  /// Opens all locations of the rank. Sets error_ on failure.
  void open_source();
  /// Passes some records on. Returns false at the end or on an error.
  bool read_more();
  /// Closes open calls at the end of the archive.
  void at_end();
  bool add_record(const Record& record) override;
  [[nodiscard]] std::uint32_t region_of(std::uint32_t context) const override;
  /// Adds a record to the open call of its thread, or makes it a call of its own.
  void add(const Record& record);
  /// Enters and leaves nest; only MPI's functions count.
  void enter(OneThread& thread, const Record& record);
  void leave(OneThread& thread, const Record& record);
  /// number: of the thread. end: in ticks.
  void end_call(std::uint32_t number, OneThread& thread, std::uint64_t end);
  /// Adds one item that ends these requests, and empties the list.
  static void wait_for(std::vector<std::uint64_t>& ended, std::vector<Item>& items, Item::Action how);
  void messages_at_once(const OpenCall& call, std::vector<Item>& items);
  /// ended: collects requests that end in the call; one wait ends them together.
  void one_of_call(const Record& record, const Region* region, std::vector<Item>& items,
                   std::vector<std::uint64_t>& ended);
  /// Completes the held item of a receive or a nonblocking collective.
  void end_of_receive(const Record& record, std::vector<Item>& items, std::vector<std::uint64_t>& ended);
  void end_of_request(const Record& record, std::vector<std::uint64_t>& ended);
  /// A cancelled receive becomes a native call; a cancelled send is freed.
  void cancelled(const Record& record, std::vector<Item>& items);
  /// Forgets an open request. id: the archive's number.
  std::optional<Open> closed(std::uint64_t id);
  /// The held item, among the queued ones or those of the present call.
  Item& deferred_item(const Open& open, std::vector<Item>& items);
  /// Adds an item that is held until its request ends.
  void defer(const Record& record, std::vector<Item>& items, Item item);
  /// Fails on values that MPI does not allow.
  [[nodiscard]] Item message_of(const Record& record, bool sends);
  /// One-sided communication: accesses, locks, and fences.
  void in_window(Record record, std::string_view function, std::vector<Item>& items,
                 std::vector<std::uint64_t>& ended);
  void epoch(const Record& record, const Communicator& communicator, std::string_view function,
             std::vector<Item>& items);
  bool collective_of(const Record& record, Item& item);
  /// Null after an error.
  const Communicator* communicator_of(const Record& record);
  /// Translates a record's rank into one of the communicator.
  int rank_in(const Communicator& communicator, std::uint32_t rank, const Record& record);
  /// Rounds down. Values beyond 64 bits are the largest value.
  [[nodiscard]] std::uint64_t nanoseconds(std::uint64_t ticks) const;
  /// Only the first error is kept.
  void fail(const Record& record, std::string_view what);

  std::shared_ptr<const Definitions> definitions_;
  int rank_;
  std::unique_ptr<Source> source_;  // null: all records have been read
  std::unordered_map<std::uint64_t, std::uint32_t> threads_by_location_;
  std::vector<OneThread> threads_;
  std::deque<Item> items_;
  std::uint64_t first_ = 0;                       // number of the first of items_
  std::unordered_map<std::uint64_t, Open> open_;  // by the archive's number of a request
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> accesses_;  // by window and its number
  std::set<std::pair<std::uint32_t, std::uint32_t>> locks_;                    // windows and targets
  std::unordered_map<std::uint32_t, const Communicator*> communicators_;       // of this rank, used so far
  /// Requests so far, which number the items' requests.
  std::uint64_t requests_ = 0;
  /// Records so far, for messages about one.
  std::uint64_t records_ = 0;
  std::set<std::string> notes_;
  std::set<std::string> unknown_;
  std::string error_;
};

}  // namespace offramp::otf2
