// The library under test, seen by esp-bench: the few calls that are measured and nothing else.
//
// One class, one implementation per program: backend_espalier*.cpp (public C API) or
// backend_mpi.cpp (compiled by the wrapper of Open MPI or of MPICH). Which one is linked is all
// that differs between esp-bench, esp-bench-openmpi and esp-bench-mpich. Every measured call
// costs one direct function call on top of the library's, the same in all three.
//
// Errors of the library end the program (exit code 1) with the library's text: a benchmark has
// nothing to recover. Threads: all calls on the main thread. path: data
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "esp-bench/choice.hpp"

namespace espalier::bench {

enum class Combine { kSum, kMax };

class Backend {
 public:
  // Joins the job that the launcher started. `heap_bytes`: what allocate() will be asked for.
  static std::unique_ptr<Backend> open(std::size_t heap_bytes);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // "Espalier 0.1.0", "Open MPI v4.1.4": for reports.
  static std::string library();
  // Whether Choice and allocate() mean something to this library.
  static bool has_choices();

  int rank() const;
  int size() const;

  void barrier();
  void bcast(void* buffer, std::size_t bytes, int root);
  void reduce_sum(const float* input, float* output, std::size_t count, int root);
  void allreduce_sum(const float* input, float* output, std::size_t count);
  // A block of `bytes` of each rank, or for each.
  void allgather(const void* input, void* output, std::size_t bytes);
  void alltoall(const void* input, void* output, std::size_t bytes);
  void gather(const void* input, void* output, std::size_t bytes, int root);
  void scatter(const void* input, void* output, std::size_t bytes, int root);
  void reduce_scatter_block_sum(const float* input, float* output, std::size_t count);
  // From now on blocks are of floats, sent[r] that go to rank r and received[r] that come from it,
  // which lie at displs[r] floats. Where a buffer has one block it is that of this rank.
  void set_blocks(std::span<const std::size_t> sent, std::span<const std::size_t> received,
                  std::span<const std::size_t> displs);
  void allgatherv(const float* input, float* output);
  void alltoallv(const float* input, float* output);
  void alltoallw(const float* input, float* output);
  void gatherv(const float* input, float* output, int root);
  void scatterv(const float* input, float* output, int root);
  // The blocks lie one after the other.
  void reduce_scatter_sum(const float* input, float* output);
  // Collective. From now on neighbours are those on this periodic grid, row-major.
  void set_grid(std::span<const int> extents);
  void neighbor_allgather(const void* input, void* output, std::size_t bytes);
  void neighbor_alltoall(const void* input, void* output, std::size_t bytes);
  void scan_sum(const float* input, float* output, std::size_t count);
  void exscan_sum(const float* input, float* output, std::size_t count);
  // Element-wise over all ranks, in place: for the results, never timed.
  void combine(std::span<double> values, Combine how);

  void send(const void* buffer, std::size_t bytes, int peer);
  void recv(void* buffer, std::size_t bytes, int peer);
  // Starts one message per buffer, then waits for all: one window of a flow.
  void send_window(std::span<void* const> buffers, std::size_t bytes, int peer);
  void recv_window(std::span<void* const> buffers, std::size_t bytes, int peer);

  // Of the library, for one_sided.hpp; nullptr where that has none.
  void* native_job() const;

  // From now on collectives use `choice`.
  void choose(const Choice& choice);
  // Why the library refused a choice in a call since the last take_refusal(); empty when it did
  // not. A refused call does nothing, on every rank.
  std::string take_refusal();
  // Memory that the library's other ranks can read in place; nullptr when it has none to give.
  void* allocate(std::size_t bytes);
  void release(void* memory);

 private:
  struct State;
  explicit Backend(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace espalier::bench
