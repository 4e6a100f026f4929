// Exchange: what one rank sends to and receives from one peer, as fast as the wire lets it; for
// tests with a process per rank. Every byte is checked.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/harness/traffic.hpp"
#include "tests/unit/child.hpp"

namespace espalier::test {

constexpr std::uint64_t kExchanged = 3000;   // messages in each direction
constexpr std::uint64_t kExchangeOpen = 24;  // under way in each direction

inline std::uint64_t exchange_bytes(std::uint64_t number) {
  constexpr std::uint64_t kBytes[] = {8, 88, 89, 700, 4096, 30000};
  return kBytes[number % std::size(kBytes)];
}

// What rank `me` exchanges with one peer, in both directions.
class Exchange {
 public:
  Exchange(Wire& wire, Rank me, Rank peer) : wire_(wire), me_(me), peer_(peer) {}

  // Posts what is possible, checks what is complete. False: a payload or status is wrong.
  bool act() {
    while (sent_ < kExchanged && outgoing_.size() < kExchangeOpen) {
      outgoing_.push_back(message(me_, peer_, sent_++));
    }
    for (auto& m : outgoing_) {
      if (m->sent.posted == Posted::kRetry && m->send(wire_, m->seed % 7 == 0) == Posted::kRetry) {
        break;
      }
    }
    std::erase_if(outgoing_, [](auto& m) { return m->sent.complete(); });
    while (posted_ < kExchanged && incoming_.size() < kExchangeOpen) {
      incoming_.push_back(message(peer_, me_, posted_++));
      incoming_.back()->in_place = posted_ % 3 == 0;
      (void)incoming_.back()->receive(wire_);
    }
    bool right = true;
    std::erase_if(incoming_, [&](auto& m) {
      if (!m->received.complete()) return false;
      right = right && m->received.status.ok() && holds(m->received.data(), m->bytes, m->seed);
      wire_.release(m->received);
      return true;
    });
    return right;
  }
  bool over() const {
    return sent_ == kExchanged && posted_ == kExchanged && outgoing_.empty() && incoming_.empty();
  }

 private:
  static std::unique_ptr<Message> message(Rank from, Rank to, std::uint64_t number) {
    const std::uint64_t seed = number * 100 + static_cast<std::uint64_t>(from * 10 + to);
    return std::make_unique<Message>(from, to, FlowId(1, 0, number), exchange_bytes(number), seed);
  }

  Wire& wire_;
  Rank me_, peer_;
  Messages outgoing_, incoming_;
  std::uint64_t sent_ = 0, posted_ = 0;
};

// Everything that rank `me` of so many exchanges with the others; `look(over)` after each round of
// posts, where over() says whether it was the last. False: a payload or status is wrong.
template <typename Look>
bool exchange_with_all(Wire& wire, Rank me, int ranks, Look&& look) {
  std::vector<Exchange> all;
  for (Rank peer = 0; peer < ranks; ++peer) {
    if (peer != me) all.emplace_back(wire, me, peer);
  }
  const auto over = [&] {
    return std::all_of(all.begin(), all.end(), [](auto& each) { return each.over(); });
  };
  while (!over()) {
    if (!std::all_of(all.begin(), all.end(), [](auto& each) { return each.act(); })) return false;
    look(over);
  }
  return true;
}

// A process for each rank, which ends well.
template <typename Run>
void run_ranks(int ranks, Run&& run) {
  std::vector<std::unique_ptr<Child>> children;
  for (Rank r = 0; r < ranks; ++r) {
    children.push_back(std::make_unique<Child>([&] { return run(r); }));
  }
  for (Rank r = 0; r < ranks; ++r) {
    EXPECT_EQ(children[static_cast<std::size_t>(r)]->wait(), 0) << "rank " << r;
  }
}

}  // namespace espalier::test
