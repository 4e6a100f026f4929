// Bandwidth and message rate of pairs of ranks, as osu_mbw_mr: a window of messages one way, then a
// small answer. path: data
#include <cstdint>
#include <stdexcept>

#include "esp-bench/clock.hpp"
#include "threads/job.hpp"
#include "threads/measures.hpp"

namespace espalier::bench {
namespace {

constexpr unsigned kData = 0, kAnswers = 1;

// One rank's half of a pair: the buffers of a window, and how it is moved.
class Pair {
 public:
  Pair(const Job& job, std::size_t bytes, int window)
      : job_(job),
        bytes_(bytes),
        requests_(static_cast<std::size_t>(window)),
        memory_(bytes * requests_.size(), 0) {
    const int half = job.size() / 2;
    sends_ = job.rank() < half;
    peer_ = sends_ ? job.rank() + half : job.rank() - half;
  }

  void move(std::uint8_t number) {
    for (std::size_t slot = 0; slot < requests_.size(); ++slot) {
      std::uint8_t* const at = memory_.data() + slot * bytes_;
      if (sends_) {
        at[0] = at[bytes_ - 1] = stamp(number, slot);
        job_.must(
            esp_send_start(job_.world(), at, bytes_, peer_, kData, nullptr, &requests_[slot]));
      } else {
        job_.must(
            esp_recv_start(job_.world(), at, bytes_, peer_, kData, nullptr, &requests_[slot]));
      }
    }
    job_.must(esp_request_wait_all(requests_.data(), requests_.size()));
    if (sends_) {
      std::uint32_t wrong = 0;
      job_.must(esp_recv(job_.world(), &wrong, sizeof wrong, peer_, kAnswers));
      wrong_ += wrong;
      return;
    }
    const std::uint32_t wrong = wrong_now(number);
    job_.must(esp_send(job_.world(), &wrong, sizeof wrong, peer_, kAnswers));
  }
  // Messages that came wrong.
  double wrong() const { return wrong_; }

 private:
  static std::uint8_t stamp(std::uint8_t number, std::size_t slot) {
    return static_cast<std::uint8_t>(number * 31 + slot);
  }
  std::uint32_t wrong_now(std::uint8_t number) const {
    std::uint32_t wrong = 0;
    for (std::size_t slot = 0; slot < requests_.size(); ++slot) {
      const std::uint8_t* const at = memory_.data() + slot * bytes_;
      const std::uint8_t wanted = stamp(number, slot);
      wrong += at[0] == wanted && at[bytes_ - 1] == wanted ? 0 : 1;
    }
    return wrong;
  }

  const Job& job_;
  const std::size_t bytes_;
  std::vector<esp_request*> requests_;
  std::vector<std::uint8_t> memory_;
  bool sends_ = true;
  int peer_ = 0;
  double wrong_ = 0;
};

Row measure_stream(const Job& job, std::size_t bytes, int window, int windows) {
  Pair pair(job, bytes, window);
  constexpr int kWarmUps = 2;
  std::uint8_t number = 0;
  for (int i = 0; i < kWarmUps; ++i) pair.move(++number);
  job.barrier();
  const std::int64_t begin = now_ns();
  for (int i = 0; i < windows; ++i) pair.move(++number);
  const double seconds = job.most(static_cast<double>(now_ns() - begin) * 1e-9);
  const double messages = 0.5 * job.size() * window * windows;
  return {{"pairs", job.size() / 2},
          {"bytes", bytes},
          {"window", window},
          {"iterations", windows},
          {"mb_per_s", messages * static_cast<double>(bytes) / seconds * 1e-6},
          {"messages_per_s", messages / seconds},
          {"correct", job.most(pair.wrong()) < 0.5}};
}

}  // namespace

void measure_bandwidth(const Options& options, Report& report) {
  report.note("bandwidth", "of all pairs together, until the slowest rank's last answer; MB: 10^6");
  for (const std::string& way : options.ways) {
    const bool offloads = way == "offload";
    const Job job(offloads ? Mode::kProgress : Mode::kOwner);
    if (job.size() % 2 != 0) throw std::runtime_error("bandwidth needs pairs of ranks");
    for (const std::size_t bytes : options.bytes) {
      for (const int window : options.windows) {
        Row row = {{"way", way}};
        row.update(measure_stream(job, bytes, window, options.iterations_of(bytes)));
        row["crowded"] = report.is_crowded(offloads ? 2 : 1);
        report.add("rows", row);
      }
    }
  }
}

}  // namespace espalier::bench
