// A file that gets its name when it is complete.
#pragma once

#include <string>
#include <string_view>

namespace offramp::recording {

class NewFile {
 public:
  explicit NewFile(std::string path);
  /// Without finish() nothing remains.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// After a failure nothing more is written.
  void write(std::string_view bytes);
  /// Empty, or what went wrong in all that came before.
  std::string finish();

 private:
  void fail();

  std::string path_;
  std::string aside_;
  int file_;
  std::string problem_;
};

}  // namespace offramp::recording
