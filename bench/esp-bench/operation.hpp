// One measured operation with its rotating buffers.
//
// A ring of `slots` buffers per direction, together about Options::ring_bytes: call k of a batch
// uses slot k. Between batches, outside the timed part, every rank that provides data rewrites its
// slots, as a program does that computes something new each step; otherwise a receiver would find
// the last round's lines in its own cache and a copy would look free.
//
// Data: float number i of slot s of rank r in round t is (i + s + 3 r + t) mod 16, so sums over
// any number of ranks below 2^20 are exact and every result can be checked to the last element.
// Of an input of several blocks block b has 16 b added. What no block covers must stay as it was.
//
// With --buffers reused the ring is one buffer, which is written once: all that a receiver reads
// may be in its cache, and results are those of the last call over those of the calls before.
// Ownership: owns the rings. Threads: main thread only. path: data (run), setup (the rest)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "esp-bench/backend.hpp"
#include "esp-bench/block_layout.hpp"
#include "esp-bench/buffer_memory.hpp"
#include "esp-bench/one_sided.hpp"
#include "esp-bench/options.hpp"

namespace espalier::bench {

// Buffers that rotate: at least two, at least four where they are not huge.
std::size_t ring_slots(std::size_t bytes, const Options& options);

class Operation {
 public:
  Operation(Backend& backend, BufferMemory& memory, OpKind kind, std::size_t bytes,
            const Options& options);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // Most calls that one run() may make.
  std::size_t slots() const { return slots_; }
  // Whether this rank does anything but wait for the others.
  bool takes_part() const;
  // Times that one call moves a message one way, for per-message results: 2 for a ping-pong.
  int messages_per_call() const {
    return kind_ == OpKind::kLatency || kind_ == OpKind::kMessageLatency ? 2 : 1;
  }
  // Why it cannot be done, the same on all ranks; empty: it can.
  const std::string& refusal() const { return refusal_; }

  // Writes new data into the first `calls` slots of a rank that provides data; where buffers are
  // reused only the first time.
  void rewrite(std::size_t calls, unsigned round);
  // The timed part: `calls` calls, slot by slot.
  void run(std::size_t calls);
  // After each run(), when its time has been taken.
  void end_batch();
  // Whether this rank's results of the last run, of `calls` calls, are right.
  bool verify(std::size_t calls) const;

  // Bytes of library memory that the rings for these sizes need, on up to 64 ranks.
  static std::size_t heap_bytes(const Options& options);

 private:
  float* input(std::size_t slot) const;
  float* output(std::size_t slot) const;
  int root_of(std::size_t slot) const;
  bool provides(std::size_t slot) const;
  // Buffers that the first `calls` calls use.
  std::size_t used_by(std::size_t calls) const { return reuses_ ? 1 : calls; }
  bool verify_slot(std::size_t slot) const;
  bool verify_sum(std::size_t slot) const;
  std::size_t ring_bytes(std::size_t buffer) const;
  std::byte* make_ring(std::size_t buffer) const;
  void run_latency(std::size_t calls);
  void run_bandwidth(std::size_t calls);
  void fill_slot(float* data, std::size_t bytes, int rank, std::size_t slot, unsigned round,
                 int block = 0);
  const std::byte* to_read(const float* data, std::size_t bytes) const {
    return memory_.to_read(reinterpret_cast<const std::byte*>(data), bytes);
  }
  bool is_slot(const float* data, std::size_t bytes, int rank, std::size_t slot,
               int block = 0) const;
  // The sum of block `block` of the first `ranks` ranks.
  bool is_sum(const float* data, std::size_t bytes, int ranks, std::size_t slot,
              int block = 0) const;
  void set_blocks();
  void run_blocks(std::size_t calls);
  void run_rooted_blocks(std::size_t calls);
  void rewrite_blocks(std::size_t slot, unsigned round);
  bool verify_blocks(std::size_t slot) const;
  bool verify_block(std::size_t slot, std::size_t i) const;
  void open_one_sided(std::size_t ring);
  void run_one_sided(std::size_t calls);
  void call_one_sided(std::size_t slot);
  void rewrite_one_sided(std::size_t slot, unsigned round);
  bool verify_one_sided(std::size_t slot) const;
  bool verify_fetch_adds(std::size_t calls) const;
  static void on_message(void* self, std::uint64_t argument, const void* payload,
                         std::size_t bytes);

  Backend& backend_;
  BufferMemory& memory_;
  const OpKind kind_;
  const std::size_t bytes_;
  const BlockLayout layout_;
  const std::size_t slots_;
  const bool reuses_;
  const std::size_t buffers_[2];  // bytes of one: input, output
  const std::size_t strides_[2];  // bytes between slots
  const int root_;
  const bool rotate_;
  unsigned round_ = 0;                        // of the data in the buffers; 0: none yet
  std::byte* rings_[2] = {nullptr, nullptr};  // input, output
  std::size_t offset_ = 0;                    // of the first buffer, in a ring
  std::vector<void*> window_;                 // of run_bandwidth
  std::string refusal_;
  std::unique_ptr<OneSided> remote_;  // of operations of one side
  std::size_t counter_offset_ = 0;    // in its memory: the word that fetch-add counts in
  std::vector<std::uint64_t> old_;    // by slot: what fetch-add found
  std::size_t heard_ = 0;             // messages
  bool is_over_ = false;              // the last of a batch has come
};

}  // namespace espalier::bench
