// ShmWorld: n shared-memory wires in one process and one thread, on one segment. Everything that
// happens, happens because a test calls progress().
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/counters.hpp"
#include "shm/heap.hpp"
#include "shm/shm_wire.hpp"
#include "tests/harness/world.hpp"

namespace espalier::test {

struct ShmWorldOptions {
  std::uint64_t arena_bytes = 4 << 20;
  std::uint64_t heap_bytes = 8 << 20;
  shm::ShmOptions wire;
  // Pulls of each rank that its kernel allows before it refuses all; none for the others: it never
  // does.
  std::vector<std::uint64_t> pulls_allowed;
};

// Allows a number of copies, and then none.
class ForgetfulKernel final : public shm::CmaKernel {
 public:
  explicit ForgetfulKernel(std::uint64_t allowed, int refusal) noexcept
      : left_(allowed), refusal_(refusal) {}
  ssize_t copy(shm::CmaDirection direction, VisiblePid pid, std::span<const iovec> local,
               std::span<const iovec> remote) noexcept override;
  std::uint64_t refused() const noexcept { return refused_; }

 private:
  std::uint64_t left_, refused_ = 0;
  int refusal_;
};

class ShmWorld : public World {
 public:
  ShmWorld(int ranks, const ShmWorldOptions& options);

  int size() const noexcept override { return static_cast<int>(nodes_.size()); }
  shm::ShmWire& wire(Rank r) noexcept override { return *nodes_[static_cast<std::size_t>(r)].wire; }
  Counters& counters(Rank r) noexcept { return *nodes_[static_cast<std::size_t>(r)].counters; }
  std::uint64_t pulls_refused() const noexcept;
  std::uint64_t held_bytes() const noexcept;  // by the segment: what was ever touched
  // Memory of rank r from which peers can read without a copy.
  std::byte* shared(Rank r, std::uint64_t bytes) override;
  // A kernel that has refused leaves pulls half done.
  bool loses_what_is_taken_back() const noexcept override {
    return nodes_.front().kernel != nullptr;
  }
  // Takes the wire of a rank down, as its end would.
  void close(Rank r) noexcept override { nodes_[static_cast<std::size_t>(r)].wire.reset(); }

 private:
  struct Node {
    std::unique_ptr<shm::Segment> segment;
    std::unique_ptr<shm::Heap> heap;
    std::unique_ptr<Counters> counters;
    std::unique_ptr<Doorbell> doorbell;
    std::unique_ptr<ForgetfulKernel> kernel;
    std::unique_ptr<shm::ShmWire> wire;
  };
  std::vector<Node> nodes_;
};

}  // namespace espalier::test
