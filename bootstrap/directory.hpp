// Directory: what a rank knows of every rank of its job, from their cards.
//
//   Head | Row of each rank | Site ... | addresses: u32 bytes, then as in the card ...
//
// One flat block without pointers, 16 bytes a rank and what it has on networks, which is read when
// the rank is met. What many ranks have in common, where they are, stands in a site. The block is a
// function of the cards and of settings that agree, so all ranks make the same one; those of a node
// keep one copy, behind their shared memory (node_memory.cpp).
// Ownership: owns the block until move_to(). Threads: any, once it is made. path: setup, slow
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bootstrap/card.hpp"
#include "coll/team/team_nodes.hpp"

namespace espalier {

class Directory {
 public:
  struct Head {
    std::uint64_t bytes = 0;  // of the block
    std::uint64_t sites = 0;  // where they begin
    std::uint64_t addresses = 0;
    std::uint64_t epoch = 0;  // of the job: equal on all ranks, different from any other job's
    std::int32_t ranks = 0;
    std::uint8_t any_threaded = 0;        // some rank has a progress thread
    std::uint8_t all_have_datagrams = 0;  // every rank has an address of kUd
    std::uint8_t same_profile = 0;        // all ranks have read the same, or none
    std::uint8_t has_network_places = 0;  // some rank's is known
    std::uint16_t some_crowded = 0;       // some machine has more ranks than processors for them
    std::uint16_t several_adapters = 0;   // ranks of some node have groups by different ones
    std::uint32_t port_mbits = 0;         // of the slowest port that is known; 0: none is
    GroupTerms groups;                    // of multicast: what all ranks can do
  };
  struct Row {
    std::int32_t node = 0;  // numbered by their lowest ranks
    std::int32_t pid = 0;   // in the PID namespace of the rank: for people
    std::uint32_t site = 0;
    std::uint32_t addresses = 0;  // in words of 4 bytes from where they begin
  };
  struct Site {
    std::uint64_t machine = 0;  // these as in the card
    std::uint64_t net_namespace = 0;
    char host[64] = {};
    char node[64] = {};
    MemberLocality locality = kBoundNowhere;
    NetworkPlace network;
    std::uint64_t adapter = 0;  // as in the card
  };

  Directory() = default;
  explicit Directory(std::vector<std::byte> block) noexcept
      : own_(std::move(block)), block_(own_.data()) {}
  Directory(Directory&& other) noexcept = default;  // A vector's bytes stay where they are.
  Directory& operator=(Directory&& other) noexcept = default;

  const Head& head() const noexcept { return *reinterpret_cast<const Head*>(block_); }
  Rank size() const noexcept { return head().ranks; }
  std::int32_t node_of(Rank rank) const noexcept { return row(rank).node; }
  std::int32_t pid(Rank rank) const noexcept { return row(rank).pid; }
  const Site& site(Rank rank) const noexcept {
    return reinterpret_cast<const Site*>(block_ + head().sites)[row(rank).site];
  }
  bool has(Rank rank, WireKind kind) const noexcept { return address(rank, kind).has_value(); }
  // As it stands in the card; of several the first.
  std::optional<std::span<const std::byte>> address(Rank rank, WireKind kind) const noexcept;

  std::span<const std::byte> block() const noexcept { return {block_, head().bytes}; }
  bool is_shared() const noexcept { return own_.empty(); }
  // `copy` has the same bytes and outlives this object.
  void move_to(const std::byte* copy) noexcept {
    block_ = copy;
    own_ = {};
  }

 private:
  const Row& row(Rank rank) const noexcept {
    return reinterpret_cast<const Row*>(block_ + sizeof(Head))[rank];
  }

  std::vector<std::byte> own_;
  const std::byte* block_ = nullptr;
};

}  // namespace espalier
