// Communicator: what the accelerator keeps with a communicator of the program, as an attribute: its
// team, made in the first blocking collective (which all members of it call, in one order), and
// which side does what.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "accel/shim/choice.hpp"
#include "accel/shim/state.hpp"

namespace espalier::accel {

struct Communicator {
  static constexpr std::size_t kClasses = 48;  // of message sizes: by powers of two

  MPI_Comm handle = MPI_COMM_NULL;  // MPI_COMM_NULL: it has been freed
  std::string name;                 // when it was met, or freed
  int size = 0, rank = 0;
  esp_team* team = nullptr;
  Reason refusal = Reason::kNone;  // of all its calls
  struct Row {
    std::array<std::unique_ptr<Choice>, kClasses> by_size;
    std::array<std::uint64_t, kReasons> refused = {};
  };
  std::array<Row, kOperations> rows;

  static int size_class(std::uint64_t bytes) noexcept;
  int nodes() const noexcept { return nodes_; }  // that its members are on
  void take_team(esp_team* made);
  Choice& choice(Operation operation, std::uint64_t bytes);
  Row& row(Operation operation) noexcept { return rows[static_cast<std::size_t>(operation)]; }

 private:
  int nodes_ = 0;
};

void open_communicators();
void close_communicators();

// Of a communicator of the program's; nullptr: it is none.
Communicator* communicator_of(MPI_Comm comm);
// With a team, else a reason. `blocks`: the call is one that may wait for the others.
Reason prepare(Communicator& communicator, bool blocks);

// All that there have been.
const std::vector<std::unique_ptr<Communicator>>& communicators() noexcept;

}  // namespace espalier::accel
