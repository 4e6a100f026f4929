// Two pinned processes that share a page: the stage on which the floors are measured.
//
// run_pair() forks; the child plays its part and exits, the parent plays its own and collects the
// child. Both meet at a Gate, which spins (the players are alone on their CPUs) and yields now and
// then (they may share one). Single-threaded use, before any library is initialised.
// path: setup
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace espalier::bench {

// A counter that both players advance in turn: player p may go when `turn` is its number.
struct Gate {
  alignas(128) std::atomic<std::uint32_t> turn{0};

  void wait_for(std::uint32_t value) const;
  void advance(std::uint32_t value) { turn.store(value, std::memory_order_release); }
};

// Memory of both players, zeroed, given back when the object goes.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::byte* data() const { return data_; }
  template <typename T>
  T& as() const {
    return *reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

struct PairCpus {
  int parent;
  int child;
};

// `parent_part` gets the child's pid. Throws when the child cannot be made or fails.
void run_pair(PairCpus cpus, const std::function<void(pid_t)>& parent_part,
              const std::function<void()>& child_part);

}  // namespace espalier::bench
