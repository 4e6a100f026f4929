#include "accel/shim/report.hpp"

#include <algorithm>
#include <cstdio>

#include "accel/shim/communicator.hpp"

namespace espalier::accel {

const char* operation_name(Operation operation) noexcept {
  constexpr const char* kNames[kOperations] = {"MPI_Barrier",
                                               "MPI_Bcast",
                                               "MPI_Reduce",
                                               "MPI_Allreduce",
                                               "MPI_Scan",
                                               "MPI_Exscan",
                                               "MPI_Reduce_scatter_block",
                                               "MPI_Reduce_scatter",
                                               "MPI_Allgather",
                                               "MPI_Allgatherv",
                                               "MPI_Alltoall",
                                               "MPI_Alltoallv",
                                               "MPI_Gather",
                                               "MPI_Gatherv",
                                               "MPI_Scatter",
                                               "MPI_Scatterv"};
  return kNames[static_cast<std::size_t>(operation)];
}

const char* reason_text(Reason reason) noexcept {
  constexpr const char* kTexts[kReasons] = {
      "",
      "arguments that the MPI complains of",
      "an operator of the program, or not one of the type",
      "a type that is not predefined",
      "a communicator of one process",
      "an intercommunicator",
      "processes of another MPI_COMM_WORLD",
      "no team could be made",
      "started before any blocking collective of the communicator"};
  return kTexts[static_cast<std::size_t>(reason)];
}

namespace {

using Text = std::array<char, 32>;

Text average_us(const Tally& tally) noexcept {
  Text text = {"-"};
  if (tally.calls == 0) return text;
  const double us = tally.seconds / static_cast<double>(tally.calls) * 1e6;
  std::snprintf(text.data(), text.size(), "%.2f", us);
  return text;
}

void print_choice(Operation operation, std::size_t size_class, const Choice& choice) {
  const Tally& ours = choice.tally[0];
  const Tally& theirs = choice.tally[1];
  const std::uint64_t started = ours.started + theirs.started;
  if (ours.calls + theirs.calls + started == 0) return;
  const unsigned long long below = size_class == 0 ? 0 : 1ULL << size_class;
  const char* chosen = choice.is_timed()              ? "still timed"
                       : choice.side() == Side::kOurs ? "espalier"
                                                      : "MPI";
  std::fprintf(stderr, "  %-24s %11llu %9llu %9llu %9llu %14llu %12s %12s  %s\n",
               operation_name(operation), below, static_cast<unsigned long long>(ours.calls),
               static_cast<unsigned long long>(theirs.calls),
               static_cast<unsigned long long>(started),
               static_cast<unsigned long long>(ours.bytes + theirs.bytes), average_us(ours).data(),
               average_us(theirs).data(), chosen);
}

void print_communicator(const Communicator& communicator) {
  std::fprintf(stderr, "espalier: communicator %s of %d process%s\n", communicator.name.c_str(),
               communicator.size, communicator.size == 1 ? "" : "es");
  std::fprintf(stderr, "  %-24s %11s %9s %9s %9s %14s %12s %12s  %s\n", "operation", "bytes below",
               "espalier", "MPI", "started", "bytes", "espalier us", "MPI us", "chosen");
  for (std::size_t op = 0; op < kOperations; ++op) {
    const Communicator::Row& row = communicator.rows[op];
    for (std::size_t c = 0; c < row.by_size.size(); ++c) {
      if (row.by_size[c] != nullptr) print_choice(static_cast<Operation>(op), c, *row.by_size[c]);
    }
    for (std::size_t r = 0; r < kReasons; ++r) {
      if (row.refused[r] == 0) continue;
      std::fprintf(stderr, "  %-24s %llu calls fell through to the MPI: %s\n",
                   operation_name(static_cast<Operation>(op)),
                   static_cast<unsigned long long>(row.refused[r]),
                   reason_text(static_cast<Reason>(r)));
    }
  }
}

bool is_empty(const Communicator& communicator) {
  return std::all_of(
      communicator.rows.begin(), communicator.rows.end(), [](const Communicator::Row& row) {
        const bool none = std::all_of(row.by_size.begin(), row.by_size.end(),
                                      [](const auto& one) { return one == nullptr; });
        return none && std::all_of(row.refused.begin(), row.refused.end(),
                                   [](std::uint64_t n) { return n == 0; });
      });
}

}  // namespace

void print_report() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  std::fprintf(stderr, "espalier: collectives as rank 0 has counted them; times are of a call\n");
  for (const auto& one : communicators()) {
    if (!is_empty(*one)) print_communicator(*one);
  }
}

}  // namespace espalier::accel
