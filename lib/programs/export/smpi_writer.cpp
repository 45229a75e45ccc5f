// Writes a program as a time-independent trace of SMPI, the reverse of smpi.cpp. SMPI counts elements in int
// and has no communicators: larger sizes are written as doubles, and communicators become tags
// (program_visitor.cpp). Each kind of construct that the format cannot express is reported once.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "lib/base/output_file.hpp"
#include "lib/base/output_folder.hpp"
#include "lib/programs/export/program_visitor.hpp"
#include "lib/programs/export/writers.hpp"
#include "lib/programs/import/smpi_types.hpp"
#include "offramp/model/message.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using recording::Reader;

constexpr std::uint64_t kMostElements = INT32_MAX;  // SMPI counts in int
constexpr int kAnySourceOfSmpi = -555;              // smpi.h
constexpr int kAnyTagOfSmpi = -444;
constexpr std::size_t kBufferBytes = std::size_t{64} << 10U;

class SmpiWriter final : public ProgramVisitor {
 public:
  using ProgramVisitor::ProgramVisitor;

  Result<void> write(int rank, const std::string& path) {
    Result<OutputFile> file = OutputFile::create(path, Naming::kDerived);
    if (!file) return cannot_write(path, failure(file.error()));
    file_ = &*file;
    keys_.clear();
    text_ = fmt::format("{} init\n", rank);
    if (Result<void> done = visit(rank); !done) return done;
    file->write(text_);
    return cannot_write(path, file->finish());
  }

 private:
  struct Counted {
    std::uint64_t count;
    std::size_t type;
  };

  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), "{} ", rank());
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
    if (text_.size() < kBufferBytes) return;
    file_->write(text_);
    text_.clear();
  }

  /// In bytes if their number fits, otherwise in doubles.
  Counted counted(std::uint64_t bytes) {
    if (bytes <= kMostElements) return {bytes, kSmpiByte};
    const std::uint64_t size = smpi_types()[kSmpiDouble].bytes;
    if (bytes % size != 0 || bytes / size > kMostElements)
      fail(fmt::format("{} bytes exceed the limit of SMPI's traces", bytes));
    return {bytes / size, kSmpiDouble};
  }
  Counted counted(const Event& event) {
    // Without a count of elements, or if they are no whole bytes, the size is written in bytes.
    if (event.extra == 0 || event.bytes % event.extra != 0) return counted(event.bytes);
    const std::size_t type = smpi_type_of(event.element, event.bytes / event.extra);
    if (type == kSmpiByte || event.extra > kMostElements) return counted(event.bytes);
    return {event.extra, type};
  }
  /// A receive buffer may be larger than the format can express; the exact size does not matter.
  Counted room(std::uint64_t bytes) {
    const std::uint64_t size = smpi_types()[kSmpiDouble].bytes;
    if (bytes <= kMostElements) return {bytes, kSmpiByte};
    return {std::min(bytes / size + 1, kMostElements), kSmpiDouble};
  }
  std::string blocks(std::span<const std::uint64_t> bytes) {
    const bool large =
        std::any_of(bytes.begin(), bytes.end(), [](std::uint64_t b) { return b > kMostElements; });
    if (large) fail("blocks of more than 2 GiB");
    return fmt::format("{}", fmt::join(bytes, " "));
  }

  void compute(std::uint64_t nanoseconds) final { line("compute {}", nanoseconds); }

  void message(const MessageCall& message) final {
    const Counted size = message.sends ? counted(message.bytes) : room(message.bytes);
    const int peer = message.peer < 0 ? kAnySourceOfSmpi : message.peer;
    const int tag = message.tag < 0 ? kAnyTagOfSmpi : message.tag;
    if (message.synchronous) unsupported("written as plain sends: synchronous sends");
    line("{}{} {} {} {} {}", message.blocking ? "" : "i", message.sends ? "send" : "recv", peer, tag,
         size.count, size.type);
    if (!message.blocking && !message.buffered)
      keys_.emplace(message.request, message.sends ? Key{rank(), message.peer, message.tag}
                                                   : Key{message.peer, rank(), message.tag});
  }

  void wait(std::span<const std::uint64_t> requests) final {
    if (pending() == 0 && keys_.size() == requests.size() && requests.size() > 1) {
      keys_.clear();
      // SMPI waits by envelope. Where all open requests are meant, one waitall is enough.
      return line("waitall");
    }
    for (const std::uint64_t request : requests) {
      const auto key = keys_.extract(request);
      line("wait {} {} {}", key.mapped().source < 0 ? kAnySourceOfSmpi : key.mapped().source,
           key.mapped().destination, key.mapped().tag < 0 ? kAnyTagOfSmpi : key.mapped().tag);
    }
  }

  void collective(const Event& event, const Reader& reader, std::span<const int> members,
                  std::optional<std::uint64_t>) final {
    if (members.size() == 1) return unsupported("left out: collectives on a communicator of one rank");
    if (members.size() < static_cast<std::size_t>(ranks()))
      return fail("a collective of some ranks: SMPI's traces have only those of all ranks");
    if (reduces(event.operation) && event.function != ReduceFunction::kSum)
      unsupported("left out: functions of reductions other than sums");
    const std::string_view name = to_string(event.operation);
    const Counted size = counted(event);
    const std::uint64_t n = size.count;
    const std::size_t type = size.type;
    const int root = event.peer;
    const std::span<const std::uint64_t> own = reader.list(event.list);
    const std::span<const std::uint64_t> others = reader.list(event.second_list);
    switch (event.operation) {
      case OperationKind::kBarrier:
        return line("barrier");
      case OperationKind::kBcast:
        return line("bcast {} {} {}", n, root, type);
      case OperationKind::kReduce:
        return line("reduce {} 0 {} {}", n, root, type);
      case OperationKind::kAllreduce:
      case OperationKind::kScan:
      case OperationKind::kExscan:
        return line("{} {} 0 {}", name, n, type);
      case OperationKind::kGather:
      case OperationKind::kScatter:
        return line("{0} {1} {1} {2} {3} {3}", name, n, root, type);
      case OperationKind::kAllgather:
      case OperationKind::kAlltoall:
        return line("{0} {1} {1} {2} {2}", name, n, type);
      case OperationKind::kReduceScatter: {
        const std::vector<std::uint64_t> alike(members.size(), n);
        return line("reducescatter {} 0 {}", fmt::join(alike, " "), type);
      }
      case OperationKind::kReduceScatterv:
        return line("reducescatter {} 0 {}", blocks(own), kSmpiByte);
      case OperationKind::kGatherv: {
        const std::vector<std::uint64_t> none(members.size(), 0);
        return line("gatherv {} {} {} {} {}", event.bytes, blocks(others.empty() ? none : others), root,
                    kSmpiByte, kSmpiByte);
      }
      case OperationKind::kScatterv: {
        const std::vector<std::uint64_t> none(members.size(), 0);
        return line("scatterv {} {} {} {} {}", blocks(own.empty() ? none : own), event.extra, root, kSmpiByte,
                    kSmpiByte);
      }
      case OperationKind::kAllgatherv:
        return line("allgatherv {} {} {} {}", event.bytes, blocks(others), kSmpiByte, kSmpiByte);
      case OperationKind::kAlltoallv:
        return line("alltoallv {} {} {} {} {} {}", event.bytes, blocks(own), event.extra, blocks(others),
                    kSmpiByte, kSmpiByte);
      case OperationKind::kSend:
      case OperationKind::kCount:
        return fail("it is not a collective");
    }
  }

  void end() final { line("finalize"); }

  struct Key {
    int source;
    int destination;
    int tag;
  };
  OutputFile* file_ = nullptr;
  std::string text_;
  std::unordered_map<std::uint64_t, Key> keys_;  // of requests without a wait so far
};

}  // namespace

Result<void> write_smpi(const Program& program, const std::string& path,
                        std::vector<std::string>& unsupported) {
  if (program.graph)
    return failure("it is a graph of dependencies, but an SMPI trace is a sequence of calls");
  const std::string folder = path + "_files";
  if (const Result<void> done = make_output_folder(folder); !done) return cannot_write(folder, done);
  SmpiWriter writer(program, unsupported);
  Result<OutputFile> list = OutputFile::create(path);
  if (!list) return cannot_write(path, failure(list.error()));
  for (int rank = 0; rank < program.description.ranks; ++rank) {
    const std::string file = fmt::format("{}/rank-{}.txt", folder, rank);
    if (Result<void> done = writer.write(rank, file); !done) return done;
    list->write(file + '\n');
  }
  return cannot_write(path, list->finish());
}

}  // namespace offramp::trace
