#include "shm/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
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

struct flock byte_lock(std::uint32_t index) noexcept {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = index;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<MemoryFile> MemoryFile::create() {
  const int fd = ::memfd_create("espalier", MFD_CLOEXEC);
  if (fd < 0) return system_error("memfd_create", errno);
  return MemoryFile(fd);
}

Result<MemoryFile> MemoryFile::open_of(pid_t pid, int descriptor) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, descriptor);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    const int number = errno;
    return system_error(fmt::format("opening the node's shared memory through {} (has process "
                                    "{} ended? or are the ranks of different users or PID "
                                    "namespaces?)",
                                    path, pid),
                        number);
  }
  return MemoryFile(fd);
}

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) ::close(fd_);
}

Outcome Segment::check_limits(const Layout& layout) {
  rlimit file_size{};
  // Growing past the limit would not only fail, but also raise SIGXFSZ.
  if (::getrlimit(RLIMIT_FSIZE, &file_size) == 0 && file_size.rlim_cur < layout.total()) {
    return system_error(fmt::format("the node's shared memory needs a file of {} MiB and the file "
                                    "size limit (`ulimit -f`) is {} KiB",
                                    layout.total() >> 20, file_size.rlim_cur >> 10),
                        EFBIG);
  }
  void* base = ::mmap(nullptr, layout.total(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return mapping_error(layout, errno);
  ::munmap(base, layout.total());
  return Unit{};
}

Result<std::unique_ptr<Segment>> Segment::map(MemoryFile file, const Layout& layout,
                                              std::uint32_t index) {
  if (auto allowed = check_limits(layout); !allowed) return allowed.error();
  const std::uint64_t mib = layout.total() >> 20;
  if (::ftruncate(file.fd(), static_cast<off_t>(layout.total())) != 0) {
    const int number = errno;
    return system_error(fmt::format("growing the node's shared memory to {} MiB", mib), number);
  }
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
  return std::unique_ptr<Segment>(
      new Segment(std::move(file), layout, index, static_cast<std::byte*>(base)));
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
