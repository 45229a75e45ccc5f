// Environment variables are ignored in a privileged process (secure_getenv()). A new secret is complete
// before it gets its name: several processes that start at once then use the file whose link() succeeded
// first. Random bytes come from getrandom(), signatures and their comparison from OpenSSL.
#include "lib/services/dpu_service/secret.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace offramp::dpu {
namespace {

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

Failure unusable(const std::string& path, const std::string& why) {
  return failure("the secret of the offload service, " + path + ": " + why);
}

Result<Secret> read_secret(const std::string& path) {
  // Nonblocking: opening a FIFO would block.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) return unusable(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return unusable(path, "not a regular file");
  if (status.st_uid != ::geteuid()) return unusable(path, "belongs to another user");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return unusable(path, "other users have access to it; chmod 600");
  Bytes bytes(Secret::kMostBytes + 1);
  const ssize_t size = ::read(file.number, bytes.data(), bytes.size());
  if (size < 0) return unusable(path, std::strerror(errno));
  bytes.resize(static_cast<std::size_t>(size));
  if (bytes.size() < Secret::kFewestBytes || bytes.size() > Secret::kMostBytes)
    return unusable(path, "not between 16 and 4096 bytes");
  return Secret(std::move(bytes));
}

void fill_randomly(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::getrandom(bytes.data(), bytes.size(), 0);
    if (done < 0 && errno != EINTR) throw std::runtime_error("getrandom failed");
    if (done > 0) bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

/// Links a complete file to the path. If several processes start at once, the first link wins.
Result<void> make_secret(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  std::string aside = path + ".XXXXXX";
  const Descriptor file{::mkostemp(aside.data(), O_CLOEXEC)};
  if (file.number < 0) return failure(std::strerror(errno));
  std::array<std::byte, 32> bytes;
  fill_randomly(bytes);
  std::string wrong;
  if (::write(file.number, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      (::link(aside.c_str(), path.c_str()) != 0 && errno != EEXIST))
    wrong = std::strerror(errno);
  ::unlink(aside.c_str());
  return success_or(wrong);
}

}  // namespace

Result<Secret> Secret::find() {
  if (const char* const text = ::secure_getenv("OFFRAMP_DPU_SECRET"); text != nullptr) {
    const auto bytes = std::as_bytes(std::span(text, ::strnlen(text, kMostBytes + 1)));
    if (bytes.size() < kFewestBytes || bytes.size() > kMostBytes)
      return failure("OFFRAMP_DPU_SECRET is not between 16 and 4096 bytes long");
    return Secret(Bytes(bytes.begin(), bytes.end()));
  }
  if (const char* const path = ::secure_getenv("OFFRAMP_DPU_SECRET_FILE"); path != nullptr)
    return read_secret(path);
  const char* const home = ::secure_getenv("HOME");
  if (home == nullptr || *home != '/')
    return failure("the offload service has no secret: set OFFRAMP_DPU_SECRET_FILE, since HOME is not set");
  const std::string path = std::string(home) + "/.config/offramp/dpu-secret";
  if (::access(path.c_str(), F_OK) != 0) {
    if (const Result<void> made = make_secret(path); !made)
      return unusable(path, "cannot be made (" + made.error() + "); set OFFRAMP_DPU_SECRET_FILE");
  }
  return read_secret(path);
}

Signature Secret::sign(std::initializer_list<std::span<const std::byte>> parts) const {
  Bytes all;
  for (const auto part : parts) all.insert(all.end(), part.begin(), part.end());
  Signature signature;
  unsigned length = 0;
  if (::HMAC(::EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
             reinterpret_cast<const unsigned char*>(all.data()), all.size(),
             reinterpret_cast<unsigned char*>(signature.data()), &length) == nullptr ||
      length != signature.size())
    throw std::runtime_error("HMAC-SHA-256 failed");
  return signature;
}

bool same(const Signature& a, std::span<const std::byte> b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), b.size()) == 0;
}

Nonce random_nonce() {
  Nonce nonce;
  fill_randomly(nonce);
  return nonce;
}

}  // namespace offramp::dpu
