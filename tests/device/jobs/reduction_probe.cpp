// reduction_probe CASE...: reductions whose buffers are memory of a device at all members, as one
// rank of a job. What comes is compared, byte by byte, with what the same call gives on the host,
// and counters tell who has combined. DEVICE_LIBRARY names the driver's library; EXPECT_KERNELS=0:
// no kernel runs, for whatever reason the environment has.
#include <array>
#include <cstdlib>
#include <functional>

#include "tests/device/jobs/device_memory.hpp"
#include "tests/support/blocks.hpp"

namespace test {
namespace {

std::uint64_t kernels_run(const Context& c) {
  std::array<esp_counter_value, 256> values;
  const std::size_t count = esp_counters(c.job, values.data(), values.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (std::strcmp(values[i].name, "device_reductions") == 0) return values[i].value;
  }
  CHECK(false, "there is no such counter");
  return 0;
}

constexpr unsigned kSmall = 90;  // sums of it are exact, in any type

// One call, and what this member passes.
struct Reduction {
  std::string name;
  std::size_t input = 0, output = 0;  // bytes; 0: NULL is passed
  bool in_place = false;
  std::function<esp_status(const void* input, void* output)> call;
  std::size_t given_up = 0;  // bytes at the end of the output
};

Bytes run(const Context& c, Device* device, const Reduction& of, int seed, esp_status& status) {
  Buffer input(device, of.in_place ? 0 : of.input), output(device, of.output);
  const Bytes given = numbers(seed + c.rank, of.in_place ? 0 : of.input, kSmall);
  input.write(given);
  output.write(numbers(seed + (of.in_place ? c.rank : 100 + c.rank), of.output, kSmall));
  const void* from = of.in_place ? ESP_IN_PLACE : of.input > 0 ? input.at() : nullptr;
  status = of.call(from, of.output > 0 ? output.at() : nullptr);
  bool whole = false;
  CHECK(input.read(whole) == given && whole, "{}: the input has changed", of.name);
  Bytes came = output.read(whole);
  CHECK(whole, "{}: bytes beside the output were written", of.name);
  came.resize(came.size() - of.given_up);
  return came;
}

// False: the operator is not there for the type.
bool compare(const Context& c, Device& device, const Reduction& of, int seed) {
  esp_status status = ESP_OK;
  const Bytes expected = run(c, nullptr, of, seed, status);
  if (status == ESP_ERR_TYPE) return false;
  CHECK_OK(status, c.world, "{} on the host", of.name);
  const Bytes came = run(c, &device, of, seed, status);
  CHECK_OK(status, c.world, "{} on the device", of.name);
  const auto differ = std::mismatch(came.begin(), came.end(), expected.begin());
  CHECK(differ.first == came.end(), "{}: byte {} of {} differs", of.name,
        differ.first - came.begin(), came.size());
  return true;
}

// Of all members.
void expect_kernels(const Context& c, std::uint64_t before, bool some, const std::string& what) {
  std::uint64_t mine = kernels_run(c) - before, all = 0;
  CHECK_OK(esp_allreduce(c.world, &mine, &all, 1, ESP_UINT64, ESP_SUM), c.world, "counters");
  const char* const expected = std::getenv("EXPECT_KERNELS");
  if (expected != nullptr && *expected == '0') some = false;
  CHECK_EQ(all > 0, some && c.size > 1, "{}: {} kernels ran", what, all);
}

// Every operator of every type.
void operators(const Context& c) {
  const std::uint64_t before = kernels_run(c);
  int tried = 0;
  for (int op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
    for (int t = 0; t < ESP_TYPE_COUNT; ++t) {
      const auto type = static_cast<esp_type>(t);
      const std::size_t bytes = esp_type_size(type);
      if (bytes > 16 || type == ESP_LONG_DOUBLE) continue;
      const std::size_t n = 50'000 / bytes;
      const Reduction sum{
          fmt::format("operator {} of type {}", op, t), n * bytes, n * bytes, false,
          [&](const void* in, void* out) { return esp_allreduce(c.world, in, out, n, type, op); }};
      if (compare(c, the_device(), sum, 10 * op + t)) ++tried;
    }
  }
  CHECK(tried > 100, "{} were tried", tried);
  expect_kernels(c, before, true, "all operators");
}

const std::size_t kCounts[] = {5'000, 70'001, 131'073};

void each_collective(const Context& c, Device& device, std::size_t n, bool in_place) {
  const auto size = static_cast<std::size_t>(c.size);
  const std::size_t one = n * 4;
  const bool root = c.rank == c.size - 1;
  const std::size_t at_root = root ? one : 0;
  esp_team* const w = c.world;
  // `result`: of `out` bytes, in place.
  const auto subject = [&](const char* name, std::size_t in, std::size_t result, std::size_t out,
                           bool placed, auto call) {
    const std::string text = fmt::format("{} of {}{}", name, n, in_place ? " in place" : "");
    compare(c, device, {text, in, out, placed, call, out - result}, static_cast<int>(n));
  };
  subject("allreduce", one, one, one, in_place, [=](const void* in, void* out) {
    return esp_allreduce(w, in, out, n, ESP_INT32, ESP_SUM);
  });
  subject("reduce", one, at_root, at_root, in_place && root, [=](const void* in, void* out) {
    return esp_reduce(w, in, out, n, ESP_INT32, ESP_SUM, static_cast<int>(size) - 1);
  });
  subject("scan", one, one, one, in_place,
          [=](const void* in, void* out) { return esp_scan(w, in, out, n, ESP_FLOAT, ESP_SUM); });
  subject("exscan", one, one, one, in_place,
          [=](const void* in, void* out) { return esp_exscan(w, in, out, n, ESP_INT32, ESP_MAX); });
  const std::size_t all = one * size;
  subject("reduce_scatter_block", all, one, in_place ? all : one, in_place,
          [=](const void* in, void* out) {
            return esp_reduce_scatter_block(w, in, out, n, ESP_INT32, ESP_SUM);
          });
  std::vector<std::size_t> counts;
  std::size_t sum = 0;
  for (std::size_t r = 0; r < size; ++r) sum += counts.emplace_back(r % 2 != 0 ? n : r);
  const std::size_t own = counts[static_cast<std::size_t>(c.rank)] * 4;
  subject("reduce_scatter", sum * 4, own, in_place ? sum * 4 : own, in_place,
          [=](const void* in, void* out) {
            return esp_reduce_scatter(w, in, out, counts.data(), ESP_INT32, ESP_SUM);
          });
}

void collectives(const Context& c) {
  const std::uint64_t before = kernels_run(c);
  for (const std::size_t n : kCounts) {
    for (const bool in_place : {false, true}) each_collective(c, the_device(), n, in_place);
  }
  expect_kernels(c, before, true, "collectives");
}

// All ways in which an allreduce and a reduce may go, in place by turns.
void algorithms(const Context& c) {
  const std::uint64_t before = kernels_run(c);
  constexpr std::size_t kElements = 70'001;
  int tried = 0;
  const auto start = [&](const esp_coll_options& options, const void* in, void* out) {
    esp_request* request = nullptr;
    const esp_status status = esp_allreduce_start(c.world, in, out, kElements, ESP_INT32, ESP_SUM,
                                                  &options, nullptr, &request);
    return status == ESP_OK ? esp_request_wait(&request) : status;
  };
  const auto allreduce = [&](esp_algorithm algorithm, esp_shape shape) {
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.algorithm = algorithm;
    options.shape = shape;
    options.segment_bytes = tried % 2 == 0 ? 16'384 : 0;
    compare(c, the_device(),
            {fmt::format("allreduce, algorithm {}, shape {}", static_cast<int>(algorithm),
                         static_cast<int>(shape)),
             kElements * 4, kElements * 4, tried % 3 == 0,
             [&](const void* in, void* out) { return start(options, in, out); }},
            tried);
    ++tried;
  };
  for (const esp_algorithm a : {ESP_ALGORITHM_PUBLISH, ESP_ALGORITHM_SPREAD, ESP_ALGORITHM_RING,
                                ESP_ALGORITHM_DOUBLING, ESP_ALGORITHM_HALVING}) {
    for (int again = 0; again < 3; ++again) allreduce(a, ESP_SHAPE_AUTO);
  }
  for (const esp_shape s : {ESP_SHAPE_FLAT, ESP_SHAPE_CHAIN, ESP_SHAPE_BINARY, ESP_SHAPE_BINOMIAL,
                            ESP_SHAPE_TWO_TREE}) {
    for (int again = 0; again < 3; ++again) allreduce(ESP_ALGORITHM_TREE, s);
  }
  expect_kernels(c, before, true, "algorithms");
}

// Where the host combines: a user's operator, what devices lack, buffers here and there, elements
// that lie apart.
void host(const Context& c) {
  const std::uint64_t before = kernels_run(c);
  constexpr std::size_t kElements = 100'000;
  esp_op bigger = ESP_SUM;
  const auto function = [](const void* in, void* inout, std::size_t count, esp_type, void*) {
    const auto* a = static_cast<const std::int32_t*>(in);
    auto* b = static_cast<std::int32_t*>(inout);
    for (std::size_t i = 0; i < count; ++i) b[i] = a[i] + b[i];
  };
  CHECK_OK(esp_op_create(c.job, function, nullptr, 0, &bigger), c.world, "operator");
  const auto sum = [&](const char* name, esp_type type, esp_op op) {
    const std::size_t bytes = kElements * esp_type_size(type);
    compare(c, the_device(),
            {name, bytes, bytes, false,
             [&, type, op](const void* in, void* out) {
               return esp_allreduce(c.world, in, out, kElements, type, op);
             }},
            7);
  };
  sum("a user's operator", ESP_INT32, bigger);
  sum("reproducible sum", ESP_FLOAT, ESP_SUM_REPRODUCIBLE);
  Buffer there(&the_device(), kElements * 4), here(nullptr, kElements * 4);
  const Bytes ones = numbers(1, kElements * 4, kSmall);
  there.write(ones);
  CHECK_OK(esp_allreduce(c.world, there.at(), here.at(), kElements, ESP_INT32, ESP_SUM), c.world,
           "from the device to the host");
  bool whole = false;
  Bytes sums = here.read(whole);
  for (std::size_t at = 0; at < sums.size(); at += 4) {
    std::int32_t sum_of, one;
    std::memcpy(&sum_of, &sums[at], 4);
    std::memcpy(&one, &ones[at], 4);
    CHECK_EQ(sum_of, one * c.size, "element {}", at / 4);
    if (sum_of != one * c.size) break;
  }
  expect_kernels(c, before, false, "what the host combines");
}

// Rounds of a persistent call, and several at a time.
void rounds(const Context& c) {
  const std::uint64_t before = kernels_run(c);
  constexpr std::size_t kElements = 100'000, kCalls = 4;
  std::vector<Buffer> buffers;
  std::array<esp_request*, kCalls> requests = {};
  for (esp_request*& request : requests) {
    buffers.emplace_back(&the_device(), kElements * 4);
    CHECK_OK(esp_allreduce_init(c.world, ESP_IN_PLACE, buffers.back().at(), kElements, ESP_INT32,
                                ESP_SUM, nullptr, nullptr, &request),
             c.world, "init");
  }
  for (int round = 0; round < 3; ++round) {
    for (std::size_t k = 0; k < kCalls; ++k) {
      buffers[k].write(numbers(round, kElements * 4, kSmall));
      CHECK_OK(esp_request_start(requests[k]), c.world, "start");
    }
    Bytes sums = numbers(round, kElements * 4, kSmall);
    for (std::size_t at = 0; at < sums.size(); at += 4) {
      std::int32_t one;
      std::memcpy(&one, &sums[at], 4);
      one *= c.size;
      std::memcpy(&sums[at], &one, 4);
    }
    for (std::size_t k = kCalls; k-- > 0;) {
      CHECK_OK(esp_request_wait(&requests[k]), c.world, "wait");
      bool whole = false;
      CHECK(buffers[k].read(whole) == sums && whole, "round {}, call {}", round, k);
    }
  }
  for (esp_request*& request : requests) CHECK_OK(esp_request_free(&request), c.world, "free");
  expect_kernels(c, before, true, "rounds");
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  return test::run_cases({{"operators", test::operators},
                          {"collectives", test::collectives},
                          {"algorithms", test::algorithms},
                          {"host", test::host},
                          {"rounds", test::rounds}},
                         argc, argv);
}
