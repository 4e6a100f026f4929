// Persistent collectives: a request of the MPI's that is started again and again, and the library's
// that stands behind it.
//
// The MPI's is a persistent receive of nothing, from this process, on the accelerator's
// communicator. The end of a round is a message to itself, so every function of the MPI completes
// it as it completes any. path: data
#pragma once

#include "accel/shim/started.hpp"

namespace espalier::accel {

struct Rounds {
  Started started;  // of its round; its request is the receive
  esp_request* ours = nullptr;
  int tag = 0;
  bool is_active = false;
  bool is_freed = false;  // by the program, during its last round
};

// The receive, inactive. MPI_SUCCESS: it belongs to the table from then on.
int list_rounds(std::unique_ptr<Rounds> rounds, MPI_Request* request);
// The round has ended, and what it has written is unpacked.
void end_round(Started& round);

}  // namespace espalier::accel
