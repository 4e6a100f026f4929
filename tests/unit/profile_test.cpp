// Profiles: their text, their errors, which row is followed; and those that ship.
#include "coll/choice/profile.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "core/prng.hpp"
#include "tests/unit/temporary_folder.hpp"

namespace espalier {
namespace {

Profile parse(const std::string& rows) {
  auto profile = Profile::parse("espalier profile 1\n" + rows, "p");
  EXPECT_TRUE(profile.ok()) << profile.error().text;
  return profile ? *profile : Profile{};
}

// A row for an allreduce: the first six columns, and the algorithm.
std::string row(const std::string& situation, const std::string& algorithm) {
  return "allreduce " + situation + " " + algorithm + " - - - - - - -\n";
}

Situation situation(int ranks, int nodes, std::uint64_t bytes) {
  return {Collective::kAllreduce, ranks, nodes, NetworkClass::kTcp, CoreClass::kShared, bytes};
}

// The algorithm that is followed; empty: no row.
std::string followed(const Profile& profile, const Situation& s) {
  const ProfileRow* found = profile.find(s);
  return found == nullptr ? "" : algorithm_name(found->choice.algorithm);
}

TEST(Profile, ReadsARow) {
  const Profile profile = parse(
      "made  2026-11-28 09:12 UTC on vm  # who\n"
      "# a comment\n\n"
      "bcast 8 2-4 tcp own 16K tree k-nomial 4 65536 8 31.25 ring/64K 40 # and another\r\n");
  EXPECT_EQ(profile.name, "p");
  EXPECT_EQ(profile.made, "2026-11-28 09:12 UTC on vm");
  ASSERT_EQ(profile.rows.size(), 1U);
  const ProfileRow& one = profile.rows[0];
  EXPECT_EQ(one.collective, Collective::kBcast);
  EXPECT_EQ(one.ranks, (ProfileRange{8, 8}));
  EXPECT_EQ(one.nodes, (ProfileRange{2, 4}));
  EXPECT_EQ(one.network, NetworkClass::kTcp);
  EXPECT_EQ(one.cores, CoreClass::kOwn);
  EXPECT_EQ(one.from_bytes, 16384U);
  EXPECT_EQ(one.choice.algorithm, ESP_ALGORITHM_TREE);
  EXPECT_EQ(one.choice.shape, ESP_SHAPE_KNOMIAL);
  EXPECT_EQ(one.choice.radix, 4);
  EXPECT_EQ(one.choice.segment_bytes, 65536U);
  EXPECT_EQ(one.choice.window_send, 8);
  EXPECT_EQ(one.choice.variant, ESP_VARIANT_EVENT);
  EXPECT_DOUBLE_EQ(one.us, 31.25);
  EXPECT_EQ(one.next, "ring/64K");
  EXPECT_DOUBLE_EQ(one.next_us, 40);
  EXPECT_EQ(one.line, 5);
}

TEST(Profile, WhatIsLeftToTheRulesIsADash) {
  const Profile profile = parse(row("- 3+ - - 0", "-"));
  ASSERT_EQ(profile.rows.size(), 1U);
  const ProfileRow& one = profile.rows[0];
  EXPECT_EQ(one.ranks, ProfileRange{});
  EXPECT_EQ(one.nodes, (ProfileRange{3, 0x7fffffff}));
  EXPECT_EQ(one.choice.algorithm, ESP_ALGORITHM_AUTO);
  EXPECT_EQ(one.choice.shape, ESP_SHAPE_AUTO);
  EXPECT_EQ(one.choice.radix, 0);
  EXPECT_EQ(one.choice.segment_bytes, 0U);
  EXPECT_EQ(one.choice.window_send, 0);
  EXPECT_EQ(one.us, 0);
  EXPECT_EQ(one.next, "");
}

TEST(Profile, WhatIsPrintedIsReadAgain) {
  const Profile profile = parse(
      "made  somewhere\n"
      "bcast 8 2-4 tcp own 16384 tree two-tree - 65536 8 31.25 ring/64K 40\n"
      "alltoall 64+ - rdma - 0 Bruck - 3 - - - - -\n"
      "barrier - 1 - shared 0 - - - - - 1.5 tree/flat 1.6\n"
      "alltoall 9-63 3 - - 256 one-factor - - - 64 - - -\n");
  ASSERT_EQ(profile.rows.size(), 4U);
  auto again = Profile::parse(profile.to_text(), "p");
  ASSERT_TRUE(again.ok()) << again.error().text;
  EXPECT_EQ(again->to_text(), profile.to_text());
  EXPECT_EQ(again->digest(), profile.digest());
  EXPECT_EQ(again->made, "somewhere");
  ASSERT_EQ(again->rows.size(), 4U);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(again->rows[k].to_text(), profile.rows[k].to_text());
    EXPECT_EQ(again->rows[k].choice.algorithm, profile.rows[k].choice.algorithm);
    EXPECT_EQ(again->rows[k].choice.shape, profile.rows[k].choice.shape);
    EXPECT_EQ(again->rows[k].ranks, profile.rows[k].ranks);
  }
}

TEST(Profile, DigestsAreOfWhatIsSaid) {
  const std::string one = row("8 1 - own 16K", "ring"), other = row("8 1 - own 16K", "tree");
  EXPECT_EQ(parse(one).digest(), parse("# comment\n\n" + one).digest());
  EXPECT_NE(parse(one).digest(), parse(other).digest());
  EXPECT_NE(parse(one).digest(), parse(one + other).digest());
}

TEST(Profile, GarbageIsNamedWithItsLine) {
  const std::string tail = " - - - - - - - -\n";
  const struct {
    std::string rows, text;
  } cases[] = {
      {"bcast 8 1\n", "p:2: 3 columns, expected 14"},
      {"\n# c\nbcast 8\n", "p:4: 2 columns, expected 14"},
      {"bcost 8 1 - - 0" + tail, "p:2: \"bcost\" is no operation"},
      {"bcast 0 1 - - 0" + tail, "p:2: \"0\" is no number or range of ranks"},
      {"bcast 9-8 1 - - 0" + tail, "p:2: \"9-8\" is no number or range of ranks"},
      {"bcast 8-9+ 1 - - 0" + tail, "p:2: \"8-9+\" is no number or range of ranks"},
      {"bcast 8 x - - 0" + tail, "p:2: \"x\" is no number or range of nodes"},
      {"bcast 8 1 ib - 0" + tail, "p:2: \"ib\" is no network (tcp, rdma, -)"},
      {"bcast 8 1 - some 0" + tail, "p:2: \"some\" is no cores (own, shared, -)"},
      {"bcast 8 1 - - -1" + tail, "p:2: \"-1\" is no number of bytes"},
      {"bcast 8 1 - - 0 rong - - - - - - -\n", "p:2: \"rong\" is no algorithm"},
      {"bcast 8 1 - - 0 ring - - - - - - -\n", "p:2: bcast has no algorithm ring"},
      {"bcast 8 1 - - 0 tree round - - - - - -\n", "p:2: \"round\" is no shape"},
      {"bcast 8 1 - - 0 tree k-ary 0 - - - - -\n", "p:2: \"0\" is no radix"},
      {"bcast 8 1 - - 0 tree k-nomial 1 - - - - -\n", "p:2: \"1\" is no radix"},
      {"bcast 8 1 - - 0 tree - - 0 - - - -\n", "p:2: \"0\" is no number of bytes of a segment"},
      {"bcast 8 1 - - 0 tree - - - 65 - - -\n", "p:2: \"65\" is no window (1 to 64)"},
      {"bcast 8 1 - - 0 tree - - - - fast - -\n", "p:2: \"fast\" is no time"},
      {"bcast 8 1 - - 0 tree - - - - 1 ring -1\n", "p:2: \"-1\" is no time"},
  };
  for (const auto& one : cases) {
    const auto profile = Profile::parse("espalier profile 1\n" + one.rows, "p");
    ASSERT_FALSE(profile.ok()) << one.rows;
    EXPECT_EQ(profile.error().status.code(), ESP_ERR_CONFIG);
    EXPECT_EQ(profile.error().text, one.text);
  }
  for (const char* text : {"", "\n", "espalier profile 2\n", "# espalier profile 1\n",
                           "\x7f"
                           "ELF"}) {
    const auto profile = Profile::parse(text, "p");
    ASSERT_FALSE(profile.ok()) << text;
    EXPECT_EQ(profile.error().text, "p:1: it does not begin with \"espalier profile 1\"");
  }
}

TEST(Profile, HasABound) {
  std::string text = "espalier profile 1\n";
  for (std::size_t k = 0; k <= Profile::kRowsMax; ++k) text += row("- - - - 0", "-");
  const auto profile = Profile::parse(text, "p");
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().text, "p:100002: too many rows");
}

TEST(Profile, FilesThatCannotBeRead) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("profile", "espalier profile 1\n" + row("2 1 - - 8", "ring"));
  auto read = Profile::read(path);
  ASSERT_TRUE(read.ok()) << read.error().text;
  EXPECT_EQ(read->rows.size(), 1U);
  EXPECT_EQ(read->name, path);
  const auto missing = Profile::read(path + "s");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().status.code(), ESP_ERR_CONFIG);
  EXPECT_EQ(missing.error().text, path + "s: No such file or directory");
  EXPECT_FALSE(Profile::read(folder.path()).ok());
}

TEST(ProfileFind, TheRowOfTheLargestSizeThatIsNotAbove) {
  const Profile profile =
      parse(row("8 1 - - 16K", "ring") + row("8 1 - - 8", "tree") + row("8 1 - - 1M", "spread"));
  EXPECT_EQ(followed(profile, situation(8, 1, 4)), "");
  EXPECT_EQ(followed(profile, situation(8, 1, 8)), "tree");
  EXPECT_EQ(followed(profile, situation(8, 1, 16383)), "tree");
  EXPECT_EQ(followed(profile, situation(8, 1, 16384)), "ring");
  EXPECT_EQ(followed(profile, situation(8, 1, 1 << 30)), "spread");
}

TEST(ProfileFind, OtherOperationsAreOtherThings) {
  Situation other = situation(8, 1, 8);
  other.collective = Collective::kBcast;
  EXPECT_EQ(followed(parse(row("8 1 - - 0", "ring")), other), "");
}

TEST(ProfileFind, TheNearestWithinAFactorOfTwo) {
  const Profile profile = parse(row("4 1 - - 0", "ring") + row("16 1 - - 0", "tree"));
  EXPECT_EQ(followed(profile, situation(4, 1, 8)), "ring");
  EXPECT_EQ(followed(profile, situation(5, 1, 8)), "ring");
  EXPECT_EQ(followed(profile, situation(9, 1, 8)), "tree");
  EXPECT_EQ(followed(profile, situation(2, 1, 8)), "ring");
  EXPECT_EQ(followed(profile, situation(1, 1, 8)), "");
  EXPECT_EQ(followed(profile, situation(32, 1, 8)), "tree");
  EXPECT_EQ(followed(profile, situation(33, 1, 8)), "");
}

TEST(ProfileFind, RangesAndNarrowerOnesFirst) {
  const Profile profile = parse(row("9-63 - - - 0", "tree") + row("16-31 - - - 0", "ring") +
                                row("- - - - 0", "spread") + row("24 - - - 0", "halving"));
  EXPECT_EQ(followed(profile, situation(9, 1, 8)), "tree");
  EXPECT_EQ(followed(profile, situation(63, 1, 8)), "tree");
  EXPECT_EQ(followed(profile, situation(16, 1, 8)), "ring");
  EXPECT_EQ(followed(profile, situation(24, 1, 8)), "halving");
  EXPECT_EQ(followed(profile, situation(64, 1, 8)), "spread");
  // A row for longer messages of a wider range does not go before.
  const Profile sizes = parse(row("8 - - - 0", "ring") + row("4-16 - - - 1K", "tree"));
  EXPECT_EQ(followed(sizes, situation(8, 1, 4096)), "ring");
}

TEST(ProfileFind, NetworkAndCores) {
  const Profile profile = parse(row("8 2 rdma - 0", "ring") + row("8 1 - own 0", "tree"));
  Situation here = situation(8, 2, 8);
  EXPECT_EQ(followed(profile, here), "");  // TCP
  here.network = NetworkClass::kRdma;
  EXPECT_EQ(followed(profile, here), "ring");
  here = situation(8, 1, 8);
  EXPECT_EQ(followed(profile, here), "");  // shared
  here.cores = CoreClass::kOwn;
  EXPECT_EQ(followed(profile, here), "tree");
  const Profile any = parse(row("8 - - - 0", "ring"));
  EXPECT_EQ(followed(any, situation(8, 1, 8)), "ring");
  EXPECT_EQ(followed(any, situation(8, 3, 8)), "ring");
}

TEST(ProfileFind, OneNodeNeverBySeveralAndTheReverse) {
  EXPECT_EQ(followed(parse(row("8 2 - - 0", "ring")), situation(8, 1, 8)), "");
  EXPECT_EQ(followed(parse(row("8 1 - - 0", "ring")), situation(8, 2, 8)), "");
  EXPECT_EQ(followed(parse(row("8 2 - - 0", "ring")), situation(8, 4, 8)), "ring");
  EXPECT_EQ(followed(parse(row("8 4 - - 0", "ring")), situation(8, 2, 8)), "ring");
  EXPECT_EQ(followed(parse(row("8 4 - - 0", "ring")), situation(8, 9, 8)), "");
  EXPECT_EQ(followed(parse(row("8 1-2 - - 0", "ring")), situation(8, 1, 8)), "ring");
}

TEST(ProfileRange, Distances) {
  const ProfileRange range{4, 8};
  EXPECT_DOUBLE_EQ(range.distance(6), 0);
  EXPECT_DOUBLE_EQ(range.distance(2), 1);
  EXPECT_DOUBLE_EQ(range.distance(32), 2);
  EXPECT_DOUBLE_EQ(range.width(), 1);
  EXPECT_DOUBLE_EQ(ProfileRange({7, 7}).width(), 0);
}

// Changes a good text in some places: it is read, or refused with a text that says where.
TEST(ProfileFuzz, AnyBytesAreReadOrRefused) {
  const std::string good = "espalier profile 1\nmade x\n" + row("9-63 2+ tcp own 16K", "ring") +
                           "bcast - 1 - shared 0 tree k-nomial 4 65536 8 31.25 ring/64K 40\n";
  constexpr std::string_view kLikely = "0123456789+-.#KM \t\n\r";
  Prng random(7);
  std::set<bool> outcomes;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = round % 10 == 0 ? std::string(random.below(200), '\0') : good;
    const std::size_t changes = round % 10 == 0 ? text.size() : 1 + random.below(4);
    for (std::size_t k = 0; k < changes && !text.empty(); ++k) {
      const std::size_t at = random.below(text.size());
      const char byte = random.below(2) == 0 ? kLikely[random.below(kLikely.size())]
                                             : static_cast<char>(random.below(256));
      switch (random.below(3)) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.erase(at, 1 + random.below(8));
          break;
        default:
          text.insert(at, 1, byte);
      }
    }
    auto profile = Profile::parse(text, "p");
    outcomes.insert(profile.ok());
    if (!profile) {
      EXPECT_EQ(profile.error().text.rfind("p:", 0), 0U);
      continue;
    }
    auto again = Profile::parse(profile->to_text(), "p");
    ASSERT_TRUE(again.ok()) << again.error().text << "\n" << text;
    EXPECT_EQ(again->rows.size(), profile->rows.size());
    (void)profile->find(situation(8, 2, 65536));
  }
  EXPECT_EQ(outcomes.size(), 2U);
}

Profile shipped(const std::string& name) {
  auto profile = Profile::read(ESPALIER_SOURCE_DIR "/profiles/" + name + ".profile");
  EXPECT_TRUE(profile.ok()) << profile.error().text;
  return profile ? *profile : Profile{};
}

TEST(ShippedProfiles, AllAreReadAndSayWhoseTheyAre) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ESPALIER_SOURCE_DIR "/profiles")) {
    if (entry.path().extension() != ".profile") continue;
    const std::string name = entry.path().stem().string();
    names.insert(name);
    const Profile profile = shipped(name);
    EXPECT_FALSE(profile.rows.empty()) << name;
    EXPECT_NE(profile.made.find("thesis"), std::string::npos) << name;
    EXPECT_NE(profile.made.find("not measured with Espalier"), std::string::npos) << name;
    for (const ProfileRow& one : profile.rows) EXPECT_EQ(one.us, 0) << name << ":" << one.line;
  }
  EXPECT_EQ(names, (std::set<std::string>{"kowalewski-table-7.3", "ma-table-5.1-parapluie",
                                          "ma-table-5.1-stremi"}));
}

TEST(ShippedProfiles, KowalewskisTable) {
  const Profile profile = shipped("kowalewski-table-7.3");
  const auto choice = [&](int ranks, int nodes, std::uint64_t bytes) {
    Situation s = situation(ranks, nodes, bytes);
    s.collective = Collective::kAlltoall;
    const ProfileRow* found = profile.find(s);
    EXPECT_NE(found, nullptr) << ranks << " " << nodes;
    if (found == nullptr) return std::string();
    return std::string(algorithm_name(found->choice.algorithm)) + " " +
           std::to_string(found->choice.window_send);
  };
  EXPECT_EQ(choice(8, 4, 4096), "auto 0");
  EXPECT_EQ(choice(5, 1, 1 << 20), "one-factor 5");
  EXPECT_EQ(choice(16, 8, 64), "one-factor 8");
  EXPECT_EQ(choice(63, 32, 1 << 20), "one-factor 32");
  EXPECT_EQ(choice(16, 1, 64), "one-factor 1");
  EXPECT_EQ(choice(64, 32, 255), "Bruck 0");
  EXPECT_EQ(choice(4096, 2048, 256), "one-factor 64");
}

TEST(ShippedProfiles, MasTable) {
  const auto segment = [](const Profile& profile, Collective collective, std::uint64_t bytes) {
    Situation s = situation(768, 32, bytes);
    s.collective = collective;
    s.network = profile.rows.at(0).network;
    const ProfileRow* found = profile.find(s);
    return found == nullptr ? 0 : found->choice.segment_bytes;
  };
  const Profile fast = shipped("ma-table-5.1-parapluie"), slow = shipped("ma-table-5.1-stremi");
  EXPECT_EQ(fast.rows.at(0).network, NetworkClass::kRdma);
  EXPECT_EQ(slow.rows.at(0).network, NetworkClass::kTcp);
  EXPECT_EQ(segment(fast, Collective::kBcast, 4096), 0U);
  EXPECT_EQ(segment(fast, Collective::kBcast, 65535), 8192U);
  EXPECT_EQ(segment(fast, Collective::kBcast, 65536), 65536U);
  EXPECT_EQ(segment(slow, Collective::kBcast, 65536), 16384U);
  EXPECT_EQ(segment(slow, Collective::kBcast, 512 << 10), 32768U);
  EXPECT_EQ(segment(fast, Collective::kReduce, 16 << 20), 65536U);
  EXPECT_EQ(segment(fast, Collective::kReduce, 17 << 20), 1U << 20);
  EXPECT_EQ(segment(slow, Collective::kReduce, 16 << 20), 1U << 20);
}

}  // namespace
}  // namespace espalier
