// Reads the dynamic section and symbols with libelf, and searches libraries as ld.so(8) does: RPATH,
// LD_LIBRARY_PATH, RUNPATH, configured folders, default folders. Does not load or run the file.
#include "tools/launch/elf_image.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <gelf.h>
#include <glob.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lib/base/text_format.hpp"

namespace offramp::tool {
namespace {

namespace fs = std::filesystem;

/// An open file and its ELF handle, which is null unless libelf can read the file.
class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ >= 0) elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
  }
  ~File() {
    if (elf_ != nullptr) elf_end(elf_);
    if (fd_ >= 0) close(fd_);
  }
  File& operator=(File&&) = delete;
  [[nodiscard]] bool readable() const { return fd_ >= 0; }
  [[nodiscard]] Elf* elf() const { return elf_; }

 private:
  int fd_;
  Elf* elf_ = nullptr;
};

/// Appends the folders of a list separated by colons. origin: replaces $ORIGIN.
void split_path(const std::string& text, const std::string& origin, std::vector<std::string>& into) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ':');) {
    for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"}) {
      if (const auto at = part.find(word); at != std::string::npos) part.replace(at, word.size(), origin);
    }
    if (!part.empty()) into.push_back(part);
  }
}

void read_dynamic(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, const std::string& origin,
                  ElfImage& image) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  GElf_Dyn entry;
  for (int i = 0; i < count && gelf_getdyn(data, i, &entry) != nullptr; ++i) {
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH) continue;
    const char* const text = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
    if (text == nullptr) continue;
    if (entry.d_tag == DT_NEEDED) {
      image.needed.emplace_back(text);
    } else {
      split_path(text, origin, entry.d_tag == DT_RPATH ? image.rpath : image.runpath);
    }
  }
}

/// Statically linked programs define their MPI functions in the table that is not dynamic.
void read_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, ElfImage& image) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  GElf_Sym symbol;
  for (int i = 1; i < count && gelf_getsym(data, i, &symbol) != nullptr; ++i) {
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr || *name == '\0') continue;
    const std::string_view view(name);
    if (symbol.st_shndx == SHN_UNDEF) {
      if (header.sh_type == SHT_DYNSYM) image.imports.emplace_back(view);
    } else if (view.starts_with("MPI_") || view.starts_with("PMPI_")) {
      image.definitions.emplace_back(view);
    }
  }
}

/// The folders of /etc/ld.so.conf and the files that it includes.
void configured_directories(const std::string& file, int depth, std::vector<std::string>& into) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string first;
    words >> first;
    // The limit ends files that include each other.
    if (first == "include" && depth < 4) {
      for (std::string pattern; words >> pattern;) {
        glob_t found{};
        if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
          for (std::size_t i = 0; i < found.gl_pathc; ++i)
            configured_directories(found.gl_pathv[i], depth + 1, into);
        }
        globfree(&found);
      }
    } else if (first.starts_with('/')) {
      into.push_back(first);
    }
  }
}

}  // namespace

Result<ElfImage> read_elf(const std::string& path) {
  const auto refused = [&](const char* why) { return failure(fmt::format("{} {}", in_quotes(path), why)); };
  elf_version(EV_CURRENT);
  const File file(path);
  if (!file.readable()) return refused("cannot be read");
  Elf* const elf = file.elf();
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF)
    return refused("is not a compiled program: a script loads MPI only when it runs");
  GElf_Ehdr header;
  if (gelf_getehdr(elf, &header) == nullptr) return refused("is a broken ELF file");
  GElf_Ehdr own;
  const File self("/proc/self/exe");
  if (self.elf() != nullptr && gelf_getehdr(self.elf(), &own) != nullptr && own.e_machine != header.e_machine)
    return refused("is for another kind of processor");

  std::error_code ignored;
  const std::string origin = fs::absolute(path, ignored).parent_path().string();
  ElfImage image;
  // Until a dynamic section is found.
  image.is_static = true;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr shape;
    if (gelf_getshdr(section, &shape) == nullptr) continue;
    if (shape.sh_type == SHT_DYNAMIC) {
      image.is_static = false;
      read_dynamic(elf, section, shape, origin, image);
    } else if (shape.sh_type == SHT_DYNSYM || shape.sh_type == SHT_SYMTAB) {
      read_symbols(elf, section, shape, image);
    }
  }
  GElf_Phdr segment;
  for (int i = 0; i < header.e_phnum && gelf_getphdr(elf, i, &segment) != nullptr; ++i) {
    if (segment.p_type == PT_TLS) image.thread_local_bytes = segment.p_memsz + segment.p_align;
  }
  return image;
}

std::string build_id_of_file(const std::string& path) {
  elf_version(EV_CURRENT);
  const File file(path);
  for (Elf_Scn* section = file.elf() == nullptr ? nullptr : elf_nextscn(file.elf(), nullptr);
       section != nullptr; section = elf_nextscn(file.elf(), section)) {
    GElf_Shdr shape;
    if (gelf_getshdr(section, &shape) == nullptr || shape.sh_type != SHT_NOTE) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    GElf_Nhdr note;
    std::size_t name = 0, content = 0;
    for (std::size_t at = 0; (at = gelf_getnote(data, at, &note, &name, &content)) > 0;) {
      const auto* const bytes = static_cast<const char*>(data->d_buf);
      // The owner's name includes its final zero.
      constexpr std::string_view kOwner("GNU\0", 4);
      if (note.n_type != NT_GNU_BUILD_ID || std::string_view(bytes + name, note.n_namesz) != kOwner) continue;
      std::string text;
      for (const char byte : std::string_view(bytes + content, note.n_descsz))
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      return text;
    }
  }
  return {};
}

std::string find_library(const std::string& name, const ElfImage& image) {
  // As in ld.so, RPATH comes before the user's folders. RUNPATH comes after them, and disables RPATH.
  std::vector<std::string> folders;
  if (image.runpath.empty()) folders = image.rpath;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) split_path(path, ".", folders);
  folders.insert(folders.end(), image.runpath.begin(), image.runpath.end());
  configured_directories("/etc/ld.so.conf", 0, folders);
  for (const char* usual : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) folders.emplace_back(usual);
  if (name.find('/') != std::string::npos) return fs::exists(name) ? name : std::string();
  for (const std::string& folder : folders) {
    std::error_code ignored;
    const fs::path candidate = fs::path(folder) / name;
    if (fs::exists(candidate, ignored)) return candidate.string();
  }
  return {};
}

std::size_t thread_local_bytes_of(std::vector<std::string> files) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Result<ElfImage> image = read_elf(files[i]);
    if (!image) continue;
    bytes += image->thread_local_bytes;
    for (const std::string& name : image->needed) {
      const std::string found = find_library(name, *image);
      // Each library counts once, however many files need it.
      if (std::find(files.begin(), files.end(), found) == files.end()) files.push_back(found);
    }
  }
  return bytes;
}

}  // namespace offramp::tool
