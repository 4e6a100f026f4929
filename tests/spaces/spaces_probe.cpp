// A rank of a job whose ranks are in different namespaces; they meet in a folder.
//
//   spaces_probe MODE FOLDER RANK SIZE [VICTIM]
//
//   work    prints what the library says of the job, calculates, prints "OK ..." and what
//           travelled how
//   pull    broadcasts from rank 1 until rank 0 has read by CMA
//   lose    sums until one fails, which must be by the death of VICTIM; FOLDER/begun.RANK comes
//           after the first
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/nodes/folder.hpp"
#include "tests/nodes/probe.hpp"

namespace {

// In private memory, so that they are copied or pulled.
constexpr std::size_t kCounts[] = {1, 5'000, 200'000};

std::int64_t value(std::size_t i, int rank) {
  return static_cast<std::int64_t>(3 * i) + rank;
}

esp_status sum(const Rank& r, std::size_t count) {
  std::vector<std::int64_t> sums(count);
  for (std::size_t i = 0; i < count; ++i) sums[i] = value(i, r.rank);
  const esp_status status =
      esp_allreduce(r.world, ESP_IN_PLACE, sums.data(), count, ESP_INT64, ESP_SUM);
  const std::int64_t ranks = std::int64_t{r.size} * (r.size - 1) / 2;
  for (std::size_t i = 0; status == ESP_OK && i < count; ++i) {
    expect(r, sums[i] == r.size * value(i, 0) + ranks, "wrong sum at " + std::to_string(i));
  }
  return status;
}

esp_status broadcast(const Rank& r, std::size_t count, int root) {
  std::vector<std::int64_t> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = r.rank == root ? value(i, root) : -1;
  const esp_status status = esp_bcast(r.world, data.data(), count, ESP_INT64, root);
  for (std::size_t i = 0; status == ESP_OK && i < count; ++i) {
    expect(r, data[i] == value(i, root), "wrong data at " + std::to_string(i));
  }
  return status;
}

void describe(const Rank& r) {
  std::string text(esp_job_describe(r.job, nullptr, 0) + 1, '\0');
  (void)esp_job_describe(r.job, text.data(), text.size());
  std::printf("%s\n", text.c_str());
}

void work(const Rank& r) {
  describe(r);
  for (const std::size_t count : kCounts) {
    expect(r, sum(r, count) == ESP_OK, "a sum failed");
    for (int root = 0; root < r.size; ++root) {
      expect(r, broadcast(r, count, root) == ESP_OK, "a broadcast failed");
    }
  }
  std::printf("OK rank %d: %s by shared memory, %s by CMA, %s by sockets\n", r.rank,
              counter(r, "copy_out_bytes") > 0 ? "some" : "none",
              counter(r, "cma_bytes") > 0 ? "some" : "none",
              counter(r, "socket_calls") > 0 ? "some" : "none");
}

void pull(const Rank& r) {
  std::int64_t pulled = 0;
  for (int round = 0; pulled == 0; ++round) {
    expect(r, round < 10'000, "no CMA");
    expect(r, broadcast(r, 100'000, 1) == ESP_OK, "a broadcast failed");
    pulled = r.rank == 0 && counter(r, "cma_bytes") > 0 ? 1 : 0;
    expect(r, esp_bcast(r.world, &pulled, 1, ESP_INT64, 0) == ESP_OK, "the answer did not come");
  }
  std::printf("OK rank %d\n", r.rank);
}

void lose(const Rank& r, const std::string& folder, int victim) {
  expect(r, sum(r, 1) == ESP_OK, "the first sum failed");
  std::ofstream(folder + "/begun." + std::to_string(r.rank)) << "begun\n";
  esp_status status = ESP_OK;
  while (status == ESP_OK) status = sum(r, 1000);
  const std::string text = esp_team_error(r.world);
  expect(r, status == ESP_ERR_PEER_DIED, std::string(esp_status_text(status)) + ": " + text);
  expect(r, text.find("rank " + std::to_string(victim)) != std::string::npos, "names " + text);
  std::printf("OK rank %d: %s\n", r.rank, text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string mode = argv[1];
  Folder folder = {argv[2], std::atoi(argv[3]), std::atoi(argv[4])};
  const esp_bootstrap files = folder.bootstrap();
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.bootstrap = &files;
  char why[2000] = "";
  options.error_text = why;
  options.error_text_bytes = sizeof why;
  Rank r;
  if (esp_job_init(&options, &r.job) != ESP_OK) bad(r, std::string("no job: ") + why);
  r.world = esp_job_world(r.job);
  r.rank = esp_job_rank(r.job);
  r.size = esp_job_size(r.job);
  if (mode == "work") work(r);
  if (mode == "pull") pull(r);
  if (mode == "lose") lose(r, folder.path, std::atoi(argv[5]));
  std::fflush(stdout);
  const esp_status end = esp_job_finalize(r.job);
  return end == ESP_OK || mode == "lose" ? 0 : 1;
}
