// A rank of a team with one member on each node, whose messages are carried by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "coll/team/team_news.hpp"

namespace espalier {

class Everybody final : public Liveness {
 public:
  bool is_dead(Rank) noexcept override { return false; }
  bool is_stopped(Rank) noexcept override { return false; }
  bool is_leaving(Rank) noexcept override { return false; }
  bool has_left(Rank) noexcept override { return false; }
};

struct HandClock final : Clock {
  std::uint64_t now_ns() noexcept override { return now; }
  std::uint64_t now = 1;
};

struct Post final : Messenger {
  void tell(Rank to, std::span<const std::byte> message) noexcept override {
    sent.push_back({to, {message.begin(), message.end()}});
  }
  bool has_room(Rank) noexcept override { return !full; }
  void reach(Rank) noexcept override {}
  struct Letter {
    Rank to;
    std::vector<std::byte> bytes;
  };
  std::deque<Letter> sent;
  bool full = false;
};

struct Node {
  explicit Node(Rank rank, int size = 2)
      : news(post, everybody, clock, clock, size, rank), memory(Board::bytes_of_calls(1) + 128) {
    auto membership = std::make_shared<Membership>();
    std::vector<std::int32_t> nodes;
    for (Rank member = 0; member < size; ++member) {
      membership->ranks.push_back(member);
      nodes.push_back(member);
    }
    membership->nodes = TeamNodes::of(nodes);
    team.set_membership(rank, membership);
    team.id = 9;
    void* at = memory.data();
    std::size_t room = memory.size();
    team.board = Board::of_calls(
        static_cast<std::byte*>(std::align(128, Board::bytes_of_calls(1), at, room)), 1, 0);
    news.add(team);
  }
  void call(std::uint64_t count) {
    CallSignature signature;
    signature.count = count;
    team.enter(signature);
  }

  Everybody everybody;
  HandClock clock;
  Post post;
  TeamNews news;
  std::vector<std::byte> memory;
  Team team;
};

}  // namespace espalier
