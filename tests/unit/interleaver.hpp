// Interleaver: runs a few threads in every order of their atomic operations (sequentially
// consistent schedules, bounded number of preemptions), depth first.
//
// The code under test uses SteppedAtomic instead of std::atomic; each operation on one is a step at
// which another thread may be scheduled. One thread runs at a time, so the rest of the program
// needs no care. What it does not do: weaker memory orders (ThreadSanitizer and review do).
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <semaphore>
#include <thread>
#include <vector>

namespace espalier {

class Interleaver {
 public:
  struct Options {
    std::size_t preemptions_max = 2;
  };
  using Body = std::function<void()>;

  // Called by SteppedAtomic. Outside of explored threads it does nothing.
  static void step() {
    if (self_ != nullptr) self_->pause();
  }

  // Runs `set_up`, the threads and `check` once per schedule, until none is left or `check` answers
  // false. Returns the number of schedules.
  static std::size_t explore(Options options, const Body& set_up, const std::vector<Body>& bodies,
                             const std::function<bool()>& check) {
    std::vector<Choice> path;
    std::size_t schedules = 0;
    do {
      set_up();
      run_one(options, bodies, path);
      ++schedules;
      if (!check()) break;
    } while (advance(path));
    return schedules;
  }

 private:
  struct Choice {
    std::vector<std::size_t> candidates;
    std::size_t taken = 0;
  };

  struct Strand {
    std::binary_semaphore go{0};
    std::binary_semaphore paused{0};
    bool done = false;
    std::thread thread;
    void pause() {
      paused.release();
      go.acquire();
    }
  };

  static void run_one(const Options& options, const std::vector<Body>& bodies,
                      std::vector<Choice>& path) {
    std::vector<Strand> strands(bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      strands[i].thread = std::thread([&strand = strands[i], &body = bodies[i]] {
        strand.go.acquire();
        self_ = &strand;
        body();
        self_ = nullptr;
        strand.done = true;
        strand.paused.release();
      });
    }
    std::size_t current = bodies.size();
    std::size_t preemptions = 0;
    for (std::size_t depth = 0;; ++depth) {
      if (depth == path.size()) {
        path.push_back({candidates(strands, current, preemptions < options.preemptions_max)});
      }
      if (path[depth].candidates.empty()) break;
      const std::size_t next = path[depth].candidates[path[depth].taken];
      const bool preempted = current < strands.size() && !strands[current].done && next != current;
      preemptions += preempted ? 1 : 0;
      current = next;
      strands[current].go.release();
      strands[current].paused.acquire();
    }
    for (Strand& strand : strands) strand.thread.join();
  }

  // Who may run next: the current thread first; others when it is done or may be preempted.
  static std::vector<std::size_t> candidates(const std::vector<Strand>& strands,
                                             std::size_t current, bool may_preempt) {
    std::vector<std::size_t> who;
    const bool continues = current < strands.size() && !strands[current].done;
    if (continues) who.push_back(current);
    if (continues && !may_preempt) return who;
    for (std::size_t i = 0; i < strands.size(); ++i) {
      if (i != current && !strands[i].done) who.push_back(i);
    }
    return who;
  }

  // The next path in depth-first order; false after the last.
  static bool advance(std::vector<Choice>& path) {
    while (!path.empty()) {
      Choice& last = path.back();
      if (last.taken + 1 < last.candidates.size()) {
        ++last.taken;
        return true;
      }
      path.pop_back();
    }
    return false;
  }

  static inline thread_local Strand* self_ = nullptr;
};

inline std::size_t explore_schedules(Interleaver::Options options, const Interleaver::Body& set_up,
                                     const std::vector<Interleaver::Body>& bodies,
                                     const std::function<bool()>& check) {
  return Interleaver::explore(options, set_up, bodies, check);
}

// The part of std::atomic that is needed, with a step before each operation.
template <typename T>
class SteppedAtomic {
 public:
  SteppedAtomic(T value = T{}) : value_(value) {}  // NOLINT(google-explicit-constructor)
  T load(std::memory_order order) const {
    Interleaver::step();
    return value_.load(order);
  }
  void store(T value, std::memory_order order) {
    Interleaver::step();
    value_.store(value, order);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order) {
    Interleaver::step();
    return value_.compare_exchange_strong(expected, desired, order);
  }

 private:
  std::atomic<T> value_;
};

}  // namespace espalier
