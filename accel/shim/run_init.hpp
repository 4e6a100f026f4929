// Makes a persistent request for a call. path: setup
#pragma once

#include "accel/shim/persistent.hpp"
#include "accel/shim/run.hpp"

namespace espalier::accel {

template <typename Call>
int run_init(Call call, MPI_Info info, MPI_Request* request) {
  Communicator* communicator = nullptr;
  if (admit(call, false, communicator) != Reason::kNone) return call.mpi_init(info, request);
  const std::uint64_t bytes = call.bytes(*communicator);
  Choice& choice = communicator->choice(Call::kOperation, bytes);
  const Side side = side_untimed(choice, Call::kOperation, *communicator, bytes);
  if (side == Side::kMpi) return call.mpi_init(info, request);
  std::unique_ptr<Rounds> rounds(new (std::nothrow) Rounds);
  if (rounds == nullptr) return conclude(call.comm, communicator->team, ESP_ERR_NO_MEMORY);
  Started& round = rounds->started;
  round.comm = call.comm;
  round.team = communicator->team;
  call.arrange(round.stage, *communicator);
  esp_status status = round.stage.ok() ? ESP_OK : ESP_ERR_NO_MEMORY;
  if (status == ESP_OK) {
    const Notice notice = {{&on_end, &round, nullptr}, &rounds->ours};
    const Turn turn;
    status = call.ours(communicator->team, &notice);
  }
  if (status != ESP_OK) return conclude(call.comm, communicator->team, status);
  ++choice.tally[static_cast<std::size_t>(side)].started;
  return list_rounds(std::move(rounds), request);
}

}  // namespace espalier::accel
