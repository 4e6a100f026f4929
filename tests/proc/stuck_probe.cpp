// A rank of a job that is stuck, each in a way of its own; what they do is asked for by stuck.py.
//
//   stuck_probe parts     as PARTS below; none of them ends
//   stuck_probe thread    rank 0 in a barrier, the others compute
//   stuck_probe finalize  rank 1 computes, the others are in esp_job_finalize
#include <signal.h>
#include <unistd.h>

#include "tests/nodes/probe.hpp"

namespace {

[[noreturn]] void compute() {
  volatile unsigned turns = 0;
  for (;;) turns = turns + 1;
}

[[noreturn]] void sleep_outside() {
  for (;;) ::pause();
}

[[noreturn]] void poll(const Rank& r, int from) {
  int word = 0, done = 0;
  esp_request* request = nullptr;
  expect(r, esp_recv_start(r.world, &word, sizeof word, from, 6, nullptr, &request) == ESP_OK, "");
  while (true) (void)esp_request_test(&request, &done);
}

// What another rank sends meets a callback that does not return.
[[noreturn]] void be_in_callback(const Rank& r, int from) {
  static int word;
  const esp_notify notify = {[](void*, esp_status) { compute(); }, nullptr, nullptr};
  (void)esp_recv_start(r.world, &word, sizeof word, from, 7, &notify, nullptr);
  (void)esp_barrier(r.world);
  bad(r, "the barrier has ended");
}

void receive(const Rank& r, int from) {
  double words[2] = {};
  (void)esp_recv(r.world, words, sizeof words, from, 5);
}

// PARTS: what each rank does.
void play_parts(const Rank& r) {
  const int word = 1;
  switch (r.rank) {
    case 0:
      (void)esp_send(r.world, &word, sizeof word, 6, 7);
      (void)esp_barrier(r.world);
      break;
    case 1:
    case 5:
      receive(r, 2);
      break;
    case 2:
      compute();
    case 3:
      (void)::raise(SIGSTOP);
      break;
    case 4:
      poll(r, 3);
    case 6:
      be_in_callback(r, 0);
    default:
      sleep_outside();
  }
  bad(r, "went on");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scene = argc > 1 ? argv[1] : "";
  const Rank r = join();
  std::printf("up\n");
  std::fflush(stdout);
  if (scene == "parts") play_parts(r);
  if (scene == "thread" && r.rank == 0) (void)esp_barrier(r.world);
  if (scene == "finalize" && r.rank != 1) return esp_job_finalize(r.job) == ESP_OK ? 0 : 1;
  compute();
}
