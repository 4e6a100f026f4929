#include "shm/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "core/open_files.hpp"

namespace espalier::shm {
namespace {

Error system_error(const std::string& what, int number) {
  const bool limit = number == ENOMEM || number == EMFILE || number == ENFILE || number == EFBIG ||
                     number == ENOSPC;
  return error(limit ? ESP_ERR_NO_MEMORY : ESP_ERR_SYSTEM,
               fmt::format("{}: {}{}", what, std::strerror(number), open_files_hint(number)),
               kNoRank, number);
}

Error mapping_error(const Layout& layout, int number) {
  return system_error(fmt::format("mapping {} MiB of shared memory (address space limit, "
                                  "`ulimit -v`? a smaller ESPALIER_HEAP_BYTES helps)",
                                  layout.total() >> 20),
                      number);
}

// Growing past the limit would not only fail, but also raise SIGXFSZ.
Outcome check_file_size(std::uint64_t bytes) {
  rlimit file_size{};
  if (::getrlimit(RLIMIT_FSIZE, &file_size) != 0 || file_size.rlim_cur >= bytes) return Unit{};
  return system_error(fmt::format("the node's shared memory needs a file of {} MiB and the file "
                                  "size limit (`ulimit -f`) is {} KiB",
                                  bytes >> 20, file_size.rlim_cur >> 10),
                      EFBIG);
}

// It never changes its size, and nobody can change that.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr off_t kStampAt = offsetof(Header, stamp);

struct flock byte_lock(std::uint32_t index) noexcept {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = index;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<MemoryFile> MemoryFile::create(std::uint64_t bytes, const Key& nonce) {
  if (auto allowed = check_file_size(bytes); !allowed) return allowed.error();
  Descriptor file(::memfd_create("espalier", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open()) return system_error("memfd_create", errno);
  if (::ftruncate(file.fd(), static_cast<off_t>(bytes)) != 0) {
    const int number = errno;
    return system_error(fmt::format("growing the node's shared memory to {} MiB", bytes >> 20),
                        number);
  }
  Stamp stamp;
  stamp.bytes = bytes;
  stamp.nonce = nonce;
  if (::pwrite(file.fd(), &stamp, sizeof stamp, kStampAt) != sizeof stamp ||
      ::fcntl(file.fd(), F_ADD_SEALS, kSeals) != 0) {
    return system_error("sealing the node's shared memory", errno);
  }
  return MemoryFile(std::move(file), bytes);
}

// Reads only: it may be anybody's.
Result<MemoryFile> MemoryFile::adopt(Descriptor file, std::uint64_t bytes, const Key& nonce) {
  const int seals = ::fcntl(file.fd(), F_GET_SEALS);
  struct stat status {};
  Stamp expected, seen;
  expected.bytes = bytes;
  expected.nonce = nonce;
  const char* wrong = nullptr;
  if (seals < 0 || (seals & kSeals) != kSeals) {
    wrong = "it is no sealed memory file";
  } else if (::fstat(file.fd(), &status) != 0 ||
             static_cast<std::uint64_t>(status.st_size) != bytes) {
    wrong = "it has another size";
  } else if (::pread(file.fd(), &seen, sizeof seen, kStampAt) != sizeof seen || seen != expected) {
    wrong = "it is not of this job";
  }
  if (wrong == nullptr) return MemoryFile(std::move(file), bytes);
  return error(ESP_ERR_SYSTEM,
               fmt::format("what was handed over as the node's shared memory is not it: {}; "
                           "nothing of it was touched",
                           wrong));
}

Outcome MemoryFile::write(std::uint64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return system_error("writing to the node's shared memory", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    at += static_cast<std::uint64_t>(done);
  }
  return Unit{};
}

Result<FileView> FileView::map(int fd, std::uint64_t at, std::uint64_t bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(at));
  if (base == MAP_FAILED) return system_error(fmt::format("mapping {} bytes", bytes), errno);
  return FileView({static_cast<const std::byte*>(base), bytes});
}

FileView::~FileView() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Outcome Segment::check_limits(const Layout& layout) {
  if (auto allowed = check_file_size(layout.total()); !allowed) return allowed;
  void* base = ::mmap(nullptr, layout.total(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return mapping_error(layout, errno);
  ::munmap(base, layout.total());
  return Unit{};
}

Result<std::unique_ptr<Segment>> Segment::map(MemoryFile file, const Layout& layout,
                                              std::uint32_t index) {
  ESP_ASSERT(file.bytes() >= layout.total());
  void* base = ::mmap(nullptr, layout.total(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      file.fd(), 0);
  if (base == MAP_FAILED) {
    const int number = errno;
    return mapping_error(layout, number);
  }
  (void)::madvise(base, layout.total(), MADV_DONTDUMP);
  (void)::madvise(static_cast<std::byte*>(base) + layout.arena(0), layout.total() - layout.arena(0),
                  MADV_HUGEPAGE);
  struct flock lock = byte_lock(index);
  if (::fcntl(file.fd(), F_SETLK, &lock) != 0) {
    const int number = errno;
    ::munmap(base, layout.total());
    return system_error("locking the own byte of the node's shared memory", number);
  }
  std::unique_ptr<Segment> segment(
      new Segment(std::move(file), layout, index, static_cast<std::byte*>(base)));
  segment->rank_block(index).flags.joined.store(1, std::memory_order_release);
  return segment;
}

Segment::~Segment() {
  ::munmap(base_, layout_.total());
}

bool Segment::holds_lock(std::uint32_t r) const noexcept {
  struct flock lock = byte_lock(r);
  if (::fcntl(file_.fd(), F_GETLK, &lock) != 0) return true;  // Cannot tell: assume the best.
  return lock.l_type != F_UNLCK;
}

}  // namespace espalier::shm
