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
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "core/assert.hpp"
#include "core/quiet_thread.hpp"

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

struct Mapping {
  MemoryWatch::Range range;
  bool is_private = false;
};

// A line of the process's map.
std::optional<Mapping> parse_mapping(const std::string& line) {
  unsigned long from = 0, to = 0;
  char rights[5] = {};
  if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, rights) != 3) return {};
  return Mapping{{from, to}, rights[3] == 'p'};
}

// The mappings that it lies in, if all of it is mapped, and privately. Reads the process's map, a
// line for each mapping.
std::optional<MemoryWatch::Range> private_mappings(MemoryWatch::Range wanted) {
  std::optional<MemoryWatch::Range> found;
  std::ifstream maps("/proc/self/maps");
  std::uintptr_t at = wanted.begin;
  for (std::string line; at < wanted.end && std::getline(maps, line);) {
    const auto mapping = parse_mapping(line);
    if (!mapping) return {};
    const auto [from, to] = mapping->range;
    if (to <= at) continue;
    if (from > at || !mapping->is_private) return {};
    if (!found) found = mapping->range;
    found->end = at = to;
  }
  if (at < wanted.end) return {};
  return found;
}

std::uintptr_t page_bytes() noexcept {
  return static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));  // no system call
}

// For writes to protected pages, of which there are none: so no access is ever stopped. False: also
// where another descriptor watches.
bool start_watching(int events, MemoryWatch::Range pages) noexcept {
  uffdio_register wanted = {};
  wanted.range = {pages.begin, pages.end - pages.begin};
  wanted.mode = UFFDIO_REGISTER_MODE_WP;
  return ::ioctl(events, UFFDIO_REGISTER, &wanted) == 0;
}

}  // namespace

std::uintptr_t MemoryWatch::page_of(const void* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at) & ~(page_bytes() - 1);
}

std::uintptr_t MemoryWatch::page_after(const void* begin, std::uint64_t bytes) noexcept {
  const auto end = reinterpret_cast<std::uintptr_t>(begin) + bytes;
  return (end + page_bytes() - 1) & ~(page_bytes() - 1);
}

void MemoryWatch::Ranges::add(Range range) noexcept {
  const auto covers = [&](const Range& one) {
    return one.begin <= range.begin && range.end <= one.end;
  };
  if (all || std::any_of(ranges.begin(), ranges.begin() + count, covers)) return;
  if (count == kMax) {
    all = true;
  } else {
    ranges[count++] = range;
  }
}

bool MemoryWatch::Ranges::meets(std::uintptr_t from, std::uintptr_t to) const noexcept {
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
  const auto read = [](void* self) noexcept -> void* {
    static_cast<MemoryWatch*>(self)->read_events();
    return nullptr;
  };
  const int failure = start_quiet_thread(thread_, read, this);
  if (failure != 0) return failed("a thread", failure);
  reading_ = true;
  return Unit{};
}

MemoryWatch::~MemoryWatch() {
  if (reading_) {
    watch_nothing();
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(goodbye_, &one, sizeof one);
    ::pthread_join(thread_, nullptr);  // it has closed what it read from
    if (replaced_) ::close(events_);
  } else if (events_ >= 0) {
    ::close(events_);
  }
  if (goodbye_ >= 0) ::close(goodbye_);
}

bool MemoryWatch::watch(const void* begin, std::uint64_t bytes) noexcept {
  const Range pages = {page_of(begin), page_after(begin, bytes)};
  if (bytes == 0 || pages.begin >= pages.end || blindness() != 0) return false;
  // Whole mappings: one of which a part is watched is two, and mremap() does not move two.
  const std::optional<Range> all = private_mappings(pages);
  if (!all) return false;
  if (!start_watching(events_, *all)) return false;
  const std::lock_guard guard(lock_);
  watched_.add(*all);
  return true;
}

// Closing is not enough: a child that fork() has made may hold the descriptor, and who takes memory
// away would wait for its news to be read. The kernel would also let one stop what another has
// begun, but not begin there: so beginning again shows whose a mapping is.
void MemoryWatch::watch_nothing() noexcept {
  (void)settled();
  const Ranges watched = [&] {
    const std::lock_guard guard(lock_);
    return watched_;
  }();
  if (watched.count == 0) return;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto mapping = parse_mapping(line);
    if (!mapping || !mapping->is_private) continue;
    const Range pages = mapping->range;
    if (!watched.meets(pages.begin, pages.end) || !start_watching(events_, pages)) continue;
    uffdio_range own = {pages.begin, pages.end - pages.begin};
    (void)::ioctl(events_, UFFDIO_UNREGISTER, &own);
  }
  // Who had begun to take memory away before waits for the reader still.
  (void)settled();
}

bool MemoryWatch::settled() noexcept {
  // Yields at first; where they give the core to nobody the reader needs it: naps.
  constexpr int kYields = 1000, kNaps = 400;
  constexpr timespec kNap = {.tv_sec = 0, .tv_nsec = 50'000};
  for (int i = 0; i < kYields + kNaps && blindness() == 0; ++i) {
    // Of nothing, so it is refused: for being under way, or for being nothing.
    uffdio_writeprotect nothing = {};
    const int answer = ::ioctl(events_, UFFDIO_WRITEPROTECT, &nothing) == 0 ? EINVAL : errno;
    if (answer == EINVAL) return true;
    if (answer != EAGAIN) {
      go_blind(answer);
      return false;
    }
    if (i < kYields) {
      ::sched_yield();
    } else {
      ::nanosleep(&kNap, nullptr);
    }
  }
  return false;
}

void MemoryWatch::go_blind(int error_number) noexcept {
  int none = 0;
  blindness_.compare_exchange_strong(none, error_number, std::memory_order_acq_rel);
}

// False: it cannot be read any more.
bool MemoryWatch::read_news() noexcept {
  const std::lock_guard guard(lock_);
  stirred_.store(true, std::memory_order_seq_cst);
  uffd_msg message = {};
  ssize_t got = 0;
  while ((got = ::read(events_, &message, sizeof message)) == sizeof message) {
    if (message.event == UFFD_EVENT_REMAP) {
      const auto& moved = message.arg.remap;
      gone_.add({moved.from, moved.from + moved.len});
      watched_.add({moved.to, moved.to + moved.len});
    } else {  // UNMAP and REMOVE look alike; others were not asked for
      gone_.add({message.arg.remove.start, message.arg.remove.end});
    }
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  go_blind(got < 0 ? errno : EIO);
  return false;
}

void MemoryWatch::read_events() noexcept {
  pollfd awaited[] = {{events_, POLLIN, 0}, {goodbye_, POLLIN, 0}};
  // What there is to read is read before it ends, too: somebody waits for that.
  bool reads = true;
  while (reads && awaited[1].revents == 0) {
    if (::poll(awaited, 2, -1) < 0 && errno != EINTR) {
      go_blind(errno);
      reads = false;
    } else {
      reads = read_news();
    }
  }
  // Here, not when it has ended: its own stack may lie in watched memory and goes with it, and who
  // takes memory away would wait for a reader that is no more.
  if (!reads) {
    // The owner may use the number yet: it stays taken.
    replaced_ = ::dup3(goodbye_, events_, O_CLOEXEC) == events_;
    if (replaced_) return;
  }
  std::uint64_t one = 0;
  [[maybe_unused]] const auto read = ::read(goodbye_, &one, sizeof one);
  ::close(events_);
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
