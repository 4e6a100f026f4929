// Latency of messages between threads: one thread without any protection, one lock around all
// calls, or the library's thread. path: data
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "threads/job.hpp"
#include "threads/latency_of.hpp"
#include "threads/measures.hpp"

namespace espalier::bench {
namespace {

// The calls as they are: for one thread of an owner, for all threads with the library's thread.
class PlainLine : public Line {
 public:
  PlainLine(const Job& job, unsigned channel)
      : job_(job), peer_(1 - job.rank()), channel_(channel) {}

  void send(const void* buffer, std::size_t bytes) override {
    job_.must(esp_send(job_.world(), buffer, bytes, peer_, channel_));
  }
  void recv(void* buffer, std::size_t bytes) override {
    job_.must(esp_recv(job_.world(), buffer, bytes, peer_, channel_));
  }
  void exchange(const void* out, void* in, std::size_t bytes) override {
    esp_request* requests[2] = {};
    esp_team* const world = job_.world();
    job_.must(esp_recv_start(world, in, bytes, peer_, channel_, nullptr, &requests[0]));
    job_.must(esp_send_start(world, out, bytes, peer_, channel_, nullptr, &requests[1]));
    job_.must(esp_request_wait_all(requests, 2));
  }

 private:
  const Job& job_;
  const int peer_;
  const unsigned channel_;
};

// Every call under one lock of the process, which is free between two looks.
class LockedLine : public Line {
 public:
  // `crowd`: threads that share the lock.
  LockedLine(const Job& job, std::mutex& lock, unsigned channel, int crowd)
      : job_(job), lock_(lock), peer_(1 - job.rank()), channel_(channel), crowd_(crowd) {}

  void send(const void* buffer, std::size_t bytes) override { move(buffer, nullptr, bytes); }
  void recv(void* buffer, std::size_t bytes) override { move(nullptr, buffer, bytes); }
  void exchange(const void* out, void* in, std::size_t bytes) override { move(out, in, bytes); }

 private:
  // NULL: not that way.
  void move(const void* out, void* in, std::size_t bytes) {
    esp_request* requests[2] = {};
    esp_team* const world = job_.world();
    if (in != nullptr) {
      const std::lock_guard hold(lock_);
      job_.must(esp_recv_start(world, in, bytes, peer_, channel_, nullptr, &requests[0]));
    }
    if (out != nullptr) {
      const std::lock_guard hold(lock_);
      job_.must(esp_send_start(world, out, bytes, peer_, channel_, nullptr, &requests[1]));
    }
    finish(requests);
  }

  void finish(esp_request* (&requests)[2]) {
    for (;;) {
      int done = 0;
      {
        const std::lock_guard hold(lock_);
        const esp_status status = esp_request_test_all(requests, 2, &done);
        if (done == 1) return job_.must(status);
      }
      // A mutex goes to whoever takes it first, and that is the thread that has just had it.
      if (crowd_ > 1) std::this_thread::yield();
    }
  }

  const Job& job_;
  std::mutex& lock_;
  const int peer_;
  const unsigned channel_;
  const int crowd_;
};

LineMaker lines_of(const Job& job, std::mutex& lock, bool locked) {
  return [&job, &lock, locked](int thread, int threads) -> std::unique_ptr<Line> {
    const auto channel = static_cast<unsigned>(thread);
    if (locked) return std::make_unique<LockedLine>(job, lock, channel, threads);
    return std::make_unique<PlainLine>(job, channel);
  };
}

}  // namespace

void measure_latency(const Options& options, Report& report) {
  report.note("latency", kLatencyNote);
  for (const std::string& name : options.ways) {
    const bool offloads = name == "offload", locks = name == "lock";
    const Job job(offloads ? Mode::kProgress : Mode::kOwner);
    if (job.size() != 2) throw std::runtime_error("latency is between two ranks: esp-run -n 2");
    std::mutex lock;
    LatencyWay way;
    way.name = name;
    way.asks = job.rank() == 0;
    way.one_thread = name == "direct";
    way.blocks = !locks;
    way.more_threads = offloads ? 1 : 0;
    way.make_line = lines_of(job, lock, locks);
    way.barrier = [&job] { job.barrier(); };
    measure_latency_of(way, options, report);
  }
}

}  // namespace espalier::bench
