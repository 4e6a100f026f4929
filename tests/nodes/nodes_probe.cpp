// A rank of a job on several nodes. Every rank that finds what it expects prints a line "OK ...".
//
//   nodes_probe start                     the job comes up, meets once and ends
//   nodes_probe freed                     one rank frees a team that the others leave to the job's
//                                         end
//   nodes_probe files FOLDER RANK SIZE    without a launcher: ranks meet in a folder; calculates
//   nodes_probe lose  FOLDER RANK SIZE LOST...    sums until one fails, which must name one of the
//                                                 ranks LOST; FOLDER/begun.RANK comes after the
//                                                 first, and holds the number of the process
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/nodes/folder.hpp"
#include "tests/nodes/probe.hpp"

namespace {

// ---- what is done

constexpr std::size_t kCounts[] = {1, 1000, 50'000};

std::int64_t value(std::size_t i, int rank) {
  return static_cast<std::int64_t>(7 * i) + rank + 1;
}
void fill(std::vector<std::int64_t>& data, int rank) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = value(i, rank);
}
void expect_sums(const Rank& r, const std::vector<std::int64_t>& sums, const char* what) {
  const std::int64_t ranks = std::int64_t{r.size} * (r.size - 1) / 2;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    expect(r, sums[i] == r.size * value(i, 0) + ranks, what + (" at " + std::to_string(i)));
  }
}

// Sums of several sizes; `rounds` of them, or until one fails.
esp_status calculate(const Rank& r, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::int64_t> sums(kCounts[round % 3]);
    fill(sums, r.rank);
    const esp_status status =
        esp_allreduce(r.world, ESP_IN_PLACE, sums.data(), sums.size(), ESP_INT64, ESP_SUM);
    if (status != ESP_OK) return status;
    expect_sums(r, sums, "wrong sum");
  }
  return ESP_OK;
}

// Broadcasts from and reductions to every rank, of several sizes.
void every_root(const Rank& r) {
  for (const std::size_t count : kCounts) {
    std::vector<std::int64_t> data(count), sums(count);
    for (int root = 0; root < r.size; ++root) {
      fill(data, r.rank == root ? root : -1);
      expect(r, esp_bcast(r.world, data.data(), count, ESP_INT64, root) == ESP_OK, "broadcast");
      for (std::size_t i = 0; i < count; ++i) expect(r, data[i] == value(i, root), "wrong data");
      fill(data, r.rank);
      expect(
          r,
          esp_reduce(r.world, data.data(), sums.data(), count, ESP_INT64, ESP_SUM, root) == ESP_OK,
          "reduction");
      if (r.rank == root) expect_sums(r, sums, "wrong reduction");
    }
  }
}

// As "rank 3 died" or "waited for ranks 2 (does not answer), 4" do.
bool names(const std::string& text, int rank) {
  const std::string others = "\\branks? ([0-9]+( \\(does not answer\\))?, )*";
  return std::regex_search(text, std::regex(others + std::to_string(rank) + "\\b"));
}

// For who waits outside: complete as soon as it is there.
void tell_begun(const Folder& folder) {
  const std::string name = folder.path + "/begun." + std::to_string(folder.rank);
  std::ofstream(name + ".draft") << ::getpid() << "\n";
  (void)std::rename((name + ".draft").c_str(), name.c_str());
}

void lose(const Rank& r, const Folder& folder, const std::vector<int>& lost) {
  expect(r, calculate(r, 1) == ESP_OK, "the first sum failed");
  tell_begun(folder);
  const double begin = esp_time();
  const esp_status status = calculate(r, 100'000'000);
  const std::string text = esp_team_error(r.world);
  expect(r, status == ESP_ERR_TIMEOUT || status == ESP_ERR_NETWORK || status == ESP_ERR_PEER_DIED,
         esp_status_text(status));
  expect(r, std::any_of(lost.begin(), lost.end(), [&](int rank) { return names(text, rank); }),
         "names another: " + text);
  std::printf("OK rank %d: %.1f s, %s\n", r.rank, esp_time() - begin, text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string mode = argv[1];
  Folder folder;
  esp_bootstrap files;
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  const bool alone = mode == "files" || mode == "lose";
  if (alone) {
    if (argc < 5) return 2;
    folder = {argv[2], std::atoi(argv[3]), std::atoi(argv[4])};
    files = folder.bootstrap();
    options.bootstrap = &files;
  }
  const Rank r = join(&options);
  if (mode == "freed") {
    // Freeing is local: who left the team to finalize asks about one that its first member has not.
    esp_team* team = nullptr;
    expect(r, esp_team_dup(r.world, &team) == ESP_OK, "no copy of the world");
    expect(r, esp_barrier(team) == ESP_OK, "a barrier failed");
    if (r.rank == 0) esp_team_free(team);
  } else if (mode == "lose") {
    std::vector<int> lost;
    for (int i = 5; i < argc; ++i) lost.push_back(std::atoi(argv[i]));
    lose(r, folder, lost);
  } else {
    expect(r, calculate(r, mode == "start" ? 1 : 30) == ESP_OK, "a sum failed");
    if (mode != "start") every_root(r);
    std::printf("OK rank %d\n", r.rank);
  }
  std::fflush(stdout);
  const esp_status end = esp_job_finalize(r.job);
  return end == ESP_OK || mode == "lose" ? 0 : 1;
}
