// The accelerator of one process: its job of Espalier beside the program's MPI, from the end of
// MPI_Init to the begin of MPI_Finalize.
//
// The job starts by the MPI's own collectives, on a communicator of the accelerator's. What waits
// in it drives the MPI by probing that communicator, so neither waits for the other. Errors are
// those of the communicator that the program has called with: they go to its error handler.
//
// Threads: below MPI_THREAD_MULTIPLE one at a time drives the job, the program's or the helper
// (started.hpp), under `turn`; with it the library's own thread does. path: setup
#pragma once

#include <mutex>

#include "accel/shim/mpi_names.hpp"
#include "accel/shim/operations.hpp"
#include "espalier/espalier.h"

namespace espalier::accel {

enum class Mode {
  kAuto,    // what is faster
  kAlways,  // Espalier wherever it can
};

struct State {
  esp_job* job = nullptr;  // nullptr: everything is the MPI's
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Group everybody = MPI_GROUP_NULL;  // of MPI_COMM_WORLD
  int keyval = MPI_KEYVAL_INVALID;       // of communicators, for what is kept with them
  int error_class = MPI_ERR_OTHER;
  Mode mode = Mode::kAuto;
  bool reports = false;
  bool saves = false;  // what has been chosen
  bool threaded = false;
  std::mutex turn;
};
State& state() noexcept;

// The right to drive the job.
class Turn {
 public:
  Turn() noexcept {
    if (!state().threaded) state().turn.lock();
  }
  ~Turn() {
    if (!state().threaded) state().turn.unlock();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
};

// After the MPI's own, on all processes alike.
void begin(int thread_level);
// Before the MPI's own.
void end();

// MPI_SUCCESS, or a code of the MPI whose text is the library's, after the error handler has seen
// it.
int conclude(MPI_Comm comm, esp_team* team, esp_status status);

}  // namespace espalier::accel
