// Floors of moving and combining bytes: copy, copy from a peer, both cores, add, CMA.
//
// Each sample covers a ring of buffers, as in operation.hpp; times are per buffer.
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "esp-bench/clock.hpp"
#include "esp-bench/floors.hpp"
#include "esp-bench/host.hpp"
#include "esp-bench/pair.hpp"

namespace espalier::bench {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

Memory allocate(std::size_t bytes) {
  const std::size_t whole = (bytes + 4095) / 4096 * 4096;
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(4096, whole)));
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory.get(), 1, whole);
  return memory;
}

// How often and over how many buffers: the same ring as the operations use.
struct Shape {
  std::size_t bytes;
  std::size_t slots;
  std::size_t stride;  // between buffers: whole cache lines
  int samples;
  std::size_t ring() const { return slots * stride; }
};

Shape shape_for(std::size_t bytes, const Options& options) {
  const std::size_t least = bytes < (std::size_t{8} << 20) ? 4 : 2;
  Shape shape{};
  shape.bytes = bytes;
  shape.slots = std::min(std::max(options.ring_bytes / bytes, least), std::size_t{256});
  shape.stride = (bytes + 63) / 64 * 64;
  const std::size_t by_volume = (std::size_t{512} << 20) / shape.ring();
  shape.samples = options.smoke ? 3 : static_cast<int>(std::clamp<std::size_t>(by_volume, 9, 200));
  return shape;
}

// `rewrite` untimed, then `body` on every buffer.
template <typename Rewrite, typename Body>
Summary time_ring(const Shape& shape, Rewrite rewrite, Body body) {
  std::vector<double> per_buffer_us;
  for (int sample = -1; sample < shape.samples; ++sample) {  // One for warm-up.
    rewrite(sample);
    const std::int64_t start = now_ns();
    for (std::size_t slot = 0; slot < shape.slots; ++slot) body(slot * shape.stride);
    const auto elapsed = static_cast<double>(now_ns() - start);
    if (sample >= 0) per_buffer_us.push_back(elapsed / static_cast<double>(shape.slots) * 1e-3);
  }
  return summarize(per_buffer_us);
}

// The widest vectors of this machine: a floor compiled for the oldest would be no floor.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    defined(__GNUC__) && !defined(__clang__)
[[gnu::target_clones("arch=x86-64-v4", "avx2", "default"), gnu::optimize("O3")]]
#endif
void add_floats(float* __restrict sum, const float* __restrict more, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += more[i];
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    defined(__GNUC__) && !defined(__clang__)
[[gnu::target_clones("arch=x86-64-v4", "avx2", "default"), gnu::optimize("O3")]]
#endif
void add_floats_to(float* __restrict sum, const float* __restrict a, const float* __restrict b,
                   std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] = a[i] + b[i];
}

Summary time_copy(const Shape& shape) {
  const Memory from = allocate(shape.ring()), to = allocate(shape.ring());
  return time_ring(
      shape, [&](int sample) { std::memset(from.get(), sample, shape.ring()); },
      [&](std::size_t at) { std::memcpy(to.get() + at, from.get() + at, shape.bytes); });
}

Summary time_add(const Shape& shape) {
  const Memory from = allocate(shape.ring()), to = allocate(shape.ring());
  auto* sum = reinterpret_cast<float*>(to.get());
  const auto* more = reinterpret_cast<const float*>(from.get());
  return time_ring(
      shape, [&](int) { std::memset(from.get(), 0, shape.ring()); },
      [&](std::size_t at) {
        const std::size_t first = at / sizeof(float);
        add_floats(sum + first, more + first, shape.bytes / sizeof(float));
      });
}

// Both cores copy their own memory at the same time; the parent's time counts.
Summary time_copy_both(const Shape& shape, PairCpus cpus) {
  SharedMemory memory(sizeof(Gate));
  auto& stop = memory.as<Gate>();
  Summary summary;
  run_pair(
      cpus,
      [&](pid_t) {
        stop.wait_for(1);  // The child copies already.
        summary = time_copy(shape);
        stop.advance(2);
      },
      [&] {
        const Memory from = allocate(shape.ring()), to = allocate(shape.ring());
        stop.advance(1);
        while (stop.turn.load(std::memory_order_acquire) != 2) {
          std::memcpy(to.get(), from.get(), shape.ring());
        }
      });
  return summary;
}

// The child rewrites its ring, then the parent reads it by `read_slot`, sample by sample.
template <typename Read>
Summary time_reading(const Shape& shape, PairCpus cpus, std::byte* ring, Read read_slot) {
  SharedMemory memory(sizeof(Gate));
  auto& gate = memory.as<Gate>();
  Summary summary;
  std::uint32_t turn = 0;
  run_pair(
      cpus,
      [&](pid_t child) {
        summary = time_ring(
            shape,
            [&](int) {
              gate.advance(turn + 1);  // Rewrite, please.
              gate.wait_for(turn + 2);
              turn += 2;
            },
            [&](std::size_t at) { read_slot(child, at); });
        gate.advance(turn + 1);  // The last ring is read; the child may go.
      },
      [&] {
        for (int sample = -1; sample < shape.samples; ++sample) {
          gate.wait_for(turn + 1);
          std::memset(ring, sample, shape.ring());
          gate.advance(turn + 2);
          turn += 2;
        }
        gate.wait_for(turn + 1);
      });
  return summary;
}

Summary time_copy_from_peer(const Shape& shape, PairCpus cpus) {
  SharedMemory ring(shape.ring());
  std::memset(ring.data(), 1, shape.ring());
  const Memory to = allocate(shape.ring());
  return time_reading(shape, cpus, ring.data(), [&](pid_t, std::size_t at) {
    std::memcpy(to.get() + at, ring.data() + at, shape.bytes);
  });
}

// What a reduction does at least: own values and those of a peer into a third buffer.
Summary time_add_from_peer(const Shape& shape, PairCpus cpus) {
  SharedMemory ring(shape.ring());
  std::memset(ring.data(), 1, shape.ring());
  const Memory own = allocate(shape.ring()), to = allocate(shape.ring());
  std::memset(own.get(), 0, shape.ring());
  return time_reading(shape, cpus, ring.data(), [&](pid_t, std::size_t at) {
    add_floats_to(reinterpret_cast<float*>(to.get() + at), reinterpret_cast<float*>(own.get() + at),
                  reinterpret_cast<float*>(ring.data() + at), shape.bytes / sizeof(float));
  });
}

// The child's private copy of the ring has the parent's address: fork made it.
Floor readv_floor(const Shape& shape, PairCpus cpus) {
  const Memory ring = allocate(shape.ring()), to = allocate(shape.ring());
  int error = 0;
  Floor floor{"readv", shape.bytes, {}, ""};
  floor.time_us = time_reading(shape, cpus, ring.get(), [&](pid_t child, std::size_t at) {
    const iovec local{to.get() + at, shape.bytes}, remote{ring.get() + at, shape.bytes};
    const auto read = process_vm_readv(child, &local, 1, &remote, 1, 0);
    if (read != static_cast<ssize_t>(shape.bytes)) error = errno;
  });
  if (error != 0) {
    floor.time_us = {};
    floor.note = std::string("process_vm_readv: ") + std::strerror(error);
  }
  return floor;
}

}  // namespace

void measure_copy_floors(const Options& options, std::vector<Floor>& floors) {
  const std::vector<int> cpus = allowed_cpus();
  for (const std::size_t bytes : options.sizes) {
    const Shape shape = shape_for(bytes, options);
    floors.push_back({"copy", bytes, time_copy(shape), ""});
    floors.push_back({"add", bytes, time_add(shape), ""});
    if (cpus.size() < 2) continue;  // measure_floors() has said so.
    const PairCpus pair{cpus[0], cpus[1]};
    floors.push_back({"copy-both", bytes, time_copy_both(shape, pair), "per core"});
    floors.push_back({"copy-peer", bytes, time_copy_from_peer(shape, pair), ""});
    floors.push_back({"add-peer", bytes, time_add_from_peer(shape, pair), ""});
    floors.push_back(readv_floor(shape, pair));
  }
}

}  // namespace espalier::bench
