#include "esp-bench/operation.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace espalier::bench {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPeriod = 16;  // of the data, in floats: one cache line
constexpr std::size_t kWindow = 64;  // messages in flight of a flow, as in the OSU benchmarks
using Pattern = std::array<float, kPeriod>;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

Pattern pattern_of(int rank, std::size_t slot, unsigned round) {
  Pattern pattern;
  for (std::size_t i = 0; i < kPeriod; ++i) {
    pattern[i] = static_cast<float>((i + slot + 3 * static_cast<std::size_t>(rank) + round) & 15);
  }
  return pattern;
}

Pattern sum_of_patterns(int ranks, std::size_t slot, unsigned round) {
  Pattern sum{};
  for (int rank = 0; rank < ranks; ++rank) {
    const Pattern one = pattern_of(rank, slot, round);
    for (std::size_t i = 0; i < kPeriod; ++i) sum[i] += one[i];
  }
  return sum;
}

void fill(float* data, std::size_t bytes, const Pattern& pattern) {
  auto* out = reinterpret_cast<std::byte*>(data);
  for (std::size_t done = 0; done < bytes; done += sizeof pattern) {
    std::memcpy(out + done, pattern.data(), std::min(sizeof pattern, bytes - done));
  }
}

bool equals(const float* data, std::size_t bytes, const Pattern& pattern) {
  const auto* in = reinterpret_cast<const std::byte*>(data);
  for (std::size_t done = 0; done < bytes; done += sizeof pattern) {
    const std::size_t part = std::min(sizeof pattern, bytes - done);
    if (std::memcmp(in + done, pattern.data(), part) != 0) return false;
  }
  return true;
}

}  // namespace

void Operation::fill_slot(float* data, std::size_t bytes, int rank, std::size_t slot,
                          unsigned round) {
  fill(data, bytes, pattern_of(rank, slot, round));
}

bool Operation::is_slot(const float* data, std::size_t bytes, int rank, std::size_t slot,
                        unsigned round) {
  return equals(data, bytes, pattern_of(rank, slot, round));
}

std::size_t ring_slots(std::size_t bytes, const Options& options) {
  const std::size_t fitting = options.ring_bytes / bytes;
  const std::size_t least = bytes < (std::size_t{8} << 20) ? 4 : 2;
  return std::min(std::max(fitting, least), options.batch_max);
}

Operation::Operation(Backend& backend, OpKind kind, std::size_t bytes, const Options& options)
    : backend_(backend),
      kind_(kind),
      bytes_(bytes),
      slots_(kind == OpKind::kBarrier ? options.batch_max : ring_slots(bytes, options)),
      stride_(round_up(bytes, kLine)),
      root_(options.root),
      rotate_(options.rotate_root),
      from_library_(options.alloc_library),
      offset_(options.offset) {
  if (kind == OpKind::kBarrier) return;
  const std::size_t ring = round_up(offset_ + slots_ * stride_, kPage);
  for (std::byte*& memory : rings_) {
    void* got = from_library_ ? backend_.allocate(ring) : std::aligned_alloc(kPage, ring);
    if (got == nullptr) {
      throw std::runtime_error("no memory for " + std::to_string(ring) + " bytes of buffers" +
                               (from_library_ ? " from esp_alloc" : ""));
    }
    memory = static_cast<std::byte*>(got);
    std::memset(memory, 0xff, ring);  // NaNs: no result is right by accident, and no page is new.
  }
  if (kind == OpKind::kBandwidth) window_.reserve(kWindow);
  if (is_one_sided(kind)) open_one_sided(ring);
}

Operation::~Operation() {
  for (std::byte* memory : rings_) {
    if (from_library_ && memory != nullptr) backend_.release(memory);
    if (!from_library_) std::free(memory);
  }
}

std::size_t Operation::heap_bytes(const Options& options) {
  if (!options.alloc_library) return 0;
  std::size_t most = 0;
  for (const std::size_t bytes : options.sizes) {
    most = std::max(most, options.offset + ring_slots(bytes, options) * round_up(bytes, kLine));
  }
  // Both rings, the memory that others reach, and some rounding.
  return 3 * round_up(most, kPage) + (std::size_t{2} << 20);
}

float* Operation::input(std::size_t slot) const {
  return reinterpret_cast<float*>(rings_[0] + offset_ + slot * stride_);
}

float* Operation::output(std::size_t slot) const {
  return reinterpret_cast<float*>(rings_[1] + offset_ + slot * stride_);
}

int Operation::root_of(std::size_t slot) const {
  return rotate_ ? static_cast<int>(slot % static_cast<std::size_t>(backend_.size())) : root_;
}

bool Operation::takes_part() const {
  if (is_one_sided(kind_)) return backend_.rank() < (kind_ == OpKind::kMessageRate ? 2 : 1);
  const bool pair = kind_ == OpKind::kLatency || kind_ == OpKind::kBandwidth;
  return !pair || backend_.rank() < 2;
}

bool Operation::provides(std::size_t slot) const {
  if (kind_ == OpKind::kBarrier) return false;
  return kind_ == OpKind::kBcast ? backend_.rank() == root_of(slot) : takes_part();
}

void Operation::rewrite(std::size_t calls, unsigned round) {
  for (std::size_t slot = 0; slot < calls; ++slot) {
    if (is_one_sided(kind_)) {
      rewrite_one_sided(slot, round);
      continue;
    }
    if (provides(slot)) fill(input(slot), bytes_, pattern_of(backend_.rank(), slot, round));
  }
}

void Operation::run(std::size_t calls) {
  const std::size_t count = bytes_ / sizeof(float);
  switch (kind_) {
    case OpKind::kBarrier:
      for (std::size_t i = 0; i < calls; ++i) backend_.barrier();
      return;
    case OpKind::kBcast:
      for (std::size_t i = 0; i < calls; ++i) backend_.bcast(input(i), bytes_, root_of(i));
      return;
    case OpKind::kReduce:
      for (std::size_t i = 0; i < calls; ++i) {
        backend_.reduce_sum(input(i), output(i), count, root_of(i));
      }
      return;
    case OpKind::kAllreduce:
      for (std::size_t i = 0; i < calls; ++i) backend_.allreduce_sum(input(i), output(i), count);
      return;
    case OpKind::kLatency:
      return run_latency(calls);
    case OpKind::kBandwidth:
      return run_bandwidth(calls);
    default:
      return run_one_sided(calls);
  }
}

void Operation::run_latency(std::size_t calls) {
  if (backend_.rank() == 0) {
    for (std::size_t i = 0; i < calls; ++i) {
      backend_.send(input(i), bytes_, 1);
      backend_.recv(output(i), bytes_, 1);
    }
  } else if (backend_.rank() == 1) {
    for (std::size_t i = 0; i < calls; ++i) {
      backend_.recv(output(i), bytes_, 0);
      backend_.send(input(i), bytes_, 0);
    }
  }
}

void Operation::run_bandwidth(std::size_t calls) {
  if (backend_.rank() > 1) return;
  for (std::size_t done = 0; done < calls; done += kWindow) {
    window_.clear();
    const std::size_t end = std::min(calls, done + kWindow);
    for (std::size_t i = done; i < end; ++i) {
      window_.push_back(backend_.rank() == 0 ? input(i) : output(i));
    }
    if (backend_.rank() == 0) {
      backend_.send_window(window_, bytes_, 1);
    } else {
      backend_.recv_window(window_, bytes_, 0);
    }
  }
}

bool Operation::verify(std::size_t calls, unsigned round) const {
  if (kind_ == OpKind::kBarrier || (!is_one_sided(kind_) && !takes_part())) return true;
  for (std::size_t slot = 0; slot < calls; ++slot) {
    bool right = true;
    if (is_one_sided(kind_)) {
      right = verify_one_sided(slot, round);
    } else if (kind_ == OpKind::kBcast) {
      right = equals(input(slot), bytes_, pattern_of(root_of(slot), slot, round));
    } else if (kind_ == OpKind::kLatency || kind_ == OpKind::kBandwidth) {
      const bool received = kind_ == OpKind::kLatency || backend_.rank() == 1;
      const int sender = 1 - backend_.rank();
      right = !received || equals(output(slot), bytes_, pattern_of(sender, slot, round));
    } else {
      const bool has_result = kind_ == OpKind::kAllreduce || backend_.rank() == root_of(slot);
      right = !has_result ||
              equals(output(slot), bytes_, sum_of_patterns(backend_.size(), slot, round));
    }
    if (!right) return false;
  }
  return verify_fetch_adds(calls);
}

}  // namespace espalier::bench
