// How much of an operation runs while its caller computes, about as long as the operation takes:
// r = (t_comm + t_work - T) / max(t_comm, t_work), 1 when all of the shorter is hidden, 0 when
// nothing is, less when starting, working and waiting takes longer than one after the other.
//
// What moves the data decides what there is to gain: in shared memory a core copies, and with no
// core left over for the library's thread the copies only change hands. path: data
#include <algorithm>
#include <stdexcept>

#include "esp-bench/clock.hpp"
#include "threads/measures.hpp"
#include "threads/series.hpp"
#include "threads/started.hpp"
#include "threads/work.hpp"

namespace espalier::bench {
namespace {

class Overlap {
 public:
  // `poll_us`: work between two calls of esp_progress, 0: none.
  Overlap(const Job& job, const std::string& operation, std::size_t bytes, int iterations,
          int poll_us, Work& work)
      : job_(job),
        operation_(job, operation, bytes),
        iterations_(iterations),
        work_(work),
        chunk_(poll_us > 0 ? work.units_of(poll_us) : 0) {}

  Row measure() {
    const double comm_us = median_of([&] { operation_.block(); });
    // Equal on all ranks, so that nobody waits for another's work.
    const auto units =
        static_cast<std::int64_t>(job_.most(static_cast<double>(work_.units_of(comm_us))));
    const double work_us = median_of([&] { work_.run(units); }, false);
    const double whole_us = median_of([&] {
      operation_.start();
      compute(units);
      operation_.wait();
    });
    return {{"iterations", iterations_},
            {"comm_us", comm_us},
            {"work_us", work_us},
            {"whole_us", whole_us},
            {"r", (comm_us + work_us - whole_us) / std::max(comm_us, work_us)},
            {"correct", job_.most(correct_ ? 0.0 : 1.0) < 0.5}};
  }

 private:
  // The median over the iterations of the mean over the ranks, which begin together.
  template <typename Run>
  double median_of(Run&& run, bool communicates = true) {
    constexpr int kWarmUps = 3;
    std::vector<double> times_us;
    for (int i = -kWarmUps; i < iterations_; ++i) {
      if (communicates) operation_.prepare();
      job_.barrier();
      const std::int64_t begin = now_ns();
      run();
      const double us = static_cast<double>(now_ns() - begin) * 1e-3;
      if (communicates) correct_ = correct_ && operation_.is_correct();
      if (i >= 0) times_us.push_back(us);
    }
    job_.mean_over_ranks(times_us);
    return describe(std::move(times_us)).median;
  }

  void compute(std::int64_t units) {
    if (chunk_ == 0) return work_.run(units);
    for (; units > 0; units -= chunk_) {
      work_.run(std::min(units, chunk_));
      esp_progress(job_.get());
    }
  }

  const Job& job_;
  Started operation_;
  const int iterations_;
  Work& work_;
  const std::int64_t chunk_;  // units; 0: all at once
  bool correct_ = true;
};

}  // namespace

void measure_overlap(const Options& options, Report& report) {
  report.note("overlap",
              "r = (comm + work - whole) / max(comm, work); medians of means over ranks");
  Work work;
  for (const std::string& way : options.ways) {
    const bool threaded = way == "thread";
    const Job job(threaded ? Mode::kProgress : Mode::kOwner);
    if (job.size() < 2) throw std::runtime_error("overlap needs two ranks: esp-run -n 2");
    for (const std::string& name : options.operations) {
      for (const std::size_t bytes : options.bytes) {
        Overlap overlap(job, name, bytes, options.iterations_of(bytes),
                        way == "polled" ? options.poll_us : 0, work);
        Row row = {{"way", way}, {"operation", name}, {"bytes", bytes}};
        row.update(overlap.measure());
        row["crowded"] = report.is_crowded(threaded ? 2 : 1);
        report.add("rows", row);
      }
    }
  }
}

}  // namespace espalier::bench
