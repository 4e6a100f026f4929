// MemoryWatch: tells when memory of this process goes or moves: free(), munmap(), mremap(),
// madvise(), brk(), mappings over others.
//
// The kernel tells (userfaultfd, its events without faults; Linux 5.7 and newer). Nothing is
// hooked, so no allocator, raw system call or other thread is missed, and no access to watched
// memory is ever stopped or slowed. Who takes watched memory away waits, in its system call, until
// the thread of this object has read the news. Another thread may be given the same
// addresses meanwhile, so whoever asks waits first until nothing is under way (settled(), a system
// call), and then finds the news:
//
//   munmap:  the kernel notes "changing"; the memory goes; waits for the reader; no more changing
//   reader:  lock; stirred = true; read the event, which lets munmap go on; note it; unlock
//   asker:   changing? yield, ask again. Stirred? lock, which waits for the note: what has gone
//
// The kernel may refuse to tell from some moment on (a seccomp filter). Then this object is blind:
// nothing is settled any more, so nobody relies on what was not told.
//
// System V shared memory leaves without a word (shmdt()), so shared mappings are not watched.
// Of memory that a child got by fork() nothing is told. The child has the descriptor, too, so
// before this object goes it has the kernel watch nothing more: nobody would read the news.
//
// Ownership: a descriptor and a thread, which allocates nothing: what it waits for might wait for
// it. Threads: watch() and take() the owner's; the thread of its own reads. path: short (stirred),
// slow (the rest)
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/status.hpp"

namespace espalier {

class MemoryWatch {
 public:
  struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool meets(std::uintptr_t from, std::uintptr_t to) const noexcept {
      return begin < to && from < end;
    }
  };
  struct Ranges {
    static constexpr std::size_t kMax = 64;
    std::array<Range, kMax> ranges;
    std::size_t count = 0;
    bool all = false;  // there were more: any memory may be meant

    void add(Range range) noexcept;
    bool meets(std::uintptr_t from, std::uintptr_t to) const noexcept;
  };
  using Gone = Ranges;

  // The error says why it cannot be had (denied in a container, an old kernel).
  static Result<std::unique_ptr<MemoryWatch>> create();
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // All pages of this memory (and of the mappings they belong to), for as long as they last. False:
  // not all of it is private memory without a file, and nobody would tell.
  bool watch(const void* begin, std::uint64_t bytes) noexcept;
  // All that has gone until now has been noted. False: that takes unusually long, or the kernel
  // does not say.
  bool settled() noexcept;
  // Why the kernel has refused to tell of memory, though it did before: the first errno. 0: it has
  // not. For good: what was watched may have gone without a word.
  int blindness() const noexcept { return blindness_.load(std::memory_order_acquire); }
  // Watched memory may have gone since the last take(). Of what was noted when this was called.
  bool stirred() const noexcept { return stirred_.load(std::memory_order_seq_cst); }
  // What has gone since the last call, which may be nothing.
  Gone take() noexcept;

  static std::uintptr_t page_of(const void* at) noexcept;
  static std::uintptr_t page_after(const void* begin, std::uint64_t bytes) noexcept;

 private:
  MemoryWatch() = default;
  Outcome open();
  void watch_nothing() noexcept;
  void read_events() noexcept;
  bool read_news() noexcept;
  void go_blind(int error_number) noexcept;

  int events_ = -1;   // of the kernel
  int goodbye_ = -1;  // ends the thread
  // Writers: the thread (true, before it lets anybody go on), take() (false, with the lock).
  // Readers: the owner. Publishes nothing: what has gone is under the lock.
  std::atomic<bool> stirred_{false};
  // Writers: the owner and the thread, once. Publishes nothing.
  std::atomic<int> blindness_{0};
  std::mutex lock_;
  Gone gone_;       // under the lock
  Ranges watched_;  // under the lock: where there may be watched memory
  pthread_t thread_ = {};
  bool reading_ = false;   // the thread lives
  bool replaced_ = false;  // by the thread, at its end: events_ is another, and open
};

}  // namespace espalier
