// Runs a call on the side that is its turn: blocking, or started. path: data
#pragma once

#include <new>

#include "accel/shim/calls.hpp"
#include "accel/shim/profile.hpp"
#include "accel/shim/started.hpp"

namespace espalier::accel {

inline double now() noexcept {
  return esp_time();
}

// Whether the library does it, or why not. `communicator`: whenever there is a job.
template <typename Call>
Reason admit(Call& call, bool blocks, Communicator*& communicator) {
  if (state().job == nullptr) return Reason::kNoTeam;
  communicator = communicator_of(call.comm);
  if (communicator == nullptr) return Reason::kArguments;
  Reason reason = communicator->refusal;
  if (reason == Reason::kNone) reason = call.fits(*communicator);
  if (reason == Reason::kNone) reason = prepare(*communicator, blocks);
  if (reason != Reason::kNone) {
    ++communicator->row(Call::kOperation).refused[static_cast<std::size_t>(reason)];
  }
  return reason;
}

// Its first call: what is known of such calls counts, else they are timed.
inline void begin_choice(Choice& choice, Operation operation, const Communicator& communicator,
                         std::uint64_t bytes) {
  const bool asks = state().mode == Mode::kAuto;
  const auto known = asks ? known_side(operation, communicator, bytes) : std::nullopt;
  if (known) {
    choice.begin(*known);
  } else {
    choice.begin(bytes, asks);
  }
}

template <typename Call>
int run_by_us(Call& call, const Communicator& communicator) {
  Stage stage;
  call.arrange(stage, communicator);
  esp_status status = stage.ok() ? ESP_OK : ESP_ERR_NO_MEMORY;
  if (status == ESP_OK) {
    if (!stage.begin()) return call.mpi();  // which says what it has against them
    const Turn turn;
    status = call.ours(communicator.team, nullptr);
  }
  if (status == ESP_OK) stage.end();
  return conclude(call.comm, communicator.team, status);
}

inline void meet(esp_team* team) {
  const Turn turn;
  (void)esp_barrier(team);  // where it fails the next call does so, too, and tells
}

// Both sides' times of all members, after the last call that is timed.
inline void settle(Choice& choice, esp_team* team) {
  std::array<double, 2> times = choice.own_times();
  const Turn turn;
  // Where that fails the next call does so, too, and tells.
  (void)esp_allreduce(team, ESP_IN_PLACE, times.data(), times.size(), ESP_DOUBLE, ESP_SUM);
  choice.decide(times);
}

template <typename Call>
int run(Call call) {
  Communicator* communicator = nullptr;
  if (admit(call, true, communicator) != Reason::kNone) return call.mpi();
  const std::uint64_t bytes = call.bytes(*communicator);
  Choice& choice = communicator->choice(Call::kOperation, bytes);
  if (!choice.has_begun()) begin_choice(choice, Call::kOperation, *communicator, bytes);
  const Side side = choice.side();
  const bool measures = choice.is_timed() || state().reports;
  const double begin = measures ? now() : 0;
  const int code = side == Side::kMpi ? call.mpi() : run_by_us(call, *communicator);
  if (!measures) return code;
  const double seconds = now() - begin;
  Tally& tally = choice.tally[static_cast<std::size_t>(side)];
  ++tally.calls;
  tally.bytes += bytes;
  tally.seconds += seconds;
  if (!choice.is_timed()) return code;
  meet(communicator->team);
  choice.count(seconds, now() - begin);
  if (choice.wants_sums()) settle(choice, communicator->team);
  return code;
}

// Of calls that are not timed: what blocking ones of their kind have shown to be faster, or the
// profile says, else Espalier's.
inline Side side_untimed(const Choice& choice, Operation operation,
                         const Communicator& communicator, std::uint64_t bytes) {
  if (choice.is_decided()) return choice.side();
  if (state().mode != Mode::kAuto) return Side::kOurs;
  return known_side(operation, communicator, bytes).value_or(Side::kOurs);
}

template <typename Call>
int run_started(Call call, MPI_Request* request) {
  Communicator* communicator = nullptr;
  if (admit(call, false, communicator) != Reason::kNone) return call.mpi_start(request);
  const std::uint64_t bytes = call.bytes(*communicator);
  Choice& choice = communicator->choice(Call::kOperation, bytes);
  const Side side = side_untimed(choice, Call::kOperation, *communicator, bytes);
  Tally& tally = choice.tally[static_cast<std::size_t>(side)];
  ++tally.started;
  tally.bytes += bytes;
  if (side == Side::kMpi) return call.mpi_start(request);
  std::unique_ptr<Started> started(new (std::nothrow) Started);
  if (started == nullptr) return conclude(call.comm, communicator->team, ESP_ERR_NO_MEMORY);
  started->comm = call.comm;
  started->team = communicator->team;
  call.arrange(started->stage, *communicator);
  if (!started->stage.ok()) return conclude(call.comm, communicator->team, ESP_ERR_NO_MEMORY);
  if (!started->stage.begin()) return call.mpi_start(request);
  const Notice notice = {{&on_end, started.get(), nullptr}};
  {
    const Turn turn;
    const esp_status status = call.ours(communicator->team, &notice);
    if (status != ESP_OK) return conclude(call.comm, communicator->team, status);
  }
  return list_started(std::move(started), request);
}

}  // namespace espalier::accel
