#include "accel/shim/persistent.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace espalier::accel {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, Rounds*> of;  // by the request's bits
  std::atomic<std::uint32_t> size{0};             // publishes nothing
  int next_tag = 1;
} g_table;

Rounds* find(MPI_Request request) {
  if (g_table.size.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard lock(g_table.mutex);
  const auto found = g_table.of.find(bits_of(request));
  return found != g_table.of.end() ? found->second : nullptr;
}

int own_rank() {
  int rank = 0;
  PMPI_Comm_rank(state().own, &rank);
  return rank;
}

void release(Rounds* rounds) {
  {
    const Turn turn;
    (void)esp_request_free(&rounds->ours);
  }
  delete rounds;
}

int start(Rounds& rounds) {
  Started& round = rounds.started;
  (void)round.stage.begin();
  round.ended.store(false, std::memory_order_relaxed);
  rounds.is_active = true;
  const int code = PMPI_Start(&round.request);
  if (code != MPI_SUCCESS) return code;
  esp_status status = ESP_OK;
  {
    const Turn turn;
    status = esp_request_start(rounds.ours);
  }
  if (status != ESP_OK) on_end(&round, status);
  list(round);
  return MPI_SUCCESS;
}

// Its last round, if one is under way, goes on.
int free_request(Rounds* rounds, MPI_Request* request) {
  {
    const std::lock_guard lock(g_table.mutex);
    g_table.of.erase(bits_of(*request));
    g_table.size.fetch_sub(1, std::memory_order_relaxed);
  }
  const int code = PMPI_Request_free(request);
  if (rounds->is_active) {
    rounds->is_freed = true;
  } else {
    release(rounds);
  }
  return code;
}

}  // namespace

int list_rounds(std::unique_ptr<Rounds> rounds, MPI_Request* request) {
  Started& round = rounds->started;
  const std::lock_guard lock(g_table.mutex);
  rounds->tag = g_table.next_tag;
  g_table.next_tag = g_table.next_tag % 32'767 + 1;
  const int code =
      PMPI_Recv_init(nullptr, 0, MPI_BYTE, own_rank(), rounds->tag, state().own, request);
  if (code != MPI_SUCCESS) {
    (void)esp_request_free(&rounds->ours);
    return code;
  }
  round.request = *request;
  round.rounds = rounds.get();
  g_table.of[bits_of(*request)] = rounds.release();
  g_table.size.fetch_add(1, std::memory_order_relaxed);
  return MPI_SUCCESS;
}

void end_round(Started& round) {
  Rounds* rounds = round.rounds;
  rounds->is_active = false;
  PMPI_Send(nullptr, 0, MPI_BYTE, own_rank(), rounds->tag, state().own);
  (void)conclude(round.comm, round.team, round.outcome);
  if (rounds->is_freed) release(rounds);
}

}  // namespace espalier::accel

namespace a = espalier::accel;

extern "C" {

int accel_MPI_Start(MPI_Request* request) {
  a::Rounds* rounds = a::find(*request);
  return rounds != nullptr ? a::start(*rounds) : PMPI_Start(request);
}

int accel_MPI_Startall(int count, MPI_Request requests[]) {
  for (int i = 0; i < count; ++i) {
    const int code = accel_MPI_Start(&requests[i]);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int accel_MPI_Request_free(MPI_Request* request) {
  a::Rounds* rounds = a::find(*request);
  return rounds != nullptr ? a::free_request(rounds, request) : PMPI_Request_free(request);
}

}  // extern "C"
