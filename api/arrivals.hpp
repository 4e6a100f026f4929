// Arrivals: what a request has received and hands out, block by block or segment by segment.
//
// The owner appends to a ring with room for all of a round; any thread takes. A taker reads an
// entry and then claims it: if the claim of `taken_` succeeds nobody has taken it and no round has
// begun meanwhile, so what it has read is the entry. What it has read of one that is written anew
// it throws away: entries are atomic words. The ring goes with the request, so nothing is reclaimed
// while somebody may look at it.
//
// Ownership: of a request. Threads: owner, but take() and arrived(): any. path: data
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/block_map.hpp"

namespace espalier::api {

class Partitions;

// From a position in the map to what the caller sees.
struct UserBlocks {
  std::vector<int> sources;        // by block; of one entry: of all
  std::vector<std::byte*> begins;  // where elements lie apart or travel in another form
  bool apart = false;              // segments have the address of their block
  std::uint64_t user_bytes = 1, form_bytes = 1;  // of an element: the caller's, as it travels

  int source(std::size_t block) const noexcept {
    return sources.size() == 1 ? sources[0] : sources[block];
  }
  std::uint64_t in_user_bytes(std::uint64_t bytes) const noexcept {
    return bytes / form_bytes * user_bytes;
  }
};

class Arrivals {
 public:
  Arrivals(BlockMap map, UserBlocks user, bool by_segments);
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  // May others find by an address what lies there?
  bool lies_apart() const noexcept { return user_.apart; }
  // For so many portions in a round. False: no memory.
  bool reserve(std::uint64_t portions) noexcept;
  // Who starts the round, between two rounds.
  void begin_round() noexcept;
  void land(const Portion& portion) noexcept;
  bool take(esp_segment& segment) noexcept;
  // -1: there is no such block.
  int arrived(int block) const noexcept;

  // Whose input becomes ready by what lands here; those that are there already count. The owner's.
  void add_follower(Partitions& follower);
  void remove_follower(Partitions& follower) noexcept;
  const std::vector<Partitions*>& followers() const noexcept { return followers_; }

 private:
  void land_part(std::size_t block, std::uint64_t offset, std::uint64_t bytes,
                 const std::byte* data) noexcept;
  void append(const esp_segment& segment) noexcept;
  esp_segment read(std::uint64_t at) const noexcept;

  BlockMap map_;
  UserBlocks user_;
  bool by_segments_;
  // Bytes of each block that are still to come. Writer: the owner (release: publishes the block).
  std::unique_ptr<std::atomic<std::uint64_t>[]> left_;
  // An esp_segment. Writer: the owner, before `landed_` counts it (release: publishes that the
  // round has begun); readers: takers.
  struct Entry {
    std::array<std::atomic<std::uint64_t>, sizeof(esp_segment) / sizeof(std::uint64_t)> words;
  };
  std::unique_ptr<Entry[]> ring_;
  std::uint64_t capacity_ = 0;
  // Segments of all rounds. Writer: the owner (release: publishes the entry); readers: takers.
  std::atomic<std::uint64_t> landed_{0};
  // Writers: takers, each of which claims an entry by it; the owner, when a round begins (release).
  std::atomic<std::uint64_t> taken_{0};
  std::uint64_t round_ = 0;  // landed_ when it began
  std::vector<Partitions*> followers_;
};

}  // namespace espalier::api
