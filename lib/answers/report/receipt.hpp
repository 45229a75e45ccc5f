// The receipt of one call: where its modelled time went, to the picosecond.
//
// Every moment between the call's beginning and its end belongs to exactly one stage, so the stages add up to
// the call. Of the spans that cover a moment, the first of these has it:
//
//   1. what this rank's hardware did for the call's operations; of several, what began last
//   2. what the host did for them
//   3. what other ranks' hardware did for the messages that this rank exchanged, and for their own part of
//      the same collective
//   4. a wait that the hardware names itself (its name begins with "wait")
//
// What nothing covers is a wait for the peer whose stage comes next, or the host's own time when none does.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/answers/report/time_kind.hpp"
#include "lib/base/configuration/configuration.hpp"
#include "offramp/kernel/time.hpp"

namespace offramp {

/// The receipts of all ranks, as the report keeps them.
struct Receipts {
  struct Call {
    std::uint64_t number = 0;
    std::string function;
    Time begin;
    Time end;
    std::vector<std::uint64_t> operations;
    // Numbers from 1 in ReplayRecords::phases() and sites(); 0: none. Reports do not contain them.
    std::uint32_t phase = 0;
    std::uint32_t site = 0;
  };
  struct Stage {
    std::string unit;
    std::string what;
  };
  struct KnownSpan {
    std::uint32_t stage = 0;
    Time begin;
    Time end;
    std::uint64_t operation = 0;
  };
  struct MessagePart {
    std::uint64_t message = 0;
    std::uint64_t collective = 0;
  };
  struct Rank {
    std::uint64_t dropped = 0;
    std::vector<Call> calls;  // by number
    std::vector<MessagePart> parts;
    std::vector<Stage> stages;
    std::vector<KnownSpan> spans;
  };
  std::vector<Rank> ranks;
};

/// From the text of a report. The error says what is wrong with it.
Result<Receipts> read_receipts(const std::string& report, const std::string& file);

/// A piece of a call's time. rank: whose hardware; -1 for a wait for no rank that is known, and for the host.
struct ReceiptLine {
  int rank = -1;
  std::string unit;
  std::string what;
  Time begin;
  Time end;
  TimeKind kind = TimeKind::kSoftware;
};

/// Receipts of many calls: what belongs to which operation is looked up once.
class ReceiptBook {
 public:
  /// The receipts outlive it.
  explicit ReceiptBook(const Receipts& receipts);

  /// In the order of time, without gaps: the first begins and the last ends with the call.
  [[nodiscard]] std::vector<ReceiptLine> lines(int rank, const Receipts::Call& call) const;

 private:
  friend class Accountant;
  struct SpanIndex {
    int rank;
    std::size_t span;
  };
  struct Use {
    int rank;
    std::uint64_t collective;  // that the message is part of; 0: a call's own operation
  };
  template <typename What>
  using OfOperation = std::unordered_map<std::uint64_t, std::vector<What>>;

  const Receipts& receipts_;
  OfOperation<SpanIndex> spans_;
  OfOperation<std::uint64_t> messages_;  // of a collective, which is one rank's
  OfOperation<Use> uses_;                // by rank
};

/// The receipt of one call.
std::vector<ReceiptLine> receipt_of(const Receipts& receipts, int rank, const Receipts::Call& call);

}  // namespace offramp
