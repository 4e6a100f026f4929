// A rank of a job in which a message by tag does not come. Run under `esp-run --keep-going`; every
// rank that behaves prints one line "OK rank ..." or "BAD ...".
//
//   tags_probe HOW WAIT   HOW: what rank 1 does instead: kill (SIGKILL), stop (SIGSTOP) or leave
//                         (finalize). WAIT: what the others have called: recv (from it), any
//                         (source), probe, large (an announced message to it), polled (recv,
//                         tested)
//   tags_probe early WAIT rank 1 sends what the others want, and dies: it comes before the death
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/nodes/probe.hpp"

namespace {

constexpr int kVictim = 1;
constexpr double kEndSeconds = 10.0;  // 1 s are usual

esp_status wait_for_victim(const Rank& r, const std::string& what) {
  static std::vector<char> large(1 << 20);
  std::uint64_t word = 0;
  esp_tag_info info;
  if (what == "recv") {
    return esp_tag_recv(r.world, &word, 1, ESP_UINT64, kVictim, 7, ESP_TAG_EXACT, &info);
  }
  if (what == "any") {
    return esp_tag_recv(r.world, &word, 1, ESP_UINT64, ESP_ANY_SOURCE, 7, ESP_TAG_EXACT, &info);
  }
  if (what == "probe") return esp_tag_probe(r.world, kVictim, 7, ESP_TAG_EXACT, &info, nullptr);
  if (what == "large") {
    return esp_tag_send(r.world, large.data(), large.size(), ESP_BYTE, kVictim, 8);
  }
  esp_request* request = nullptr;
  esp_status status = esp_tag_recv_start(r.world, &word, 1, ESP_UINT64, kVictim, 7, ESP_TAG_EXACT,
                                         &info, nullptr, &request);
  for (int done = 0; request != nullptr && done == 0;) status = esp_request_test(&request, &done);
  return status;
}

esp_status expected(const std::string& how) {
  if (how == "stop") return ESP_ERR_TIMEOUT;
  return how == "leave" ? ESP_ERR_MISMATCH : ESP_ERR_PEER_DIED;
}

void act(const Rank& r, const std::string& how) {
  if (how == "early") {
    const std::uint64_t word = 5;
    for (int to = 0; to < r.size; ++to) {
      if (to != kVictim) (void)esp_tag_send(r.world, &word, 1, ESP_UINT64, to, 7);
    }
  }
  if (how == "leave") return;
  // The others wait by then, mostly: either way it is right.
  ::usleep(100'000);
  ::kill(::getpid(), how == "stop" ? SIGSTOP : SIGKILL);
}

void check(const Rank& r, const std::string& how, const std::string& what, esp_status status) {
  const std::string text = esp_job_error(r.job);
  if (how == "early") {
    expect(r, status == ESP_OK, "the message was there first");
    return;
  }
  expect(r, status == expected(how), std::string("ended with: ") + esp_status_text(status));
  const bool names = text.find("rank 1") != std::string::npos ||
                     (what == "any" && text.find("any rank") != std::string::npos);
  expect(r, names, "the text does not name rank 1: " + text);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string how = argv[1], what = argv[2];
  const Rank r = join();
  auto victim_pid = static_cast<std::int64_t>(::getpid());
  expect(r, esp_bcast(r.world, &victim_pid, 1, ESP_INT64, kVictim) == ESP_OK, "a broadcast");
  esp_team* others = nullptr;
  const int color = r.rank == kVictim ? ESP_NO_TEAM : 0;
  expect(r, esp_team_split(r.world, color, 0, &others) == ESP_OK, "a team");
  if (r.rank == kVictim) {
    act(r, how);
  } else {
    const double begin = esp_time();
    const esp_status status = wait_for_victim(r, what);
    check(r, how, what, status);
    expect(r, esp_time() - begin < kEndSeconds, "too late");
    // Who is stopped does not end by itself.
    expect(r, esp_barrier(others) == ESP_OK, "those who are left go on");
    if (how == "stop" && r.rank == 0) ::kill(static_cast<pid_t>(victim_pid), SIGKILL);
  }
  std::printf("OK rank %d\n", r.rank);
  std::fflush(stdout);
  (void)esp_job_finalize(r.job);
  return 0;
}
