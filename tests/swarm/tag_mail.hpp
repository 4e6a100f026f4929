// PlayedMail: short messages between the ranks of one thread, in order per pair, late by chance, in
// boxes that are full now and then. What it promises is core/active_message.hpp's.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/active_message.hpp"
#include "core/prng.hpp"

namespace espalier::swarm {

struct TagLetter {
  ActiveMessage message;  // its payload is `payload`, once it is on its way
  std::vector<std::byte> payload;
  std::uint64_t there_at = 0;
};

// The boxes of all ranks.
class PlayedPost {
 public:
  PlayedPost(std::uint32_t ranks, std::uint64_t seed);

  std::uint32_t ranks() const noexcept { return ranks_; }
  bool has_room(Rank from, Rank to) const noexcept { return box(from, to).size() < capacity_; }
  void put(Rank from, Rank to, TagLetter letter);
  // nullptr: nothing has arrived.
  const TagLetter* front(Rank from, Rank to) const noexcept;
  TagLetter take(Rank from, Rank to);
  bool empty(Rank from, Rank to) const noexcept { return box(from, to).empty(); }

  std::uint64_t now = 0;          // turns
  std::optional<Rank> dead;       // nothing goes there, and it says nothing more
  bool refuses_the_dead = false;  // by an error; else its box is full some time

 private:
  using Box = std::deque<TagLetter>;
  Box& box(Rank from, Rank to) noexcept {
    return boxes_[static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to)];
  }
  const Box& box(Rank from, Rank to) const noexcept {
    return const_cast<PlayedPost&>(*this).box(from, to);
  }

  const std::uint32_t ranks_;
  Prng prng_;
  std::size_t capacity_;
  std::uint64_t delay_;
  std::vector<Box> boxes_;
};

// One rank's sender.
class PlayedMail final : public MessageSender {
 public:
  PlayedMail(PlayedPost& post, Rank me) : post_(post), me_(me), waiting_(post.ranks()) {}

  Result<bool> send_own(Rank to, const ActiveMessage& message, const Finish& finish) override;
  bool send_own_now(Rank to, const ActiveMessage& message) noexcept override;
  // What has waited for room leaves; what waits for the dead ends.
  int progress();
  bool idle() const noexcept;
  // All that waits ends with this.
  void close(Status status);

 private:
  struct Waiting {
    TagLetter letter;
    const void* lent = nullptr;  // longer than what is copied at once
    Finish finish;
  };
  static TagLetter letter_of(const ActiveMessage& message, const void* payload);
  int flush(Rank to);

  PlayedPost& post_;
  const Rank me_;
  std::vector<std::deque<Waiting>> waiting_;  // by target
};

}  // namespace espalier::swarm
