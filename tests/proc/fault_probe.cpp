// A rank of a job in which something goes wrong on purpose. Run under `esp-run --keep-going`; every
// rank that behaves prints one line "OK rank ..." or "BAD ...".
//
//   fault_probe die   OPERATION HOW      HOW: kill (SIGKILL inside an operation), exit (without
//                                        finalize) or between (SIGKILL), both between two
//   fault_probe stop  OPERATION [inside] the victim stops itself, before an operation or inside
//                                        one; the others time out and name it
//   fault_probe leave early          the victim finalizes while the others call once more
//   fault_probe leave KIND           ... while the others wait for a message of it: recv, large,
//                                    started, any (the same, waited for otherwise),
//                                    older (with a receive from another rank open); or
//                                    send it one that it does not receive: send; or have a receive
//                                    from it open and do other things: open
//   fault_probe late  MEMORY             a sender gives up, its receiver comes late; MEMORY of the
//                                        message: heap (esp_alloc) or private
//   fault_probe last  KIND               a mismatch in the last call of all: finalize tells
//   fault_probe remote HOW               HOW: kill or stop (of itself): the victim, while others
//                                        send it messages and get from its memory
//   fault_probe await HOW                HOW: kill, exit or stop (where silence is death): the
//                                        victim, while the others wait for a word of it
//   fault_probe slow target              one that answers seldom is asked for much
//   fault_probe mismatch KIND            root, count, type, op, order, kind, form
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/nodes/probe.hpp"

namespace {

constexpr int kVictim = 1;
constexpr int kRounds = 1000;
// 2 s are promised and 0.1 s usual; a machine that is busy with other things may take longer.
constexpr double kEndSeconds = 10.0;
constexpr double kPromisedSeconds = 2.0;  // where nothing but the death is waited for
constexpr std::size_t kElements = std::size_t{1} << 20;

esp_status operate(const Rank& r, const std::string& operation, std::vector<int>& in,
                   std::vector<int>& out) {
  if (operation == "bcast") return esp_bcast(r.world, in.data(), in.size(), ESP_INT32, 0);
  if (operation == "reduce") {
    return esp_reduce(r.world, in.data(), out.data(), in.size(), ESP_INT32, ESP_SUM, 0);
  }
  if (operation == "allreduce") {
    return esp_allreduce(r.world, in.data(), out.data(), in.size(), ESP_INT32, ESP_SUM);
  }
  const std::size_t share = in.size() / static_cast<std::size_t>(r.size);
  if (operation == "gather") {
    // Longer than what goes without a grant, or members would be many rounds ahead of their root.
    static std::vector<int> all(r.rank == 0 ? in.size() * static_cast<std::size_t>(r.size) : 0);
    return esp_gather(r.world, in.data(), all.data(), in.size(), ESP_INT32, 0);
  }
  if (operation == "neighbors") {  // on a ring that is made at first
    static esp_graph* ring = nullptr;
    const int closed = 1;
    if (ring == nullptr) {
      const esp_status made = esp_grid_create(r.world, 1, &r.size, &closed, &ring);
      if (made != ESP_OK) return made;
    }
    return esp_neighbor_alltoall(ring, in.data(), out.data(), share, ESP_INT32);
  }
  // 8 bytes: the short path.
  if (operation == "small") {
    return esp_allreduce(r.world, in.data(), out.data(), 2, ESP_INT32, ESP_SUM);
  }
  // The root does not wait for data, only for the others to have entered earlier operations.
  if (operation == "small_bcast") return esp_bcast(r.world, in.data(), 2, ESP_INT32, 0);
  if (operation == "polled") {
    esp_request* request = nullptr;
    esp_status status = esp_allreduce_start(r.world, in.data(), out.data(), 2, ESP_INT32, ESP_SUM,
                                            nullptr, nullptr, &request);
    for (int done = 0; request != nullptr && done == 0;) status = esp_request_test(&request, &done);
    return status;
  }
  if (operation == "counted") {
    std::int64_t left = 1;
    const esp_notify notify = {nullptr, nullptr, &left};
    esp_status status = esp_barrier_start(r.world, nullptr, &notify, nullptr);
    // For longer than operations may take. How it ended is told by the next call.
    if (status == ESP_OK) status = esp_counter_wait(r.job, &left, 0, 2 * kEndSeconds);
    if (status != ESP_OK) return status;
  }
  return esp_barrier(r.world);
}

// The victim leaves in the middle of a stream of operations; a timer makes it happen inside one.
void victim_plans(const std::string& how) {
  if (how != "kill" && how != "inside") return;  // Done between two operations, see below.
  struct sigaction action {};
  action.sa_handler = how == "kill" ? [](int) { ::raise(SIGKILL); } : [](int) { ::raise(SIGSTOP); };
  ::sigaction(SIGALRM, &action, nullptr);
  ::ualarm(100'000, 0);
}

void survive(const Rank& r, const std::string& operation, const std::string& how) {
  std::vector<int> in(kElements, r.rank), out(kElements);
  if (r.rank == kVictim) victim_plans(how);
  esp_status status = ESP_OK;
  double begin = 0;
  for (int round = 0; round < 100 * kRounds && status == ESP_OK; ++round) {
    if (r.rank == kVictim && round == 20) {
      if (how == "exit") std::_Exit(0);
      if (how == "between") ::raise(SIGKILL);
    }
    begin = esp_time();
    status = operate(r, operation, in, out);
  }
  const double took = esp_time() - begin;
  expect(r, status == ESP_ERR_PEER_DIED, std::string("status: ") + esp_status_text(status));
  const double limit = how == "between" ? kPromisedSeconds : kEndSeconds;
  expect(r, took < limit, "took " + std::to_string(took) + " s");
  const std::string name = "rank " + std::to_string(kVictim) + " ";
  expect(r, std::strstr(esp_team_error(r.world), name.c_str()) != nullptr, "does not name " + name);
  // The team stays failed, at once, and other teams cannot be made from it: no hang.
  expect(r, esp_barrier(r.world) == ESP_ERR_PEER_DIED, "barrier after a death");
  esp_team* dup = nullptr;
  expect(r, esp_team_dup(r.world, &dup) == ESP_ERR_PEER_DIED, "dup after a death");
  std::printf("OK rank %d: %.2f s, %s\n", r.rank, took, esp_team_error(r.world));
}

void outlast(const Rank& r, const std::string& operation, const std::string& how) {
  std::vector<int> in(kElements, r.rank), out(kElements);
  int pid = r.rank == kVictim ? static_cast<int>(::getpid()) : 0, victim_pid = 0;
  expect(r, esp_allreduce(r.world, &pid, &victim_pid, 1, ESP_INT32, ESP_SUM) == ESP_OK, "setup");
  if (r.rank == kVictim && how == "inside") victim_plans(how);
  if (r.rank == kVictim && how != "inside") ::raise(SIGSTOP);
  double begin = esp_time();
  esp_status status = ESP_OK;
  for (int round = 0; round < 100 * kRounds && status == ESP_OK; ++round) {
    begin = esp_time();
    status = operate(r, operation, in, out);
  }
  if (r.rank == kVictim) return;  // Continued after all; nobody counts on its line.
  const double took = esp_time() - begin;
  const std::string text = esp_team_error(r.world);
  expect(r, status == ESP_ERR_TIMEOUT, std::string("status: ") + esp_status_text(status));
  expect(r, took > 0.5 && took < kEndSeconds, "took " + std::to_string(took) + " s");
  const std::string name = std::to_string(kVictim) + " (stopped)";
  expect(r, text.find(name) != std::string::npos || text.find("rank 1") != std::string::npos,
         "does not name " + name);
  if (r.rank == 0) {
    // Of a rank on another node that cannot be seen.
    const std::string silent = std::to_string(kVictim) + " (does not answer)";
    expect(r, text.find(name) != std::string::npos || text.find(silent) != std::string::npos,
           "does not say that it is stopped");
    ::usleep(500'000);
    ::kill(victim_pid, SIGKILL);
  }
  std::printf("OK rank %d: %.2f s, %s\n", r.rank, took, text.c_str());
}

// What a sender that has given up writes into its buffer must not pass for the message.
void come_late(const Rank& r, const std::string& memory) {
  constexpr std::size_t kBytes = 512 << 10;
  std::vector<char> mine(kBytes, 0);
  char* data = memory == "heap" ? static_cast<char*>(esp_alloc(r.job, kBytes)) : mine.data();
  expect(r, data != nullptr, "no memory");
  expect(r, esp_barrier(r.world) == ESP_OK, "setup");  // Both know whether CMA works.
  esp_status status = ESP_OK;
  if (r.rank == 0) {
    std::memset(data, 1, kBytes);
    status = esp_send(r.world, data, kBytes, 1, 0);
    std::memset(data, 2, kBytes);
    const std::string text = esp_team_error(r.world);
    expect(r, text.find("524288 bytes") != std::string::npos, "does not name the message");
  } else {
    ::usleep(1'500'000);
    status = esp_recv(r.world, data, kBytes, 0, 0);
  }
  expect(r, status == ESP_ERR_TIMEOUT, std::string("status: ") + esp_status_text(status));
  std::printf("OK rank %d: %s\n", r.rank, esp_team_error(r.world));
}

// Messages and gets, until one tells that the victim is gone.
esp_status molest(const Rank& r, esp_region* region, bool gets, double& took) {
  std::vector<char> payload(8192);
  esp_status status = ESP_OK;
  double begin = 0;
  for (const double end = esp_time() + 30; status == ESP_OK && esp_time() < end;) {
    begin = esp_time();
    status = gets ? esp_get(region, kVictim, 0, payload.data(), payload.size())
                  : esp_am_send(r.job, kVictim, 1, 0, payload.data(), payload.size());
  }
  took = esp_time() - begin;
  return status;
}

// The others go on: each puts a word into the memory of each, and leaves when it has got theirs.
void tell_survivors(const Rank& r, esp_region* region) {
  const std::uint64_t word = 7;
  for (int other = 0; other < r.size; ++other) {
    if (other == kVictim) continue;
    const std::size_t place = 64 * static_cast<std::size_t>(r.rank);
    expect(r, esp_put(region, other, place, &word, sizeof word) == ESP_OK, "a put to the living");
  }
  const auto* mine = static_cast<const std::byte*>(esp_region_memory(region));
  for (int other = 0; other < r.size; ++other) {
    std::uint64_t got = 0;
    for (const double end = esp_time() + 20; got != word && esp_time() < end;) {
      (void)esp_progress(r.job);
      std::memcpy(&got, mine + 64 * other, sizeof got);
      if (other == kVictim) break;
    }
    expect(r, other == kVictim || got == word, "no put of a rank that lives");
  }
}

void reach_out(const Rank& r, const std::string& how) {
  esp_region* region = nullptr;
  expect(r, esp_region_create(r.world, 8192, &region) == ESP_OK, "setup");
  const esp_am_handler ignore = [](void*, int, uint64_t, const void*, size_t) {};
  expect(r, esp_am_register(r.job, 1, ignore, nullptr) == ESP_OK, "setup");
  int pid = r.rank == kVictim ? static_cast<int>(::getpid()) : 0, victim_pid = 0;
  expect(r, esp_allreduce(r.world, &pid, &victim_pid, 1, ESP_INT32, ESP_SUM) == ESP_OK, "setup");
  if (r.rank == kVictim) {
    for (const double end = esp_time() + 0.1; esp_time() < end;) (void)esp_progress(r.job);
    ::raise(how == "kill" ? SIGKILL : SIGSTOP);
    return;
  }
  const esp_status expected = how == "kill" ? ESP_ERR_PEER_DIED : ESP_ERR_TIMEOUT;
  for (const bool gets : {false, true}) {
    // Memory of this node is there whoever dies.
    if (gets && esp_region_pointer(region, kVictim) != nullptr) continue;
    double took = 0;
    const esp_status status = molest(r, region, gets, took);
    const std::string text = esp_job_error(r.job);
    expect(r, status == expected, std::string("status: ") + esp_status_text(status) + " " + text);
    expect(r, took < kEndSeconds, "took " + std::to_string(took) + " s");
    expect(r, text.find("rank 1") != std::string::npos, "does not name the victim: " + text);
  }
  tell_survivors(r, region);
  std::printf("OK rank %d: %s\n", r.rank, esp_job_error(r.job));
  std::fflush(stdout);
  if (r.rank != 0 || how == "kill") return;
  ::usleep(1'500'000);
  ::kill(victim_pid, SIGKILL);
}

// Nothing is under way to the victim: the others wait for a message that it will never send.
void wait_for_word(const Rank& r, const std::string& how) {
  std::int64_t left = 1;
  const esp_am_handler count_down = [](void* counter, int, uint64_t, const void*, size_t) {
    __atomic_fetch_sub(static_cast<std::int64_t*>(counter), 1, __ATOMIC_RELEASE);
  };
  expect(r, esp_am_register(r.job, 1, count_down, &left) == ESP_OK, "setup");
  expect(r, esp_job_check(r.job) == ESP_OK, "all are there");
  int pid = r.rank == kVictim ? static_cast<int>(::getpid()) : 0, victim_pid = 0;
  expect(r, esp_allreduce(r.world, &pid, &victim_pid, 1, ESP_INT32, ESP_SUM) == ESP_OK, "setup");
  // Everybody is out of that when the victim goes.
  char word = 0;
  for (int other = 0; r.rank == kVictim && other < r.size; ++other) {
    if (other == kVictim) continue;
    expect(r, esp_recv(r.world, &word, 1, other, 0) == ESP_OK, "setup");
  }
  if (r.rank == kVictim) {
    if (how == "exit") std::_Exit(0);
    ::raise(how == "kill" ? SIGKILL : SIGSTOP);
    return;
  }
  expect(r, esp_send(r.world, &word, 1, kVictim, 0) == ESP_OK, "setup");
  const double begin = esp_time();
  esp_status status = ESP_OK;
  if (r.rank % 2 == 0) {
    status = esp_counter_wait(r.job, &left, 0, 0);
  } else {
    for (; status == ESP_OK && esp_time() < begin + 30; ::usleep(50'000)) {
      (void)esp_progress(r.job);
      status = esp_job_check(r.job);
    }
  }
  const double took = esp_time() - begin;
  const std::string text = esp_job_error(r.job);
  expect(r, status == ESP_ERR_PEER_DIED, std::string("status: ") + esp_status_text(status));
  expect(r, took < kEndSeconds, "took " + std::to_string(took) + " s");
  expect(r, text.find("rank 1 died") == 0, "does not name the victim: " + text);
  // Words of the living still come, and what is not there yet is waited for.
  expect(r, left == 1 && esp_am_send(r.job, r.rank, 1, 0, nullptr, 0) == ESP_OK, "a word");
  expect(r, esp_counter_wait(r.job, &left, 0, 0) == ESP_OK, "a word came");
  expect(r, esp_job_check(r.job) == ESP_ERR_PEER_DIED, "the victim is still lost");
  std::printf("OK rank %d: %.2f s, %s\n", r.rank, took, text.c_str());
  if (how == "stop" && r.rank == 0) ::kill(victim_pid, SIGKILL);
}

// Much is asked of a rank that answers seldom: what waits its turn is not late.
void ask_slow_one(const Rank& r) {
  constexpr std::uint64_t kAsked = 6000;
  esp_region* region = nullptr;
  expect(r, esp_region_create(r.world, 8, &region) == ESP_OK, "setup");
  expect(r, esp_barrier(r.world) == ESP_OK, "setup");
  if (r.rank == kVictim) {
    for (const double end = esp_time() + 3; esp_time() < end; ::usleep(100'000)) {
      (void)esp_progress(r.job);
    }
    const auto* word = static_cast<const std::uint64_t*>(esp_region_memory(region));
    expect(r, *word > 0 && *word < kAsked, "answered nothing, or all at once");
  } else {
    struct Heard {
      std::uint64_t count = 0, wrong = 0;
    } heard;
    const auto note = [](void* context, esp_status status) {
      auto& told = *static_cast<Heard*>(context);
      ++told.count;
      told.wrong += status != ESP_OK ? 1 : 0;
    };
    const esp_notify notify = {note, &heard, nullptr};
    for (std::uint64_t i = 0; i < kAsked; ++i) {
      const esp_status status =
          esp_fetch_add_start(region, kVictim, 0, 1, nullptr, &notify, nullptr);
      expect(r, status == ESP_OK, "does not start");
    }
    while (heard.count < kAsked) (void)esp_progress(r.job);
    expect(r, heard.wrong == 0, std::to_string(heard.wrong) + " failed");
  }
  expect(r, esp_region_free(region) == ESP_OK, "free");
  std::printf("OK rank %d\n", r.rank);
}

esp_status differ(const Rank& r, const std::string& kind, std::vector<int>& in,
                  std::vector<int>& out) {
  const bool odd = r.rank == kVictim;
  const std::size_t n = kind.find("big") != std::string::npos ? kElements : 2;
  const auto is = [&](const char* name) { return kind.rfind(name, 0) == 0; };
  if (is("root")) return esp_bcast(r.world, in.data(), n, ESP_INT32, odd ? 1 : 0);
  if (is("count")) return esp_bcast(r.world, in.data(), odd ? n - 1 : n, ESP_INT32, 0);
  if (is("type")) {
    return esp_allreduce(r.world, in.data(), out.data(), n, odd ? ESP_UINT32 : ESP_INT32, ESP_SUM);
  }
  if (is("op")) {
    return esp_allreduce(r.world, in.data(), out.data(), n, ESP_INT32, odd ? ESP_MAX : ESP_SUM);
  }
  if (is("kind")) {
    return odd ? esp_reduce(r.world, in.data(), out.data(), n, ESP_INT32, ESP_SUM, 0)
               : esp_bcast(r.world, in.data(), n, ESP_INT32, 0);
  }
  if (is("form")) {
    if (!odd) return esp_bcast(r.world, in.data(), n, ESP_INT32, 0);
    esp_request* request = nullptr;
    const esp_status started =
        esp_bcast_start(r.world, in.data(), n, ESP_INT32, 0, nullptr, nullptr, &request);
    return started == ESP_OK ? esp_request_wait(&request) : started;
  }
  // order: two operations, exchanged on one rank
  const esp_status first =
      odd ? esp_barrier(r.world) : esp_bcast(r.world, in.data(), n, ESP_INT32, 0);
  return first != ESP_OK ? first
         : odd           ? esp_bcast(r.world, in.data(), n, ESP_INT32, 0)
                         : esp_barrier(r.world);
}

// Ranks that are complete before the others have called learn of it when they leave.
void differ_last(const Rank& r, const std::string& kind) {
  std::vector<int> in(kElements, r.rank), out(kElements);
  const esp_status status = differ(r, kind, in, out);
  expect(r, status == ESP_OK || status == ESP_ERR_MISMATCH,
         std::string("status: ") + esp_status_text(status));
  const esp_status end = esp_job_finalize(r.job);
  const bool told = status == ESP_ERR_MISMATCH || end == ESP_ERR_MISMATCH;
  std::printf("%s rank %d: %s, then %s\n", told ? "OK" : "BAD", r.rank, esp_status_text(status),
              esp_status_text(end));
}

// A receive that nobody waits for harms nobody, wherever its sender is.
void keep_open(const Rank& r) {
  char byte = 0, token = 0;
  esp_request* open = nullptr;
  expect(r, esp_recv_start(r.world, &byte, 1, kVictim, 0, nullptr, &open) == ESP_OK, "start");
  const int other = r.rank == 0 ? 2 : 0;
  for (int round = 0; r.rank != 3 && round < 50; ++round) {
    const esp_status sent = esp_send(r.world, &token, 1, other, 1);
    expect(r, sent == ESP_OK && esp_recv(r.world, &token, 1, other, 1) == ESP_OK, "talk");
    ::usleep(30'000);
  }
  std::printf("OK rank %d: still open\n", r.rank);
}

// Nobody of those that stay goes on before all of them are here.
void gather_those_that_stay(const Rank& r) {
  char token = 0;
  const auto talk = [&](int peer, bool send) {
    const esp_status status =
        send ? esp_send(r.world, &token, 1, peer, 2) : esp_recv(r.world, &token, 1, peer, 2);
    expect(r, status == ESP_OK, "a word among those that stay");
  };
  for (const bool back : {false, true}) {
    for (int peer = 1; peer < r.size; ++peer) {
      if (peer == kVictim) continue;
      if (r.rank == 0) talk(peer, back);
      if (r.rank == peer) talk(0, !back);
    }
  }
}

// A receive from the victim that was started is waited for.
esp_status wait_for_started(const Rank& r, void* data, const std::string& kind) {
  esp_request* request = nullptr;
  const esp_status status = esp_recv_start(r.world, data, 100, kVictim, 0, nullptr, &request);
  if (status != ESP_OK) return status;
  int index = -1;
  return kind == "any" ? esp_request_wait_any(&request, 1, &index) : esp_request_wait(&request);
}

// The victim has nothing more to do while the others call once more.
void leave_early(const Rank& r, const std::string& kind) {
  std::vector<char> small(100), large(std::size_t{32} << 20);
  if (r.rank == kVictim) {
    for (int peer = 0; peer < r.size; ++peer) {
      if (peer != r.rank)
        expect(r, esp_send(r.world, small.data(), 100, peer, 0) == ESP_OK, "send");
    }
    std::printf("OK rank %d: leaves\n", r.rank);
    return;
  }
  ::usleep(300'000);
  expect(r, esp_recv(r.world, small.data(), 100, kVictim, 0) == ESP_OK,
         "what it had sent before was lost");
  gather_those_that_stay(r);
  if (kind == "open") return keep_open(r);
  esp_status status = ESP_OK;
  if (kind == "early") {
    status = esp_barrier(r.world);
  } else if (kind == "recv") {
    status = esp_recv(r.world, small.data(), 100, kVictim, 0);
  } else if (kind == "large") {
    status = esp_recv(r.world, large.data(), large.size(), kVictim, 0);
  } else if (kind == "send") {
    status = esp_send(r.world, large.data(), large.size(), kVictim, 0);
  } else if (kind == "older") {
    esp_request *gone = nullptr, *other = nullptr;
    const int late = r.rank == 0 ? 2 : 0;
    status = esp_recv_start(r.world, small.data(), 100, kVictim, 0, nullptr, &gone);
    if (status == ESP_OK) {
      status = esp_recv_start(r.world, small.data(), 100, late, 7, nullptr, &other);
    }
    if (status == ESP_OK) status = esp_request_wait(&gone);
  } else {
    status = wait_for_started(r, small.data(), kind);
  }
  const std::string text = esp_team_error(r.world);
  expect(r, status == ESP_ERR_MISMATCH, std::string("status: ") + esp_status_text(status));
  expect(r,
         text.find("rank 1 finalizes") != std::string::npos ||
             text.find("another member gave up") != std::string::npos,
         "does not say who finalizes");
  std::printf("OK rank %d: %s\n", r.rank, text.c_str());
}

void disagree(const Rank& r, const std::string& kind) {
  std::vector<int> in(kElements, r.rank), out(kElements);
  const double begin = esp_time();
  esp_status status = differ(r, kind, in, out);
  // A rank whose part was complete before the others came learns of it in its next call.
  if (status == ESP_OK) status = esp_barrier(r.world);
  const double took = esp_time() - begin;
  const std::string text = esp_team_error(r.world);
  expect(r, status == ESP_ERR_MISMATCH, std::string("status: ") + esp_status_text(status));
  expect(r, took < kEndSeconds, "took " + std::to_string(took) + " s");
  expect(r,
         text.find(" called ") != std::string::npos && text.find("this rank") != std::string::npos,
         "does not name the other's call");
  std::printf("OK rank %d: %s\n", r.rank, text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string mode = argv[1];
  const Rank r = join();
  if (mode == "die") {
    survive(r, argv[2], argc > 3 ? argv[3] : "kill");
  } else if (mode == "stop") {
    outlast(r, argv[2], argc > 3 ? argv[3] : "before");
  } else if (mode == "leave") {
    leave_early(r, argv[2]);
  } else if (mode == "last") {
    differ_last(r, argv[2]);  // Finalizes.
    return 0;
  } else if (mode == "late") {
    come_late(r, argv[2]);
  } else if (mode == "remote") {
    reach_out(r, argv[2]);
  } else if (mode == "await") {
    wait_for_word(r, argv[2]);
  } else if (mode == "slow") {
    ask_slow_one(r);
  } else if (mode == "mismatch") {
    disagree(r, argv[2]);
  }
  std::fflush(stdout);
  (void)esp_job_finalize(r.job);
  return 0;
}
