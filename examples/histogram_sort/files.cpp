#include "files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sorting {
namespace {

[[noreturn]] void complain(const std::string& path, const char* reason) {
  throw FileError(fmt::format("{}: {}", path, reason));
}

class File {
 public:
  File(const std::string& path, int flags) : path_(path) {
    do descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    while (descriptor_ < 0 && errno == EINTR);
    check(descriptor_ >= 0);
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const { return descriptor_; }
  void check(bool fine) const {
    if (!fine) complain(path_, std::strerror(errno));
  }
  // Calls pread or pwrite until all is done.
  template <typename Call, typename Byte>
  void all(Call call, Byte* bytes, std::size_t count, std::uint64_t offset) const {
    while (count > 0) {
      const ssize_t done = call(descriptor_, bytes, count, static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      check(done >= 0);
      if (done == 0) complain(path_, "is shorter than it was");
      bytes += done;
      count -= static_cast<std::size_t>(done);
      offset += static_cast<std::uint64_t>(done);
    }
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace

std::uint64_t keys_in_file(const std::string& path) {
  const File file(path, O_RDONLY);
  struct stat facts {};
  file.check(::fstat(file.descriptor(), &facts) == 0);
  if (!S_ISREG(facts.st_mode)) complain(path, "is not a regular file");
  return static_cast<std::uint64_t>(facts.st_size) / sizeof(Key);
}

std::vector<Key> read_keys(const std::string& path, Type type, std::uint64_t first,
                           std::uint64_t count) {
  std::vector<Key> keys(count);
  const File file(path, O_RDONLY);
  file.all(::pread, reinterpret_cast<char*>(keys.data()), count * sizeof(Key), first * sizeof(Key));
  for (Key& key : keys) key = key_of_bits(key, type);
  return keys;
}

void make_file(const std::string& path, std::uint64_t count) {
  const File file(path, O_WRONLY | O_CREAT | O_TRUNC);
  file.check(::ftruncate(file.descriptor(), static_cast<off_t>(count * sizeof(Key))) == 0);
}

void write_keys(const std::string& path, Type type, std::uint64_t first,
                std::span<const Key> keys) {
  std::vector<Key> bits(keys.begin(), keys.end());
  for (Key& key : bits) key = bits_of_key(key, type);
  const File file(path, O_WRONLY);
  file.all(::pwrite, reinterpret_cast<const char*>(bits.data()), bits.size() * sizeof(Key),
           first * sizeof(Key));
}

}  // namespace sorting
