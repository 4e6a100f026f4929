// The C++ layer's partial completion: every segment once, to whoever takes it.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "espalier/espalier.hpp"
#include "tests/api/cases.hpp"
#include "tests/support/cpp_check.hpp"

namespace test {
namespace cpp_partial_cases {
namespace {

using Segments = std::vector<esp::Segment<int>>;

// An alltoallv in which rank r sends to rank s 100 * (s + 1) numbers that tell r, s and place.
struct Exchange {
  explicit Exchange(esp::TeamRef team, std::size_t unit = 100)
      : world(team),
        sent(static_cast<std::size_t>(team.size())),
        received(static_cast<std::size_t>(team.size()), length(team.rank(), unit)) {
    for (int s = 0; s < world.size(); ++s) {
      sent[static_cast<std::size_t>(s)] = length(s, unit);
      for (std::size_t i = 0; i < length(s, unit); ++i) in.push_back(value(world.rank(), s, i));
    }
    out.assign(received.size() * length(world.rank(), unit), -1);
  }
  static std::size_t length(int to, std::size_t unit) {
    return unit * (static_cast<std::size_t>(to) + 1);
  }
  static int value(int from, int to, std::size_t at) {
    return static_cast<int>(at) * 10'000 + from * 100 + to;
  }
  esp::Result<esp::Delivery<int>> deliver(const esp::Delivering& how = {}) {
    return esp::deliver<int>(how, [this](const esp::CollOptions& options) {
      return world.alltoallv_start(in, esp::Blocks(sent), out, esp::Blocks(received), options);
    });
  }
  // Every element of the output has been handed out once, with the right value.
  void check(const Segments& segments, const char* by) const {
    std::vector<std::size_t> elements(received.size());
    for (const esp::Segment<int>& one : segments) {
      CHECK_EQ(one.source, one.block, "{}", by);
      elements[static_cast<std::size_t>(one.block)] += one.data.size();
      for (std::size_t i : {std::size_t{0}, one.data.size() - 1}) {
        CHECK_EQ(one.data[i], value(one.source, world.rank(), one.offset + i), "{}", by);
      }
    }
    for (std::size_t b = 0; b < elements.size(); ++b) {
      CHECK_EQ(elements[b], received[b], "{}: block {}", by, b);
    }
  }

  esp::TeamRef world;
  std::vector<std::size_t> sent, received;
  std::vector<int> in, out;
};

void each_way(esp::TeamRef world) {
  for (const bool parts : {false, true}) {
    Exchange exchange(world, parts ? 20'000 : 100);
    const esp::Delivering how{.segments = parts};
    Segments segments;
    {
      const esp::Delivery<int> delivery = exchange.deliver(how).value();
      while (const auto one = esp::when_any_partial(delivery).value()) segments.push_back(*one);
      CHECK(delivery.arrived(0) && !delivery.arrived(world.size()), "arrived");
      CHECK(!esp::when_any_partial(delivery).value(), "there are no more");
    }
    exchange.check(segments, "when_any");
    segments.clear();
    {
      esp::Delivery<int> delivery = exchange.deliver(how).value();
      for (;;) {
        const Segments some = esp::when_some_partial(delivery).value();
        if (some.empty()) break;
        segments.insert(segments.end(), some.begin(), some.end());
      }
      CHECK_S(delivery.wait());
    }
    exchange.check(segments, "when_some");
    segments.clear();
    const esp::Delivery<int> delivery = exchange.deliver(how).value();
    CHECK_S(esp::while_some_partial(
        delivery, [&](const esp::Segment<int>& one) { segments.push_back(one); }));
    exchange.check(segments, "while_some");
  }
}

// Placed as they come: where they lie only the segments tell.
void unordered(esp::TeamRef world) {
  Exchange exchange(world);
  const esp::Delivery<int> delivery = exchange.deliver({.unordered = true}).value();
  Segments segments;
  CHECK_S(esp::while_some_partial(delivery,
                                  [&](const esp::Segment<int>& one) { segments.push_back(one); }));
  exchange.check(segments, "unordered");
}

// A message in parts.
void message(esp::TeamRef world) {
  std::vector<double> data(1001, world.rank());
  const esp::Delivery<double> delivery =
      esp::deliver<double>({.blocks = 4}, [&](const esp::CollOptions& options) {
        return world.allreduce_in_place_start(data, esp::kSum, options);
      }).value();
  std::vector<std::size_t> lengths(4);
  const double sum = world.size() * (world.size() - 1) / 2.0;
  CHECK_S(esp::while_some_partial(delivery, [&](const esp::Segment<double>& one) {
    lengths[static_cast<std::size_t>(one.block)] += one.data.size();
    CHECK_EQ(one.data.back(), sum, "block {}", one.block);
  }));
  CHECK((lengths == std::vector<std::size_t>{251, 250, 250, 250}), "{} first", lengths[0]);
}

// Three threads, of which one drives progress: each segment goes to one of them.
void threads(esp::TeamRef world) {
  Exchange exchange(world, 5000);
  const esp::Delivery<int> delivery = exchange.deliver({.segments = true}).value();
  std::vector<Segments> taken(3);
  std::vector<esp_status> ends(3, ESP_IN_PROGRESS);
  const auto take = [&](std::size_t who, esp::Drive drive) {
    const auto keep = [&](const esp::Segment<int>& one) { taken[who].push_back(one); };
    ends[who] = esp::while_some_partial(delivery, keep, drive).code();
  };
  std::vector<std::thread> helpers;
  for (const std::size_t who : {1U, 2U}) helpers.emplace_back(take, who, esp::Drive::kNo);
  take(0, esp::Drive::kYes);
  for (std::thread& one : helpers) one.join();
  CHECK((ends == std::vector<esp_status>(3, ESP_OK)), "each learns the end");
  for (const std::size_t who : {1U, 2U}) {
    taken[0].insert(taken[0].end(), taken[who].begin(), taken[who].end());
  }
  exchange.check(taken[0], "threads");
}

esp::Task<std::size_t> collect(esp::Stream<int>& stream, Segments& segments) {
  std::size_t count = 0;
  while (const auto segment = co_await stream.next()) {
    segments.push_back(*segment);
    ++count;
  }
  co_return count;
}

void streams(const esp::Job& job) {
  Exchange exchange(job.world(), 3000);
  const esp::Delivery<int> delivery = exchange.deliver({.segments = true}).value();
  esp::Stream<int> stream(delivery);
  Segments segments;
  CHECK(stream.status().in_progress(), "it has not ended");
  const auto count = esp::sync_wait(job, collect(stream, segments));
  CHECK_EQ(count.ok() ? *count : 0, segments.size(), "");
  CHECK_S(stream.status());
  exchange.check(segments, "stream");
}

struct Sorted {
  using Value = int;
  using Partial = std::vector<int>;
  static constexpr bool kCommutative = true, kAssociative = true;
  Partial accumulate(std::span<const int> run) const {
    Partial sorted(run.begin(), run.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  Partial merge(const Partial& a, const Partial& b) const {
    Partial both(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), both.begin());
    return both;
  }
};

void aggregates(esp::TeamRef world) {
  Exchange exchange(world);
  std::optional<std::vector<int>> by_arrival, by_tree;
  {
    const esp::Delivery<int> delivery = exchange.deliver().value();
    const auto next = [&] { return esp::when_any_partial(delivery).value(); };
    by_arrival = esp::aggregate_by_arrival(Sorted{}, next);
  }
  const esp::Delivery<int> delivery = exchange.deliver().value();
  const auto next = [&] { return esp::when_any_partial(delivery).value(); };
  by_tree = esp::aggregate_by_tree(Sorted{}, exchange.received.size(), next);
  std::vector<int> expected = exchange.out;
  std::sort(expected.begin(), expected.end());
  CHECK(by_arrival == expected, "by arrival");
  CHECK(by_tree == expected, "by tree");
}

esp::Task<esp::Status> drained(esp::Stream<int>& stream) {
  while (const auto segment = co_await stream.next()) {
    CHECK(!segment->data.empty(), "block {}", segment->block);
  }
  co_return stream.status();
}

// Members that make different calls: everybody is told, whatever they wait by.
void failures(const esp::Job& job) {
  if (job.size() == 1) return;
  const auto told = [](esp::Status status) {
    CHECK_EQ(status.code(), ESP_ERR_MISMATCH, "{}", status.text());
    CHECK(std::string(status.text()).find("rank") != std::string::npos, "{}", status.text());
  };
  for (const bool streams : {false, true}) {
    esp::Team team = job.world().dup().value();
    if (team.rank() == 0) {
      Exchange exchange(team);
      const esp::Delivery<int> delivery = exchange.deliver().value();
      esp::Stream<int> stream(delivery);
      told(streams ? esp::sync_wait(job, drained(stream))
                   : esp::while_some_partial(delivery, [](const esp::Segment<int>&) {}));
      const auto again = esp::when_any_partial(delivery);
      CHECK(!again.ok() && again.code() == ESP_ERR_MISMATCH, "it stays so");
    } else {
      bool skipped = true;
      told(esp::launch(esp::kAsync, team, [&](esp::Notify done) {
             return team.barrier_start(std::move(done));
           }).then([&] {
               skipped = false;
             }).get());
      CHECK(skipped, "a continuation of values");
    }
    CHECK_S(team.free());
  }
}

void refusals(const esp::Job& job) {
  const esp::TeamRef world = job.world();
  Exchange exchange(world);
  exchange.received[0] += 1;
  CHECK_EQ(exchange.deliver().code(), ESP_ERR_ARGUMENT, "outside the output");
  exchange.received[0] -= 1;
  const auto refused = exchange.deliver({.blocks = -1});
  CHECK_EQ(refused.code(), ESP_ERR_ARGUMENT, "blocks");
  CHECK(!refused.ok() && refused.error().text.find("blocks") != std::string::npos, "the text");
  const esp::Delivery<int> none(world.barrier_start().value());
  CHECK_EQ(esp::when_any_partial(none).code(), ESP_ERR_ARGUMENT, "it does not deliver");
  // Inside a callback there is no waiting for more than what has landed.
  std::int64_t left = 1;
  std::optional<esp::Delivery<int>> delivery;
  esp_status ended = ESP_OK;
  Segments segments;
  const auto keep = [&](const esp::Segment<int>& one) { segments.push_back(one); };
  CHECK_S(world.barrier_start(esp::Notify([&](esp_status) {
    delivery = exchange.deliver().value();
    ended = esp::while_some_partial(*delivery, keep).code();
    __atomic_store_n(&left, 0, __ATOMIC_RELEASE);
  })));
  CHECK_S(job.wait_until(left, 0));
  CHECK(ended == ESP_ERR_STATE || world.size() == 1, "{}", esp_status_text(ended));
  CHECK_S(esp::while_some_partial(*delivery, keep));
  exchange.check(segments, "the rest");
}

}  // namespace
}  // namespace cpp_partial_cases

void cpp_partial(const Context& context) {
  // The job belongs to the harness: borrow it and let go in the end.
  struct Borrowed {
    alignas(esp::Job) unsigned char storage[sizeof(esp::Job)];
  } borrowed;
  const esp::Job& job = *new (borrowed.storage) esp::Job(context.job);
  cpp_partial_cases::each_way(job.world());
  cpp_partial_cases::unordered(job.world());
  cpp_partial_cases::message(job.world());
  cpp_partial_cases::threads(job.world());
  cpp_partial_cases::streams(job);
  cpp_partial_cases::aggregates(job.world());
  cpp_partial_cases::refusals(job);
  cpp_partial_cases::failures(job);
}

}  // namespace test
