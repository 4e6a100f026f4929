// Jobs whose ranks are threads, and what each rank's counters say of one operation.
//
// Ranks may be on nodes of their own: then TCP over loopback is between them. path: setup
#pragma once

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/thread_bootstrap.hpp"

namespace test {

// Ranks are dealt out to nodes in turn.
struct Layout {
  int ranks = 2;
  int nodes = 1;
  const char* transfer = "pull";
  const char* level_shapes = "";
};

struct Rank {
  esp_team* world = nullptr;
  int rank = 0, size = 1;
  std::vector<unsigned char> in, out;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
};

using Counts = std::map<std::string, std::uint64_t>;  // by counter
// Starts the operation on a rank; false: its result is wrong (asked when it is complete).
struct Operation {
  void (*fill)(Rank& r);  // its input; outputs have room for those of all ranks
  esp_status (*start)(Rank& r, esp_request** request);
  bool (*is_right)(const Rank& r);
  esp_algorithm algorithm = ESP_ALGORITHM_AUTO;
  esp_shape shape = ESP_SHAPE_AUTO;
  std::size_t segment_bytes = 0;
};

inline Counts counters_of(esp_job* job) {
  std::vector<esp_counter_value> values(esp_counters(job, nullptr, 0));
  (void)esp_counters(job, values.data(), values.size());
  Counts counts;
  for (const esp_counter_value& one : values) counts[one.name] = one.value;
  return counts;
}

inline Opened open(Meeting& meeting, const Layout& layout, int rank) {
  const esp_bootstrap bootstrap = meeting.of(rank);
  const std::string node = "NODE_NAME=n" + std::to_string(rank % layout.nodes);
  const std::string transfer = std::string("TRANSFER=") + layout.transfer;
  const std::string shapes = std::string("LEVEL_SHAPES=") + layout.level_shapes;
  const char* settings[] = {node.c_str(),    transfer.c_str(),          shapes.c_str(), "CMA=on",
                            "WIRES=shm,tcp", "TCP_INTERFACE=127.0.0.1", nullptr};
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.bootstrap = &bootstrap;
  options.settings = settings;
  return open_job(options);
}

// What each rank counts in one call, when plans and connections are there. Rank `last` enters it
// when all others have.
inline std::vector<Counts> count(const Layout& layout, const Operation& operation, int last) {
  Meeting meeting(layout.ranks);
  std::barrier<> all(layout.ranks);
  std::vector<Counts> counted(static_cast<std::size_t>(layout.ranks));
  const auto run = [&](int number) {
    const Opened opened = open(meeting, layout, number);
    CHECK(opened.status == ESP_OK, "rank {}: {}", number, opened.text);
    Rank r{esp_job_world(opened.job), number, layout.ranks, {}, {}};
    r.options.algorithm = operation.algorithm;
    r.options.shape = operation.shape;
    r.options.segment_bytes = operation.segment_bytes;
    operation.fill(r);
    Counts before;
    for (int round = 0; round < 2; ++round) {
      r.out.assign(r.in.size() * static_cast<std::size_t>(layout.ranks), 0);
      before = counters_of(opened.job);
      all.arrive_and_wait();
      esp_request* request = nullptr;
      if (number == last) all.arrive_and_wait();
      CHECK_OK(operation.start(r, &request), r.world, "start");
      if (number != last) all.arrive_and_wait();
      CHECK_OK(esp_request_wait(&request), r.world, "wait");
      CHECK(operation.is_right(r), "the result of rank {}", number);
      all.arrive_and_wait();
    }
    Counts& mine = counted[static_cast<std::size_t>(number)];
    mine = counters_of(opened.job);
    for (auto& [name, number_now] : mine) number_now -= before[name];
    CHECK_EQ(esp_job_finalize(opened.job), ESP_OK, "");
  };
  std::vector<std::jthread> threads;
  for (int r = 0; r < layout.ranks; ++r) threads.emplace_back(run, r);
  threads.clear();
  return counted;
}

}  // namespace test
