// What ranks do about one that is lost, or from inside a handler, in the order in which it is
// delicate. Run under `esp-run --keep-going`; every rank that behaves prints one line "OK rank ..."
// or "BAD ...".
//
//   lost_probe posts     small messages to a rank that the network has lost, before the team has
//                        failed
//   lost_probe flood     a rank polls for an operation whose member on its node has died, while
//                        messages of another come all the time
//   lost_probe handlers  a handler sends to a rank that is not connected yet, and waits for the
//                        request
//   lost_probe either    one of two that could end a wait is in finalize, the other comes late
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/nodes/probe.hpp"

namespace {

constexpr int kVictim = 1;

// The sends complete at once while the peer is there.
void post_to_the_lost(const Rank& r) {
  std::uint64_t word = 7;
  esp_request* request = nullptr;
  for (int other = 0; other < r.size; ++other) {
    if (r.rank == kVictim && other != kVictim) {
      expect(r, esp_recv(r.world, &word, sizeof word, other, 0) == ESP_OK, "setup");
    }
  }
  if (r.rank == kVictim) ::raise(SIGKILL);
  expect(r, esp_send_start(r.world, &word, sizeof word, kVictim, 0, nullptr, &request) == ESP_OK,
         "setup");
  expect(r, esp_request_wait(&request) == ESP_OK, "setup");
  for (const double end = esp_time() + 20; esp_job_check(r.job) == ESP_OK;) {
    expect(r, esp_time() < end, "nobody tells of the death");
    (void)esp_progress(r.job);
  }
  for (int round = 0; round < 20; ++round) {
    // The link knows, too, once something was posted to it.
    const esp_status started =
        esp_send_start(r.world, &word, sizeof word, kVictim, 0, nullptr, &request);
    const esp_status ended = started == ESP_OK ? esp_request_wait(&request) : started;
    (void)esp_progress(r.job);
    if (round < 10) continue;
    expect(r, ended == ESP_ERR_PEER_DIED || ended == ESP_ERR_NETWORK,
           std::string("a send to the dead: ") + esp_status_text(ended));
  }
  std::printf("OK rank %d: %s\n", r.rank, esp_team_error(r.world));
}

// Of four ranks on two nodes the victim is on that of rank 0; rank 2 sends.
void poll_in_a_flood(const Rank& r) {
  constexpr double kFloodSeconds = 8, kEndSeconds = 4;
  static std::int64_t heard = 0;
  const esp_am_handler count = [](void*, int, std::uint64_t, const void*, std::size_t) { ++heard; };
  expect(r, esp_am_register(r.job, 1, count, nullptr) == ESP_OK, "setup");
  expect(r, esp_barrier(r.world) == ESP_OK, "setup");
  if (r.rank == kVictim) ::raise(SIGKILL);
  const double begin = esp_time();
  while (r.rank == 2 && esp_time() < begin + kFloodSeconds) {
    if (esp_am_send(r.job, 0, 1, 0, nullptr, 0) != ESP_OK) break;
  }
  if (r.rank == 0) {
    int mine = 1, sum = 0, done = 0;
    esp_request* request = nullptr;
    expect(r,
           esp_allreduce_start(r.world, &mine, &sum, 1, ESP_INT32, ESP_SUM, nullptr, nullptr,
                               &request) == ESP_OK,
           "setup");
    esp_status status = ESP_IN_PROGRESS;
    while (status == ESP_IN_PROGRESS) status = esp_request_test(&request, &done);
    const double took = esp_time() - begin;
    expect(r, status == ESP_ERR_PEER_DIED, std::string("status: ") + esp_status_text(status));
    expect(r, took < kEndSeconds, "took " + std::to_string(took) + " s");
    expect(r, heard > 100, "only " + std::to_string(heard) + " messages came");
  }
  std::printf("OK rank %d\n", r.rank);
}

// Rank 1 tells rank 0, whose handler tells rank 2.
void wait_in_a_handler(const Rank& r) {
  struct Relay {
    esp_job* job;
    int told = 0;
    esp_status sent = ESP_OK, waited = ESP_OK;
  };
  static Relay relay{r.job};
  const esp_am_handler hand_on = [](void*, int, std::uint64_t, const void*, std::size_t) {
    esp_request* request = nullptr;
    ++relay.told;
    if (esp_job_rank(relay.job) != 0) return;
    relay.sent = esp_am_send_start(relay.job, 2, 1, 0, nullptr, 0, nullptr, &request);
    if (relay.sent == ESP_OK) relay.waited = esp_request_wait(&request);
  };
  expect(r, esp_am_register(r.job, 1, hand_on, nullptr) == ESP_OK, "setup");
  if (r.rank == 1) expect(r, esp_am_send(r.job, 0, 1, 0, nullptr, 0) == ESP_OK, "a word");
  for (const double end = esp_time() + 20; r.rank != 1 && relay.told == 0;) {
    expect(r, esp_time() < end, "no word came");
    (void)esp_progress(r.job);
  }
  expect(r, relay.sent == ESP_OK && (relay.waited == ESP_OK || relay.waited == ESP_ERR_STATE),
         std::string("in the handler: ") + esp_status_text(relay.waited));
  std::printf("OK rank %d\n", r.rank);
}

void wait_for_either(const Rank& r) {
  char words[2] = {};
  expect(r, esp_barrier(r.world) == ESP_OK, "setup");
  if (r.rank == 2) {
    ::usleep(1'500'000);
    expect(r, esp_send(r.world, words, 1, 0, 5) == ESP_OK, "a word of who comes late");
  } else if (r.rank == 0) {
    esp_request* requests[2] = {};
    for (const int i : {0, 1}) {
      expect(r, esp_recv_start(r.world, &words[i], 1, i + 1, 5, nullptr, &requests[i]) == ESP_OK,
             "setup");
    }
    int index = -1;
    const esp_status status = esp_request_wait_any(requests, 2, &index);
    expect(r, status == ESP_OK && index == 1, std::string("status: ") + esp_status_text(status));
  }
  std::printf("OK rank %d\n", r.rank);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string mode = argv[1];
  Rank r = join();
  if (mode == "posts") post_to_the_lost(r);
  if (mode == "flood") poll_in_a_flood(r);
  if (mode == "either") wait_for_either(r);
  if (mode == "handlers") wait_in_a_handler(r);
  std::fflush(stdout);
  (void)esp_job_finalize(r.job);
  return 0;
}
