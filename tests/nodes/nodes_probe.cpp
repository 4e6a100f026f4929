// A rank of a job on several nodes. Every rank that finds what it expects prints a line "OK ...".
//
//   nodes_probe start                     the job comes up, meets once and ends
//   nodes_probe freed                     one rank frees a team that the others leave to the job's
//   end nodes_probe files FOLDER RANK SIZE    without a launcher: ranks meet in a folder;
//   calculates nodes_probe lose  FOLDER RANK SIZE    the same until it fails, which it must
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/nodes/probe.hpp"

namespace {

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
};

// ---- what is done

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
  esp_bootstrap files = {&folder, 0, 0, &Folder::allgather, nullptr};
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
  if (mode == "freed") {
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
