// GlobalArray: one array in blocks on all ranks of a team, of which every rank reads, writes and
// adds to any element. What a PGAS runtime would put on top of regions, at its smallest.
//
// Elements are 64-bit integers, because these can be added to atomically. Errors end the process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <espalier/espalier.hpp>
#include <span>

class GlobalArray {
 public:
  // Collective: `size` elements of value 0.
  GlobalArray(esp::TeamRef team, std::size_t size)
      : team_(team),
        size_(size),
        block_((size + static_cast<std::size_t>(team.size()) - 1) /
               static_cast<std::size_t>(team.size())),
        blocks_(esp::Region<std::int64_t>::create(team, block_).value()) {}

  std::size_t size() const { return size_; }
  // The elements that this rank has: [first(), last()).
  std::size_t first() const {
    return std::min(static_cast<std::size_t>(team_.rank()) * block_, size_);
  }
  std::size_t last() const { return std::min(first() + block_, size_); }
  std::span<std::int64_t> local() const { return blocks_.local().first(last() - first()); }

  std::int64_t read(std::size_t i) const {
    std::int64_t value = 0;
    blocks_.get(where(i), esp::one(value)).check();
    return value;
  }
  void write(std::size_t i, std::int64_t value) const {
    blocks_.put(where(i), esp::one(value)).check();
  }
  // Any stretch, also over several ranks: all parts at once.
  void read(std::size_t begin, std::span<std::int64_t> values) const {
    std::int64_t pending = 0;
    while (!values.empty()) {
      const std::size_t here = std::min(values.size(), block_ - begin % block_);
      const std::span<std::int64_t> part = values.first(here);
      ++pending;
      blocks_.get_start(where(begin), part, esp::Notify::count_down(pending)).check();
      begin += here;
      values = values.subspan(here);
    }
    wait(pending);
  }
  // Adds; `pending` counts the additions that are under way, see wait().
  void add(std::size_t i, std::int64_t value, std::int64_t& pending) const {
    ++pending;
    blocks_.add_start(where(i), value, esp::Notify::count_down(pending)).check();
  }
  void wait(std::int64_t& pending) const {
    if (pending == 0) return;
    esp_job* job = esp_team_job(team_.get());
    if (esp_counter_wait(job, &pending, 0, 0) != ESP_OK) {
      esp_abort(job, 1, esp_job_error(job));
    }
  }

 private:
  esp::At where(std::size_t i) const { return {static_cast<int>(i / block_), i % block_}; }

  esp::TeamRef team_;
  std::size_t size_;
  std::size_t block_;
  esp::Region<std::int64_t> blocks_;
};
