// The counts of all ranks precede the reads, so a rank seeks to its own part. The file is input of a later
// run and may be damaged: each count, and then their sum, is compared with its size before memory is
// reserved.
#include "lib/answers/replay/clock_reads.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "lib/base/output_file.hpp"
#include "lib/programs/recording/bytes.hpp"

namespace offramp {
namespace {

using Word = std::uint64_t;

// File format, little-endian words: mark, number of ranks, number of reads per rank, reads by rank.
constexpr std::string_view kMark = "OFFRAMP CLOCKS 1";
constexpr std::size_t kWordsPerRead = 2;

void put(std::string& bytes, Word word) {
  std::uint8_t memory[sizeof word];
  recording::put_word(memory, word);
  bytes.append(reinterpret_cast<const char*>(memory), sizeof word);
}

/// Reads up to `words` words from the current position; fewer at the end of the file.
std::vector<Word> read_words(std::ifstream& file, std::size_t words) {
  std::string bytes(words * sizeof(Word), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::vector<Word> taken(static_cast<std::size_t>(file.gcount()) / sizeof(Word));
  for (std::size_t i = 0; i < taken.size(); ++i)
    taken[i] =
        recording::get_word<Word>(reinterpret_cast<const std::uint8_t*>(bytes.data()) + i * sizeof(Word));
  return taken;
}

}  // namespace

std::string write_clock_reads(const std::string& path, const ClockReads& reads) {
  std::string bytes(kMark);
  put(bytes, reads.size());
  for (const auto& of_rank : reads) put(bytes, of_rank.size());
  for (const auto& of_rank : reads) {
    for (const ClockRead& read : of_rank) {
      put(bytes, static_cast<Word>(read.time.count()));
      put(bytes, read.calls);
    }
  }
  return write_output(path, bytes).error();
}

Result<std::vector<ClockRead>> read_clock_reads(const std::string& path, int rank, int ranks) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  // Opening a FIFO would block the rank. A missing file gets the system's message below.
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found)
    return failure(fmt::format("{}: it is not a regular file", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(fmt::format("{}: {}", path, std::strerror(errno)));
  std::string mark(kMark.size(), '\0');
  file.read(mark.data(), static_cast<std::streamsize>(mark.size()));
  const std::vector<Word> in_file = read_words(file, 1);
  if (mark != kMark || in_file.empty())
    return failure(fmt::format("{}: it is not a file of MPI_Wtime times", path));
  if (in_file.front() != static_cast<Word>(ranks))
    return failure(fmt::format("{}: the times are those of {} ranks, but the program has {}", path,
                               in_file.front(), ranks));
  const std::vector<Word> counts = read_words(file, static_cast<std::size_t>(ranks));
  const auto header = static_cast<Word>(file.tellg() < 0 ? std::streamoff{0} : std::streamoff{file.tellg()});
  // A short file has set the flags for its end.
  file.clear();
  file.seekg(0, std::ios::end);
  const auto size = static_cast<Word>(std::max(std::streamoff{0}, std::streamoff{file.tellg()}));
  // Check that the file is as long as its counts claim before memory is reserved.
  constexpr Word kReadBytes = kWordsPerRead * sizeof(Word);
  Word before = 0;
  Word all = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    // The sum then differs from the size, and is refused without an overflow.
    if (counts[i] > size / kReadBytes) break;
    if (i < static_cast<std::size_t>(rank)) before += counts[i];
    all += counts[i];
  }
  if (counts.size() != static_cast<std::size_t>(ranks) || size != header + all * kReadBytes)
    return failure(fmt::format("{}: the file has {} bytes, but its header states another size", path, size));
  file.seekg(static_cast<std::streamoff>(header + before * kReadBytes));
  const std::vector<Word> words = read_words(file, counts[static_cast<std::size_t>(rank)] * kWordsPerRead);
  std::vector<ClockRead> reads(words.size() / kWordsPerRead);
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const Word time = words[kWordsPerRead * i];
    if (time > static_cast<Word>(std::numeric_limits<std::int64_t>::max()))
      return failure(fmt::format("{}: time {} of rank {} is out of range", path, i, rank));
    reads[i] = {Time::ps(static_cast<std::int64_t>(time)), words[kWordsPerRead * i + 1]};
  }
  return reads;
}

}  // namespace offramp
