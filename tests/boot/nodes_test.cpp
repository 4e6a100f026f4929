// Who shares memory with whom, which wire connects whom, and cards that cannot be trusted.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "bootstrap/level_shapes.hpp"
#include "tests/boot/read_cards.hpp"
#include "tests/unit/temporary_folder.hpp"

namespace espalier {
namespace {

Card card(std::uint64_t machine, std::string_view node, int cpu, bool tcp = true) {
  Card made;
  made.bytes = sizeof(CardFields);
  made.machine = machine;
  made.pid = 100 + cpu;
  made.net_namespace = 1;
  std::memcpy(made.node, node.data(), node.size());
  CPU_ZERO(&made.cpus);
  CPU_SET(static_cast<std::size_t>(cpu), &made.cpus);
  if (tcp) made.addresses.push_back({WireKind::kTcp, std::vector<std::byte>(20, std::byte{7})});
  return made;
}

// Two machines; the launcher sees two nodes on the first.
std::vector<Card> three_nodes() {
  return {card(1, "a", 0), card(1, "b", 1), card(2, "a", 0), card(1, "a", 2), card(2, "a", 1)};
}

constexpr shm::MeetingAddress kMeeting = {};
const std::vector<WireKind> kBoth = {WireKind::kShm, WireKind::kTcp};
const std::string kNoRdma = ", rc: excluded by WIRES, ud: excluded by WIRES";

TEST(JobNodes, SameMachineAndSameName) {
  const CardsRead read = read_cards(three_nodes(), 3);
  const JobNodes& nodes = read.nodes;
  EXPECT_EQ(read.node_of(), (std::vector<std::int32_t>{0, 1, 2, 0, 2}));
  EXPECT_EQ(nodes.ranks, 5);
  EXPECT_EQ(nodes.leaders, (std::vector<Rank>{0, 1, 2}));
  EXPECT_EQ(nodes.own, 0);
  EXPECT_EQ(nodes.locals, (std::vector<Rank>{0, 3}));
  EXPECT_EQ(nodes.card(3).pid, 102);
  EXPECT_EQ(nodes.local_index, 1u);
  EXPECT_EQ(nodes.largest, 2u);
  EXPECT_EQ(read_cards(three_nodes(), 1).nodes.largest, 2u) << "of all nodes, not of the own";
  EXPECT_TRUE(nodes.several());
  // Rank 1 is on another node, but wants the same cores.
  EXPECT_EQ(nodes.machine_ranks, 3);
  EXPECT_EQ(nodes.usable_cpus, 3);
  EXPECT_FALSE(nodes.crowded());
}

TEST(JobNodes, WithoutSharedMemoryEverybodyIsANode) {
  const JobNodes nodes = read_cards(three_nodes(), 3, {.share = false}).nodes;
  EXPECT_EQ(nodes.count(), 5);
  EXPECT_EQ(nodes.locals, (std::vector<Rank>{3}));
  EXPECT_EQ(nodes.machine_ranks, 3);
}

// By the launcher's name, by the host's; who is not named is behind a switch of its own.
TEST(JobNodes, BehindTheSwitchesOfAMap) {
  std::vector<Card> cards = {card(1, "a", 0), card(2, "b", 0), card(3, "x", 0),
                             card(4, "", 0),  card(5, "y", 0), card(1, "a", 1)};
  std::memcpy(cards[3].host, "d.one.org", 9);
  auto map = SwitchMap::parse("SwitchName=s0 Nodes=a,d;SwitchName=s1 Nodes=b");
  ASSERT_TRUE(map.ok());
  DirectoryMaker maker(cards[0], 0, {.switches = &*map});
  for (const Card& each : cards) maker.add(each);
  const Directory directory = maker.directory();
  const auto switches = [&](Rank rank) { return directory.site(rank).network.switches; };
  EXPECT_EQ(maker.unnamed(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(switches(0), switches(3));
  EXPECT_EQ(switches(0), switches(5));
  EXPECT_NE(switches(0), switches(1));
  EXPECT_NE(switches(2), switches(4));
  EXPECT_EQ(directory.head().has_network_places, 1);
  EXPECT_EQ(read_cards(cards, 0).directory.head().has_network_places, 0);
}

// The distance from it is in the card, but of an emulated machine.
TEST(JobNodes, NearTheAdapter) {
  std::vector<Card> cards = {card(1, "a", 0), card(1, "a", 1), card(2, "b", 0), card(2, "b", 1)};
  cards[1].to_adapter = 2;
  const auto distances = [&](const DirectoryMaker::Rules& rules) {
    const Directory directory = read_cards(cards, 0, rules).directory;
    std::vector<std::int32_t> all;
    for (Rank r = 0; r < 4; ++r) all.push_back(directory.site(r).network.to_adapter);
    return all;
  };
  EXPECT_EQ(distances({}), (std::vector<std::int32_t>{0, 2, 0, 0}));
  auto machine = load_machine("pack:2 [numa] core:1 pu:1");
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(distances({.emulated = &*machine, .adapter = numa_locality(*machine, 1)}),
            (std::vector<std::int32_t>{5, 2, 5, 2}));
  EXPECT_EQ(distances({.emulated = &*machine}), (std::vector<std::int32_t>{0, 0, 0, 0}));
}

TEST(LevelShapes, Text) {
  auto shapes = parse_level_shapes("switch:flat,node:chain,board:binary,numa:KARY/3,core:flat");
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(shapes->switches.shape, ESP_SHAPE_FLAT);
  EXPECT_EQ(shapes->nodes, (LevelShape{ESP_SHAPE_CHAIN, 2}));
  EXPECT_EQ(shapes->between[0].shape, ESP_SHAPE_BINARY);
  EXPECT_EQ(shapes->between[1].shape, ESP_SHAPE_AUTO);
  EXPECT_EQ(shapes->between[2], (LevelShape{ESP_SHAPE_KARY, 3}));
  EXPECT_EQ(shapes->inside.shape, ESP_SHAPE_FLAT);
  EXPECT_TRUE(parse_level_shapes("").ok());
  for (const char* bad :
       {"node", "node:", ":flat", "node:flat/1", "node:flat/x", "node:chain/4", "node:two-tree",
        "rack:flat", "node:flat,,", "node:auto", "core:kary/1025"}) {
    EXPECT_FALSE(parse_level_shapes(bad).ok()) << bad;
  }
}

TEST(WireChoice, Names) {
  EXPECT_EQ(parse_wires("tcp,shm").value(),
            (std::vector<WireKind>{WireKind::kTcp, WireKind::kShm}));
  for (const char* bad : {"", "shm,", "ether", "shm,shm", "SHM"}) {
    const auto parsed = parse_wires(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().status.code(), ESP_ERR_CONFIG);
  }
  EXPECT_NE(parse_wires("ether").error().text.find("known are shm,rc,ud,tcp"), std::string::npos);
}

TEST(WireChoice, SharedMemoryInsideANodeAndTheNetworkElsewhere) {
  const auto same = choose_wire(three_nodes(), 0, 3, kBoth);
  const auto another = choose_wire(three_nodes(), 0, 1, kBoth);
  ASSERT_TRUE(same.ok() && another.ok());
  EXPECT_EQ(same.value().kind, WireKind::kShm);
  EXPECT_EQ(same.value().others, "tcp: not needed" + kNoRdma);
  EXPECT_EQ(another.value().kind, WireKind::kTcp);
  EXPECT_EQ(another.value().others, "shm: another node" + kNoRdma);
}

TEST(WireChoice, WhetherAllHaveRdma) {
  auto cards = three_nodes();
  const auto all_have = [&](const char* wires) {
    return all_have_rdma(read_cards(cards, 0).directory, parse_wires(wires).value());
  };
  const char* best = "shm,rc,ud,tcp";
  EXPECT_FALSE(all_have(best));
  for (Card& card : cards) card.addresses.push_back({WireKind::kUd, {}});
  EXPECT_TRUE(all_have(best));
  EXPECT_TRUE(all_have("ud"));
  EXPECT_FALSE(all_have("tcp,rc,ud")) << "TCP is wanted more";
  EXPECT_FALSE(all_have("shm"));
  cards.back().addresses.pop_back();
  EXPECT_FALSE(all_have(best)) << "one has none";
}

TEST(WireChoice, ForcedAndExcluded) {
  auto cards = three_nodes();
  const auto forced = choose_wire(cards, 0, 3, {WireKind::kTcp});
  ASSERT_TRUE(forced.ok());
  EXPECT_EQ(forced.value().kind, WireKind::kTcp);
  EXPECT_EQ(forced.value().others, "shm: excluded by WIRES" + kNoRdma);
  const auto alone = choose_wire(cards, 0, 3, {WireKind::kShm});
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().status.rank(), 1);
  EXPECT_NE(alone.error().text.find("shm: another node" + kNoRdma + ", tcp: excluded by WIRES"),
            std::string::npos)
      << alone.error().text;
  cards[1].addresses.clear();
  const auto closed = choose_wire(cards, 0, 3, kBoth);
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().text.find("tcp: not open there"), std::string::npos);
}

TEST(Cards, ComeBackAsTheyWere) {
  Card sent = card(5, "node", 1);
  sent.addresses.push_back({WireKind::kTcp, {}});
  const auto parsed = parse_card(card_bytes(sent), 4);
  ASSERT_TRUE(parsed.ok());
  EXPECT_STREQ(parsed.value().node, "node");
  EXPECT_EQ(parsed.value().machine, 5u);
  ASSERT_EQ(parsed.value().addresses.size(), 2u);
  EXPECT_EQ(parsed.value().addresses[0].bytes, sent.addresses[0].bytes);
  EXPECT_TRUE(parsed.value().addresses[1].bytes.empty());
}

// Host names may have 64 characters, and the launcher adds to them.
TEST(Cards, LongNamesOfNodesStayDifferent) {
  const std::uint64_t nonce = 1;
  const std::string common(70, 'x');
  const auto made = [&](const std::string& name) {
    return make_card(Config(), nonce, &kMeeting, name);
  };
  const std::vector<Card> cards = {made(common + "0"), made(common + "1"), made(common + "0")};
  EXPECT_EQ(read_cards(cards, 0).node_of(), (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_TRUE(std::string(cards[0].node).starts_with(common.substr(0, 40))) << "for people";
  const std::string longest(63, 'x');
  EXPECT_EQ(made(longest).node, longest) << "as it is while it fits";
}

// Whatever comes, the parser answers, and what it accepts can be used.
TEST(Cards, BytesOfStrangers) {
  std::mt19937 random(1);
  const auto good = card_bytes(card(5, "node", 1));
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = good;
    if (round % 3 == 0) bytes.resize(random() % (good.size() + 64));
    for (unsigned flips = random() % 4; flips > 0 && !bytes.empty(); --flips) {
      // Mostly where lengths stand: the begin, and what follows the fields.
      const std::size_t from = random() % 2 == 0 ? 0 : sizeof(CardFields);
      const std::size_t at = from + random() % 64;
      if (at < bytes.size()) bytes[at] = static_cast<std::byte>(random());
    }
    const auto parsed = parse_card(bytes, 1);
    if (!parsed) {
      ++refused;
      EXPECT_EQ(parsed.error().status.code(), ESP_ERR_BOOTSTRAP);
      continue;
    }
    EXPECT_LT(std::strlen(parsed.value().host), sizeof parsed.value().host);
    EXPECT_LT(std::strlen(parsed.value().node), sizeof parsed.value().node);
    for (const CardAddress& address : parsed.value().addresses) {
      EXPECT_LE(address.bytes.size(), Card::kAddressBytesMax);
    }
  }
  EXPECT_GT(refused, 5000);
}

TEST(Cards, SettingsThatDifferAreShown) {
  const std::uint64_t nonce = 1;
  const auto text = [&](auto set) {
    Config config;
    const Card mine = make_card(config, nonce, &kMeeting, "node");
    set(config);
    return check_agreement(mine, 0, make_card(config, nonce, &kMeeting, "node"), 1).error().text;
  };
  EXPECT_EQ(text([](Config& c) { c.radix = 3; }),
            "ESPALIER_RADIX differs between rank 0 and rank 1: automatic and 3");
  EXPECT_EQ(text([](Config& c) { c.heap_bytes = 1 << 20; }),
            "ESPALIER_HEAP_BYTES differs between rank 0 and rank 1: 1073741824 and 1048576");
  EXPECT_EQ(text([](Config& c) { c.shape = ESP_SHAPE_CHAIN; }),
            "ESPALIER_SHAPE differs between rank 0 and rank 1: auto and chain");
  EXPECT_EQ(text([](Config& c) { c.levels = LevelRule::kOff; }),
            "ESPALIER_LEVELS differs between rank 0 and rank 1: auto and off");
  EXPECT_EQ(text([](Config& c) { c.reproducible = true; }),
            "ESPALIER_REPRODUCIBLE differs between rank 0 and rank 1: 0 and 1");
  EXPECT_EQ(text([](Config& c) { c.levels = LevelRule::kNuma; }),
            "ESPALIER_LEVELS differs between rank 0 and rank 1: auto and numa");
  EXPECT_EQ(text([](Config& c) { c.adapter_numa = 0; }),
            "ESPALIER_ADAPTER_NUMA differs between rank 0 and rank 1");
  EXPECT_EQ(text([](Config& c) { c.multicast = MulticastMode::kOn; }),
            "ESPALIER_MULTICAST differs between rank 0 and rank 1: auto and on");
  EXPECT_EQ(text([](Config& c) { c.multicast_groups = 3; }),
            "ESPALIER_MULTICAST_GROUPS differs between rank 0 and rank 1: 8 and 3");
  EXPECT_EQ(text([](Config& c) { c.multicast_leaders = MulticastLeaders::kSocket; }),
            "ESPALIER_MULTICAST_LEADERS differs between rank 0 and rank 1: auto and socket");
  EXPECT_EQ(text([](Config& c) { c.multicast_place_bytes = 4096; }),
            "ESPALIER_MULTICAST_PLACE_BYTES differs between rank 0 and rank 1: 131072 and 4096");
  EXPECT_EQ(text([](Config& c) { c.wires = "tcp"; }),
            "ESPALIER_WIRES differs between rank 0 and rank 1");
  // What a damaged card says.
  const Card mine = make_card(Config(), nonce, &kMeeting, "node");
  Card damaged = mine;
  damaged.switches = 7;
  EXPECT_EQ(check_agreement(mine, 0, damaged, 1).error().text,
            "ESPALIER_SWITCHES differs between rank 0 and rank 1");
  damaged = mine;
  damaged.shape = 77;
  EXPECT_EQ(check_agreement(mine, 0, damaged, 1).error().text,
            "ESPALIER_SHAPE differs between rank 0 and rank 1: auto and 77");
}

// By what it says, not by its name.
TEST(Cards, EmulatedMachinesAreComparedByTheirContent) {
  const TemporaryFolder folder;
  const std::uint64_t nonce = 1;
  const auto agree = [&](const std::string& mine, const std::string& others) {
    const auto made = [&](const std::string& topology) {
      Config config;
      config.topology = topology;
      return make_card(config, nonce, &kMeeting, "node");
    };
    return check_agreement(made(mine), 0, made(others), 1);
  };
  const std::string one = folder.write("one.xml", "<topology>1</topology>");
  const std::string same = folder.write("elsewhere/same.xml", "<topology>1</topology>");
  const std::string other = folder.write("other.xml", "<topology>2</topology>");
  EXPECT_TRUE(agree(one, same).ok());
  EXPECT_FALSE(agree(one, other).ok());
  EXPECT_TRUE(agree("pack:2 core:2 pu:1", "pack:2 core:2 pu:1").ok());
  EXPECT_FALSE(agree("pack:2 core:2 pu:1", "pack:2 core:4 pu:1").ok());
  EXPECT_TRUE(agree("", "").ok());
  EXPECT_FALSE(agree("", one).ok());

  // The same path on two machines.
  Config config;
  config.topology = one;
  const Card before = make_card(config, nonce, &kMeeting, "node");
  folder.write("one.xml", "<topology>3</topology>");
  const auto differ = check_agreement(before, 0, make_card(config, nonce, &kMeeting, "node"), 1);
  ASSERT_FALSE(differ.ok());
  EXPECT_NE(differ.error().text.find("ESPALIER_TOPOLOGY differs"), std::string::npos);
}

}  // namespace
}  // namespace espalier
