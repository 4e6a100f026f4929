#include "core/trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/trace_export.hpp"
#include "tests/unit/temporary_folder.hpp"

namespace espalier {
namespace {

TraceSubject segment(std::uint32_t index, std::int32_t peer) {
  return {.team = 1, .vertex = 2, .sequence = 3, .index = index, .peer = peer, .value = 4096};
}

class TraceTest : public testing::Test {
 protected:
  void make(std::size_t events) {
    auto made = Trace::create(events, clock_);
    ASSERT_TRUE(made.ok());
    trace_ = std::move(made.value());
  }
  void begin(TraceKind kind, const TraceSubject& subject) {
    clock_.advance_ns(10);
    trace_.begin(kind, subject);
  }
  void end(TraceKind kind, const TraceSubject& subject) {
    clock_.advance_ns(10);
    trace_.end(kind, subject);
  }
  ManualClock clock_{1000};
  Trace trace_;
};

TEST_F(TraceTest, OffRecordsNothing) {
  trace_.begin(TraceKind::kSend, {});
  EXPECT_FALSE(trace_.enabled());
  EXPECT_EQ(trace_.recorded_count(), 0u);
  EXPECT_TRUE(trace_.events().empty());
}

TEST_F(TraceTest, RingKeepsTheLatest) {
  make(5);  // 8
  for (std::uint32_t i = 0; i < 20; ++i) trace_.instant(TraceKind::kMark, segment(i, 0));
  const auto events = trace_.events();
  ASSERT_EQ(events.size(), 8u);
  EXPECT_EQ(trace_.recorded_count(), 20u);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(events[i].subject.index, 12 + i);
}

TEST_F(TraceTest, PairsBeginsWithEndsAndSpreadsOverlapsOverLanes) {
  make(64);
  begin(TraceKind::kSend, segment(0, 5));  // 1010
  begin(TraceKind::kSend, segment(1, 5));  // 1020, overlaps
  begin(TraceKind::kSend, segment(0, 6));  // 1030, another edge
  end(TraceKind::kSend, segment(0, 5));    // 1040
  begin(TraceKind::kSend, segment(2, 5));  // 1050, lane 0 is free again
  end(TraceKind::kSend, segment(1, 5));    // 1060
  end(TraceKind::kSend, segment(2, 5));    // 1070
  end(TraceKind::kSend, segment(0, 6));    // 1080
  const auto slices = trace_slices(trace_.events());
  ASSERT_EQ(slices.size(), 4u);
  EXPECT_EQ(slices[0].begin_ns, 1010u);
  EXPECT_EQ(slices[0].end_ns, 1040u);
  EXPECT_EQ(slices[1].end_ns, 1060u);
  EXPECT_EQ(slices[2].end_ns, 1080u);
  EXPECT_EQ(slices[3].subject.index, 2u);
  EXPECT_EQ(slices[0].lane, 0u);
  EXPECT_EQ(slices[1].lane, 1u);
  EXPECT_EQ(slices[2].lane, 0u);
  EXPECT_EQ(slices[3].lane, 0u);
}

TEST_F(TraceTest, EndsWithoutBeginAreLeftOutAndOpenBeginsAreMarked) {
  make(64);
  end(TraceKind::kRecv, segment(0, 1));
  begin(TraceKind::kRecv, segment(1, 1));
  begin(TraceKind::kBcast, {});
  end(TraceKind::kBcast, {});
  const auto slices = trace_slices(trace_.events());
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_TRUE(slices[0].unfinished);
  EXPECT_EQ(slices[0].end_ns, 1040u);
  EXPECT_FALSE(slices[1].unfinished);
}

TEST_F(TraceTest, WhatIsTakenBackEndsUnfinished) {
  make(64);
  begin(TraceKind::kRecv, segment(0, 1));  // 1010
  clock_.advance_ns(10);
  trace_.cancel(TraceKind::kRecv, segment(0, 1));  // 1020
  begin(TraceKind::kMark, {});                     // 1030
  const auto slices = trace_slices(trace_.events());
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_TRUE(slices[0].unfinished);
  EXPECT_EQ(slices[0].end_ns, 1020u);
  const auto json = nlohmann::json::parse(trace_json(trace_.events(), 0, 0));
  int unfinished = 0;
  for (const auto& event : json["traceEvents"]) unfinished += event["name"] == "recv (unfinished)";
  EXPECT_EQ(unfinished, 1);
}

TEST_F(TraceTest, ABeginMayBeRecordedLater) {
  EXPECT_EQ(trace_.now_ns(), 0u);  // Off: nobody asks the clock.
  make(64);
  const std::uint64_t posted_ns = trace_.now_ns();
  clock_.advance_ns(25);
  trace_.begin_at(TraceKind::kSend, segment(0, 1), posted_ns);
  end(TraceKind::kSend, segment(0, 1));
  const auto slices = trace_slices(trace_.events());
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_EQ(slices[0].begin_ns, 1000u);
  EXPECT_EQ(slices[0].end_ns, 1035u);
}

TEST_F(TraceTest, ScopesNest) {
  make(64);
  {
    const TraceScope outer(trace_, TraceKind::kCopy, {});
    clock_.advance_ns(5);
    const TraceScope inner(trace_, TraceKind::kCopy, {});
    clock_.advance_ns(5);
  }
  const auto slices = trace_slices(trace_.events());
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].end_ns - slices[0].begin_ns, 10u);
  EXPECT_EQ(slices[1].end_ns - slices[1].begin_ns, 5u);
}

TEST_F(TraceTest, JsonIsWhatViewersExpect) {
  make(64);
  begin(TraceKind::kBcast, {.team = 1, .sequence = 9});
  begin(TraceKind::kRecv, segment(0, 2));
  end(TraceKind::kRecv, segment(0, 2));
  trace_.instant(TraceKind::kGrant, segment(7, 2));
  end(TraceKind::kBcast, {.team = 1, .sequence = 9});
  const auto json = nlohmann::json::parse(trace_json(trace_.events(), 4, 17));
  EXPECT_EQ(json["otherData"]["dropped_events"], 17);
  int slices = 0;
  int instants = 0;
  std::map<int, std::string> lanes;
  for (const auto& event : json["traceEvents"]) {
    EXPECT_EQ(event["pid"], 4);
    if (event["ph"] == "X") ++slices;
    if (event["ph"] == "i") ++instants;
    if (event["name"] == "thread_name") lanes[event["tid"]] = event["args"]["name"];
    if (event["name"] == "recv") {
      EXPECT_DOUBLE_EQ(event["ts"], 1.020);
      EXPECT_DOUBLE_EQ(event["dur"], 0.010);
      EXPECT_EQ(event["args"]["value"], 4096);
      EXPECT_EQ(lanes.at(event["tid"]), "recv from 2");
    }
  }
  EXPECT_EQ(slices, 2);
  EXPECT_EQ(instants, 1);
  EXPECT_EQ(lanes.size(), 3u);
}

TEST_F(TraceTest, EmptyTraceIsStillAFile) {
  make(4);
  EXPECT_TRUE(nlohmann::json::parse(trace_json(trace_.events(), 0, 0)).contains("traceEvents"));
}

TEST_F(TraceTest, WritingReportsWhatIsWrong) {
  const auto off = write_trace(trace_, 0, "/tmp/unused");
  ASSERT_FALSE(off.ok());
  EXPECT_EQ(off.error().status.code(), ESP_ERR_STATE);
  make(4);
  const auto nowhere = write_trace(trace_, 0, "/nonexistent/trace.json");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().text,
            "cannot write /nonexistent/trace.json: No such file or directory");
  EXPECT_EQ(nowhere.error().status.error_number(), ENOENT);
  const auto full = write_trace(trace_, 0, "/dev/full");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().status.error_number(), ENOSPC);
  const auto path = std::filesystem::temp_directory_path() /
                    ("espalier_trace_" + std::to_string(getpid()) + ".json");
  ASSERT_TRUE(write_trace(trace_, 0, path.string()).ok());
  std::ifstream file(path);
  EXPECT_TRUE(nlohmann::json::parse(file).contains("traceEvents"));
  std::filesystem::remove(path);
}

TEST_F(TraceTest, FilesOfRanksAreJoined) {
  const TemporaryFolder folder;
  const std::string joined = folder.path() + "/it", none = folder.path() + "/none";
  make(2);
  for (Rank rank = 0; rank < 2; ++rank) {
    begin(TraceKind::kSend, segment(0, 1));
    end(TraceKind::kSend, segment(0, 1));
    ASSERT_TRUE(write_trace(trace_, rank, fmt::format("{}.{}", joined, rank)).ok());
  }
  std::ofstream(none) << "{\"traceEvents\":[\nsomething else";
  auto join = TraceJoin::create(joined);
  ASSERT_TRUE(join.ok());
  EXPECT_TRUE(join->add(joined + ".0"));
  EXPECT_FALSE(join->add(none));
  EXPECT_FALSE(join->add(joined + ".2"));
  EXPECT_TRUE(join->add(joined + ".1"));
  ASSERT_TRUE(join->finish().ok());
  std::ifstream file(joined);
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["otherData"]["dropped_events"], 2);  // All of the first are in the second.
  std::vector<int> ranks;
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "send") ranks.push_back(event["pid"]);
  }
  EXPECT_EQ(ranks, (std::vector<int>{0, 1}));
}

TEST_F(TraceTest, FilesThatCannotBeWrittenAreErrors) {
  EXPECT_EQ(TraceFile::create("/nowhere/it").error().status.code(), ESP_ERR_SYSTEM);
  EXPECT_NE(TraceJoin::create("/nowhere/it").error().text.find("cannot write /nowhere/it: No such"),
            std::string::npos);
  make(2);
  auto full = TraceFile::create("/dev/full");
  ASSERT_TRUE(full.ok());
  EXPECT_FALSE(full->write(trace_, 0).ok());
}

}  // namespace
}  // namespace espalier
