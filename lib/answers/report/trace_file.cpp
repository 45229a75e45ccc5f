// Compression is zlib's, in pieces of kPiece bytes, so that a trace of gigabytes needs no memory of its own.
#include "lib/answers/report/trace_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/answers/report/trace.hpp"

namespace offramp {

/// One stream of zlib's, with the head and the sum of a gzip file.
class TraceFile::Deflater {
 public:
  Deflater() {
    constexpr int kGzip = 16;   // added to the window's bits: a gzip head instead of zlib's
    constexpr int kMemory = 8;  // zlib's default
    is_open_ = deflateInit2(&stream_, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemory,
                            Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~Deflater() {
    if (is_open_) deflateEnd(&stream_);
  }
  Deflater& operator=(Deflater&&) = delete;

  [[nodiscard]] bool is_open() const { return is_open_; }

  void write(OutputFile& file, std::string_view text, int flush) {
    // zlib reads through this pointer only.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
      stream_.avail_out = static_cast<uInt>(piece_.size());
      (void)deflate(&stream_, flush);
      file.write({piece_.data(), piece_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{64} << 10;

  z_stream stream_{};
  bool is_open_ = false;
  std::array<char, kPiece> piece_;
};

bool is_compressed(std::string_view path) {
  return path.ends_with(".gz");
}

Result<TraceFile> TraceFile::create(const std::string& path) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return failure(file.error());
  std::unique_ptr<Deflater> deflater = is_compressed(path) ? std::make_unique<Deflater>() : nullptr;
  if (deflater != nullptr && !deflater->is_open()) return failure("zlib is out of memory");
  return TraceFile(std::move(*file), std::move(deflater));
}

TraceFile::TraceFile(OutputFile file, std::unique_ptr<Deflater> deflater)
    : file_(std::move(file)), deflater_(std::move(deflater)) {}
TraceFile::TraceFile(TraceFile&& other) noexcept = default;
TraceFile::~TraceFile() = default;

void TraceFile::write(std::string_view text) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // zlib counts in 32 bits
  if (deflater_ == nullptr) return file_.write(text);
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), kMost)))
    deflater_->write(file_, text.substr(0, kMost), Z_NO_FLUSH);
}

void TraceFile::add(std::string_view events) {
  write(std::exchange(is_empty_, false) ? kTraceBegin : kTraceSeparator);
  write(events);
}

std::string TraceFile::finish() {
  if (is_empty_) write(kTraceBegin);
  write(kTraceEnd);
  if (deflater_ != nullptr) deflater_->write(file_, {}, Z_FINISH);
  return file_.finish().error();
}

}  // namespace offramp
