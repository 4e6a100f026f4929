// The collectives that are accelerated, and why a call may not be.
#pragma once

#include <cstddef>

namespace espalier::accel {

enum class Operation : unsigned char {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kScan,
  kExscan,
  kReduceScatterBlock,
  kReduceScatter,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
};
inline constexpr std::size_t kOperations = 16;

const char* operation_name(Operation operation) noexcept;  // "MPI_Bcast", ...

// All but the first two are the same on all members of a call; those two are what the call itself
// finds to be wrong.
enum class Reason : unsigned char {
  kNone,
  kArguments,  // for the MPI to complain of
  kOperator,   // of the program's own, or not one of this type
  kType,       // of a reduction, not a predefined one
  kAlone,      // a communicator of one process
  kInter,      // an intercommunicator
  kOtherJob,   // of processes that were started later
  kNoTeam,     // a team could not be made
  kNotYet,     // started before any blocking collective of its communicator
};
inline constexpr std::size_t kReasons = 9;

const char* reason_text(Reason reason) noexcept;

}  // namespace espalier::accel
