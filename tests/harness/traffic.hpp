// What the wire tests send and receive: operations that remember what happened to them, and
// helpers that step a world until it is quiet.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/wire.hpp"
#include "tests/harness/payload.hpp"
#include "tests/harness/world.hpp"

namespace espalier::test {

// Where it does not hold, by whole words, and where what stands there should stand:
// " [4096, 8192) holds what belongs to 8192".
inline std::string wrong_ranges(const std::byte* data, std::uint64_t bytes, std::uint64_t seed) {
  std::vector<std::byte> expected(bytes + 8);
  fill(expected.data(), bytes, seed);
  const auto word = [](const std::byte* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  std::string ranges;
  for (std::uint64_t i = 0; i + 8 <= bytes && ranges.size() < 400; i += 8) {
    if (word(data + i) == word(&expected[i])) continue;
    const std::uint64_t first = i;
    while (i + 8 <= bytes && word(data + i) != word(&expected[i])) i += 8;
    ranges += " [" + std::to_string(first) + ", " + std::to_string(i) + ")";
    for (std::uint64_t k = 0; k < bytes; k += 8) {
      if (word(&expected[k]) == word(data + first)) {
        ranges += " holds what belongs to " + std::to_string(k);
      }
    }
    if (word(data + first) == 0) ranges += " holds zeros";
  }
  return ranges;
}

// An operation that notes what happens to it.
template <typename Op>
struct Noted : Op {
  Noted() : Op(note) {}
  static void note(Completion& op, Status how) noexcept {
    auto& self = static_cast<Noted&>(op);
    ++self.fired;
    self.status = how;
  }
  bool complete() const { return posted == Posted::kDone || fired == 1; }

  Posted posted = Posted::kRetry;  // what the post answered
  int fired = 0;
  Status status;
};

using SendProbe = Noted<SendOp>;

// Its status is in the operation.
struct RecvProbe : RecvOp {
  RecvProbe() : RecvOp(note) {}
  static void note(Completion& op, Status how) noexcept {
    auto& self = static_cast<RecvProbe&>(op);
    ++self.fired;
    self.status = how;
  }
  bool complete() const { return posted == Posted::kDone || fired == 1; }
  const std::byte* data() const {
    return static_cast<const std::byte*>(dst != nullptr ? dst : view);
  }

  Posted posted = Posted::kRetry;
  int fired = 0;
};

// One message: memory at both ends, and what was asked.
struct Message {
  Message(Rank from_, Rank to_, FlowId flow_, std::uint64_t bytes_, std::uint64_t seed_)
      : from(from_),
        to(to_),
        flow(flow_),
        bytes(bytes_),
        seed(seed_),
        source(bytes_ + 1),
        target(bytes_ + 1) {
    fill(source.data(), bytes, seed);
    target[bytes] = std::byte{0x5a};  // must stay
  }

  Posted send(Wire& wire, bool synchronous = false) {
    Send request;
    request.segment = {to, flow, ordinal, total, signature};
    request.data = source.data();
    request.bytes = bytes;
    request.flow_bytes = bytes * total;
    request.synchronous = synchronous;
    request.transfer = transfer;
    request.at_once = at_once;
    return sent.posted = wire.send(request, sent);
  }
  Posted receive(Wire& wire, std::uint32_t window = 16) {
    received.dst = in_place ? nullptr : target.data();
    received.bytes = bytes;
    received.transfer = transfer;
    return received.posted = wire.recv({from, flow, ordinal, total, signature}, window, received);
  }
  bool complete() const { return received.complete() && sent.complete(); }
  void check() const {
    ASSERT_TRUE(received.complete());
    ASSERT_EQ(received.status.code(), ESP_OK);
    EXPECT_TRUE(holds(received.data(), bytes, seed))
        << bytes << " bytes, ordinal " << ordinal << (in_place ? ", in place" : "")
        << ", wrong:" << wrong_ranges(received.data(), bytes, seed);
    EXPECT_EQ(target[bytes], std::byte{0x5a}) << "written past the end";
  }

  Rank from, to;
  FlowId flow;
  std::uint64_t bytes, seed;
  std::uint32_t ordinal = 0, total = 1, signature = 0;
  bool in_place = false;
  bool at_once = false;
  Transfer transfer = {};  // that both ends ask for
  std::vector<std::byte> source, target;
  SendProbe sent;
  RecvProbe received;
};

using Messages = std::vector<std::unique_ptr<Message>>;
inline bool complete(const Messages& all) {
  return std::all_of(all.begin(), all.end(), [](const auto& m) { return m->complete(); });
}
inline bool received(const Messages& all) {
  return std::all_of(all.begin(), all.end(), [](const auto& m) { return m->received.complete(); });
}

// A flow of `total` segments of `bytes` each.
inline Messages make_flow(Rank from, Rank to, FlowId flow, std::uint32_t total,
                          std::uint64_t bytes) {
  Messages messages;
  for (std::uint32_t i = 0; i < total; ++i) {
    messages.push_back(std::make_unique<Message>(from, to, flow, bytes, flow.key * 1000003 + i));
    messages.back()->ordinal = i;
    messages.back()->total = total;
  }
  return messages;
}

inline int step(World& world) {
  int events = 0;
  for (Rank r = 0; r < world.size(); ++r) events += world.wire(r).progress();
  if (events == 0) world.rest();
  return events;
}

// Until nothing happens any more.
inline void settle(World& world) {
  for (int quiet = 0; quiet < 2 * world.size() + 2;) quiet = step(world) > 0 ? 0 : quiet + 1;
}

// Until done() holds; housekeeping as a waiting worker does it. False: it never did.
template <typename Done>
bool step_until(World& world, Done&& done, int rounds = 200'000) {
  for (int round = 0; round < rounds; ++round) {
    if (done()) return true;
    if (step(world) == 0 && round % 64 == 0) {
      for (Rank r = 0; r < world.size(); ++r) world.wire(r).idle();
    }
  }
  return done();
}

// Steps until it is complete at both ends, and checks it.
inline void finish(World& world, Message& m) {
  ASSERT_TRUE(step_until(world, [&] { return m.complete(); }));
  m.check();
}
// The same from the beginning: its receive, and its send as soon as there is room.
inline void carry(World& world, Message& m) {
  (void)m.receive(world.wire(m.to));
  ASSERT_TRUE(step_until(world, [&] { return m.send(world.wire(m.from)) != Posted::kRetry; }));
  finish(world, m);
}

}  // namespace espalier::test
