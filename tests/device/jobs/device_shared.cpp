// device_shared CASE...: members of a node read each other's memory of devices where it lies.
// DEVICE_LIBRARY names the driver's library.
#include <cstdlib>
#include <numeric>
#include <optional>

#include "tests/device/jobs/device_memory.hpp"
#include "tests/support/counter.hpp"
#include "tests/support/rank_check.hpp"

namespace test {
namespace {

constexpr std::size_t kCount = 300'001, kBytes = kCount * 4;

// What all members have read where it lies, while `work` was done.
template <typename Work>
std::uint64_t shared_during(const Context& c, Work&& work) {
  const std::uint64_t before = counter(c, "device_shared_bytes");
  work();
  std::uint64_t read = counter(c, "device_shared_bytes") - before;
  CHECK_OK(esp_allreduce(c.world, ESP_IN_PLACE, &read, 1, ESP_UINT64, ESP_SUM), c.world, "sum");
  return read;
}

void bcast_from(const Context& c, Buffer& buffer, int root, int seed) {
  const Bytes sent = numbers(seed, kBytes);
  if (c.rank == root) buffer.write(sent);
  CHECK_OK(esp_bcast(c.world, buffer.at(), kCount, ESP_INT32, root), c.world, "bcast");
  bool whole = false;
  CHECK(buffer.read(whole) == sent && whole, "bcast {} from {}", seed, root);
}

// How many members have a source of theirs on their own node: EXPECT_SHARED.
std::uint64_t readers() {
  const char* text = std::getenv("EXPECT_SHARED");
  return text != nullptr ? static_cast<std::uint64_t>(std::atoi(text)) : 0;
}

void everybody(const Context& c) {
  const auto size = static_cast<std::size_t>(c.size), me = static_cast<std::size_t>(c.rank);
  Buffer one(&the_device(), kBytes), all(&the_device(), kBytes * size);
  bcast_from(c, one, 0, 1);  // From here on all know of each other.
  CHECK_OK(esp_barrier(c.world), c.world, "barrier");
  const std::uint64_t copied = counter(c, "device_copy_bytes");
  const std::uint64_t read = shared_during(c, [&] { bcast_from(c, one, 0, 2); });
  CHECK_EQ(read, readers() * kBytes, "bytes of a bcast");
  const std::uint64_t moved = counter(c, "device_copy_bytes") - copied;
  const bool one_node = readers() + 1 == size;
  if (one_node) CHECK_EQ(moved, c.rank == 0 ? 0 : kBytes, "copied at rank {}", c.rank);
  for (int root = 0; root < c.size; ++root) bcast_from(c, one, root, 3 + root);

  bool whole = false;
  one.write(numbers(c.rank, kBytes));
  const std::uint64_t gathered = shared_during(c, [&] {
    CHECK_OK(esp_allgather(c.world, one.at(), all.at(), kCount, ESP_INT32), c.world, "allgather");
  });
  CHECK(gathered > 0, "nothing of an allgather was read where it lies");
  Bytes expected;
  for (int r = 0; r < c.size; ++r) {
    const Bytes of = numbers(r, kBytes);
    expected.insert(expected.end(), of.begin(), of.end());
  }
  CHECK(all.read(whole) == expected && whole, "allgather");

  all.write(numbers(c.rank, kBytes * size));
  Buffer other(&the_device(), kBytes * size);
  CHECK_OK(esp_alltoall(c.world, all.at(), other.at(), kCount, ESP_INT32), c.world, "alltoall");
  expected.clear();
  for (int r = 0; r < c.size; ++r) {
    const Bytes of = numbers(r, kBytes * size);
    const auto begin = of.begin() + static_cast<std::ptrdiff_t>(me * kBytes);
    expected.insert(expected.end(), begin, begin + static_cast<std::ptrdiff_t>(kBytes));
  }
  CHECK(other.read(whole) == expected && whole, "alltoall");
}

// Between neighbours, through more allocations than are kept open.
void messages(const Context& c) {
  const int right = (c.rank + 1) % c.size, left = (c.rank + c.size - 1) % c.size;
  std::uint64_t read = 0;
  for (int round = 0; round < 80; ++round) {
    Buffer from(&the_device(), kBytes), to(&the_device(), kBytes), tagged(&the_device(), kBytes);
    from.write(numbers(c.rank + round, kBytes));
    read += shared_during(c, [&] {
      esp_request* sent = nullptr;
      CHECK_OK(esp_send_start(c.world, from.at(), kBytes, right, 3, nullptr, &sent), c.world,
               "send");
      CHECK_OK(esp_recv(c.world, to.at(), kBytes, left, 3), c.world, "recv");
      CHECK_OK(esp_request_wait(&sent), c.world, "sent");
      CHECK_OK(esp_tag_send_start(c.world, from.at(), kCount, ESP_INT32, right, 9, nullptr, &sent),
               c.world, "tag");
      CHECK_OK(esp_tag_recv(c.world, tagged.at(), kCount, ESP_INT32, left, 9, ~std::uint64_t{0},
                            nullptr),
               c.world, "tag");
      CHECK_OK(esp_request_wait(&sent), c.world, "sent");
    });
    bool whole = false;
    CHECK(tagged.read(whole) == numbers(left + round, kBytes) && whole, "tagged, {}", round);
    CHECK(to.read(whole) == numbers(left + round, kBytes) && whole, "round {}", round);
  }
  CHECK(read >= 2 * 78 * kBytes * readers(), "{} bytes were read where they lie", read);
}

// Some have their buffers on the host: these want bytes.
void mixed(const Context& c) {
  Buffer far(&the_device(), kBytes), near(nullptr, kBytes);
  bcast_from(c, far, 0, 1);
  CHECK_OK(esp_barrier(c.world), c.world, "barrier");
  for (int round = 0; round < 12; ++round) {
    const bool here = (round + c.rank) % 3 == 0;
    bcast_from(c, here ? near : far, round % c.size, round);
  }
}

// Rank 1 cannot open anything.
void closed(const Context& c) {
  Buffer buffer(&the_device(), kBytes);
  for (int round = 0; round < 6; ++round) {
    bcast_from(c, buffer, 0, round);
    CHECK_OK(esp_barrier(c.world), c.world, "barrier");
  }
  const bool opens = c.rank > 1;
  CHECK_EQ(counter(c, "device_shared_bytes") > 0, opens, "at rank {}", c.rank);
}

// Kernels read what the others of the node have on their devices.
void sums(const Context& c) {
  Buffer from(&the_device(), kBytes), to(&the_device(), kBytes);
  std::vector<std::int32_t> expected(kCount, 0);
  for (int r = 0; r < c.size; ++r) {
    const Bytes of = numbers(r, kBytes);
    for (std::size_t i = 0; i < kCount; ++i) {
      std::int32_t value;
      std::memcpy(&value, of.data() + i * 4, 4);
      expected[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(expected[i]) +
                                              static_cast<std::uint32_t>(value));
    }
  }
  from.write(numbers(c.rank, kBytes));
  const auto check = [&](const char* what) {
    bool whole = false;
    const Bytes came = to.read(whole);
    CHECK(std::memcmp(came.data(), expected.data(), kBytes) == 0 && whole, "{}", what);
  };
  std::uint64_t read = 0;
  const std::uint64_t reduced = counter(c, "device_reductions");
  for (int round = 0; round < 4; ++round) {
    read = shared_during(c, [&] {
      CHECK_OK(esp_allreduce(c.world, from.at(), to.at(), kCount, ESP_INT32, ESP_SUM), c.world,
               "allreduce");
    });
    check("allreduce");
    to.write(numbers(9, kBytes));
    const int root = round % c.size;
    CHECK_OK(esp_reduce(c.world, from.at(), to.at(), kCount, ESP_INT32, ESP_SUM, root), c.world,
             "reduce");
    if (c.rank == root) check("reduce");
  }
  CHECK(read > 0, "nothing of an allreduce was read where it lies");
  CHECK(counter(c, "device_reductions") > reduced, "no device has reduced at rank {}", c.rank);
}

std::vector<std::int32_t> sums_of_numbers(const Context& c, std::size_t count) {
  std::vector<std::int32_t> sums(count);
  for (int r = 0; r < c.size; ++r) {
    const Bytes of = numbers(r, count * 4);
    for (std::size_t i = 0; i < count; ++i) {
      std::int32_t value;
      std::memcpy(&value, of.data() + i * 4, 4);
      sums[i] += value;
    }
  }
  return sums;
}

// What is combined stays on the devices: each byte that is copied is one of the result that another
// member has made, and each that a member sends is read where it lies.
void stay(const Context& c) {
  const auto size = static_cast<std::size_t>(c.size), me = static_cast<std::size_t>(c.rank);
  constexpr std::size_t kLong = 1 << 20, kLongBytes = kLong * 4;
  const std::size_t block = kLongBytes / size;
  Buffer from(&the_device(), kLongBytes), to(&the_device(), kLongBytes);
  const std::vector<std::int32_t> sums = sums_of_numbers(c, kLong);
  struct Expected {
    const char* name;
    std::size_t copied, read;                   // by this member; by all
    std::size_t begin = 0, bytes = kLongBytes;  // of the sums, at this member
    bool in_place = false;
  };
  const auto check = [&](const Expected& of, auto&& call) {
    for (int round = 0; round < 2; ++round) {
      const Bytes given = numbers(c.rank, kLongBytes);
      from.write(given);
      to.write(of.in_place ? given : numbers(99, kLongBytes));
      CHECK_OK(esp_barrier(c.world), c.world, "barrier");
      const std::uint64_t before = counter(c, "device_copy_bytes");
      const std::uint64_t read = shared_during(
          c, [&] { CHECK_OK(call(of.in_place ? ESP_IN_PLACE : from.at()), c.world, "call"); });
      CHECK_EQ(counter(c, "device_copy_bytes") - before, of.copied, "{}, copied at {}", of.name,
               c.rank);
      CHECK_EQ(read, of.read, "{}, read where it lies", of.name);
      bool whole = false;
      const Bytes came = to.read(whole);
      const auto* const expected = reinterpret_cast<const std::byte*>(sums.data()) + of.begin;
      CHECK(std::memcmp(came.data(), expected, of.bytes) == 0 && whole, "{}", of.name);
      CHECK(from.read(whole) == given && whole, "{}: the input has changed", of.name);
    }
  };
  const auto allreduce = [&](esp_algorithm algorithm, esp_shape shape) {
    return [&, algorithm, shape](const void* in) {
      esp_coll_options options = ESP_COLL_OPTIONS_INIT;
      options.algorithm = algorithm;
      options.shape = shape;
      esp_request* request = nullptr;
      const esp_status status = esp_allreduce_start(c.world, in, to.at(), kLong, ESP_INT32, ESP_SUM,
                                                    &options, nullptr, &request);
      return status == ESP_OK ? esp_request_wait(&request) : status;
    };
  };
  const std::size_t others = size - 1, rounds = size == 2 ? 1 : 2;
  const std::size_t twice = 2 * others * kLongBytes;
  (void)esp_allreduce(c.world, from.at(), to.at(), kLong, ESP_INT32, ESP_SUM);  // All meet.
  for (const bool in_place : {false, true}) {
    const std::size_t copied = kLongBytes - block;
    check({"spread", copied, twice, 0, kLongBytes, in_place},
          allreduce(ESP_ALGORITHM_AUTO, ESP_SHAPE_AUTO));
    check({"ring", copied, twice, 0, kLongBytes, in_place},
          allreduce(ESP_ALGORITHM_RING, ESP_SHAPE_AUTO));
    check({"halving", copied, twice, 0, kLongBytes, in_place},
          allreduce(ESP_ALGORITHM_HALVING, ESP_SHAPE_AUTO));
    for (const esp_shape shape : {ESP_SHAPE_CHAIN, ESP_SHAPE_FLAT}) {
      check({"tree", c.rank == 0 ? 0 : kLongBytes, twice, 0, kLongBytes, in_place},
            allreduce(ESP_ALGORITHM_TREE, shape));
    }
  }
  check({"doubling", 0, rounds * size * kLongBytes},
        allreduce(ESP_ALGORITHM_DOUBLING, ESP_SHAPE_AUTO));
  check({"reduce", 0, others * kLongBytes, 0, c.rank == 1 ? kLongBytes : 0}, [&](const void* in) {
    return esp_reduce(c.world, in, to.at(), kLong, ESP_INT32, ESP_SUM, 1);
  });
  check({"reduce-scatter", 0, others * kLongBytes, me * block, block}, [&](const void* in) {
    return esp_reduce_scatter_block(c.world, in, to.at(), kLong / size, ESP_INT32, ESP_SUM);
  });
}

// Allreduces in every way, of members with buffers here and there.
void sums_everywhere(const Context& c, Buffer& from, Buffer& to, int seed) {
  std::vector<std::int32_t> sums(kCount, 0);
  for (std::size_t i = 0; i < kCount; ++i) {
    for (int r = 0; r < c.size; ++r) sums[i] += (r + seed) * 1'000 + static_cast<int>(i);
  }
  std::vector<std::int32_t> mine(kCount);
  std::iota(mine.begin(), mine.end(), (c.rank + seed) * 1'000);
  Bytes given(kBytes);
  std::memcpy(given.data(), mine.data(), kBytes);
  for (const esp_algorithm algorithm :
       {ESP_ALGORITHM_SPREAD, ESP_ALGORITHM_TREE, ESP_ALGORITHM_RING, ESP_ALGORITHM_DOUBLING,
        ESP_ALGORITHM_HALVING}) {
    const bool in_place = (seed + static_cast<int>(algorithm)) % 2 == 0;
    (in_place ? to : from).write(given);
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.algorithm = algorithm;
    options.shape = algorithm == ESP_ALGORITHM_TREE ? ESP_SHAPE_CHAIN : ESP_SHAPE_AUTO;
    esp_request* request = nullptr;
    CHECK_OK(esp_allreduce_start(c.world, in_place ? ESP_IN_PLACE : from.at(), to.at(), kCount,
                                 ESP_INT32, ESP_SUM, &options, nullptr, &request),
             c.world, "start");
    CHECK_OK(esp_request_wait(&request), c.world, "wait");
    bool whole = false;
    const Bytes came = to.read(whole);
    CHECK(std::memcmp(came.data(), sums.data(), kBytes) == 0 && whole, "algorithm {}, seed {}",
          static_cast<int>(algorithm), seed);
  }
}

void mixed_sums(const Context& c) {
  Buffer far_from(&the_device(), kBytes), far_to(&the_device(), kBytes);
  Buffer near_from(nullptr, kBytes), near_to(nullptr, kBytes);
  bcast_from(c, far_to, 0, 1);
  CHECK_OK(esp_barrier(c.world), c.world, "barrier");
  for (int round = 0; round < 6; ++round) {
    const bool here = (round + c.rank) % 3 == 0, there = (round + c.rank) % 4 == 0;
    sums_everywhere(c, here ? near_from : far_from, here && !there ? near_to : far_to, round);
  }
}

// At one member the driver refuses something: to open what others have, or memory of the device for
// the call itself. It goes by the host, and kernels combine all the same.
void refused_sums(const Context& c) {
  Buffer from(&the_device(), kBytes), to(&the_device(), kBytes);
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t before = counter(c, "device_reductions");
    sums_everywhere(c, from, to, round);
    CHECK(counter(c, "device_reductions") > before, "nothing was combined at rank {}", c.rank);
  }
}

// A long message, for overlap.py.
void stream(const Context& c) {
  constexpr std::size_t kLong = 16 << 20;
  Buffer buffer(&the_device(), kLong);
  for (int round = 0; round < 2; ++round) {
    const Bytes sent = numbers(round, kLong);
    if (c.rank == 0) buffer.write(sent);
    CHECK_OK(esp_barrier(c.world), c.world, "barrier");
    CHECK_OK(esp_bcast(c.world, buffer.at(), kLong, ESP_BYTE, 0), c.world, "bcast");
    bool whole = false;
    CHECK(buffer.read(whole) == sent && whole, "round {}", round);
  }
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  return test::run_cases({{"everybody", test::everybody},
                          {"messages", test::messages},
                          {"mixed", test::mixed},
                          {"closed", test::closed},
                          {"sums", test::sums},
                          {"stay", test::stay},
                          {"mixed_sums", test::mixed_sums},
                          {"refused_sums", test::refused_sums},
                          {"stream", test::stream}},
                         argc, argv);
}
