// A rank of a job that somebody stops for longer than its limits.
//
//   paused_probe OPERATION FILE   rank 1 does its part when FILE is there, and does not look at the
//                                 network until then; the others wait for it
//   paused_probe seldom           nobody stops: a rank that polls ten times a second comes to its
//                                 limit in time
//
// OPERATION: small, bcast, polled, counted, recv. Every rank that behaves prints "OK rank".
#include <unistd.h>

#include "tests/nodes/probe.hpp"

namespace {

constexpr int kLate = 1;
constexpr std::size_t kElements = std::size_t{1} << 20;

esp_status operate(const Rank& r, const std::string& operation) {
  static std::vector<int> in(kElements, 1), out(kElements);
  if (operation == "small") {
    return esp_allreduce(r.world, in.data(), out.data(), 2, ESP_INT32, ESP_SUM);
  }
  if (operation == "bcast") return esp_bcast(r.world, in.data(), in.size(), ESP_INT32, kLate);
  if (operation == "recv") {
    if (r.rank != kLate) return esp_recv(r.world, out.data(), sizeof(int), kLate, 0);
    esp_status status = ESP_OK;
    for (int to = 0; to < r.size && status == ESP_OK; ++to) {
      if (to != kLate) status = esp_send(r.world, in.data(), sizeof(int), to, 0);
    }
    return status;
  }
  if (operation == "counted") {
    std::int64_t left = 1;
    const esp_notify notify = {nullptr, nullptr, &left};
    const esp_status status = esp_barrier_start(r.world, nullptr, &notify, nullptr);
    return status == ESP_OK ? esp_counter_wait(r.job, &left, 0, 2.0) : status;
  }
  esp_request* request = nullptr;
  esp_status status = esp_allreduce_start(r.world, in.data(), out.data(), 2, ESP_INT32, ESP_SUM,
                                          nullptr, nullptr, &request);
  for (int done = 0; request != nullptr && done == 0; ::usleep(100'000)) {
    status = esp_request_test(&request, &done);
  }
  return status;
}

void say(const Rank& r, const char* what) {
  std::printf("%s rank %d\n", what, r.rank);
  std::fflush(stdout);
}

void be_paused(const Rank& r, const std::string& operation, const char* file) {
  expect(r, esp_barrier(r.world) == ESP_OK, "setup");
  say(r, "WAITS");
  while (r.rank == kLate && ::access(file, F_OK) != 0) ::usleep(1'000);
  const esp_status status = operate(r, operation);
  expect(r, status == ESP_OK, std::string("status: ") + esp_status_text(status));
}

void poll_seldom(const Rank& r) {
  if (r.rank == kLate) {
    ::sleep(4);
    return;
  }
  const double begin = esp_time();
  const esp_status status = operate(r, "polled");
  const double took = esp_time() - begin;
  expect(r, status == ESP_ERR_TIMEOUT, std::string("status: ") + esp_status_text(status));
  expect(r, took > 0.9 && took < 3, "took " + std::to_string(took) + " s");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string operation = argv[1];
  const Rank r = join();
  if (operation == "seldom") {
    poll_seldom(r);
  } else {
    be_paused(r, operation, argv[2]);
  }
  (void)esp_job_finalize(r.job);
  say(r, "OK");
  return 0;
}
