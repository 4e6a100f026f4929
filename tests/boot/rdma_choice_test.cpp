// Which wire connects two ranks when there may be RDMA: every combination of what each has and
// what is allowed; and RDMA addresses that cannot be trusted.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "net/verbs/address.hpp"
#include "tests/boot/read_cards.hpp"

namespace espalier {
namespace {

// What a rank has open.
struct Has {
  bool tcp = true, datagrams = true, connections = true;
};

verbs::Endpoint endpoint() {
  verbs::Endpoint made;
  made.mtu_bytes = 4096;
  made.queue_pair = 17;
  made.key = 99;
  made.gid[15] = 1;
  return made;
}

CardAddress datagrams_at(const verbs::Endpoint& at) {
  const rdma::PortAddress address = verbs::datagram_address(at);
  return {WireKind::kUd, {address.bytes.begin(), address.bytes.end()}};
}

Card card(const char* node, const Has& has, const verbs::Endpoint& at = endpoint()) {
  Card made;
  made.bytes = sizeof(CardFields);
  made.machine = 1;
  made.pid = 1;
  made.net_namespace = 1;
  made.node[0] = node[0];
  if (has.datagrams) made.addresses.push_back(datagrams_at(at));
  if (has.connections) made.addresses.push_back({WireKind::kRc, {}});
  if (has.tcp) made.addresses.push_back({WireKind::kTcp, std::vector<std::byte>(20)});
  return made;
}

Result<ChosenWire> choose(const std::vector<Card>& cards, Rank me, Rank peer, const char* wires,
                          const std::vector<ClosedWire>& closed = {}) {
  return choose_wire(cards, me, peer, parse_wires(wires).value(), closed);
}

Has has(unsigned bits) {
  return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
}

// The rule, said in another way: the first of the list that both have.
bool reaches(WireKind kind, const Has& a, const Has& b) {
  const bool datagrams = a.datagrams && b.datagrams;
  if (kind == WireKind::kTcp) return a.tcp && b.tcp;
  if (kind == WireKind::kUd) return datagrams;
  return kind == WireKind::kRc && datagrams && a.connections && b.connections;
}

TEST(RdmaChoice, EveryCombination) {
  const char* lists[] = {
      "shm,rc,ud,tcp", "shm,ud,rc,tcp", "shm,rc,tcp", "shm,ud,tcp", "shm,rc,ud", "rc", "ud",
      "tcp",           "shm,tcp,rc",    "shm,tcp,ud", "rc,shm",     "shm"};
  int reached = 0, refused = 0;
  for (const char* list : lists) {
    for (unsigned bits = 0; bits < 64; ++bits) {
      const Has mine = has(bits), theirs = has(bits >> 3);
      const std::vector<Card> cards = {card("a", mine), card("b", theirs)};
      const auto here = choose(cards, 0, 1, list);
      const auto there = choose(cards, 1, 0, list);
      const auto wires = parse_wires(list).value();
      const auto first = std::find_if(wires.begin(), wires.end(),
                                      [&](WireKind kind) { return reaches(kind, mine, theirs); });
      ASSERT_EQ(here.ok(), first != wires.end()) << list << ' ' << bits;
      ASSERT_EQ(here.ok(), there.ok());
      if (!here.ok()) {
        ++refused;
        EXPECT_EQ(here.error().status.code(), ESP_ERR_CONFIG);
        EXPECT_EQ(here.error().status.rank(), 1);
        continue;
      }
      ++reached;
      EXPECT_EQ(here.value().kind, *first) << list << ' ' << bits;
      EXPECT_EQ(here.value().kind, there.value().kind);
    }
  }
  EXPECT_GT(reached, 200);
  EXPECT_GT(refused, 200);
}

TEST(RdmaChoice, RanksOfANodeShareMemoryUnlessItIsExcluded) {
  const std::vector<Card> cards = {card("a", {}), card("a", {})};
  EXPECT_EQ(choose(cards, 0, 1, "rc,ud,tcp,shm").value().kind, WireKind::kShm);
  EXPECT_EQ(choose(cards, 0, 1, "rc,ud,tcp").value().kind, WireKind::kRc);
}

TEST(RdmaChoice, SaysWhyNot) {
  const std::vector<Card> cards = {card("a", {.datagrams = false, .connections = false}),
                                   card("b", {})};
  const std::vector<ClosedWire> closed = {{WireKind::kRc, "no RDMA device: none"},
                                          {WireKind::kUd, "no RDMA device: none"}};
  EXPECT_EQ(choose(cards, 0, 1, "shm,rc,ud,tcp", closed).value().others,
            "shm: another node, rc: not here: no RDMA device: none, "
            "ud: not here: no RDMA device: none");
  EXPECT_EQ(choose(cards, 1, 0, "shm,ud,tcp").value().others,
            "shm: another node, ud: not open there, rc: excluded by WIRES");
  const auto forced = choose(cards, 0, 1, "shm,ud", closed);
  ASSERT_FALSE(forced.ok());
  EXPECT_NE(forced.error().text.find("ud: not here: no RDMA device: none"), std::string::npos)
      << forced.error().text;
}

TEST(RdmaChoice, PortsThatDoNotFit) {
  verbs::Endpoint small = endpoint();
  small.mtu_bytes = 1024;
  verbs::Endpoint infiniband = endpoint();
  infiniband.link = verbs::LinkLayer::kInfiniband;
  infiniband.lid = 4;
  for (const verbs::Endpoint& other : {small, infiniband}) {
    const std::vector<Card> cards = {card("a", {}), card("b", {}, other)};
    EXPECT_EQ(choose(cards, 0, 1, "shm,rc,ud,tcp").value().kind, WireKind::kTcp);
    EXPECT_EQ(choose(cards, 1, 0, "shm,rc,ud,tcp").value().kind, WireKind::kTcp);
  }
  const std::vector<Card> cards = {card("a", {}), card("b", {}, small)};
  EXPECT_EQ(choose(cards, 0, 1, "ud,tcp").value().others,
            "ud: packets of 1024 bytes there, of 4096 here (RDMA_MTU), shm: excluded by WIRES, "
            "rc: excluded by WIRES");
}

verbs::GidBytes prefixed(std::uint8_t first, std::uint8_t second) {
  verbs::GidBytes gid = {first, second};
  gid[15] = 1;
  return gid;
}

// What both say of a pair for which there is TCP alone.
void expect_tcp(const verbs::Endpoint& mine, const verbs::Endpoint& theirs, const char* why) {
  const std::vector<Card> cards = {card("a", {}, mine), card("b", {}, theirs)};
  for (const Rank me : {0, 1}) {
    const ChosenWire chosen = choose(cards, me, 1 - me, "shm,rc,ud,tcp").value();
    EXPECT_EQ(chosen.kind, WireKind::kTcp) << why;
    EXPECT_NE(chosen.others.find(why), std::string::npos) << chosen.others;
  }
}

TEST(RdmaChoice, PortsThatCannotReachEachOther) {
  verbs::Endpoint ipv4 = endpoint(), local = endpoint(), global = endpoint();
  ipv4.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  local.gid = prefixed(0xfe, 0x80);
  global.gid = prefixed(0x20, 0x01);
  expect_tcp(ipv4, local, "IPv4 address");
  expect_tcp(ipv4, global, "IPv4 address");

  verbs::Endpoint infiniband = endpoint();
  infiniband.link = verbs::LinkLayer::kInfiniband;
  infiniband.lid = 4;
  infiniband.gid = prefixed(0xfe, 0x80);
  verbs::Endpoint other = infiniband;
  other.gid = prefixed(0xfe, 0xc0);
  expect_tcp(infiniband, other, "another subnet");

  other = infiniband;
  other.partition = 1;
  expect_tcp(infiniband, other, "(P_Key)");
  verbs::Endpoint limited = infiniband;
  limited.limited = true;
  expect_tcp(limited, limited, "(P_Key)");

  other = infiniband;
  other.gid[15] = 2;
  other.needs_grh = true;
  other.lid = 5;
  for (const auto& [a, b] :
       {std::pair(infiniband, other), std::pair(limited, other), std::pair(local, global)}) {
    const std::vector<Card> cards = {card("a", {}, a), card("b", {}, b)};
    EXPECT_EQ(choose(cards, 0, 1, "shm,rc,ud,tcp").value().kind, WireKind::kRc);
  }
}

TEST(RdmaChoice, ConnectionsAreWantedWhereDatagramsAreNotBetter) {
  for (const char* list : {"rc", "rc,ud", "shm,rc,tcp"}) {
    EXPECT_TRUE(wants_connections(parse_wires(list).value())) << list;
  }
  for (const char* list : {"ud", "ud,rc", "shm,tcp"}) {
    EXPECT_FALSE(wants_connections(parse_wires(list).value())) << list;
  }
}

// Whatever address a card carries, it is refused with its rank, or every field has been checked.
TEST(RdmaChoice, AddressesOfStrangers) {
  std::mt19937 random(7);
  int refused = 0, taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<Card> cards = {card("a", {}), card("b", {})};
    std::vector<std::byte>& bytes = cards[1].addresses.front().bytes;
    if (round % 8 == 0) bytes.resize(random() % 64);
    for (unsigned flips = random() % 4; flips > 0 && !bytes.empty(); --flips) {
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(random());
    }
    const auto travelled = parse_card(card_bytes(cards[1]), 1);
    ASSERT_TRUE(travelled.ok());
    cards[1] = travelled.value();
    const auto chosen = choose(cards, 0, 1, "shm,rc,ud,tcp");
    if (chosen.ok()) {
      ++taken;
      continue;
    }
    ++refused;
    EXPECT_EQ(chosen.error().status.code(), ESP_ERR_BOOTSTRAP) << chosen.error().text;
    EXPECT_EQ(chosen.error().status.rank(), 1);
  }
  EXPECT_GT(refused, 2000);
  EXPECT_GT(taken, 2000);
}

}  // namespace
}  // namespace espalier
