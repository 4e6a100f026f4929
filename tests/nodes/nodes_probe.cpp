// A rank of a job on several nodes. Every rank that finds what it expects prints a line "OK ...".
//
//   nodes_probe start                     the job comes up, meets once and ends
//   nodes_probe steady                    counters of broadcasts whose receivers are there first
//   nodes_probe trace FOLDER              writes the trace of such a broadcast, FOLDER/RANK.json
//   nodes_probe files FOLDER RANK SIZE    without a launcher: ranks meet in a folder; calculates
//   nodes_probe lose  FOLDER RANK SIZE    the same until it fails, which it must
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "espalier/espalier.h"

namespace {

struct Rank {
  esp_job* job = nullptr;
  esp_team* world = nullptr;
  int rank = 0, size = 0;
};

[[noreturn]] void bad(const Rank& r, const std::string& what) {
  std::printf("BAD rank %d: %s [%s]\n", r.rank, what.c_str(), r.job ? esp_job_error(r.job) : "");
  std::fflush(stdout);
  std::_Exit(1);
}

void expect(const Rank& r, bool condition, const std::string& what) {
  if (!condition) bad(r, what);
}

// ---- a bootstrap of files

struct Folder {
  std::string path;
  int rank = 0, size = 0, round = 0;

  std::string name(int of) const {
    return path + "/" + std::to_string(round) + "." + std::to_string(of);
  }
  static int allgather(void* context, const void* mine, size_t bytes, void* all) {
    auto& self = *static_cast<Folder*>(context);
    ++self.round;
    const std::string draft = self.name(self.rank) + ".draft";
    std::ofstream(draft, std::ios::binary)
        .write(static_cast<const char*>(mine), static_cast<std::streamsize>(bytes));
    if (std::rename(draft.c_str(), self.name(self.rank).c_str()) != 0) return 1;
    for (int r = 0; r < self.size; ++r) {
      for (int tries = 0; ::access(self.name(r).c_str(), R_OK) != 0; ++tries) {
        if (tries == 3000) return 1;
        ::usleep(10'000);
      }
      std::ifstream(self.name(r), std::ios::binary)
          .read(static_cast<char*>(all) + static_cast<std::size_t>(r) * bytes,
                static_cast<std::streamsize>(bytes));
    }
    return 0;
  }
  static int barrier(void* context) {
    char mine = 0;
    std::vector<char> all(static_cast<std::size_t>(static_cast<Folder*>(context)->size));
    return allgather(context, &mine, 1, all.data());
  }
};

// ---- what is looked at

std::uint64_t counter(const Rank& r, const char* name) {
  std::vector<esp_counter_value> values(esp_counters(r.job, nullptr, 0));
  esp_counters(r.job, values.data(), values.size());
  for (const esp_counter_value& value : values) {
    if (std::strcmp(value.name, name) == 0) return value.value;
  }
  bad(r, std::string("no counter ") + name);
}

// Receivers post their windows, then all meet on another team, then the root sends.
void broadcast(const Rank& r, esp_team* meeting, std::vector<char>& data, int root) {
  esp_request* request = nullptr;
  const auto start = [&] {
    expect(r,
           esp_bcast_start(r.world, data.data(), data.size(), ESP_BYTE, root, nullptr, nullptr,
                           &request) == ESP_OK,
           "start");
  };
  if (r.rank != root) start();
  expect(r, esp_barrier(meeting) == ESP_OK, "barrier");
  if (r.rank == root) start();
  expect(r, esp_request_wait(&request) == ESP_OK, "wait");
}

void steady(const Rank& r, const std::string& folder) {
  constexpr int kCalls = 8;
  std::vector<char> data(std::size_t{2} << 20);
  esp_team* meeting = nullptr;
  expect(r, esp_team_dup(r.world, &meeting) == ESP_OK, "dup");
  const int root = r.size - 1;  // not the first of its node, unless it is alone there
  broadcast(r, meeting, data, root);
  const std::uint64_t unexpected = counter(r, "unexpected"), sent = counter(r, "segments_sent");
  const std::uint64_t published = counter(r, "publishes"), built = counter(r, "plans_built");
  for (int i = 0; i < kCalls; ++i) {
    data.assign(data.size(), r.rank == root ? static_cast<char>(i) : 'x');
    broadcast(r, meeting, data, root);
    expect(r, data.front() == static_cast<char>(i) && data.back() == data.front(), "data");
  }
  // Barriers on the other team are empty messages, which may come before they are expected.
  const std::uint64_t early = counter(r, "unexpected") - unexpected;
  expect(r, early <= kCalls * static_cast<std::uint64_t>(r.size),
         "segments came unexpected: " + std::to_string(early));
  expect(r, counter(r, "plans_built") == built, "plans were made again");
  std::printf("OK rank %d: %llu sends, %llu publications, %llu early\n", r.rank,
              static_cast<unsigned long long>(counter(r, "segments_sent") - sent),
              static_cast<unsigned long long>(counter(r, "publishes") - published),
              static_cast<unsigned long long>(early));
  if (!folder.empty()) {
    const std::string path = folder + "/" + std::to_string(r.rank) + ".json";
    expect(r, esp_trace_write(r.job, path.c_str()) == ESP_OK, "trace");
  }
  expect(r, esp_team_free(meeting) == ESP_OK, "free");
}

// Sums of several sizes; `rounds` of them, or until one fails.
esp_status calculate(const Rank& r, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::int64_t> sums(round % 3 == 0 ? 1 : round % 3 == 1 ? 1000 : 50'000, r.rank + 1);
    const esp_status status =
        esp_allreduce(r.world, ESP_IN_PLACE, sums.data(), sums.size(), ESP_INT64, ESP_SUM);
    if (status != ESP_OK) return status;
    const std::int64_t sum = std::int64_t{r.size} * (r.size + 1) / 2;
    expect(r, sums.front() == sum && sums.back() == sum, "wrong sum");
  }
  return ESP_OK;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string mode = argv[1];
  Rank r;
  Folder folder;
  esp_bootstrap files = {&folder, 0, 0, &Folder::allgather, &Folder::barrier, nullptr};
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  const bool alone = mode == "files" || mode == "lose";
  if (alone) {
    if (argc < 5) return 2;
    folder.path = argv[2];
    folder.rank = files.rank = r.rank = std::atoi(argv[3]);
    folder.size = files.size = std::atoi(argv[4]);
    options.bootstrap = &files;
  }
  if (esp_job_init(&options, &r.job) != ESP_OK) bad(r, "no job");
  r.world = esp_job_world(r.job);
  r.rank = esp_job_rank(r.job);
  r.size = esp_job_size(r.job);
  if (mode == "steady" || mode == "trace") {
    steady(r, mode == "trace" && argc > 2 ? argv[2] : "");
  } else if (mode == "freed") {
    // Freeing is local: who left the team to finalize asks about one that its first member has not.
    esp_team* team = nullptr;
    expect(r, esp_team_dup(r.world, &team) == ESP_OK, "no copy of the world");
    expect(r, esp_barrier(team) == ESP_OK, "a barrier failed");
    if (r.rank == 0) esp_team_free(team);
  } else if (mode == "lose") {
    const double begin = esp_time();
    const esp_status status = calculate(r, 100'000'000);
    const std::string text = esp_team_error(r.world);
    expect(r, status == ESP_ERR_TIMEOUT || status == ESP_ERR_NETWORK || status == ESP_ERR_PEER_DIED,
           esp_status_text(status));
    expect(r, text.find("for rank") != std::string::npos || text.find("rank ") != std::string::npos,
           "names nobody");
    std::printf("OK rank %d: %.1f s, %s\n", r.rank, esp_time() - begin, text.c_str());
  } else {
    expect(r, calculate(r, mode == "start" ? 1 : 30) == ESP_OK, "a sum failed");
    std::printf("OK rank %d\n", r.rank);
  }
  std::fflush(stdout);
  const esp_status end = esp_job_finalize(r.job);
  return end == ESP_OK || mode == "lose" ? 0 : 1;
}
