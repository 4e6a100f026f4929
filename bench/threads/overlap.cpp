// How much of an operation runs while its caller computes, about as long as the operation takes:
// r = (t_comm + t_work - T) / max(t_comm, t_work), 1 when all of the shorter is hidden, 0 when
// nothing is, less when starting, working and waiting takes longer than one after the other.
//
// What moves the data decides what there is to gain: in shared memory a core copies, and with no
// core left over for the library's thread the copies only change hands. Where not all ranks compute
// those that wait leave theirs. path: data
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
  // `poll_us`: work between two calls of esp_progress, 0: none. `computing`: ranks, from the first.
  Overlap(const Job& job, const std::string& operation, std::size_t bytes, int iterations,
          int poll_us, int computing, Work& work)
      : job_(job),
        operation_(job, operation, bytes),
        iterations_(iterations),
        work_(work),
        chunk_(poll_us > 0 ? work.units_of(poll_us) : 0),
        weight_(job.rank() < computing ? static_cast<double>(job.size()) / computing : 0.0) {}

  Row measure() {
    const double comm_us = median_of([&] { operation_.block(); });
    // Equal on all ranks, so that nobody waits for another's work.
    const auto all =
        static_cast<std::int64_t>(job_.most(static_cast<double>(work_.units_of(comm_us))));
    const std::int64_t units = weight_ > 0 ? all : 0;
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
            {"hidden", (comm_us + work_us - whole_us) / std::min(comm_us, work_us)},
            {"correct", job_.most(correct_ ? 0.0 : 1.0) < 0.5}};
  }

 private:
  // The median over the iterations of the mean over those that compute; all begin together.
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
      if (i >= 0) times_us.push_back(us * weight_);
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
  const double weight_;       // of this rank's times in a mean over all; 0: it does not compute
  bool correct_ = true;
};

}  // namespace

void measure_overlap(const Options& options, Report& report) {
  report.note(
      "overlap",
      "r = (comm + work - whole) / max(comm, work), hidden: / min(comm, work), the share of "
      "the shorter; medians of means over the ranks that compute");
  Work work;
  for (const std::string& way : options.ways) {
    const bool threaded = way == "thread";
    const Job job(threaded ? Mode::kProgress : Mode::kOwner);
    if (job.size() < 2) throw std::runtime_error("overlap needs two ranks: esp-run -n 2");
    const int computing = options.computing > 0 ? options.computing : job.size();
    if (computing > job.size())
      throw std::runtime_error("--computing: there are not so many ranks");
    for (const std::string& name : options.operations) {
      for (const std::size_t bytes : options.bytes) {
        Overlap overlap(job, name, bytes, options.iterations_of(bytes),
                        way == "polled" ? options.poll_us : 0, computing, work);
        Row row = {{"way", way}, {"operation", name}, {"bytes", bytes}, {"computing", computing}};
        row.update(overlap.measure());
        row["crowded"] = report.is_crowded(threaded ? 2 : 1);
        report.add("rows", row);
      }
    }
  }
}

}  // namespace espalier::bench
