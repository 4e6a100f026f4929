// Started: a collective that is under way in Espalier, and the request of the MPI that stands for
// it.
//
// The request is a generalized one, so every function of the MPI takes it. The calls that complete
// requests drive the job until theirs are complete; whatever else the program does meanwhile, a
// helper thread drives it once in a while, for other ranks may wait for what this one has started.
// Only the program's threads complete requests: MPIs below MPI_THREAD_MULTIPLE allow no others.
// Threads: several; see `Started`. path: data
#pragma once

#include <atomic>
#include <memory>

#include "accel/shim/stage.hpp"
#include "accel/shim/state.hpp"

namespace espalier::accel {

struct Rounds;

struct Started {
  Stage stage;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  esp_team* team = nullptr;
  esp_status outcome = ESP_OK;
  // Writer: who drives the job; reader: who completes requests. Publishes `outcome` and what the
  // operation has written.
  std::atomic<bool> ended{false};
  // The program has freed the request, and its MPI lets go of what stands for it at once.
  bool is_freed = false;
  bool is_complete = false;  // for the MPI, from when on it says when this goes
  Started* next = nullptr;
  Rounds* rounds = nullptr;  // of a persistent one (persistent.hpp)
};

// A request of the MPI for it. MPI_SUCCESS: it belongs to the list from then on.
int list_started(std::unique_ptr<Started> started, MPI_Request* request);
// One whose request is not made here.
void list(Started& started);
// For the library's notice of the end; `context` is the Started.
void on_end(void* context, esp_status status);

// Whether any are under way, which is what the functions below are for.
bool are_under_way() noexcept;
// Drives the job once, and completes the requests of what has ended.
void drive_started();
// Before the job ends.
void end_started();

// Drives the job until `test(flag)` is not MPI_SUCCESS, or sets the flag.
template <typename Test>
int wait_driven(Test&& test) {
  for (;;) {
    drive_started();
    int flag = 0;
    const int code = test(&flag);
    if (code != MPI_SUCCESS || flag != 0) return code;
  }
}

}  // namespace espalier::accel
