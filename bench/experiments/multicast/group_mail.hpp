// GroupMail: short messages between the members of a simulated group, over links that never lose
// and keep their order: a message takes a device transfer of the World, from the sender's time on.
//
// A message is handed over in the receiver's turn, which its arrival gives.
// Ownership: owns what is under way; borrows the world. Threads: owner. path: data
#pragma once

#include <memory>
#include <vector>

#include "net/multicast/group_port.hpp"
#include "net/sim/world.hpp"

namespace espalier::experiments {

class GroupMail {
 public:
  explicit GroupMail(sim::World& world);
  ~GroupMail();
  GroupMail(const GroupMail&) = delete;
  GroupMail& operator=(const GroupMail&) = delete;

  multicast::MemberMail& of(Rank rank) noexcept;
  // receive(from, message), for each that has come to this rank.
  template <typename Receive>
  void deliver(Rank rank, Receive&& receive);
  // Messages that this rank has posted.
  std::uint64_t posted(Rank rank) const noexcept;

 private:
  struct Letter;
  struct Box;
  struct Path {
    Rank to = kNoRank;
    std::uint64_t last_ns = 0;  // when the last message on it is there
  };
  void post(Box& from, Rank to, std::span<const std::byte> message);
  void move(Letter& letter);
  Letter* next_for(Rank rank);
  void finish(Letter& letter) { idle_.push_back(&letter); }

  sim::World& world_;
  std::vector<std::unique_ptr<Box>> boxes_;  // by rank
  std::vector<std::unique_ptr<Letter>> letters_;
  std::vector<Letter*> idle_;
  std::uint64_t number_ = 0;
};

struct GroupMail::Letter final : sim::Happening {
  explicit Letter(GroupMail& owner) noexcept : mail(owner) {}
  void happen() noexcept override { mail.move(*this); }
  std::uint64_t mark() const noexcept override { return number << 1 | (in_lane ? 1 : 0); }

  GroupMail& mail;
  std::vector<std::byte> bytes;
  std::uint64_t number = 0;
  Rank from = kNoRank, to = kNoRank;
  bool in_lane = false;
};

template <typename Receive>
void GroupMail::deliver(Rank rank, Receive&& receive) {
  while (Letter* letter = next_for(rank)) {
    receive(letter->from, std::span<const std::byte>(letter->bytes));
    finish(*letter);
  }
}

}  // namespace espalier::experiments
