// The directory: what it keeps of cards, that all ranks make the same one, and what a rank of a
// very large job costs.
#include "bootstrap/directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "core/topology.hpp"
#include "tests/boot/read_cards.hpp"

namespace espalier {
namespace {

Card card_on(std::uint64_t machine, const std::string& node, std::int32_t package = -1) {
  Card made;
  made.bytes = sizeof(CardFields);
  made.machine = machine;
  made.net_namespace = 1;
  made.pid = 1;
  std::memcpy(made.host, "host", 4);
  node.copy(made.node, sizeof made.node - 1);
  made.locality[1] = package;
  return made;
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::vector<Card> six_cards() {
  std::vector<Card> cards;
  for (int rank = 0; rank < 6; ++rank) {
    const auto machine = static_cast<std::uint64_t>(1 + rank % 2);
    cards.push_back(card_on(machine, "node" + std::to_string(rank % 2), rank % 3));
    cards.back().pid = 1000 + rank;
    cards.back().nonce = static_cast<std::uint64_t>(rank);
    // Of every length, and several.
    cards.back().addresses.push_back({WireKind::kTcp, bytes_of(std::string(rank, 'a'))});
    if (rank > 2) cards.back().addresses.push_back({WireKind::kRc, {}});
    if (rank > 3) cards.back().addresses.push_back({WireKind::kUd, bytes_of("datagrams")});
  }
  return cards;
}

TEST(Directory, KeepsWhatTheCardsSay) {
  const auto cards = six_cards();
  const Directory directory = read_cards(cards, 2).directory;
  ASSERT_EQ(directory.size(), 6);
  for (Rank rank = 0; rank < 6; ++rank) {
    const Card& card = cards[static_cast<std::size_t>(rank)];
    EXPECT_EQ(directory.pid(rank), card.pid);
    EXPECT_STREQ(directory.site(rank).host, "host");
    EXPECT_STREQ(directory.site(rank).node, card.node);
    EXPECT_EQ(directory.site(rank).machine, card.machine);
    EXPECT_EQ(directory.site(rank).locality, (MemberLocality{-1, rank % 3, -1, -1}));
    const auto tcp = directory.address(rank, WireKind::kTcp);
    ASSERT_TRUE(tcp.has_value());
    EXPECT_TRUE(std::ranges::equal(*tcp, card.addresses[0].bytes));
    EXPECT_EQ(directory.has(rank, WireKind::kRc), rank > 2);
    EXPECT_EQ(directory.has(rank, WireKind::kUd), rank > 3);
  }
  EXPECT_TRUE(std::ranges::equal(*directory.address(5, WireKind::kUd), bytes_of("datagrams")));
}

TEST(Directory, IsTheSameOnAllRanks) {
  const auto cards = six_cards();
  const Directory first = read_cards(cards, 0).directory;
  for (Rank me = 1; me < 6; ++me) {
    EXPECT_TRUE(std::ranges::equal(read_cards(cards, me).directory.block(), first.block()));
  }
  auto others = cards;
  others[4].nonce = 77;
  EXPECT_NE(read_cards(others, 0).directory.head().epoch, first.head().epoch) << "another job";
}

// By what ranks are in groups of the network, where those of a node differ.
TEST(Directory, SeveralAdapters) {
  auto cards = six_cards();
  EXPECT_EQ(read_cards(cards, 1).directory.head().several_adapters, 0U);
  for (std::size_t rank = 0; rank < 6; ++rank) cards[rank].adapter = 70 + rank % 2;
  const std::size_t sites = read_cards(six_cards(), 1).directory.block().size();
  Directory directory = read_cards(cards, 1).directory;
  EXPECT_EQ(directory.head().several_adapters, 0U) << "nodes may differ";
  EXPECT_EQ(directory.block().size(), sites);
  cards[4].adapter = 71;
  directory = read_cards(cards, 1).directory;
  EXPECT_EQ(directory.head().several_adapters, 1U);
  for (Rank rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(directory.site(rank).adapter, rank % 2 == 1 || rank == 4 ? 71U : 70U);
  }
}

TEST(Directory, SaysWhatAllRanksHave) {
  auto cards = six_cards();
  EXPECT_EQ(read_cards(cards, 0).directory.head().any_threaded, 0);
  cards[3].progress_thread = 1;
  EXPECT_EQ(read_cards(cards, 0).directory.head().any_threaded, 1);
}

// Plans go by these, so they are of the whole job, not of what a rank sees.
TEST(Directory, SaysWhatChoicesGoBy) {
  auto cards = six_cards();
  for (std::size_t rank = 0; rank < cards.size(); ++rank) CPU_SET(rank, &cards[rank].cpus);
  EXPECT_EQ(read_cards(cards, 0).directory.head().some_crowded, 0U);
  EXPECT_EQ(read_cards(cards, 0).directory.head().port_mbits, 0U) << "nobody knows";
  cards[1].port_mbits = 100'000;
  cards[4].port_mbits = 25'000;
  cards[5].port_mbits = 200'000;
  cards[5].cpus = cards[3].cpus;  // of the second machine
  for (Rank me = 0; me < 6; ++me) {
    const Directory directory = read_cards(cards, me).directory;
    EXPECT_EQ(directory.head().some_crowded, 1U) << me;
    EXPECT_EQ(directory.head().port_mbits, 25'000U) << "of the slowest";
  }
}

// One rank that cannot, or not the same way, and nobody is in a group.
TEST(Directory, GroupsAreWhatAllRanksCanDo) {
  auto cards = six_cards();
  for (Card& card : cards) card.groups = {GroupCarrier::kUdp, 1472, 500, 7};
  cards[3].groups.packet_bytes = 1400;
  cards[4].groups.receive_depth = 80;
  const GroupTerms least = {GroupCarrier::kUdp, 1400, 80, 7};
  for (Rank me = 0; me < 6; ++me) {
    EXPECT_EQ(read_cards(cards, me).directory.head().groups, least);
  }
  const GroupTerms others[] = {
      {}, {GroupCarrier::kRdma, 1472, 500, 7}, {GroupCarrier::kUdp, 1472, 500, 8}};
  for (const GroupTerms& other : others) {
    for (const std::size_t rank : {0U, 5U}) {
      auto mixed = cards;
      mixed[rank].groups = other;
      EXPECT_EQ(read_cards(mixed, 2).directory.head().groups, GroupTerms());
    }
  }
}

TEST(Directory, PlacesAreThoseOfTheCardsOrOfAnEmulatedMachine) {
  const auto cards = six_cards();  // ranks 0, 2, 4 on one node
  const auto without = read_cards(cards, 0, {.localities = false}).directory;
  EXPECT_EQ(without.site(1).locality, kBoundNowhere);
  const auto machine = load_machine("pack:2 core:1 pu:1");
  ASSERT_TRUE(machine.ok());
  const auto emulated = read_cards(cards, 0, {.emulated = &machine.value()}).directory;
  EXPECT_EQ(emulated.site(0).locality[1], emulated.site(1).locality[1]) << "the first of two nodes";
  EXPECT_NE(emulated.site(0).locality[1], emulated.site(2).locality[1]) << "two of one node";
  EXPECT_EQ(emulated.site(0).locality[1], emulated.site(4).locality[1])
      << "cores are dealt out again";
}

TEST(Directory, IsReadFromACopyFromThenOn) {
  Directory directory = read_cards(six_cards(), 0).directory;
  const std::vector<std::byte> copy(directory.block().begin(), directory.block().end());
  EXPECT_FALSE(directory.is_shared());
  directory.move_to(copy.data());
  EXPECT_TRUE(directory.is_shared());
  EXPECT_EQ(directory.block().data(), copy.data());
  EXPECT_EQ(directory.pid(5), 1005);
}

// What grows with the job in one process: the directory, which the ranks of a node share, how each
// rank is reached, and the world's members (tests/unit/scale_test.cpp has what teams have more).
TEST(Scale, ARankOfAMillionCostsAProcessAFewBytes) {
  constexpr Rank kNodes = 4096, kEach = 256;
  constexpr std::size_t kRanks = std::size_t{kNodes} * kEach;
  const Card mine = card_on(1, "node0");
  DirectoryMaker maker(mine, 0, {});
  for (Rank rank = 0; rank < kNodes * kEach; ++rank) {
    const Rank node = rank / kEach;
    // Eight groups of cores in each node, and as many bytes as addresses of RDMA and TCP have.
    Card card =
        card_on(static_cast<std::uint64_t>(node) + 1, "node" + std::to_string(node), rank % 8);
    card.addresses = {{WireKind::kTcp, std::vector<std::byte>(100)}};
    maker.add(card);
  }
  const Directory directory = maker.directory();
  const JobNodes nodes = maker.nodes();
  ASSERT_EQ(directory.size(), static_cast<Rank>(kRanks));
  EXPECT_EQ(nodes.count(), kNodes);
  EXPECT_LE(directory.head().sites, sizeof(Directory::Head) + 16 * kRanks + 8) << "rows";
  const std::size_t sites = directory.head().addresses - directory.head().sites;
  EXPECT_LE(sites, std::size_t{8} * kNodes * sizeof(Directory::Site) + 8) << "a place, once";
  EXPECT_LE(directory.block().size(), kRanks * (16 + 8 * sizeof(Directory::Site) / kEach + 128));

  const std::size_t of_each_process = kRanks * sizeof(WireKind) +
                                      nodes.leaders.capacity() * sizeof(Rank) +
                                      nodes.cards.capacity() * sizeof(Card) + kRanks * sizeof(Rank);
  EXPECT_LE(of_each_process + directory.block().size() / kEach, 16 * kRanks);

  WireChooser chooser(directory, nodes, 0, {WireKind::kShm, WireKind::kTcp}, {});
  auto wires = chooser.choose();
  ASSERT_TRUE(wires.ok());
  EXPECT_EQ((*wires)[kEach - 1], WireKind::kShm);
  EXPECT_EQ((*wires)[kEach], WireKind::kTcp);
  EXPECT_EQ(wires->capacity(), kRanks);
}

}  // namespace
}  // namespace espalier
