// Carries the rows of Floyd-Warshall through the library, and measures what that costs.
//
// Up to lookahead + 1 broadcasts are in flight; each has a row buffer here on the ranks that do
// not own the row, while the owner sends its matrix row in place. Time between calls is the
// program's computing; time inside is the broadcasts'.
// Single thread; start() in the same order on all ranks. path: data
#pragma once

#include <espalier/espalier.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "progress_bar.hpp"
#include "row_layout.hpp"
#include "team.hpp"
#include "timeline.hpp"

namespace asp {

using examples::ProgressBar;

template <typename Distance>
class RowBroadcast {
 public:
  RowBroadcast(Team& team, const RowLayout& layout, int lookahead, const esp_coll_options& options,
               Timeline& timeline, ProgressBar& progress)
      : team_(team),
        layout_(layout),
        options_(options),
        blocking_(lookahead == 0 && chooses_nothing(options)),
        timeline_(timeline),
        progress_(progress),
        columns_(static_cast<std::size_t>(layout.row_count())),
        flights_(static_cast<std::size_t>(lookahead) + 1),
        left_(esp_time()) {
    for (Flight& flight : flights_) flight.buffer.resize(columns_);
    timeline_.reserve(4 * columns_);
  }

  // Not expected to happen: run() waits for every row. After a failure nobody may free the buffers
  // of operations under way, so the program ends the job (main.cpp).
  ~RowBroadcast() = default;
  RowBroadcast(const RowBroadcast&) = delete;
  RowBroadcast& operator=(const RowBroadcast&) = delete;

  void start(int row, Distance* own) {
    enter(row);
    Flight& flight = flight_of(row);
    flight.row = own != nullptr ? own : flight.buffer.data();
    const int owner = layout_.owner(row);
    const esp_status status = blocking_
                                  ? esp_bcast(team_.handle(), flight.row, columns_, kType, owner)
                                  : esp_bcast_start(team_.handle(), flight.row, columns_, kType,
                                                    owner, &options_, nullptr, &flight.request);
    team_.check(status, "broadcast of a row");
    leave(row);
  }

  const Distance* wait(int row) {
    Flight& flight = flight_of(row);
    if (flight.request != nullptr) {
      enter(row);
      team_.check(esp_request_wait(&flight.request), "broadcast of a row");
      leave(row);
    }
    return flight.row;
  }

  void step_done(int row) { progress_.update(row, left_); }

  // Time inside the library since the start.
  double seconds() const { return seconds_; }

 private:
  static constexpr esp_type kType = std::is_same_v<Distance, std::int32_t> ? ESP_INT32 : ESP_INT64;

  struct Flight {
    Distance* row = nullptr;  // The owner's matrix row, or `buffer`.
    esp_request* request = nullptr;
    std::vector<Distance> buffer;
  };

  static bool chooses_nothing(const esp_coll_options& options) {
    return options.algorithm == ESP_ALGORITHM_AUTO && options.shape == ESP_SHAPE_AUTO &&
           options.radix == 0 && options.segment_bytes == 0 && options.variant == ESP_VARIANT_EVENT;
  }

  Flight& flight_of(int row) { return flights_[static_cast<std::size_t>(row) % flights_.size()]; }

  void enter(int row) {
    constexpr double kVisibleSeconds = 1e-6;
    entered_ = esp_time();
    if (entered_ - left_ > kVisibleSeconds) {
      timeline_.add({SpanKind::kCompute, row, left_, entered_});
    }
  }

  void leave(int row) {
    left_ = esp_time();
    seconds_ += left_ - entered_;
    timeline_.add({SpanKind::kBroadcast, row, entered_, left_});
  }

  Team& team_;
  const RowLayout& layout_;
  const esp_coll_options options_;
  const bool blocking_;  // The plain blocking call does, and wait() has nothing left to do.
  Timeline& timeline_;
  ProgressBar& progress_;
  std::size_t columns_;
  std::vector<Flight> flights_;
  double entered_ = 0;
  double left_;
  double seconds_ = 0;
};

}  // namespace asp
