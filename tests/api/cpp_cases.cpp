// The C++ layer: that it compiles in the forms it promises, and says what the C API says. Together
// with the library's own headers in one source, because both have a Result.
#include <array>
#include <atomic>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "espalier/espalier.hpp"
#include "tests/api/cases.hpp"
#include "tests/support/cpp_check.hpp"

namespace test {
namespace {

static_assert(esp::type_of<int> == ESP_INT32);
static_assert(esp::type_of<long> == ESP_INT64);
static_assert(esp::type_of<unsigned char> == ESP_UINT8);
static_assert(esp::type_of<const double> == ESP_DOUBLE);
static_assert(esp::type_of<bool> == ESP_BOOL);
static_assert(esp::type_of<std::complex<float>> == ESP_COMPLEX_FLOAT);
static_assert(!esp::Element<std::string> && !esp::Element<void*>);
static_assert(esp::Writable<std::vector<int>&> && !esp::Writable<std::vector<int>>);
static_assert(!esp::Writable<const std::vector<int>&> && !esp::Writable<std::span<const int>>);
static_assert(!std::is_copy_constructible_v<esp::Job> && !std::is_copy_constructible_v<esp::Team>);
static_assert(!std::is_copy_constructible_v<esp::Request>);
static_assert(sizeof(esp::Status) == 16 && std::is_trivially_copyable_v<esp::Status>);

// A result that does not change gives what does not change.
void constant_results() {
  const esp::Result<std::string> text = std::string("value");
  static_assert(std::is_same_v<decltype(*text), const std::string&>);
  static_assert(std::is_same_v<decltype(text.value()), const std::string&>);
  CHECK_EQ(text->size(), std::size_t{5}, "");
  CHECK_EQ(text.value(), *text, "");
  esp::Result<std::string> changing = text;
  *changing += "s";
  changing->push_back('!');
  CHECK_EQ(std::move(changing).value(), "values!", "");
}

void sizes_agree() {
  CHECK_EQ(sizeof(esp::ValueIndex<float>), esp_type_size(ESP_FLOAT_INT), "");
  CHECK_EQ(sizeof(esp::ValueIndex<double>), esp_type_size(ESP_DOUBLE_INT), "");
  CHECK_EQ(sizeof(esp::ValueIndex<long>), esp_type_size(ESP_LONG_INT), "");
  CHECK_EQ(sizeof(esp::ValueIndex<short>), esp_type_size(ESP_SHORT_INT), "");
  CHECK_EQ(sizeof(esp::ValueIndex<long double>), esp_type_size(ESP_LONG_DOUBLE_INT), "");
  CHECK_EQ(sizeof(std::complex<long double>), esp_type_size(ESP_COMPLEX_LONG_DOUBLE), "");
  CHECK_EQ(sizeof(bool), esp_type_size(ESP_BOOL), "");
}

void blocking(esp::TeamRef world) {
  std::vector<double> v(100, world.rank() == 0 ? 2.5 : 0.0);
  CHECK_S(world.bcast(v, 0));
  CHECK_EQ(v[99], 2.5, "vector");
  std::array<int, 3> a{1, 2, 3}, b{};
  CHECK_S(world.allreduce(a, b, esp::kSum));
  CHECK_EQ(b[2], 3 * world.size(), "array");
  float raw[4] = {1, 1, 1, 1};
  CHECK_S(world.allreduce_in_place(raw, esp::kProd));
  CHECK_S(world.allreduce_in_place(std::span(raw).subspan(2), esp::kSum));
  CHECK_EQ(raw[1], 1.0f, "outside the span");
  CHECK_EQ(raw[3], static_cast<float>(world.size()), "inside the span");
  esp::ValueIndex<double> best{static_cast<double>(world.rank() % 2), world.rank()};
  CHECK_S(world.allreduce_in_place(esp::one(best), esp::kMaxLoc));
  CHECK_EQ(best.index, world.size() > 1 ? 1 : 0, "maxloc");
  int mine = world.rank(), most = -1;
  CHECK_S(world.reduce(esp::one(mine), esp::one(most), esp::kMax, 0));
  CHECK_EQ(most, world.rank() == 0 ? world.size() - 1 : -1, "reduce");
  CHECK_S(world.reduce_in_place(esp::one(mine), esp::kSum, world.size() - 1));
  if (world.rank() == world.size() - 1) {
    CHECK_EQ(mine, world.size() * (world.size() - 1) / 2, "reduce in place");
  }
  CHECK_S(world.barrier());
  std::vector<int> three(3), four(4);
  const esp::Status wrong = world.allreduce(three, four, esp::kSum);
  CHECK_EQ(wrong.code(), ESP_ERR_ARGUMENT, "lengths differ");
  CHECK(std::string(wrong.text()).find("length") != std::string::npos, "{}", wrong.text());
}

void requests(esp::TeamRef world) {
  std::vector<esp::Request> pending;
  std::vector<std::vector<int>> data(8, std::vector<int>(1000));
  for (int i = 0; i < 8; ++i) {
    auto& one = data[static_cast<std::size_t>(i)];
    if (world.rank() == i % world.size()) std::iota(one.begin(), one.end(), i);
    pending.push_back(
        world
            .bcast_start(one, i % world.size(), {.shape = ESP_SHAPE_BINOMIAL, .segment_bytes = 512})
            .value());
  }
  const esp::Completed first = esp::wait_any(pending);
  CHECK(first.index.has_value() && first.status.ok(), "wait_any");
  CHECK_S(esp::wait_all(pending));
  for (int i = 0; i < 8; ++i) CHECK_EQ(data[static_cast<std::size_t>(i)][999], 999 + i, "bcast");
  CHECK(!esp::wait_any(pending).index.has_value(), "all are empty");
  int sum = 1;
  {
    auto dropped = world.allreduce_in_place_start(esp::one(sum), esp::kSum);
    CHECK(dropped.ok(), "");
  }  // The destructor waits.
  CHECK_EQ(sum, world.size(), "after the destructor");
  esp::Request barrier = world.barrier_start().value();
  esp::Status status = barrier.test();
  while (status.in_progress()) status = barrier.test();
  CHECK_S(status);
  CHECK(!barrier.pending(), "completed");
}

// Reductions in place, started: each way of reporting.
void in_place(esp::TeamRef world) {
  const int size = world.size(), last = size - 1, sum = size * (size - 1) / 2;
  std::vector<int> a(50, world.rank()), b(50, world.rank()), c(50, world.rank());
  std::int64_t left = 2;
  auto request = world.reduce_in_place_start(a, esp::kSum, last, {.segment_bytes = 64});
  CHECK(request.ok(), "reduce in place");
  CHECK_S(world.reduce_in_place_start(b, esp::kMax, 0, esp::Notify::count_down(left)));
  CHECK_S(world.allreduce_in_place_start(c, esp::kSum, esp::Notify::count_down(left)));
  CHECK_S(request->wait());
  const esp_status counted = esp_counter_wait(esp_team_job(world.get()), &left, 0, 30.0);
  CHECK_EQ(counted, ESP_OK, "{}", esp_status_text(counted));
  CHECK_EQ(a[49], world.rank() == last ? sum : world.rank(), "at the root alone");
  CHECK_EQ(b[49], world.rank() == 0 ? last : world.rank(), "at the root alone");
  CHECK_EQ(c[49], sum, "everywhere");
}

void callbacks(const esp::Job& job) {
  const esp::TeamRef world = job.world();
  int fired = 0, by_reference = 0;
  std::int64_t left = 2;
  std::vector<int> a(10, 1), b(10), c(10, 1), d(10);
  // One captured reference: inside the operation. Much state: on the heap. An lvalue: in place.
  CHECK_S(world.allreduce_start(a, b, esp::kSum,
                                esp::Notify([&fired](esp_status s) { fired += s == ESP_OK; })));
  const std::string big = "captured by value, together with two references";
  CHECK_S(world.barrier_start(esp::Notify([big, &fired, &left](esp_status) {
    fired += static_cast<int>(big.size() > 40);
    --left;
  })));
  auto named = [&by_reference, &left](esp_status) mutable {
    ++by_reference;
    --left;
  };
  CHECK_S(world.allreduce_start(c, d, esp::kMax, esp::Notify(named)));
  CHECK_EQ(fired + by_reference, 0, "nothing fires inside the starting call");
  while (fired < 2 || by_reference < 1) (void)job.progress();
  CHECK_EQ(left, std::int64_t{0}, "");
  CHECK_EQ(b[9], world.size(), "");
  in_place(world);
  std::int64_t counter = 1;
  CHECK_S(world.bcast_start(a, 0, esp::Notify::count_down(counter)));
  CHECK_S(job.wait_until(counter, 0));
  CHECK_S(job.lost());
  counter = 5;
  CHECK_EQ(job.wait_until(counter, 0, std::chrono::milliseconds(10)).code(), ESP_ERR_TIMEOUT, "");
  // A callback that was not taken is freed (the leak checker watches) and never runs.
  CHECK_EQ(world.bcast_start(a, -1, esp::Notify([big, &fired](esp_status) { ++fired; })).code(),
           ESP_ERR_ARGUMENT, "");
  CHECK_EQ(fired, 2, "");
}

void teams_and_operators(const esp::Job& job) {
  const esp::TeamRef world = job.world();
  esp::Team half = world.split({.color = world.rank() % 2, .key = -world.rank()}).value();
  CHECK_EQ(half.job_rank(half.rank()), world.rank(), "split");
  CHECK_EQ(half.rank_of(world.rank()), half.rank(), "split");
  CHECK_EQ(half.rank_of(world.size()), -1, "out of range");
  const esp::Team node = world.split({.color = job.node(world.rank())}).value();
  for (int r = 0; r < world.size(); ++r) {
    CHECK_EQ(node.rank_of(r) >= 0, job.node(r) == job.node(world.rank()), "rank {}", r);
  }
  CHECK_EQ(job.node(-1), -1, "out of range");
  const esp::Team none = world.split({.color = ESP_NO_TEAM}).value();
  CHECK(!none, "no team");
  const esp::Team first = world.include(std::array{0}).value();
  CHECK_EQ(static_cast<bool>(first), world.rank() == 0, "include");
  esp::Team copy = half.dup().value();
  half = std::move(copy);
  CHECK_S(half.barrier());
  CHECK_S(half.free());
  CHECK_EQ(world.split({.color = -7}).code(), ESP_ERR_ARGUMENT, "color");

  // Keeps the first operand: the result is rank 0's.
  auto keep_first =
      job.make_op<long>([](const long& low, const long&) { return low; }, esp::Commutative::kNo)
          .value();
  std::vector<long> values(50, world.rank() + 10);
  CHECK_S(world.allreduce_in_place(values, keep_first));
  CHECK_EQ(values[49], 10L, "in rank order");
  int offset = world.size();  // Not a constant: the operator has state.
  auto with_state = job.make_op<int>(
      [offset](const int& a, const int& b) { return a > b ? a : b + offset - offset; },
      esp::Commutative::kYes);
  CHECK(with_state.ok(), "");
  int highest = world.rank();
  CHECK_S(world.allreduce_in_place(esp::one(highest), *with_state));
  CHECK_EQ(highest, world.size() - 1, "user's maximum");
}

void looking_inside(const esp::Job& job) {
  CHECK(!job.counters().empty(), "counters");
  for (const esp_counter_value& one : job.counters()) {
    CHECK(one.name != nullptr && one.doc != nullptr, "counter");
  }
  const int fd = job.fd();
  if (fd >= 0) CHECK(job.arm() >= 0, "{}", job.error());
  (void)job.progress();  // disarms
  if (fd < 0) CHECK_EQ(job.arm(), -1, "a progress thread drives it");
  CHECK(job.describe().size() > 40, "{}", job.describe());
  auto memory = job.allocate<double>(512);
  CHECK(memory.ok(), "{}", job.error());
  if (!memory.ok()) return;
  for (double& x : memory->span()) x = job.rank();
  const esp::TeamRef world = job.world();
  CHECK_S(world.allreduce_in_place(memory->span(), esp::kMax));
  CHECK_EQ((*memory)[511], static_cast<double>(job.size() - 1), "in shared memory");
}

void flows(esp::TeamRef world) {
  if (world.size() < 2 || world.rank() > 1) return;
  const int other = 1 - world.rank();
  std::vector<float> mine(3000, static_cast<float>(world.rank())), theirs(3000, -1);
  auto receive = world.recv_start(theirs, {.rank = other, .channel = 9});
  CHECK(receive.ok(), "");
  CHECK_S(world.send(mine, {.rank = other, .channel = 9}));
  CHECK_S(receive->wait());
  CHECK_EQ(theirs[2999], static_cast<float>(other), "flow");
}

// On a word of the next rank's that nobody else touches.
void atomics_under_way(const esp::Job& job, const esp::Region<long>& region) {
  const esp::TeamRef world = job.world();
  const int next = (world.rank() + 1) % world.size();
  long first = -1, second = -1, third = -1, fourth = -1;
  CHECK_S(world.barrier());
  CHECK_S(region.put({next, 3}, std::array{7L}));
  CHECK_S(region.fetch_add_start({next, 3}, -2, first).value().wait());
  CHECK_EQ(first, 7L, "the old value");
  std::int64_t pending = 1;
  CHECK_S(region.fetch_add_start({next, 3}, 0, second, esp::Notify::count_down(pending)));
  CHECK_S(job.wait_until(pending, 0));
  CHECK_EQ(second, 5L, "the old value");
  CHECK_S(region.compare_swap_start({next, 3}, 5, -6, third).value().wait());
  CHECK_EQ(third, 5L, "it was as expected");
  pending = 1;
  CHECK_S(region.compare_swap_start({next, 3}, 5, 9, fourth, esp::Notify::count_down(pending)));
  CHECK_S(job.wait_until(pending, 0));
  CHECK_EQ(fourth, -6L, "it was not");
  CHECK_S(region.add_start({next, 3}, 1).value().wait());
  CHECK_EQ(*region.fetch_add({next, 3}, 0), -5L, "in the end");
  CHECK_EQ(region.fetch_add_start({next, 10}, 1, first).code(), ESP_ERR_ARGUMENT, "outside");
  CHECK_EQ(region.compare_swap_start({-1, 0}, 1, 1, first).code(), ESP_ERR_ARGUMENT, "no rank");
}

void regions(const esp::Job& job) {
  const esp::TeamRef world = job.world();
  const int next = (world.rank() + 1) % world.size();
  auto region = esp::Region<long>::create(world, 10).value();
  CHECK_EQ(region.size(next), std::size_t{10}, "");
  CHECK_EQ(region.local().size(), std::size_t{10}, "");
  const std::vector<long> three = {world.rank(), 2, 3};
  CHECK_S(region.put({next, 4}, three));
  std::vector<long> back(3), again(3);
  CHECK_S(region.get({next, 4}, back));
  CHECK(back == three, "got what was put");
  std::int64_t pending = 2;
  CHECK_S(region.put_start({next, 7}, three, esp::Notify::count_down(pending)));
  CHECK_S(region.add_start({0, 0}, -2, esp::Notify::count_down(pending)));
  CHECK_S(job.wait_until(pending, 0));
  auto got = region.get_start({next, 7}, again);
  CHECK(got.ok() && got->wait().ok() && again == three, "a request");
  CHECK_S(world.barrier());
  const int before = (world.rank() + world.size() - 1) % world.size();
  CHECK_EQ(region.local()[4], static_cast<long>(before), "by the rank before");
  CHECK_EQ(*region.fetch_add({0, 0}, 0), -2L * world.size(), "of all ranks");
  CHECK_EQ(*region.compare_swap({next, 9}, 3, 5), 3L, "the old value");
  atomics_under_way(job, region);
  CHECK_EQ(region.put({next, 8}, three).code(), ESP_ERR_ARGUMENT, "outside");
  constexpr std::size_t kWraps = std::size_t{1} << 61;  // times 8: 0
  CHECK_EQ(region.put({next, kWraps}, three).code(), ESP_ERR_ARGUMENT, "far outside");
  CHECK_EQ(region.fetch_add({next, kWraps}, 1).code(), ESP_ERR_ARGUMENT, "far outside");
  const auto huge = esp::Region<long>::create(world, kWraps);
  CHECK_EQ(huge.code(), ESP_ERR_NO_MEMORY, "more than there can be");
  CHECK_S(region.free());
}

void messages(const esp::Job& job) {
  const esp::TeamRef world = job.world();
  std::int64_t missing = 3;
  std::atomic<int> wrong{0};
  const auto note = [&](const esp::Message& m) {
    if (m.argument != 42 || m.payload.size() != 3 || m.source >= job.size()) ++wrong;
    __atomic_fetch_sub(&missing, 1, __ATOMIC_RELEASE);
  };
  CHECK_S(esp::on_message(job, 5, note));
  CHECK_S(world.barrier());
  const std::array<std::byte, 3> payload = {};
  std::int64_t sending = 1;
  const esp::Address to = {.rank = (world.rank() + 1) % world.size(), .id = 5, .argument = 42};
  CHECK_S(esp::send_message(job, to, payload));
  CHECK_S(esp::send_message_start(job, to, payload, esp::Notify::count_down(sending)));
  CHECK_S(esp::send_message_start(job, to, payload).value().wait());
  CHECK_S(job.wait_until(sending, 0));
  CHECK_S(job.wait_until(missing, 0));
  CHECK_EQ(wrong.load(), 0, "");
  CHECK_EQ(esp::send_message(job, {.rank = -1, .id = 5}).code(), ESP_ERR_ARGUMENT, "");
  CHECK_EQ(esp::send_message_start(job, {.rank = 0, .id = -1}).code(), ESP_ERR_ARGUMENT, "");
  CHECK_S(world.barrier());
}

}  // namespace

void cpp(const Context& context) {
  // The job belongs to the harness: borrow it and let go in the end.
  struct Borrowed {
    alignas(esp::Job) unsigned char storage[sizeof(esp::Job)];
  } borrowed;
  const esp::Job& job = *new (borrowed.storage) esp::Job(context.job);
  CHECK_EQ(job.rank(), context.rank, "");
  CHECK_EQ(job.size(), context.size, "");
  constant_results();
  sizes_agree();
  blocking(job.world());
  requests(job.world());
  callbacks(job);
  teams_and_operators(job);
  flows(job.world());
  regions(job);
  messages(job);
  looking_inside(job);
  const espalier::Result<int> internal = 3;       // Not ambiguous with esp::Result.
  CHECK(internal.ok(), "the inner Result, too");  // value() would need a symbol of the library.
}

}  // namespace test
