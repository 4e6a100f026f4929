#include "esp-bench/operation.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace espalier::bench {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPiece = std::size_t{16} << 20;  // of a new ring, written at a time
constexpr std::size_t kPeriod = 16;                    // of the data, in floats: one cache line
constexpr std::size_t kRanksOfHeap = 64;
constexpr std::size_t kWindow = 64;  // messages in flight of a flow, as in the OSU benchmarks
using Pattern = std::array<float, kPeriod>;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

Pattern pattern_of(int rank, std::size_t slot, unsigned round, int block = 0) {
  Pattern pattern;
  for (std::size_t i = 0; i < kPeriod; ++i) {
    pattern[i] = static_cast<float>((i + slot + 3 * static_cast<std::size_t>(rank) + round) & 15) +
                 16 * static_cast<float>(block);
  }
  return pattern;
}

Pattern sum_of_patterns(int ranks, std::size_t slot, unsigned round, int block) {
  Pattern sum{};
  for (int rank = 0; rank < ranks; ++rank) {
    const Pattern one = pattern_of(rank, slot, round, block);
    for (std::size_t i = 0; i < kPeriod; ++i) sum[i] += one[i];
  }
  return sum;
}

void fill(std::byte* out, std::size_t bytes, const Pattern& pattern) {
  for (std::size_t done = 0; done < bytes; done += sizeof pattern) {
    std::memcpy(out + done, pattern.data(), std::min(sizeof pattern, bytes - done));
  }
}

bool equals(const std::byte* in, std::size_t bytes, const Pattern& pattern) {
  for (std::size_t done = 0; done < bytes; done += sizeof pattern) {
    const std::size_t part = std::min(sizeof pattern, bytes - done);
    if (std::memcmp(in + done, pattern.data(), part) != 0) return false;
  }
  return true;
}

}  // namespace

void Operation::fill_slot(float* data, std::size_t bytes, int rank, std::size_t slot,
                          unsigned round, int block) {
  auto* const at = reinterpret_cast<std::byte*>(data);
  fill(memory_.to_write(at, bytes), bytes, pattern_of(rank, slot, round, block));
  memory_.written(at, bytes);
}

bool Operation::is_slot(const float* data, std::size_t bytes, int rank, std::size_t slot,
                        int block) const {
  return equals(to_read(data, bytes), bytes, pattern_of(rank, slot, round_, block));
}

bool Operation::is_sum(const float* data, std::size_t bytes, int ranks, std::size_t slot,
                       int block) const {
  return equals(to_read(data, bytes), bytes, sum_of_patterns(ranks, slot, round_, block));
}

std::size_t ring_slots(std::size_t bytes, const Options& options) {
  const std::size_t fitting = options.ring_bytes / bytes;
  const std::size_t least = bytes < (std::size_t{8} << 20) ? 4 : 2;
  return std::min(std::max(fitting, least), options.batch_max);
}

Operation::Operation(Backend& backend, BufferMemory& memory, OpKind kind, std::size_t bytes,
                     const Options& options)
    : backend_(backend),
      memory_(memory),
      kind_(kind),
      bytes_(bytes),
      layout_(kind, backend.rank(), backend.size(), bytes / sizeof(float)),
      slots_(kind == OpKind::kBarrier
                 ? options.batch_max
                 : ring_slots(bytes * std::max(layout_.inputs(), layout_.outputs()), options)),
      reuses_(options.reuses_buffers),
      buffers_{round_up(bytes * layout_.inputs(), kLine),
               round_up(bytes * layout_.outputs(), kLine)},
      strides_{reuses_ ? 0 : buffers_[0], reuses_ ? 0 : buffers_[1]},
      root_(options.root),
      rotate_(options.rotate_root),
      offset_(options.offset) {
  if (kind == OpKind::kBarrier) return;
  if (has_blocks(kind)) set_blocks();
  if (!refusal_.empty()) return;
  for (std::size_t i = 0; i < 2; ++i) rings_[i] = make_ring(buffers_[i]);
  if (kind == OpKind::kBandwidth) window_.reserve(kWindow);
  if (is_one_sided(kind)) open_one_sided(ring_bytes(buffers_[0]));
}

std::size_t Operation::ring_bytes(std::size_t buffer) const {
  return round_up(offset_ + used_by(slots_) * buffer, kPage);
}

std::byte* Operation::make_ring(std::size_t buffer) const {
  const std::size_t ring = ring_bytes(buffer);
  std::byte* const got = memory_.allocate(ring);
  // NaNs: no result is right by accident, and no page is new.
  for (std::size_t done = 0; done < ring; done += kPiece) {
    const std::size_t part = std::min(kPiece, ring - done);
    std::memset(memory_.to_write(got + done, part), 0xff, part);
    memory_.written(got + done, part);
  }
  return got;
}

Operation::~Operation() {
  for (std::byte* memory : rings_) {
    if (memory != nullptr) memory_.release(memory);
  }
}

std::size_t Operation::heap_bytes(const Options& options) {
  if (options.alloc != Alloc::kLibrary) return 0;
  const bool blocks = std::any_of(options.ops.begin(), options.ops.end(), has_blocks);
  std::size_t most = 0;
  for (const std::size_t size : options.sizes) {
    const std::size_t bytes = blocks ? size * kRanksOfHeap : size;
    most = std::max(most, options.offset + ring_slots(bytes, options) * round_up(bytes, kLine));
  }
  // Both rings, the memory that others reach, and some rounding.
  return 3 * round_up(most, kPage) + (std::size_t{2} << 20);
}

float* Operation::input(std::size_t slot) const {
  return reinterpret_cast<float*>(rings_[0] + offset_ + slot * strides_[0]);
}

float* Operation::output(std::size_t slot) const {
  return reinterpret_cast<float*>(rings_[1] + offset_ + slot * strides_[1]);
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
  const bool root_only = kind_ == OpKind::kBcast || is_scatter(kind_);
  return root_only ? backend_.rank() == root_of(slot) : takes_part();
}

void Operation::rewrite(std::size_t calls, unsigned round) {
  if (reuses_ && round_ != 0) return;
  round_ = round;
  for (std::size_t slot = 0; slot < used_by(calls); ++slot) {
    if (is_one_sided(kind_)) {
      rewrite_one_sided(slot, round);
    } else if (!provides(slot)) {
      continue;
    } else if (has_blocks(kind_)) {
      rewrite_blocks(slot, round);
    } else {
      fill_slot(input(slot), bytes_, backend_.rank(), slot, round);
    }
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
    case OpKind::kScan:
      for (std::size_t i = 0; i < calls; ++i) backend_.scan_sum(input(i), output(i), count);
      return;
    case OpKind::kExscan:
      for (std::size_t i = 0; i < calls; ++i) backend_.exscan_sum(input(i), output(i), count);
      return;
    case OpKind::kLatency:
      return run_latency(calls);
    case OpKind::kBandwidth:
      return run_bandwidth(calls);
    default:
      return has_blocks(kind_) ? run_blocks(calls) : run_one_sided(calls);
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

// An exscan leaves rank 0's output alone.
bool Operation::verify_sum(std::size_t slot) const {
  int ranks = backend_.size();
  if (kind_ == OpKind::kReduce && backend_.rank() != root_of(slot)) ranks = 0;
  if (kind_ == OpKind::kScan) ranks = backend_.rank() + 1;
  if (kind_ == OpKind::kExscan) ranks = backend_.rank();
  return ranks == 0 || is_sum(output(slot), bytes_, ranks, slot);
}

bool Operation::verify_slot(std::size_t slot) const {
  if (is_one_sided(kind_)) return verify_one_sided(slot);
  if (has_blocks(kind_)) return verify_blocks(slot);
  switch (kind_) {
    case OpKind::kBcast:
      return is_slot(input(slot), bytes_, root_of(slot), slot);
    case OpKind::kLatency:
    case OpKind::kBandwidth: {
      const bool received = kind_ == OpKind::kLatency || backend_.rank() == 1;
      return !received || is_slot(output(slot), bytes_, 1 - backend_.rank(), slot);
    }
    default:
      return verify_sum(slot);
  }
}

bool Operation::verify(std::size_t calls) const {
  if (kind_ == OpKind::kBarrier || (!is_one_sided(kind_) && !takes_part())) return true;
  for (std::size_t slot = 0; slot < used_by(calls); ++slot) {
    if (!verify_slot(slot)) return false;
  }
  return verify_fetch_adds(calls);
}

}  // namespace espalier::bench
