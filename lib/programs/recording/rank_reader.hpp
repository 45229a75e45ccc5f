// Reads the columns of one rank side by side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/recording/column_reader.hpp"
#include "lib/programs/recording/event_reader.hpp"
#include "lib/programs/recording/reader.hpp"

namespace offramp::recording {

/// A column with entries for some events: (events since the last entry, values).
template <std::size_t Values>
class SparseColumn {
 public:
  /// most: the largest valid value. error: shared with other columns, must outlive this object.
  SparseColumn(const RankBlocks& blocks, std::uint32_t rank, Column column, std::uint64_t most,
               std::string& error)
      : entries_(blocks, rank, column, error), most_(most) {}
  using Entry = std::array<std::uint64_t, Values>;
  /// The values for an event, 0 without an entry. Events must come in order.
  Entry at(std::uint64_t event) {
    while (event_ < event) read();
    return event_ == event ? values_ : Entry{};
  }

 private:
  /// No event has this number: the column has ended.
  static constexpr std::uint64_t kNever = UINT64_MAX;
  /// Reads the next entry into event_ and values_.
  void read();

  EntryReader entries_;
  /// The largest valid value.
  std::uint64_t most_;
  bool begun_ = false;
  std::uint64_t event_ = 0;  // of the last entry read, counted from 1
  Entry values_{};
};

/// Belongs to one thread. All of its columns stop at the first error.
class RankReader final : public Reader {
 public:
  /// blocks: of the recording, which lives as long as its readers.
  RankReader(std::shared_ptr<const RankBlocks> blocks, std::uint32_t rank);

  bool next(Event& event) override;
  [[nodiscard]] Times times() const override { return times_; }
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const override;
  [[nodiscard]] std::optional<Match> match() override;
  [[nodiscard]] std::span<const std::uint32_t> choice() const override { return choice_; }
  [[nodiscard]] std::uint64_t polls() const override { return polls_; }
  [[nodiscard]] Gaps gaps() const override { return gaps_; }
  [[nodiscard]] bool has_threads() const override { return !blocks_->blocks_of(Column::kThreads).empty(); }
  [[nodiscard]] std::uint32_t thread() const override { return thread_; }
  [[nodiscard]] std::string_view call(std::uint16_t number) const override { return reader_.name(number); }
  [[nodiscard]] std::string_view site(std::uint32_t number) const override {
    return number == 0 ? std::string_view() : reader_.name(number - 1);
  }
  [[nodiscard]] std::string_view cut() const override { return cut_; }
  [[nodiscard]] std::optional<std::uint64_t> events() const override { return end_; }
  [[nodiscard]] const std::string& error() const override { return error_; }

 private:
  /// Reads how and where the events end.
  void read_end();
  /// Null at the end, or on an error.
  const Event* next_event();
  /// Reads the completed positions of a wait into choice_.
  void read_choice(std::uint64_t most);
  /// The next entry of the matches column. `nullopt` at the end.
  std::optional<std::pair<std::uint64_t, Match>> next_match();

  std::shared_ptr<const RankBlocks> blocks_;
  std::uint32_t rank_;
  std::string error_;  // shared by all columns
  ColumnReader events_;
  EventReader reader_;
  SparseColumn<1> computing_;
  SparseColumn<1> blocked_;
  SparseColumn<1> durations_;
  SparseColumn<1> poll_counts_;
  SparseColumn<2> gap_times_;
  SparseColumn<1> threads_;
  EntryReader matches_;
  EntryReader choices_;

  std::uint64_t count_ = 0;                       // events returned
  std::uint64_t wildcards_ = 0;                   // wildcards among them
  bool wildcard_ = false;                         // the last event is a wildcard
  std::uint64_t matched_ = 0;                     // wildcard number of the last entry read
  Match match_;                                   // of that entry
  std::map<std::uint64_t, Match> early_;          // matches of later wildcards
  std::optional<std::uint64_t> choices_to_skip_;  // before the entry at choices_; nullopt: not read yet
  /// Positions in the next entry.
  std::uint64_t choice_size_ = 0;
  Times times_;
  std::uint64_t polls_ = 0;
  Gaps gaps_;
  std::uint32_t thread_ = 0;
  std::vector<std::uint32_t> choice_;
  std::optional<std::uint64_t> end_;  // events of the program; if it was cut, of the complete ones
  /// Without an end, the recording counts as cut.
  std::string cut_ = std::string(kCut);
};

}  // namespace offramp::recording
