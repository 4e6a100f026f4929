// Callbacks and handlers that meddle with the team in whose blocking call their owner waits, and
// members that go their own ways while others are at it. Run under `esp-run --keep-going`; every
// rank that behaves prints one line "OK rank ..." or "BAD ...".
//
//   nested_probe starts    a callback starts the next operation while a barrier of a cache line
//                          waits
//   nested_probe slots     a handler does so while a broadcast waits for its slot to be free
//   nested_probe overtaken ... while a broadcast waits for its root, which goes on and on
//   nested_probe frees     a handler frees the team in whose barrier, or receive, its owner waits
//   nested_probe frees_failed
//                          a callback does so when the team fails under a blocking call
//   nested_probe freed     a member calls once more on a team that the other has freed and left
//   nested_probe arena     the victim dies with messages that it has not read: the team of the
//                          others goes on
//   nested_probe boards    a team that is made too late for one member is not one of freed memory
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/nodes/probe.hpp"

namespace {

constexpr int kVictim = 1;

void sleep_ms(unsigned ms) {
  ::usleep(ms * 1000);
}

void expect_ok(const Rank& r, esp_status status, const char* what) {
  expect(r, status == ESP_OK, std::string(what) + ": " + esp_status_text(status));
}

template <typename Done>
void progress_until(const Rank& r, Done&& done) {
  for (const double end = esp_time() + 20; !done();) {
    expect(r, esp_time() < end, "nobody has called back");
    (void)esp_progress(r.job);
  }
}

// What a handler or a callback does, once.
struct Meddler {
  esp_job* job = nullptr;
  esp_team* team = nullptr;
  esp_request* answer = nullptr;
  bool told = false;
  esp_status status = ESP_IN_PROGRESS;
  esp_request* request = nullptr;

  void start_barrier() { status = esp_barrier_start(team, nullptr, nullptr, &request); }
  void tell(int rank) {  // that it has been done
    (void)esp_am_send_start(job, rank, 2, 0, nullptr, 0, nullptr, &answer);
  }
  void free_team() { status = esp_team_free(team); }
};
Meddler meddler;

void start_from_a_callback(const Rank& r) {
  meddler.team = r.world;
  char word = 0;
  if (r.rank == 1) {
    const esp_notify notify = {[](void*, esp_status) { meddler.start_barrier(); }, nullptr,
                               nullptr};
    expect_ok(r, esp_recv_start(r.world, &word, 1, 0, 0, &notify, nullptr), "receive");
  } else if (r.rank == 0) {
    sleep_ms(50);
    expect_ok(r, esp_send(r.world, &word, 1, 1, 0), "send");
    sleep_ms(50);
  } else {
    sleep_ms(200);
  }
  expect_ok(r, esp_barrier(r.world), "the first barrier");
  if (r.rank != 1) meddler.start_barrier();
  progress_until(r, [] { return meddler.status != ESP_IN_PROGRESS; });
  expect_ok(r, meddler.status, "start of the second barrier");
  expect_ok(r, esp_request_wait(&meddler.request), "the second barrier");
  std::printf("OK rank %d\n", r.rank);
}

// The slots of 32 operations: the root waits until the other has entered the one whose slot it
// needs.
void start_from_a_handler(const Rank& r) {
  constexpr int kBefore = 33, kAfter = 8;
  meddler.team = r.world;
  const esp_am_handler start = [](void*, int, std::uint64_t, const void*, std::size_t) {
    meddler.start_barrier();
    meddler.tell(1);
  };
  meddler.job = r.job;
  expect_ok(r, esp_am_register(r.job, 1, start, nullptr), "register");
  const esp_am_handler note = [](void*, int, std::uint64_t, const void*, std::size_t) {
    meddler.told = true;
  };
  expect_ok(r, esp_am_register(r.job, 2, note, nullptr), "register");
  expect_ok(r, esp_barrier(r.world), "setup");
  for (std::uint64_t i = 0; i < kBefore + kAfter; ++i) {
    if (r.rank == 1 && i == 1) {  // The root is past the barrier, and waits in its 33rd broadcast.
      expect_ok(r, esp_am_send(r.job, 0, 1, 0, nullptr, 0), "a word");
      progress_until(r, [] { return meddler.told; });
    }
    if (r.rank == 1 && i == kBefore) meddler.start_barrier();
    std::uint64_t word = r.rank == 0 ? i : ~i;
    expect_ok(r, esp_bcast(r.world, &word, 1, ESP_UINT64, 0), "a broadcast");
    expect(r, word == i, "broadcast " + std::to_string(i) + " brought " + std::to_string(word));
  }
  expect_ok(r, meddler.status, "start of the barrier");
  expect_ok(r, esp_request_wait(&meddler.request), "the barrier");
  std::printf("OK rank %d\n", r.rank);
}

// Rank 1 waits, asleep, for a message of rank 0 that makes it start the next operation, and for the
// broadcasts behind, of sizes that stand in slots and in pages.
void be_overtaken(const Rank& r) {
  for (const std::size_t words : {std::size_t{1}, std::size_t{25}}) {
    const int more = words == 1 ? 33 : 9;
    esp_team* team = nullptr;
    expect_ok(r, esp_team_dup(r.world, &team), "dup");
    meddler = {};
    meddler.team = team;
    char word = 0;
    std::vector<std::uint64_t> data(words);
    const esp_notify notify = {[](void*, esp_status) { meddler.start_barrier(); }, nullptr,
                               nullptr};
    if (r.rank == 1) {
      expect_ok(r, esp_recv_start(r.world, &word, 1, 0, 0, &notify, nullptr), "receive");
    } else {
      sleep_ms(100);  // Else the callback comes before the broadcast, and nothing is tried.
      expect_ok(r, esp_send(r.world, &word, 1, 1, 0), "send");
      sleep_ms(100);
    }
    for (std::uint64_t i = 0; i <= static_cast<std::uint64_t>(more); ++i) {
      std::fill(data.begin(), data.end(), r.rank == 0 ? i : ~i);
      expect_ok(r, esp_bcast(team, data.data(), words, ESP_UINT64, 0), "a broadcast");
      expect(r, data.front() == i && data.back() == i,
             "broadcast " + std::to_string(i) + " brought " + std::to_string(data.back()));
      if (i == 0 && r.rank == 0) meddler.start_barrier();
    }
    progress_until(r, [] { return meddler.status != ESP_IN_PROGRESS; });
    expect_ok(r, meddler.status, "start of the barrier");
    expect_ok(r, esp_request_wait(&meddler.request), "the barrier");
    expect_ok(r, esp_team_free(team), "free");
  }
  std::printf("OK rank %d\n", r.rank);
}

// Ranks 0 and 2 are in a large allreduce when the victim dies. Rank 0 has a receive, too, that
// fails with it.
void free_from_a_failing_call(const Rank& r) {
  expect_ok(r, esp_team_dup(r.world, &meddler.team), "dup");
  char word = 0;
  const esp_notify notify = {[](void*, esp_status) { meddler.free_team(); }, nullptr, nullptr};
  if (r.rank == 0) {
    expect_ok(r, esp_recv_start(meddler.team, &word, 1, kVictim, 0, &notify, nullptr), "receive");
  }
  expect_ok(r, esp_barrier(r.world), "setup");
  if (r.rank == kVictim) {
    sleep_ms(200);
    ::raise(SIGKILL);
  }
  std::vector<std::uint64_t> data(1 << 17, 1);
  const esp_status status =
      esp_allreduce(meddler.team, ESP_IN_PLACE, data.data(), data.size(), ESP_UINT64, ESP_SUM);
  expect(r, status == ESP_ERR_PEER_DIED, std::string("allreduce: ") + esp_status_text(status));
  if (r.rank == 0) {
    expect(r, meddler.status == ESP_ERR_STATE,
           std::string("free in the callback: ") + esp_status_text(meddler.status));
  }
  expect_ok(r, esp_team_free(meddler.team), "free");
  std::printf("OK rank %d\n", r.rank);
}

void free_from_a_handler(const Rank& r) {
  const esp_am_handler free_it = [](void*, int, std::uint64_t, const void*, std::size_t) {
    meddler.free_team();
    meddler.tell(1);
  };
  const esp_am_handler note = [](void*, int, std::uint64_t, const void*, std::size_t) {
    meddler.told = true;
  };
  meddler.job = r.job;
  expect_ok(r, esp_am_register(r.job, 1, free_it, nullptr), "register");
  expect_ok(r, esp_am_register(r.job, 2, note, nullptr), "register");
  for (const bool message : {false, true}) {
    char word = 0;
    expect_ok(r, esp_team_dup(r.world, &meddler.team), "dup");
    meddler.status = ESP_IN_PROGRESS;
    meddler.told = false;
    if (r.rank == 0) {
      expect_ok(r, esp_send(r.world, &word, 1, 1, 7), "the team is there");
      if (message) expect_ok(r, esp_recv(meddler.team, &word, 1, 1, 0), "receive");
    } else {
      expect_ok(r, esp_recv(r.world, &word, 1, 0, 7), "the team is there");
      expect_ok(r, esp_am_send(r.job, 0, 1, 0, nullptr, 0), "a word");
      progress_until(r, [] { return meddler.told; });
      if (message) expect_ok(r, esp_send(meddler.team, &word, 1, 0, 0), "send");
    }
    expect_ok(r, esp_barrier(meddler.team), "barrier");
    expect(r, meddler.status == (r.rank == 0 ? ESP_ERR_STATE : ESP_IN_PROGRESS),
           std::string("free in the handler: ") + esp_status_text(meddler.status));
    expect_ok(r, esp_team_free(meddler.team), "free");
  }
  std::printf("OK rank %d\n", r.rank);
}

void call_on_a_freed_team(const Rank& r) {
  esp_team* team = nullptr;
  expect_ok(r, esp_team_dup(r.world, &team), "dup");
  for (int i = 0; i < 5; ++i) expect_ok(r, esp_barrier(team), "barrier");
  if (r.rank == kVictim) {
    expect_ok(r, esp_team_free(team), "free");
  } else {
    const double begin = esp_time();
    const esp_status status = esp_barrier(team);
    expect(r, status == ESP_ERR_MISMATCH, std::string("barrier: ") + esp_status_text(status));
    expect(r, std::string(esp_team_error(team)).find("rank 1") != std::string::npos,
           "the text names nobody");
    expect(r, esp_time() - begin < 5, "took too long");
    expect_ok(r, esp_team_free(team), "free");
  }
  // Nobody finalizes meanwhile.
  expect_ok(r, esp_barrier(r.world), "the end");
  std::printf("OK rank %d\n", r.rank);
}

void lose_a_reader(const Rank& r) {
  esp_team* team = nullptr;
  expect_ok(r, esp_team_split(r.world, r.rank == kVictim ? ESP_NO_TEAM : 0, r.rank, &team),
            "split");
  if (r.rank == kVictim) {
    sleep_ms(200);
    ::raise(SIGKILL);
  }
  std::vector<char> data(64 << 10);
  if (r.rank == 0) {
    for (int i = 0; i < 4; ++i) {
      expect_ok(r, esp_send(r.world, data.data(), 1000, kVictim, 0), "to the victim");
    }
    sleep_ms(500);
  }
  for (int i = 0; i < 400; ++i) {
    std::fill(data.begin(), data.end(), static_cast<char>(r.rank == 0 ? i : ~i));
    const esp_status status = esp_bcast(team, data.data(), data.size(), ESP_BYTE, 0);
    expect(r, status == ESP_OK, "broadcast " + std::to_string(i) + ": " + esp_team_error(team));
    expect(r, data.front() == static_cast<char>(i) && data.back() == static_cast<char>(i), "bytes");
  }
  std::printf("OK rank %d\n", r.rank);
}

// Rank 1 is kept in a handler until rank 0, which gives the board, has given up.
void make_a_team_too_late(const Rank& r) {
  const esp_am_handler stay = [](void*, int, std::uint64_t, const void*, std::size_t) {
    sleep_ms(1500);
  };
  expect_ok(r, esp_am_register(r.job, 1, stay, nullptr), "register");
  expect_ok(r, esp_barrier(r.world), "setup");
  if (r.rank == 0) {
    expect_ok(r, esp_am_send(r.job, 1, 1, 0, nullptr, 0), "a word");
    sleep_ms(100);
  }
  esp_team* team = nullptr;
  const esp_status status = esp_team_dup(r.world, &team);
  if (r.rank == 0) {
    expect(r, status == ESP_ERR_TIMEOUT, std::string("dup: ") + esp_status_text(status));
    std::vector<unsigned char*> blocks;
    constexpr std::size_t kBytes = 4096;
    while (blocks.size() < 64) {
      auto* block = static_cast<unsigned char*>(esp_alloc(r.job, kBytes));
      expect(r, block != nullptr, "no memory");
      std::fill(block, block + kBytes, 0xAB);
      blocks.push_back(block);
    }
    sleep_ms(2500);
    for (const unsigned char* block : blocks) {
      expect(r, std::count(block, block + kBytes, 0xAB) == kBytes, "somebody wrote there");
    }
  } else if (status == ESP_OK) {
    sleep_ms(200);
    esp_request* request = nullptr;
    (void)esp_barrier_start(team, nullptr, nullptr, &request);
  }
  std::printf("OK rank %d\n", r.rank);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string mode = argv[1];
  const Rank r = join();
  if (mode == "starts") start_from_a_callback(r);
  if (mode == "slots") start_from_a_handler(r);
  if (mode == "overtaken") be_overtaken(r);
  if (mode == "frees") free_from_a_handler(r);
  if (mode == "frees_failed") free_from_a_failing_call(r);
  if (mode == "freed") call_on_a_freed_team(r);
  if (mode == "arena") lose_a_reader(r);
  if (mode == "boards") make_a_team_too_late(r);
  std::fflush(stdout);
  (void)esp_job_finalize(r.job);
  return 0;
}
