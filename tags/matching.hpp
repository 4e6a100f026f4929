// Matching: which posted receive a message meets, and which message a receive.
//
// A message is found by what it is, (team, source, tag); a receive without wildcards by the same.
// Receives with wildcards are a list of each team, in the order of posting, and messages are in a
// list of their team besides, in the order of coming. So without wildcards both ways cost the same
// whatever waits. Of two receives that fit the earlier one counts: each has a number.
//
// Ownership: receives and messages are the caller's until they are taken or withdrawn.
// Threads: owner. path: data
#pragma once

#include "tags/keyed_queues.hpp"

namespace espalier {

// What a receive asks for.
struct TagPattern {
  std::uint32_t team = 0;
  Rank source = kNoRank;  // in the job; kNoRank: any member
  std::uint64_t tag = 0;
  std::uint64_t mask = ~std::uint64_t{0};

  bool is_exact() const noexcept { return source != kNoRank && mask == ~std::uint64_t{0}; }
  bool fits(const TagKey& key) const noexcept {
    return team == key.team && (source == kNoRank || source == key.source) &&
           ((tag ^ key.tag) & mask) == 0;
  }
};

struct PostedReceive : KeyedQueues::Node {
  explicit PostedReceive(const TagPattern& asked) noexcept : pattern(asked) {}
  const TagPattern pattern;
  std::uint64_t number = 0;  // Matching's
};

struct ByKey : KeyedQueues::Node {};
struct ByTeam : KeyedQueues::Node {};

struct UnexpectedMessage : ByKey, ByTeam {
  explicit UnexpectedMessage(const TagKey& its_key) noexcept : key(its_key) {}
  const TagKey key;
};

class Matching {
 public:
  // False: no memory.
  [[nodiscard]] bool post(PostedReceive& receive) noexcept;
  void withdraw(PostedReceive& receive) noexcept;
  // The earliest that fits, which is posted no more; nullptr: none.
  PostedReceive* take_receive(const TagKey& key) noexcept;

  // False: no memory.
  [[nodiscard]] bool keep(UnexpectedMessage& message) noexcept;
  void take(UnexpectedMessage& message) noexcept;
  // The earliest that fits, which stays; nullptr: none.
  UnexpectedMessage* find(const TagPattern& pattern) const noexcept;
  // Any of a team; any at all.
  UnexpectedMessage* any_of(std::uint32_t team) const noexcept;
  UnexpectedMessage* any() const noexcept;

  bool nothing_posted() const noexcept { return posted_.empty(); }
  bool nothing_unexpected() const noexcept { return messages_.empty(); }

 private:
  KeyedQueues posted_;    // with wildcards: by team
  KeyedQueues messages_;  // by key
  KeyedQueues teams_;     // the same, by team
  std::uint64_t wildcards_ = 0;
  std::uint64_t numbers_ = 0;
};

}  // namespace espalier
