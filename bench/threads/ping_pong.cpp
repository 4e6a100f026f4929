#include "threads/ping_pong.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "esp-bench/clock.hpp"

namespace espalier::bench {
namespace {

using Number = std::uint64_t;

// A message: the low bytes of its number, a pattern, and the lowest byte once more at the end.
class Message {
 public:
  // An empty one has memory, too: lines tell by it what is wanted.
  Message(std::size_t bytes, unsigned seed) {
    data_.reserve(std::max<std::size_t>(bytes, 1));
    data_.resize(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data_[i] = pattern(i, seed);
  }
  void* data() { return data_.data(); }

  void stamp(Number number) {
    std::memcpy(data_.data(), &number, head());
    if (data_.size() > sizeof number) data_.back() = static_cast<std::uint8_t>(number);
  }
  Number number() const {
    Number number = 0;
    std::memcpy(&number, data_.data(), head());
    return number;
  }
  // As far as the number fits; with the lowest byte at the end.
  bool has(Number number) const {
    if (data_.size() > sizeof number && data_.back() != static_cast<std::uint8_t>(number)) {
      return false;
    }
    const Number mask = head() == sizeof number ? ~Number{0} : (Number{1} << (8 * head())) - 1;
    return this->number() == (number & mask);
  }
  bool has_pattern(unsigned seed) const {
    for (std::size_t i = head(); i + 1 < data_.size(); ++i) {
      if (data_[i] != pattern(i, seed)) return false;
    }
    return true;
  }

 private:
  static std::uint8_t pattern(std::size_t i, unsigned seed) {
    return static_cast<std::uint8_t>(i * 7 + seed);
  }
  std::size_t head() const { return std::min(data_.size(), sizeof(Number)); }

  std::vector<std::uint8_t> data_;
};

// One thread's part. An order, a number of round trips, goes before each run of them.
class Player {
 public:
  Player(Line& line, const PingPong& cell, bool asks)
      : line_(line), cell_(cell), asks_(asks), out_(cell.bytes, asks ? 1 : 2), in_(cell.bytes, 0) {}

  // Asking: appends half of each round trip, in microseconds.
  void ask(std::int32_t rounds, std::vector<double>& half_us) {
    std::int32_t heard = 0;
    line_.send(&rounds, sizeof rounds);
    line_.recv(&heard, sizeof heard);
    std::int64_t last = now_ns();
    for (std::int32_t round = 0; round < rounds; ++round) {
      out_.stamp(number_);
      if (cell_.started) {
        line_.exchange(out_.data(), in_.data(), cell_.bytes);
      } else {
        line_.send(out_.data(), cell_.bytes);
        line_.recv(in_.data(), cell_.bytes);
      }
      correct_ = correct_ && in_.has(number_ + 1);
      number_ += 2;
      const std::int64_t now = now_ns();
      half_us.push_back(static_cast<double>(now - last) * 0.5e-3);
      last = now;
    }
  }

  // Answering: one run. False: that was the last.
  bool answer() {
    std::int32_t rounds = 0;
    line_.recv(&rounds, sizeof rounds);
    line_.send(&rounds, sizeof rounds);
    if (rounds == 0) return false;
    if (cell_.started) line_.recv(in_.data(), cell_.bytes);
    for (std::int32_t round = 0; round < rounds; ++round) {
      if (!cell_.started) line_.recv(in_.data(), cell_.bytes);
      // Whoever asks learns by a wrong number that what it sent came wrong.
      const Number number = in_.number();
      out_.stamp(in_.has(number) ? number + 1 : ~number);
      if (cell_.started && round + 1 < rounds) {
        line_.exchange(out_.data(), in_.data(), cell_.bytes);
      } else {
        line_.send(out_.data(), cell_.bytes);
      }
    }
    return true;
  }

  // Both, after all: the two tell each other whether the patterns came.
  void compare() {
    std::uint8_t mine = in_.has_pattern(asks_ ? 2 : 1) ? 1 : 0, other = 0;
    if (asks_) line_.send(&mine, 1);
    line_.recv(&other, 1);
    if (!asks_) line_.send(&mine, 1);
    correct_ = correct_ && mine == 1 && other == 1;
  }
  bool correct() const { return correct_; }

 private:
  Line& line_;
  const PingPong& cell_;
  const bool asks_;
  Message out_, in_;
  Number number_ = 1;
  bool correct_ = true;
};

// The asking rank's threads: they warm up together, and nobody rests while others are measured.
class Askers {
 public:
  Askers(std::span<Line* const> lines, const PingPong& cell)
      : lines_(lines),
        cell_(cell),
        running_(lines.size()),
        means_(lines.size()),
        samples_(lines.size()),
        correct_(lines.size()),
        round_(static_cast<std::ptrdiff_t>(lines.size()), Completed{*this}) {}

  PingPongResult run() {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      threads.emplace_back([this, i] { play(i); });
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<double> all;
    for (const std::vector<double>& some : samples_)
      all.insert(all.end(), some.begin(), some.end());
    PingPongResult result;
    result.iterations = static_cast<int>(all.size() / lines_.size());
    result.half_us = describe(std::move(all));
    result.warm_ups = warm_up_.iterations();
    result.steady = warm_up_.is_steady();
    result.correct = std::count(correct_.begin(), correct_.end(), 0) == 0;
    return result;
  }

 private:
  static constexpr int kPart = 10;

  struct Completed {
    Askers& askers;
    void operator()() noexcept { askers.end_batch(); }
  };

  void end_batch() {
    const double sum = std::accumulate(means_.begin(), means_.end(), 0.0);
    warm_up_.add(sum / static_cast<double>(means_.size()));
    ended_ = warm_up_.is_over() || is_late();
  }
  bool is_late() const { return static_cast<double>(now_ns() - begin_ns_) * 1e-9 > cell_.limit_s; }

  void play(std::size_t i) {
    Player player(*lines_[i], cell_, true);
    std::vector<double> unused;
    unused.reserve(WarmUp::kBatch);
    samples_[i].reserve(static_cast<std::size_t>(cell_.iterations));
    const auto batch = [&] {
      unused.clear();
      player.ask(WarmUp::kBatch, unused);
    };
    do {
      batch();
      means_[i] = describe(unused).mean;
      round_.arrive_and_wait();
    } while (!ended_);
    // In parts, each after an order: time may be over between two.
    for (int left = cell_.iterations; left > 0 && (left == cell_.iterations || !is_late());) {
      const int part = std::min(left, kPart);
      player.ask(part, samples_[i]);
      left -= part;
    }
    running_.fetch_sub(1, std::memory_order_relaxed);
    while (running_.load(std::memory_order_relaxed) > 0) batch();
    player.ask(0, unused);
    player.compare();
    correct_[i] = player.correct() ? 1 : 0;
  }

  const std::span<Line* const> lines_;
  const PingPong& cell_;
  std::atomic<std::size_t> running_;  // threads that are still measured
  std::vector<double> means_;         // of each thread's last batch
  std::vector<std::vector<double>> samples_;
  std::vector<std::uint8_t> correct_;
  const std::int64_t begin_ns_ = now_ns();
  WarmUp warm_up_;
  bool ended_ = false;  // the warm-up; written by a round's end, read before the next one
  std::barrier<Completed> round_;
};

}  // namespace

PingPongResult ask(std::span<Line* const> lines, const PingPong& cell) {
  return Askers(lines, cell).run();
}

void answer(std::span<Line* const> lines, const PingPong& cell) {
  std::vector<std::thread> threads;
  for (Line* line : lines) {
    threads.emplace_back([line, &cell] {
      Player player(*line, cell, false);
      while (player.answer()) {
      }
      player.compare();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace espalier::bench
