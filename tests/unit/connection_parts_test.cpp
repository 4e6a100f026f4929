// The small parts of connections: credits, the send queue, landings, messages, registered memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "core/prng.hpp"
#include "net/rdma/connection_message.hpp"
#include "net/rdma/credit_account.hpp"
#include "net/rdma/landings.hpp"
#include "net/rdma/part_size.hpp"
#include "net/rdma/registered_memory.hpp"
#include "net/rdma/send_packets.hpp"
#include "net/rdma/send_queue.hpp"
#include "registrar.hpp"

namespace espalier::rdma {
namespace {

TEST(PartSize, ShrinksWhereConnectionsBreakAndGrowsWhereLargePiecesPass) {
  PartSize part;
  EXPECT_EQ(part.bytes(), kPartBytes);
  for (int i = 0; i < 5; ++i) part.broke();
  EXPECT_EQ(part.bytes(), PartSize::kLeast);
  for (int i = 0; i < 100'000; ++i) part.passed(PartSize::kLeast - 1);
  EXPECT_EQ(part.bytes(), PartSize::kLeast) << "small ones say nothing";
  std::uint64_t pieces = 0;
  for (; part.bytes() < kPartBytes; ++pieces) part.passed(part.bytes());
  EXPECT_EQ(pieces, 6U * (PartSize::kTrusted << 4));
}

// What is begun anew by each break, in pieces that the network lets through up to 32 KiB: it ends.
TEST(PartSize, LongTransfersThatBeginAnewEnd) {
  PartSize part;
  std::uint64_t come = 0;
  int breaks = 0;
  while (come < std::uint64_t{256} << 20) {
    if (part.bytes() > std::uint64_t{32} << 10) {
      part.broke();
      come = 0;
      ASSERT_LT(++breaks, 20);
      continue;
    }
    come += part.bytes();
    part.passed(part.bytes());
  }
}

// Two sides with much to say and messages that are late as it pleases: packets never run out, and
// they never stop.
TEST(CreditAccount, NeverFloodsAndNeverStops) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Prng prng(seed);
    const auto window = [&] { return 4 + static_cast<std::uint32_t>(prng.below(12)); };
    const std::uint32_t granted[2] = {window(), window()};  // by each side
    CreditAccount account[2] = {{granted[1], granted[0]}, {granted[0], granted[1]}};
    std::deque<std::uint32_t> way[2];  // to each side: messages with the credits they bring
    std::uint32_t left[2] = {200, prng.chance(0.3) ? 0U : 200U};
    while (left[0] + left[1] > 0 || !way[0].empty() || !way[1].empty()) {
      bool moved = false;
      const std::size_t first = prng.below(2);
      for (const std::size_t me : {first, 1 - first}) {
        CreditAccount& mine = account[me];
        while (left[me] > 0 && mine.may_send() && prng.chance(0.8)) {
          mine.spend();
          way[1 - me].push_back(mine.take_owed());
          --left[me];
          moved = true;
        }
        if (mine.must_return() && mine.may_return()) {
          mine.spend();
          way[1 - me].push_back(mine.take_owed());
          moved = true;
        }
        ASSERT_LE(way[1 - me].size() + 0U, granted[1 - me]) << "a packet for each";
        while (!way[me].empty() && prng.chance(0.8)) {
          ASSERT_TRUE(mine.earn(way[me].front()));
          ASSERT_TRUE(mine.consumed());
          way[me].pop_front();
          moved = true;
        }
        moved = moved || left[me] > 0 || !way[me].empty();
        ASSERT_LE(mine.owed(), granted[me]);
      }
      const bool stuck = way[0].empty() && way[1].empty() &&
                         (left[0] == 0 || !account[0].may_send()) &&
                         (left[1] == 0 || !account[1].may_send()) && left[0] + left[1] > 0 &&
                         !(account[0].must_return() && account[0].may_return()) &&
                         !(account[1].must_return() && account[1].may_return());
      ASSERT_FALSE(stuck) << seed;
      ASSERT_TRUE(moved);
    }
  }
}

TEST(CreditAccount, LiesAreFound) {
  CreditAccount account(4, 4);
  EXPECT_FALSE(account.earn(1)) << "nothing was spent";
  account.spend();
  EXPECT_TRUE(account.earn(1));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(account.consumed());
  EXPECT_FALSE(account.consumed()) << "more than was granted";
}

TEST(SendQueue, SignalsOftenEnoughToNeverFillUpSilently) {
  for (const std::uint32_t depth : {2U, 3U, 8U, 64U}) {
    SendQueue<int> queue(depth);
    std::vector<std::uint64_t> signals;
    for (std::uint32_t i = 0; i < depth; ++i) {
      const auto ticket = queue.add(static_cast<int>(i), false);
      if (ticket.signaled) signals.push_back(ticket.cookie);
    }
    EXPECT_TRUE(queue.full());
    ASSERT_FALSE(signals.empty());
    std::vector<int> done;
    EXPECT_TRUE(queue.complete(signals.front(), [&](int value) { done.push_back(value); }));
    EXPECT_EQ(done.size(), signals.front());
    for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], static_cast<int>(i));
    EXPECT_FALSE(queue.full());
    EXPECT_FALSE(queue.complete(signals.front(), [](int) {})) << "a second time";
    EXPECT_FALSE(queue.complete(1000, [](int) {})) << "never given out";
  }
}

TEST(SendQueue, KnowsItsTail) {
  SendQueue<int> queue(16);
  EXPECT_FALSE(queue.has_tail());
  (void)queue.add(1, false);
  EXPECT_TRUE(queue.has_tail());
  const auto ticket = queue.add(2, true);
  EXPECT_TRUE(ticket.signaled);
  EXPECT_FALSE(queue.has_tail());
  (void)queue.add(3, false);
  EXPECT_TRUE(queue.complete(ticket.cookie, [](int) {}));
  EXPECT_EQ(queue.size(), 1U);
  std::vector<int> left;
  queue.clear([&](int value) { left.push_back(value); });
  EXPECT_EQ(left, std::vector<int>{3});
  EXPECT_FALSE(queue.has_tail());
  const auto next = queue.add(4, true);
  EXPECT_TRUE(queue.complete(next.cookie, [](int) {}));
}

net::FrameHeader frame(std::uint64_t flow, std::uint32_t ordinal, std::uint64_t bytes) {
  net::FrameHeader header;
  header.flow = flow;
  header.ordinal = ordinal;
  header.total = 100;
  header.bytes = bytes;
  header.signature = 5;
  return header;
}

TEST(Offers, AreFoundByTheFrameTheySuit) {
  Offers offers;
  Announcement offer;
  offer.slot = 3;
  offer.frame = frame(9, 4, 1000);
  ASSERT_TRUE(offers.put(offer));
  EXPECT_FALSE(offers.put(offer)) << "the slot is taken";
  net::FrameHeader found = offer.frame;
  found.synchronous = true;
  ASSERT_NE(offers.find(found), nullptr) << "of no importance to the place";
  EXPECT_EQ(offers.find(frame(9, 5, 1000)), nullptr);
  EXPECT_EQ(offers.find(frame(8, 4, 1000)), nullptr);
  EXPECT_EQ(offers.find(frame(9, 4, 999)), nullptr);
  found.signature = 6;
  EXPECT_EQ(offers.find(found), nullptr);
  EXPECT_TRUE(offers.retire(3));
  EXPECT_FALSE(offers.retire(3));
  EXPECT_FALSE(offers.retire(kLandingSlots));
  EXPECT_EQ(offers.find(offer.frame), nullptr);
  offer.slot = kLandingSlots;
  EXPECT_FALSE(offers.put(offer));
}

TEST(Landings, HaveSlots) {
  Landings landings;
  for (std::uint32_t i = 0; i < kLandingSlots; ++i) {
    Landing* landing = landings.open();
    ASSERT_NE(landing, nullptr);
    EXPECT_EQ(landings.slot(*landing), i);
    landing->frame = frame(1, i, 10);
    landings.become(*landing, Landing::State::kWanted);
  }
  EXPECT_EQ(landings.open(), nullptr);
  ASSERT_NE(landings.find(1, 7), nullptr);
  EXPECT_EQ(landings.at(7), landings.find(1, 7));
  landings.become(*landings.find(1, 7), Landing::State::kFree);
  EXPECT_EQ(landings.find(1, 7), nullptr);
  EXPECT_EQ(landings.slot(*landings.open()), 7U);
  EXPECT_EQ(landings.at(kLandingSlots), nullptr);
}

// A sender that uses its places in turn always has half of the window, or all but a message's
// worth of it, and hears of new ones in full messages.
TEST(Landings, AreAnnouncedInBatches) {
  using State = Landing::State;
  for (const std::uint32_t window : {1U, 2U, 3U, 8U, 33U}) {
    Landings landings;
    std::uint32_t next = 0, announced = 0, batches = 0;
    const auto want = [&](std::uint64_t flow, std::uint32_t ordinal) {
      Landing& landing = *landings.open();
      landing.frame = frame(flow, ordinal, 10);
      landings.become(landing, State::kWanted);
    };
    const auto announce = [&] {
      if (!landings.due()) return;
      ++batches;
      landings.for_each([&](Landing& landing) {
        if (landing.state != State::kWanted) return;
        landings.become(landing, State::kAnnounced);
        ++announced;
      });
      EXPECT_FALSE(landings.due());
    };
    while (next < window) want(5, next++);
    announce();
    EXPECT_EQ(announced, window) << "the first are announced at once";
    for (std::uint32_t used = 0; used < 1000; ++used) {
      ASSERT_GT(announced, used) << "the sender has a place";
      ASSERT_GE(announced - used, window - std::min(window / 2, 4U));
      landings.become(*landings.find(5, used), State::kFree);
      want(5, next++);
      announce();
    }
    EXPECT_LE(batches, 2 + 1000 / std::min((window + 1) / 2, 4U));
    landings.hurry();
    announce();
    if (window > 1) {
      landings.become(*landings.find(5, 1000), State::kFree);
      want(5, next++);
      EXPECT_EQ(landings.due(), window == 2);
      landings.hurry();
      EXPECT_TRUE(landings.due());
      announce();
    }
    landings.hurry();
    EXPECT_FALSE(landings.due()) << "nothing is wanted";
    // Another flow does not wait for the places of this one.
    want(6, 0);
    EXPECT_TRUE(landings.due());
    announce();
    want(5, next++);
    EXPECT_TRUE(landings.due()) << "nor this one for those of that";
    // What a connection took along is announced again.
    landings.for_each([&](Landing& landing) {
      if (landing.state == State::kAnnounced) landings.become(landing, State::kWanted);
    });
    EXPECT_TRUE(landings.due());
  }
}

TEST(ConnectionMessage, ReadsBack) {
  std::array<std::byte, MessageHead::kBytes + Announcement::kBytes> bytes{};
  write_head({MessageKind::kFrames, 8, 0, 1}, bytes.data());
  EXPECT_EQ(parse_head(bytes)->keep, 8);
  write_head({MessageKind::kAnnounce, 0, 513, 0xfffffffe}, bytes.data());
  const auto head = parse_head(bytes);
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head.value().kind, MessageKind::kAnnounce);
  EXPECT_EQ(head.value().credits, 513);
  EXPECT_EQ(head.value().number, 0xfffffffe);
  Announcement offer;
  offer.slot = 63;
  offer.memory = {0x123456789abcdef0ULL, 0xdeadbeef};
  offer.frame = frame(77, 3, 4096);
  write_announcement(offer, &bytes[MessageHead::kBytes]);
  const auto body = std::span<const std::byte, sizeof bytes>(bytes).subspan<MessageHead::kBytes>();
  const auto read = parse_announcement(body, 1 << 20);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().slot, 63U);
  EXPECT_EQ(read.value().memory.address, offer.memory.address);
  EXPECT_EQ(read.value().memory.key, offer.memory.key);
  EXPECT_EQ(read.value().frame, offer.frame);
  EXPECT_FALSE(parse_announcement(body, 100).ok()) << "larger than any payload may be";
}

TEST(ConnectionMessage, NonsenseIsRefused) {
  Prng prng(1);
  std::array<std::byte, MessageHead::kBytes + Announcement::kBytes> bytes;
  for (int i = 0; i < 20'000; ++i) {
    for (std::byte& b : bytes) b = static_cast<std::byte>(prng.next());
    if (prng.chance(0.5)) bytes[0] = static_cast<std::byte>(prng.below(10));
    if (prng.chance(0.5)) bytes[1] = static_cast<std::byte>(prng.below(10));
    const std::size_t length = prng.below(bytes.size() + 1);
    const auto head = parse_head(std::span<const std::byte>(bytes).first(length));
    const auto kind = static_cast<unsigned>(bytes[0]);
    const auto keep = static_cast<unsigned>(bytes[1]);
    EXPECT_EQ(head.ok(), length >= 8 && kind >= 1 && kind <= 7 && keep <= (kind == 1 ? 8 : 0));
    const auto body = std::span<const std::byte, sizeof bytes>(bytes).subspan<8>();
    EXPECT_FALSE(parse_announcement(body, 1 << 20).ok());
  }
}

// Announcements that are nearly right: what is read is what stands there, and keeps to the bounds.
TEST(ConnectionMessage, DamagedAnnouncementsAreReadAsTheyStandOrRefused) {
  constexpr std::uint64_t kPayloadMax = 1 << 20;
  Prng prng(3);
  int read_ones = 0, refused = 0;
  for (int i = 0; i < 50'000; ++i) {
    Announcement offer;
    offer.slot = static_cast<std::uint32_t>(prng.below(Placement::kSlotMax + 1));
    offer.serial = static_cast<std::uint32_t>(prng.next());
    offer.memory = {prng.next(), static_cast<std::uint32_t>(prng.next())};
    offer.frame = frame(prng.next(), static_cast<std::uint32_t>(prng.below(100)),
                        1 + prng.below(kPayloadMax));
    offer.frame.synchronous = prng.chance(0.5);
    std::array<std::byte, Announcement::kBytes> bytes{};
    write_announcement(offer, bytes.data());
    const auto flips = prng.below(4);
    for (std::uint64_t flip = 0; flip < flips; ++flip) {
      bytes[prng.below(bytes.size())] ^= static_cast<std::byte>(1U << prng.below(8));
    }
    std::uint64_t words[3];
    std::memcpy(words, bytes.data(), sizeof words);
    const auto body = std::span<const std::byte, sizeof bytes>(bytes);
    const auto header = net::parse_frame(body.subspan<24, net::kFrameHeaderBytes>(), kPayloadMax);
    const auto read = parse_announcement(body, kPayloadMax);
    const bool slot = (words[0] & UINT32_MAX) <= Placement::kSlotMax;  // and a serial
    const bool right = header.ok() && slot && words[2] <= UINT32_MAX;
    ASSERT_EQ(read.ok(), right) << i;
    if (flips == 0) {
      ASSERT_TRUE(read.ok());
    }
    ++(read.ok() ? read_ones : refused);
    if (!read.ok()) continue;
    EXPECT_LE(read.value().frame.bytes, kPayloadMax);
    std::array<std::byte, Announcement::kBytes> again{};
    write_announcement(read.value(), again.data());
    EXPECT_EQ(again, bytes) << i;
  }
  EXPECT_GT(read_ones, 20'000);
  EXPECT_GT(refused, 5'000);
}

TEST(Placement, PacksIntoTheImmediate) {
  for (const Placement p :
       {Placement(0, 0, false, 0), Placement(Placement::kSlotMax, 255, true, 0xffff),
        Placement(63, 1, false, 12), Placement(1, 128, true, 0)}) {
    const Placement read(p.immediate());
    EXPECT_EQ(read.slot, p.slot);
    EXPECT_EQ(read.number, p.number);
    EXPECT_EQ(read.synchronous, p.synchronous);
    EXPECT_EQ(read.credits, p.credits);
  }
}

TEST(Headless, PacksIntoTheImmediate) {
  Prng prng(2);
  for (int i = 0; i < 1000; ++i) {
    const auto slot = static_cast<std::uint32_t>(prng.below(KnownHeaders::kSlots));
    const auto step = static_cast<std::uint32_t>(prng.below(KnownHeaders::kStepMax + 1));
    const std::uint64_t number = prng.next();
    const bool synchronous = prng.chance(0.5);
    const auto credits = static_cast<std::uint32_t>(prng.below(Headless::kCreditsMax + 1));
    const Headless read(Headless(slot, step, number, synchronous, credits).immediate());
    EXPECT_EQ(read.slot, slot);
    EXPECT_EQ(read.step, step);
    EXPECT_EQ(read.number, number & 0xff);
    EXPECT_EQ(read.synchronous, synchronous);
    EXPECT_EQ(read.credits, credits);
    const auto any = static_cast<std::uint32_t>(prng.next());
    EXPECT_EQ(Headless(any).immediate(), any) << "every bit has a meaning";
  }
}

// Two ends that do the same with the same headers stay the same.
TEST(KnownHeaders, TellsWhatFollows) {
  KnownHeaders told, heard;
  net::FrameHeader header = frame(FlowId(3, 5, 100).key, 0, 64);
  EXPECT_FALSE(told.step_to(header)) << "nothing is kept yet";
  EXPECT_FALSE(heard.follow(KnownHeaders::slot_of(header), 1)) << "nothing is kept yet";
  const auto keep = [&] {
    told.keep(KnownHeaders::slot_of(header), header);
    heard.keep(KnownHeaders::slot_of(header), header);
  };
  const auto follows = [&](std::uint32_t expected) {
    const auto step = told.step_to(header);
    ASSERT_TRUE(step);
    EXPECT_EQ(*step, expected);
    told.keep(KnownHeaders::slot_of(header), header);
    auto read = heard.follow(KnownHeaders::slot_of(header), *step);
    ASSERT_TRUE(read);
    read->bytes = header.bytes;
    EXPECT_EQ(*read, header);
  };
  keep();
  header.ordinal = 1;
  follows(0);
  header.ordinal = 2;
  header.bytes = 10;
  follows(0);
  header.flow = FlowId(3, 5, 101).key;
  header.ordinal = 0;
  follows(1);
  header.flow = FlowId(3, 5, 101 + KnownHeaders::kStepMax).key;
  follows(KnownHeaders::kStepMax);
  const net::FrameHeader known = header;
  const auto fails = [&](const char* why) {
    EXPECT_FALSE(told.step_to(header)) << why;
    header = known;
  };
  fails("the same once more");
  header.ordinal = 2;
  fails("one was left out");
  header.flow = FlowId(3, 5, 102 + 2 * KnownHeaders::kStepMax).key;
  fails("too far ahead");
  header.flow -= 1;
  fails("a step back");
  header.flow += 1;
  header.ordinal = 1;
  fails("not the first of its flow");
  header.flow += 1;
  header.signature += 1;
  fails("of another call");
  header.flow += 1;
  header.total += 1;
  fails("of another length");
  for (const std::uint32_t channel : {4U, 6U, 1023U}) {
    header.flow = FlowId(3, channel, 102 + KnownHeaders::kStepMax).key;
    fails("of another channel");
  }
  header.flow += 1;
  header.kind = net::FrameKind::kMessage;
  fails("not a segment");
  // Sequences have 30 bits.
  header.flow = FlowId(3, 5, 0x3fffffff).key;
  keep();
  header.flow = FlowId(3, 5, 0).key;
  follows(1);
  // The last segment of a flow is followed by none of it.
  header.ordinal = header.total - 1;
  keep();
  EXPECT_FALSE(heard.follow(KnownHeaders::slot_of(header), 0));
}

// One packet is kept for what is sent again.
TEST(SendPackets, KeepsOneForRepetitions) {
  Registrar port;
  auto packets = std::move(*SendPackets::create(port, 2));
  Packet* first = packets->take(false);
  Packet* second = packets->take(false);
  ASSERT_TRUE(first != nullptr && second != nullptr && first != second);
  EXPECT_EQ(packets->take(false), nullptr);
  EXPECT_FALSE(packets->any(false));
  EXPECT_TRUE(packets->any(true));
  Packet* last = packets->take(true);
  ASSERT_NE(last, nullptr);
  EXPECT_FALSE(packets->any(true));
  EXPECT_EQ(packets->take(true), nullptr);
  packets->give(*first);
  EXPECT_EQ(packets->take(false), nullptr) << "the one that was kept comes first";
  packets->give(*last);
  EXPECT_NE(packets->take(false), nullptr);
  packets->give(*second);
}

TEST(RegisteredMemory, FindsWhatItHolds) {
  Registrar port;
  std::array<char, 1000> memory{};
  {
    RegisteredMemory registered(port);
    ASSERT_TRUE(registered.add(&memory[500], 100).ok());
    ASSERT_TRUE(registered.add(&memory[100], 100).ok());
    ASSERT_TRUE(registered.add(&memory[200], 50).ok()) << "neighbours may touch";
    EXPECT_FALSE(registered.add(&memory[199], 2).ok());
    EXPECT_FALSE(registered.add(&memory[450], 51).ok());
    EXPECT_FALSE(registered.add(&memory[599], 1).ok());
    EXPECT_FALSE(registered.add(&memory[700], 0).ok());
    for (std::size_t begin = 0; begin < 700; ++begin) {
      for (const std::size_t bytes : {1U, 7U, 100U}) {
        const auto inside = [&](std::size_t from, std::size_t length) {
          return begin >= from && begin + bytes <= from + length;
        };
        const bool held = inside(500, 100) || inside(100, 100) || inside(200, 50);
        ASSERT_EQ(registered.find(&memory[begin], bytes) != nullptr, held) << begin << " " << bytes;
      }
    }
    registered.remove(&memory[100]);
    EXPECT_EQ(registered.find(&memory[100], 1), nullptr);
    EXPECT_NE(registered.find(&memory[200], 50), nullptr);
    EXPECT_EQ(port.live, 2);
  }
  EXPECT_EQ(port.live, 0);
}

}  // namespace
}  // namespace espalier::rdma
