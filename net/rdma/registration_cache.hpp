// RegistrationCache: memory of the user's that stays registered with the adapter between
// operations, for as long as it lasts.
//
// It cannot be stale: before it answers it hears from the kernel what memory has gone or moved
// since (core/memory_watch.hpp), and forgets that. If the kernel tells no more it forgets all, and
// has nothing from then on. What nobody uses goes when the cache is full,
// oldest use first. Registrations are of whole pages; one that meets others covers them, too, and
// takes their place.
//
// Ownership: registrations, not memory; borrows port and watch. Threads: owner. path: short (a hit:
// one system call and a search), slow (a miss: registers)
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/intrusive_list.hpp"
#include "core/log.hpp"
#include "core/memory_watch.hpp"
#include "net/rdma/connection_port.hpp"

namespace espalier::rdma {

// The system registers no more: of what nobody uses some may go.
inline bool is_short_of_memory(const Error& why) noexcept {
  return why.status.error_number() == ENOMEM;
}

// Says once that registering fails, if it worked before: then there is another way, which copies.
class RegistrationNotice {
 public:
  explicit RegistrationNotice(const Log& log) noexcept : log_(log) {}
  void worked() noexcept { worked_ = true; }
  // Memory that cannot be registered is not meant: no right is lost by it.
  void refused(const Error& why) noexcept {
    if (worked_ && why.status.error_number() != EFAULT) say(why.text);
  }
  void say(const std::string& why) noexcept {
    if (std::exchange(said_, true)) return;
    log_.warn("memory cannot be registered with the adapter any more, its messages are copied: {}",
              why);
  }

 private:
  Log log_;
  bool worked_ = false, said_ = false;
};

// What the adapter does with memory. What a process may only read is no place to write.
enum class Use : std::uint8_t { kRead, kWrite };

struct RegistrationCounts {
  std::uint64_t hits = 0, made = 0;
  std::uint64_t evicted = 0;  // for want of room, or because a larger one took their place
  std::uint64_t gone = 0;     // their memory went or moved
  std::uint64_t refused = 0;  // memory that nobody watches, or too much, or the adapter would not
};

class RegistrationCache {
 public:
  struct Entry : ListNode {
    Region region;
    std::uint32_t users = 0;
    bool gone = false;  // not in the table any more, only its users have it
    std::uintptr_t begin() const noexcept { return reinterpret_cast<std::uintptr_t>(region.begin); }
    std::uintptr_t end() const noexcept { return begin() + region.bytes; }
  };

  // `bytes_max`: of memory that is registered, which is memory that cannot be paged out. All
  // outlive the cache.
  RegistrationCache(ConnectionPort& port, MemoryWatch& watch, std::uint64_t bytes_max,
                    RegistrationNotice& notice) noexcept
      : port_(port), watch_(watch), bytes_max_(bytes_max), notice_(notice) {}
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  // A registration of all of this memory, for this use, until give(). nullptr: none can be had.
  Entry* take(const void* begin, std::uint64_t bytes, Use use) noexcept;
  void give(Entry& entry) noexcept;

  // Gives up what has not been used for longest. False: all are in use, or there are none.
  bool shed() noexcept;
  std::size_t count() const noexcept { return table_.size(); }
  std::uint64_t bytes() const noexcept { return bytes_; }
  const RegistrationCounts& counts() const noexcept { return counts_; }

 private:
  static constexpr std::size_t kEntriesMax = 4096;

  using Table = std::vector<std::unique_ptr<Entry>>;
  Table::iterator first_that_ends_after(std::uintptr_t at) noexcept;
  void forget_gone() noexcept;
  void forget_all() noexcept;
  Result<Region> enroll(const std::byte* memory, std::uint64_t bytes) noexcept;
  Entry* make(std::uintptr_t begin, std::uintptr_t end, bool writes) noexcept;
  bool make_room(std::uint64_t bytes) noexcept;
  Table::iterator remove(Table::iterator at) noexcept;

  ConnectionPort& port_;
  MemoryWatch& watch_;
  const std::uint64_t bytes_max_;
  RegistrationNotice& notice_;
  std::uint64_t bytes_ = 0;
  Table table_;                // by address, without overlap
  IntrusiveList<Entry> idle_;  // without users, oldest use first
  Table parted_;               // gone, with users
  RegistrationCounts counts_;
};

}  // namespace espalier::rdma
