#include "shm/path_cost.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/clock.hpp"
#include "shm/cma.hpp"

namespace espalier::shm {
namespace {

// As segments of large flows are.
constexpr std::uint64_t kSegment = 256 << 10;
constexpr std::uint64_t kLargest = 4 * kMeasuredFrom;
constexpr int kRounds = 3;

// Touched memory, given back at the end.
class Pages {
 public:
  Pages(std::uint64_t bytes, int sharing) noexcept : bytes_(bytes) {
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS | MAP_POPULATE,
                     -1, 0);
    if (ok()) std::memset(memory_, 1, bytes);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (ok()) ::munmap(memory_, bytes_);
  }
  bool ok() const noexcept { return memory_ != MAP_FAILED; }
  std::byte* at(std::uint64_t offset) const noexcept {
    return static_cast<std::byte*>(memory_) + offset;
  }

 private:
  void* memory_;
  std::uint64_t bytes_;
};

// The best of some rounds: what disturbs only adds.
template <typename Body>
std::uint64_t best_ns(Body&& body) noexcept {
  SteadyClock clock;
  std::uint64_t best = kNeverPull;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t begin = clock.now_ns();
    body();
    best = std::min(best, clock.now_ns() - begin);
  }
  return best;
}

}  // namespace

PathCost measure_path_cost(std::uint64_t bytes) noexcept {
  const Pages from(bytes, MAP_PRIVATE), to(bytes, MAP_PRIVATE), between(bytes, MAP_SHARED);
  if (!from.ok() || !to.ok() || !between.ok()) return {};
  const auto copy = [bytes](const Pages& out, const Pages& in) {
    for (std::uint64_t at = 0; at < bytes; at += kSegment) {
      std::memcpy(out.at(at), in.at(at), std::min(kSegment, bytes - at));
    }
  };
  const std::uint64_t in_ns = best_ns([&] { copy(between, from); });
  const std::uint64_t out_ns = best_ns([&] { copy(to, between); });
  bool allowed = true;
  const std::uint64_t pull_ns = best_ns([&] {
    CmaCopy pull = CmaCopy::pull(VisiblePid::self(), reinterpret_cast<std::uint64_t>(from.at(0)),
                                 to.at(0), bytes);
    std::uint64_t calls = 0;
    while (allowed && !pull.done()) allowed = pull.advance(kSegment, calls).ok();
  });
  return {in_ns, out_ns, allowed ? pull_ns : 0};
}

std::uint32_t readers_that_pull(const PathCost& cost, bool serial) noexcept {
  if (cost.pull_ns == 0) return 0;
  if (!serial) return cost.pull_ns < std::max(cost.in_ns, cost.out_ns) ? kAnyReaders : 0;
  if (cost.pull_ns <= cost.out_ns) return kAnyReaders;
  const std::uint64_t readers = cost.in_ns / (cost.pull_ns - cost.out_ns);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(readers, kAnyReaders - 1));
}

PullRule measured_pull_rule(PathChoice& choice, bool serial) noexcept {
  const std::uint64_t known = choice.threshold.load(std::memory_order_acquire);
  if (known != 0) return {known, choice.readers.load(std::memory_order_relaxed)};
  if (choice.measuring.exchange(1, std::memory_order_relaxed) != 0) return {};
  for (std::uint64_t bytes = kMeasuredFrom;; bytes *= 2) {
    const PathCost cost = measure_path_cost(bytes);
    const std::uint32_t readers = readers_that_pull(cost, serial);
    // Twice as slow is not made up for by any size.
    const std::uint64_t through_ns =
        serial ? cost.in_ns + cost.out_ns : std::max(cost.in_ns, cost.out_ns);
    const bool hopeless = cost.pull_ns == 0 || cost.pull_ns > 2 * through_ns;
    if (readers == 0 && !hopeless && bytes < kLargest) continue;
    const std::uint64_t threshold = readers > 0 ? bytes : kNeverPull;
    choice.bytes.store(bytes, std::memory_order_relaxed);
    choice.in_ns.store(cost.in_ns, std::memory_order_relaxed);
    choice.out_ns.store(cost.out_ns, std::memory_order_relaxed);
    choice.pull_ns.store(cost.pull_ns, std::memory_order_relaxed);
    choice.readers.store(readers, std::memory_order_relaxed);
    choice.threshold.store(threshold, std::memory_order_release);
    return {threshold, readers};
  }
}

std::string explain(const PathChoice& choice) {
  const std::uint64_t threshold = choice.threshold.load(std::memory_order_acquire);
  if (threshold == 0) {
    return fmt::format("measured with the first flow of {} MiB", kMeasuredFrom >> 20);
  }
  const std::string seen =
      fmt::format("measured at {} MiB: {} us by CMA, {} + {} us into and out of shared memory",
                  choice.bytes.load(std::memory_order_relaxed) >> 20,
                  choice.pull_ns.load(std::memory_order_relaxed) / 1000,
                  choice.in_ns.load(std::memory_order_relaxed) / 1000,
                  choice.out_ns.load(std::memory_order_relaxed) / 1000);
  if (threshold == kNeverPull) return "not used, " + seen;
  const std::uint32_t readers = choice.readers.load(std::memory_order_relaxed);
  const std::string limit =
      readers == kAnyReaders ? "" : fmt::format(" with up to {} readers", readers);
  return fmt::format("from {} MiB on{}, {}", threshold >> 20, limit, seen);
}

}  // namespace espalier::shm
