// Partial: what a request has besides, where it was asked for (esp_partial): arrivals that it hands
// out, partitions that it awaits. And Partials, which brings news of them to the owner.
//
// Ownership: the job's pool; a request's until that is released. Threads: owner, but note(): any.
// path: setup (made with a request), data (the rest)
#pragma once

#include <atomic>
#include <memory>

#include "api/arrivals.hpp"
#include "api/partitions.hpp"
#include "api/separate.hpp"
#include "coll/device/stream_order.hpp"
#include "coll/engine/engine.hpp"
#include "core/doorbell.hpp"
#include "core/worker.hpp"

namespace espalier::api {

struct Partial {
  esp_job* job = nullptr;
  esp_request* request = nullptr;  // set with the request
  Team* team = nullptr;
  std::unique_ptr<Arrivals> arrivals;      // nullptr: it does not deliver here
  std::unique_ptr<Partitions> partitions;  // nullptr: it awaits nothing here
  bool delivers = false, awaits = false;   // asked for, whatever this rank has
  std::unique_ptr<Separate> separate;      // partitions are messages of their own
  esp_segment_function function = nullptr;
  void* context = nullptr;
  esp_request* after = nullptr;
  StreamOrder* order = nullptr;  // nullptr: the call is ordered with no stream of the program's
  // That has been freed. Writer: the owner; readers: it, and threads that start a round.
  std::atomic<bool> orphaned{false};
  // In Partials' lists, the owner's: segments wait for the function.
  bool due = false;
  Partial* due_next = nullptr;
  // It is in the stack of notes. Writers: who makes a partition ready (acq_rel: publishes that, and
  // `starts`), the owner.
  std::atomic<bool> noted{false};
  Partial* note_next = nullptr;
  // Threads inside esp_ready, whose last partition may end the operation before they have left.
  // Writers: they (release: they read nothing of it any more). Reader: the owner, which releases
  // it.
  std::atomic<std::uint32_t> visitors{0};
  // A thread has claimed the round, which the owner is to start.
  std::atomic<bool> starts{false};
};

// Threads note that there is more to do on a stack without a lock; the owner takes it whole. An
// entry is on it once at most (`noted`), and taken off before it is released (forget).
class Partials final : public Agent {
 public:
  explicit Partials(esp_job& job) noexcept : job_(job) {}

  int progress() noexcept override;
  // Any thread.
  void note(Partial& partial) noexcept;
  void add_due(Partial& partial) noexcept;
  void forget(Partial& partial) noexcept;

 private:
  int run_notes() noexcept;

  esp_job& job_;
  // Writers: noting threads (release: publishes the entry), the owner (acquire: takes all).
  std::atomic<Partial*> notes_{nullptr};
  Partial* due_ = nullptr;
  Partial** due_last_ = &due_;
};

// Of a checked call: sets its gate and consumer, and what is placed. `reports`: the request reports
// by a notify. ESP_ERR_ARGUMENT and ESP_ERR_UNSUPPORTED say what cannot be had.
Result<Partial*> make_partial(esp_team& handle, Call& call, const esp_partial& wanted,
                              bool reports);
// Of a message between two members, of `bytes` in so many parts.
Result<Partial*> make_partial(esp_team& handle, Engine::Flow& flow, int partitions);
// Of a call that has its place in a stream, which is the Partial's then, or given back.
Result<Partial*> make_partial(esp_team& handle, StreamOrder& order);
void release_partial(esp_job& job, Partial* partial) noexcept;

// Before a round starts: whoever starts it, and then the owner.
void begin_arrivals(Partial& partial) noexcept;
void begin_round(Partial& partial) noexcept;
// The round has ended, before anybody is told.
void end_round(Partial& partial, Status status) noexcept;

}  // namespace espalier::api
