// The profile that is written: rows of what was measured, and what was there before.
#include "tools/esp-tune/notebook.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/temporary_folder.hpp"

namespace esp_tune {
namespace {

using espalier::Collective;
using espalier::CoreClass;
using espalier::NetworkClass;
using espalier::Profile;
using espalier::Situation;

Situation at(std::uint64_t bytes, Collective collective = Collective::kScan) {
  return {collective, 8, 1, NetworkClass::kAny, CoreClass::kOwn, bytes};
}

Measured found(esp_algorithm algorithm, double us = 1) {
  Measured measured;
  measured.choice.algorithm = algorithm;
  measured.us = us;
  measured.next = "rules";
  measured.next_us = 2 * us;
  return measured;
}

Notebook notebook_of(const std::string& text) {
  auto notebook = Notebook::parse(text, "p", "now on here");
  EXPECT_TRUE(notebook.ok()) << notebook.error().text;
  return std::move(*notebook);
}

Profile profile_of(const Notebook& notebook) {
  auto profile = Profile::parse(notebook.to_text(), "p");
  EXPECT_TRUE(profile.ok()) << profile.error().text << "\n" << notebook.to_text();
  return profile ? *profile : Profile{};
}

TEST(Notebook, NeighboursWithTheSameChoiceAreOneRow) {
  Notebook notebook = notebook_of("");
  notebook.add(at(128), found(ESP_ALGORITHM_AUTO, 3));
  notebook.add(at(8), found(ESP_ALGORITHM_AUTO, 2));
  notebook.add(at(2048), found(ESP_ALGORITHM_RING, 4));
  notebook.add(at(8192), found(ESP_ALGORITHM_RING, 5));
  const Profile profile = profile_of(notebook);
  EXPECT_EQ(profile.made, "now on here");
  ASSERT_EQ(profile.rows.size(), 2U);
  EXPECT_EQ(profile.rows[0].from_bytes, 8U);
  EXPECT_EQ(profile.rows[0].choice.algorithm, ESP_ALGORITHM_AUTO);
  EXPECT_DOUBLE_EQ(profile.rows[0].us, 2);
  EXPECT_EQ(profile.rows[1].from_bytes, 2048U);
  EXPECT_EQ(profile.rows[1].choice.algorithm, ESP_ALGORITHM_RING);
  EXPECT_EQ(profile.rows[1].next, "rules");
  EXPECT_DOUBLE_EQ(profile.rows[1].next_us, 8);
  EXPECT_NE(notebook.to_text().find("# measured scan 8 1 - own: 8 128 2048 8192\n"),
            std::string::npos);
  EXPECT_EQ(notebook.summary(at(0)), "rules, ring from 2K");
  ASSERT_EQ(notebook.changes(at(0)).size(), 1U);
  EXPECT_EQ(notebook.changes(at(0))[0].below, 128U);
  EXPECT_EQ(notebook.changes(at(0))[0].above, 2048U);
}

TEST(Notebook, Islands) {
  Notebook notebook = notebook_of("");
  const auto add = [&](std::uint64_t bytes, esp_algorithm algorithm) {
    notebook.add(at(bytes), found(algorithm));
  };
  add(8, ESP_ALGORITHM_RING);
  add(16, ESP_ALGORITHM_AUTO);
  add(32, ESP_ALGORITHM_RING);
  add(64, ESP_ALGORITHM_AUTO);
  add(128, ESP_ALGORITHM_RING);
  add(256, ESP_ALGORITHM_DOUBLING);
  EXPECT_EQ(notebook.islands(at(0)), (std::vector<std::uint64_t>{32}));
  EXPECT_TRUE(notebook.islands(at(0, Collective::kExscan)).empty());
}

TEST(Notebook, KnowsWhatItHas) {
  Notebook notebook = notebook_of("");
  EXPECT_FALSE(notebook.has(at(8)));
  notebook.add(at(8), found(ESP_ALGORITHM_AUTO));
  notebook.add(at(32), found(ESP_ALGORITHM_AUTO));
  notebook.add(at(128), found(ESP_ALGORITHM_RING));
  Notebook again = notebook_of(notebook.to_text());
  for (const std::uint64_t bytes : {8U, 32U, 128U}) EXPECT_TRUE(again.has(at(bytes))) << bytes;
  EXPECT_FALSE(again.has(at(64)));
  EXPECT_FALSE(again.has(at(8, Collective::kExscan)));
  EXPECT_TRUE(again.is_left_to_rules(at(32)));
  EXPECT_FALSE(again.is_left_to_rules(at(128)));
  Situation other = at(8);
  other.cores = CoreClass::kShared;
  EXPECT_FALSE(again.has(other));
  EXPECT_EQ(again.to_text(), notebook.to_text());
  // What comes between rows keeps them apart.
  again.add(at(16), found(ESP_ALGORITHM_DOUBLING));
  const Profile profile = profile_of(again);
  ASSERT_EQ(profile.rows.size(), 4U);
  EXPECT_EQ(profile.rows[2].from_bytes, 32U);
  EXPECT_EQ(profile.rows[2].choice.algorithm, ESP_ALGORITHM_AUTO);
  EXPECT_EQ(profile.rows[2].us, 0) << "known is only the time of 8 bytes";
}

TEST(Notebook, WhatIsAddedAgainReplaces) {
  Notebook notebook = notebook_of("");
  notebook.add(at(8), found(ESP_ALGORITHM_RING));
  notebook.add(at(8), found(ESP_ALGORITHM_DOUBLING));
  const Profile profile = profile_of(notebook);
  ASSERT_EQ(profile.rows.size(), 1U);
  EXPECT_EQ(profile.rows[0].choice.algorithm, ESP_ALGORITHM_DOUBLING);
}

constexpr const char* kOthers =
    "# by hand\n"
    "bcast 8 1 - own 16K publish - - - - - - -   # kept\n"
    "scan 4-16 1 - - 0 ring - - - - - - -\n"
    "scan 8 1 - own 64K ring - - - - - - -\n";

TEST(Notebook, OtherLinesStay) {
  const std::string head = "espalier profile 1\nmade yesterday on there\n";
  Notebook notebook = notebook_of(head + kOthers);
  EXPECT_NE(notebook.to_text().find(kOthers), std::string::npos);
  notebook.add(at(8), found(ESP_ALGORITHM_DOUBLING));
  const std::string text = notebook.to_text();
  for (const char* line :
       {"# by hand\n", "bcast 8 1 - own 16K publish - - - - - - -   # kept\n",
        "scan 4-16 1 - - 0 ring - - - - - - -\n", "# before: made yesterday on there\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  // The row of the same situation holds from its size on, and has not been measured.
  EXPECT_FALSE(notebook.has(at(65536)));
  const Profile profile = profile_of(notebook);
  ASSERT_EQ(profile.rows.size(), 4U);
  EXPECT_EQ(profile.find(at(8))->choice.algorithm, ESP_ALGORITHM_DOUBLING);
  EXPECT_EQ(profile.find(at(65536))->choice.algorithm, ESP_ALGORITHM_RING);
  // Nothing grows when it is written again.
  const Notebook again = notebook_of(text);
  EXPECT_EQ(again.to_text(), text);
}

TEST(Notebook, NotesThatAreNoneAreComments) {
  const std::string rows = "scan 8 1 - own 64 ring - - - - - - -\n";
  for (const char* note :
       {"# measured\n", "# measured scan 8 1 - own\n", "# measured scan: 64\n",
        "# measured scan 8 1 - own: x 16 -1\n", "# measured bcast 8 1 - own: 64\n"}) {
    Notebook notebook = notebook_of("espalier profile 1\n" + rows + note);
    EXPECT_FALSE(notebook.has(at(64))) << note;
    EXPECT_FALSE(notebook.has(at(16))) << note;
    EXPECT_NE(notebook.to_text().find(note), std::string::npos) << note;
  }
}

TEST(Notebook, GarbageIsRefused) {
  const auto notebook = Notebook::parse("espalier profile 1\n\nnonsense\n", "p", "");
  ASSERT_FALSE(notebook.ok());
  EXPECT_EQ(notebook.error().text, "p:3: 1 columns, expected 14");
}

TEST(Notebook, IsSavedAsAWhole) {
  const espalier::TemporaryFolder folder;
  const std::string path = folder.path() + "/some/where/profile";
  auto notebook = Notebook::open(path, "now");
  ASSERT_TRUE(notebook.ok()) << notebook.error().text;
  notebook->add(at(8), found(ESP_ALGORITHM_RING));
  ASSERT_TRUE(notebook->save().ok());
  notebook->add(at(32), found(ESP_ALGORITHM_DOUBLING));
  ASSERT_TRUE(notebook->save().ok());
  const auto read = Profile::read(path);
  ASSERT_TRUE(read.ok()) << read.error().text;
  EXPECT_EQ(read.value().rows.size(), 2U);
  const std::filesystem::directory_iterator all(folder.path() + "/some/where");
  EXPECT_EQ(std::distance(begin(all), end(all)), 1) << "nothing else is left";
  // Through a link its target is written.
  const std::string link = folder.path() + "/link";
  std::filesystem::create_symlink(path, link);
  auto linked = Notebook::open(link, "now");
  ASSERT_TRUE(linked.ok());
  linked->add(at(128), found(ESP_ALGORITHM_RING));
  ASSERT_TRUE(linked->save().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(Profile::read(path).value().rows.size(), 3U);
}

TEST(Notebook, WhereNothingCanBeWritten) {
  const espalier::TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  auto below = Notebook::open(file + "/profile", "now");
  EXPECT_FALSE(below.ok() && below->save().ok());
  const auto itself = Notebook::open(folder.path(), "now");
  ASSERT_FALSE(itself.ok());
  EXPECT_EQ(itself.error().text, folder.path() + " is not a regular file");
}

}  // namespace
}  // namespace esp_tune
