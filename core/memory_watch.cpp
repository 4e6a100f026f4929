#include "core/memory_watch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "core/assert.hpp"

namespace espalier {
namespace {

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
constexpr std::uint64_t kWanted =
    UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE;

Error failed(const char* what, int number) {
  return error(ESP_ERR_UNSUPPORTED,
               fmt::format("memory cannot be watched: {}: {}", what, std::strerror(number)));
}

// The mappings that it lies in, if all of it is mapped, and privately. Reads the process's map, a
// line for each mapping.
std::optional<MemoryWatch::Range> private_mappings(MemoryWatch::Range wanted) {
  std::optional<MemoryWatch::Range> found;
  std::ifstream maps("/proc/self/maps");
  std::uintptr_t at = wanted.begin;
  for (std::string line; at < wanted.end && std::getline(maps, line);) {
    unsigned long from = 0, to = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, rights) != 3) return {};
    if (to <= at) continue;
    if (from > at || rights[3] != 'p') return {};
    if (!found) found = {from, to};
    found->end = at = to;
  }
  if (at < wanted.end) return {};
  return found;
}

std::uintptr_t page_bytes() noexcept {
  return static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));  // no system call
}

}  // namespace

std::uintptr_t MemoryWatch::page_of(const void* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at) & ~(page_bytes() - 1);
}

std::uintptr_t MemoryWatch::page_after(const void* begin, std::uint64_t bytes) noexcept {
  const auto end = reinterpret_cast<std::uintptr_t>(begin) + bytes;
  return (end + page_bytes() - 1) & ~(page_bytes() - 1);
}

bool MemoryWatch::Gone::meets(std::uintptr_t from, std::uintptr_t to) const noexcept {
  const auto meets = [&](const Range& range) { return range.meets(from, to); };
  return all || std::any_of(ranges.begin(), ranges.begin() + count, meets);
}

Result<std::unique_ptr<MemoryWatch>> MemoryWatch::create() {
  std::unique_ptr<MemoryWatch> made(new MemoryWatch);
  if (auto done = made->open(); !done) return done.error();
  return made;
}

Outcome MemoryWatch::open() {
  // Allowed to everybody unless a container forbids it: no fault of the kernel's is asked for.
  events_ =
      static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  if (events_ < 0) return failed("userfaultfd", errno);
  uffdio_api api = {};
  api.api = UFFD_API;
  api.features = kWanted | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
  if (::ioctl(events_, UFFDIO_API, &api) != 0) return failed("UFFDIO_API", errno);
  goodbye_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (goodbye_ < 0) return failed("eventfd", errno);
  // Signals are for the program's threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto read = [](void* self) -> void* {
    static_cast<MemoryWatch*>(self)->read_events();
    return nullptr;
  };
  const int failure = ::pthread_create(&thread_, nullptr, read, this);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure != 0) return failed("a thread", failure);
  reading_ = true;
  return Unit{};
}

MemoryWatch::~MemoryWatch() {
  if (reading_) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(goodbye_, &one, sizeof one);
    ::pthread_join(thread_, nullptr);  // it has closed what it read from
  } else if (events_ >= 0) {
    ::close(events_);
  }
  if (goodbye_ >= 0) ::close(goodbye_);
}

bool MemoryWatch::watch(const void* begin, std::uint64_t bytes) noexcept {
  const Range pages = {page_of(begin), page_after(begin, bytes)};
  if (bytes == 0 || pages.begin >= pages.end) return false;
  // Whole mappings: one of which a part is watched is two, and mremap() does not move two.
  const std::optional<Range> all = private_mappings(pages);
  if (!all) return false;
  // For writes to protected pages, of which there are none: so no access is ever stopped.
  uffdio_register wanted = {};
  wanted.range = {all->begin, all->end - all->begin};
  wanted.mode = UFFDIO_REGISTER_MODE_WP;
  return ::ioctl(events_, UFFDIO_REGISTER, &wanted) == 0;
}

bool MemoryWatch::settled() const noexcept {
  // Yields at first; where they give the core to nobody the reader needs it: naps.
  constexpr int kYields = 1000, kNaps = 400;
  constexpr timespec kNap = {.tv_sec = 0, .tv_nsec = 50'000};
  for (int i = 0; i < kYields + kNaps; ++i) {
    // Of nothing, so it is refused: for being under way, or for being nothing.
    uffdio_writeprotect nothing = {};
    if (::ioctl(events_, UFFDIO_WRITEPROTECT, &nothing) == 0 || errno != EAGAIN) return true;
    if (i < kYields) {
      ::sched_yield();
    } else {
      ::nanosleep(&kNap, nullptr);
    }
  }
  return false;
}

void MemoryWatch::read_events() noexcept {
  pollfd awaited[] = {{events_, POLLIN, 0}, {goodbye_, POLLIN, 0}};
  while (true) {
    if (::poll(awaited, 2, -1) < 0 && errno != EINTR) break;
    if (awaited[1].revents != 0) break;
    const std::lock_guard guard(lock_);
    stirred_.store(true, std::memory_order_seq_cst);
    uffd_msg message = {};
    while (::read(events_, &message, sizeof message) == sizeof message) {
      if (message.event == UFFD_EVENT_REMAP) {
        const auto& moved = message.arg.remap;
        note({moved.from, moved.from + moved.len});
      } else {  // UNMAP and REMOVE look alike; others were not asked for
        note({message.arg.remove.start, message.arg.remove.end});
      }
    }
  }
  // Here, not when it has ended: its own stack may lie in watched memory and goes with it, and who
  // takes memory away would wait for a reader that is no more.
  std::uint64_t one = 0;
  [[maybe_unused]] const auto read = ::read(goodbye_, &one, sizeof one);
  ::close(events_);
}

void MemoryWatch::note(Range range) noexcept {
  if (gone_.count == Gone::kMax) {
    gone_.all = true;
  } else {
    gone_.ranges[gone_.count++] = range;
  }
}

MemoryWatch::Gone MemoryWatch::take() noexcept {
  const std::lock_guard guard(lock_);
  stirred_.store(false, std::memory_order_seq_cst);
  const Gone gone = gone_;
  gone_.count = 0;
  gone_.all = false;
  return gone;
}

}  // namespace espalier
