// A bootstrap for ranks that are threads of one process: what a runtime with its own launcher
// brings, in its smallest form.
//
// One Meeting per job; each rank's thread calls of(rank) and passes the result to esp_job_init. The
// Meeting outlives the jobs. Threads: made for concurrent use. path: setup
#pragma once

#include <barrier>
#include <cstddef>
#include <cstring>
#include <vector>

#include "espalier/espalier.h"
#include "tests/support/rank_check.hpp"

namespace test {

class Meeting {
 public:
  explicit Meeting(int size) : barrier_(size), seats_(static_cast<std::size_t>(size)) {
    for (int r = 0; r < size; ++r) seats_[static_cast<std::size_t>(r)] = {this, r, nullptr};
  }

  esp_bootstrap of(int rank) {
    return {&seats_[static_cast<std::size_t>(rank)], rank, static_cast<int>(seats_.size()),
            &Meeting::allgather, nullptr};
  }

 private:
  struct Seat {
    Meeting* meeting;
    int rank;
    const void* contribution;
  };

  static int allgather(void* context, const void* mine, std::size_t bytes, void* all) {
    Seat& seat = *static_cast<Seat*>(context);
    Meeting& meeting = *seat.meeting;
    seat.contribution = mine;
    meeting.barrier_.arrive_and_wait();
    auto* out = static_cast<unsigned char*>(all);
    for (const Seat& other : meeting.seats_) {
      std::memcpy(out, other.contribution, bytes);
      out += bytes;
    }
    meeting.barrier_.arrive_and_wait();  // Nobody's contribution goes before all have read it.
    return 0;
  }

  std::barrier<> barrier_;
  std::vector<Seat> seats_;
};

inline Opened try_open(Meeting& meeting, int rank, esp_thread_mode mode) {
  const esp_bootstrap bootstrap = meeting.of(rank);
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.bootstrap = &bootstrap;
  options.thread_mode = mode;
  return open_job(options);
}

// The job of one rank of the meeting; nullptr, and a failed check, when there is none.
inline esp_job* open(Meeting& meeting, int rank, esp_thread_mode mode = ESP_THREAD_OWNER) {
  const Opened opened = try_open(meeting, rank, mode);
  CHECK(opened.status == ESP_OK, "rank {}: {} {}", rank, esp_status_text(opened.status),
        opened.text);
  return opened.job;
}

}  // namespace test
