// device_probe CASE...: calls whose buffers are memory of a device at some members and of the host
// at others, as one rank of a job. What comes is compared, byte by byte, with what the same call
// gives on the host. DEVICE_LIBRARY names the driver's library.
#include <cstdlib>
#include <functional>
#include <random>

#include "tests/device/jobs/device_memory.hpp"
#include "tests/support/blocks.hpp"

namespace test {
namespace {

// One call; what a member passes for its input and output.
struct Subject {
  std::string name;
  std::size_t input = 0, output = 0;  // bytes, of this member; 0: NULL is passed
  bool in_place = false;              // the input stands in the output
  std::function<esp_status(const void* input, void* output)> call;
};

// Runs it with buffers where `kinds` says: bit 0 the input's, bit 1 the output's. What the output
// then is.
Bytes run(const Context& c, const Subject& subject, unsigned kinds, int seed) {
  Buffer input((kinds & 1) != 0 ? &the_device() : nullptr, subject.input);
  Buffer output((kinds & 2) != 0 ? &the_device() : nullptr, subject.output);
  const Bytes given = numbers(seed + c.rank, subject.input);
  const Bytes stood = numbers(seed + 100 + c.rank, subject.output);
  input.write(given);
  output.write(stood);
  const void* from = subject.in_place ? ESP_IN_PLACE : subject.input > 0 ? input.at() : nullptr;
  CHECK_OK(subject.call(from, subject.output > 0 ? output.at() : nullptr), c.world, "{}, kinds {}",
           subject.name, kinds);
  bool whole = false;
  CHECK(input.read(whole) == given, "{}: the input has changed", subject.name);
  CHECK(whole, "{}: bytes beside the input were written", subject.name);
  Bytes came = output.read(whole);
  CHECK(whole, "{}: bytes beside the output were written", subject.name);
  return came;
}

void compare(const Context& c, const Subject& subject, int seed) {
  const Bytes expected = run(c, subject, 0, seed);
  std::mt19937 random(static_cast<unsigned>(seed + 7 * c.rank));
  const unsigned kinds[] = {3, static_cast<unsigned>(random() % 4)};
  for (const unsigned k : kinds) {
    const Bytes came = run(c, subject, k, seed);
    const auto differ = std::mismatch(came.begin(), came.end(), expected.begin());
    CHECK(differ.first == came.end(), "{}, kinds {}: byte {} of {} differs", subject.name, k,
          differ.first - came.begin(), came.size());
  }
}

const std::size_t kCounts[] = {1, 3, 700, 20'000, 150'001};

void with_counts(const std::function<void(std::size_t)>& visit) {
  for (const std::size_t n : kCounts) visit(n);
}

void simple(const Context& c) {
  const auto size = static_cast<std::size_t>(c.size);
  const int last = c.size - 1;
  with_counts([&](std::size_t n) {
    const std::size_t one = n * 4, all = one * size;
    const bool root = c.rank == last;
    const std::size_t at_root = root ? one : 0, all_at_root = root ? all : 0;
    const auto subject = [&](const char* name, std::size_t in, std::size_t out, auto call) {
      compare(c, {fmt::format("{} of {}", name, n), in, out, false, call}, static_cast<int>(n));
    };
    esp_team* w = c.world;
    subject("bcast", 0, one,
            [=](const void*, void* out) { return esp_bcast(w, out, n, ESP_INT32, last); });
    subject("reduce", one, at_root, [=](const void* in, void* out) {
      return esp_reduce(w, in, out, n, ESP_INT32, ESP_SUM, last);
    });
    subject("allreduce", one, one, [=](const void* in, void* out) {
      return esp_allreduce(w, in, out, n, ESP_INT32, ESP_MAX);
    });
    subject("scan", one, one,
            [=](const void* in, void* out) { return esp_scan(w, in, out, n, ESP_INT32, ESP_SUM); });
    subject("exscan", one, one, [=](const void* in, void* out) {
      return esp_exscan(w, in, out, n, ESP_INT32, ESP_SUM);
    });
    subject("allgather", one, all,
            [=](const void* in, void* out) { return esp_allgather(w, in, out, n, ESP_INT32); });
    subject("alltoall", all, all,
            [=](const void* in, void* out) { return esp_alltoall(w, in, out, n, ESP_INT32); });
    subject("gather", one, all_at_root,
            [=](const void* in, void* out) { return esp_gather(w, in, out, n, ESP_INT32, last); });
    subject("scatter", all_at_root, one,
            [=](const void* in, void* out) { return esp_scatter(w, in, out, n, ESP_INT32, last); });
    subject("reduce_scatter_block", all, one, [=](const void* in, void* out) {
      return esp_reduce_scatter_block(w, in, out, n, ESP_INT32, ESP_SUM);
    });
  });
}

void in_place(const Context& c) {
  const auto size = static_cast<std::size_t>(c.size);
  with_counts([&](std::size_t n) {
    const std::size_t one = n * 4, all = one * size;
    const bool root = c.rank == 0;
    esp_team* w = c.world;
    const auto subject = [&](const char* name, std::size_t out, auto call) {
      compare(c, {fmt::format("{} of {} in place", name, n), 0, out, true, call},
              static_cast<int>(n));
    };
    subject("allreduce", one, [=](const void* in, void* out) {
      return esp_allreduce(w, in, out, n, ESP_INT32, ESP_SUM);
    });
    subject("allgather", all,
            [=](const void* in, void* out) { return esp_allgather(w, in, out, n, ESP_INT32); });
    subject("alltoall", all,
            [=](const void* in, void* out) { return esp_alltoall(w, in, out, n, ESP_INT32); });
    subject("scan", one,
            [=](const void* in, void* out) { return esp_scan(w, in, out, n, ESP_INT32, ESP_SUM); });
    compare(
        c,
        {fmt::format("reduce of {} in place at the root", n), root ? 0 : one, root ? one : 0, root,
         [=](const void* in, void* out) {
           return esp_reduce(w, in, out, n, ESP_INT32, ESP_SUM, 0);
         }},
        static_cast<int>(n));
  });
}

// Blocks of different lengths, with gaps between them that nobody may write.
void unequal(const Context& c) {
  const auto size = static_cast<std::size_t>(c.size), me = static_cast<std::size_t>(c.rank);
  for (const auto& counts : unequal_counts(c.size)) {
    std::vector<std::size_t> displs(size), to_me(size, counts[me]), mine_displs(size);
    std::size_t at = 0;
    for (std::size_t r = 0; r < size; ++r) {
      displs[r] = at + 3;
      at = displs[r] + counts[r];
      mine_displs[r] = r * (counts[me] + 1);
    }
    const std::size_t all = (at + 5) * 4, own = counts[me] * 4;
    const std::size_t back = (size * (counts[me] + 1)) * 4;
    esp_team* w = c.world;
    compare(c,
            {"allgatherv", own, all, false,
             [&](const void* in, void* out) {
               return esp_allgatherv(w, in, out, counts.data(), displs.data(), ESP_INT32);
             }},
            static_cast<int>(at));
    compare(c,
            {"alltoallv", all, back, false,
             [&](const void* in, void* out) {
               return esp_alltoallv(w, in, counts.data(), displs.data(), out, to_me.data(),
                                    mine_displs.data(), ESP_INT32);
             }},
            static_cast<int>(at));
    compare(c,
            {"reduce_scatter", at * 4, own, false,
             [&](const void* in, void* out) {
               return esp_reduce_scatter(w, in, out, counts.data(), ESP_INT32, ESP_SUM);
             }},
            static_cast<int>(at));
    const bool root = c.rank == 0;
    compare(c,
            {"gatherv", own, root ? all : 0, false,
             [&](const void* in, void* out) {
               return esp_gatherv(w, in, counts[me], out, counts.data(), displs.data(), ESP_INT32,
                                  0);
             }},
            static_cast<int>(at));
    compare(c,
            {"scatterv", root ? all : 0, own, false,
             [&](const void* in, void* out) {
               return esp_scatterv(w, in, counts.data(), displs.data(), out, counts[me], ESP_INT32,
                                   0);
             }},
            static_cast<int>(at));
  }
}

// Elements that lie apart on the device, forms of the library's, operators of the user's.
void elements(const Context& c) {
  esp_type column = ESP_INT32;
  CHECK_OK(esp_type_strided(c.job, ESP_INT32, 5, 2, 7, 40, &column), c.world, "strided");
  esp_op bigger = ESP_SUM;
  const auto function = [](const void* in, void* inout, std::size_t count, esp_type, void*) {
    const auto* a = static_cast<const std::int32_t*>(in);
    auto* b = static_cast<std::int32_t*>(inout);
    for (std::size_t i = 0; i < count; ++i) b[i] = a[i] + b[i];
  };
  CHECK_OK(esp_op_create(c.job, function, nullptr, 0, &bigger), c.world, "operator");
  esp_team* w = c.world;
  for (const std::size_t n : {std::size_t{1}, std::size_t{40}, std::size_t{300}}) {
    const std::size_t bytes = n * 160;
    const int seed = static_cast<int>(n);
    compare(c,
            {"bcast of columns", 0, bytes, false,
             [=](const void*, void* out) { return esp_bcast(w, out, n, column, 0); }},
            seed);
    compare(
        c,
        {"allreduce of columns", bytes, bytes, false,
         [=](const void* in, void* out) { return esp_allreduce(w, in, out, n, column, ESP_SUM); }},
        seed);
    compare(c,
            {"allreduce by a user's operator", n * 4, n * 4, false,
             [=](const void* in, void* out) {
               return esp_allreduce(w, in, out, n, ESP_INT32, bigger);
             }},
            seed);
    compare(c,
            {"reproducible sum", n * 8, n * 8, false,
             [=](const void* in, void* out) {
               return esp_allreduce(w, in, out, n, ESP_FLOAT, ESP_SUM_REPRODUCIBLE);
             }},
            seed);
  }
  CHECK_OK(esp_type_free(c.job, column), c.world, "free");
}

// Several at a time, started, and rounds of persistent ones.
void started(const Context& c) {
  constexpr std::size_t kAtOnce = 12;
  std::vector<Buffer> buffers;
  std::vector<esp_request*> requests(kAtOnce, nullptr);
  std::vector<Bytes> sums;
  for (std::size_t k = 0; k < kAtOnce; ++k) {
    const std::size_t n = kCounts[k % 5];
    buffers.emplace_back((k + static_cast<std::size_t>(c.rank)) % 3 != 0 ? &the_device() : nullptr,
                         n * 4);
    Bytes mine = numbers(static_cast<int>(k), n * 4);
    buffers[k].write(mine);
    for (std::size_t i = 0; i < n; ++i) {
      std::int32_t value;
      std::memcpy(&value, mine.data() + i * 4, 4);
      value *= c.size;
      std::memcpy(mine.data() + i * 4, &value, 4);
    }
    sums.push_back(std::move(mine));
  }
  for (std::size_t k = 0; k < kAtOnce; ++k) {
    CHECK_OK(esp_allreduce_start(c.world, ESP_IN_PLACE, buffers[k].at(), kCounts[k % 5], ESP_INT32,
                                 ESP_SUM, nullptr, nullptr, &requests[k]),
             c.world, "start {}", k);
  }
  for (std::size_t k = kAtOnce; k > 0; --k) {
    CHECK_OK(esp_request_wait(&requests[k - 1]), c.world, "wait {}", k - 1);
  }
  bool whole = false;
  for (std::size_t k = 0; k < kAtOnce; ++k) {
    CHECK(buffers[k].read(whole) == sums[k] && whole, "sum {}", k);
  }
  for (std::size_t k = 0; k < 5; ++k) {
    esp_request* again = nullptr;
    const std::size_t n = kCounts[k];
    CHECK_OK(esp_bcast_init(c.world, buffers[k].at(), n, ESP_INT32, 0, nullptr, nullptr, &again),
             c.world, "init");
    for (int round = 0; round < 4; ++round) {
      const Bytes sent = numbers(round * 50 + static_cast<int>(k), n * 4);
      if (c.rank == 0) buffers[k].write(sent);
      CHECK_OK(esp_request_start(again), c.world, "round {}", round);
      CHECK_OK(esp_request_wait(&again), c.world, "round {}", round);
      CHECK(buffers[k].read(whole) == sent && whole, "round {} of {}", round, n);
    }
    CHECK_OK(esp_request_free(&again), c.world, "free");
  }
}

// Messages around a ring.
void messages(const Context& c) {
  if (c.size == 1) {
    CHECK(true, "nobody to send to");
    return;
  }
  const int right = (c.rank + 1) % c.size, left = (c.rank + c.size - 1) % c.size;
  with_counts([&](std::size_t n) {
    for (unsigned kinds = 0; kinds < 4; ++kinds) {
      Buffer from((kinds & 1) != 0 ? &the_device() : nullptr, n * 4);
      Buffer to((kinds & 2) != 0 ? &the_device() : nullptr, n * 4);
      from.write(numbers(c.rank, n * 4));
      esp_request* sent = nullptr;
      CHECK_OK(esp_send_start(c.world, from.at(), n * 4, right, 3, nullptr, &sent), c.world,
               "send");
      CHECK_OK(esp_recv(c.world, to.at(), n * 4, left, 3), c.world, "recv");
      CHECK_OK(esp_request_wait(&sent), c.world, "sent");
      bool whole = false;
      CHECK(to.read(whole) == numbers(left, n * 4) && whole, "{} numbers, kinds {}", n, kinds);
    }
  });
}

// The driver fails at rank 0: all members are told, and by whom.
void broken(const Context& c) {
  const std::size_t n = std::getenv("DEVICE_COUNT") != nullptr
                            ? static_cast<std::size_t>(std::atoi(std::getenv("DEVICE_COUNT")))
                            : 150'000;
  Buffer buffer(&the_device(), n * 4);
  buffer.write(numbers(1, n * 4));
  esp_status status = ESP_OK;
  for (int i = 0; i < 50 && status == ESP_OK; ++i) {
    status = esp_allreduce(c.world, ESP_IN_PLACE, buffer.at(), n, ESP_INT32, ESP_MAX);
  }
  CHECK_EQ(status, ESP_ERR_DEVICE, "{}", text_of(c.world));
  const std::string text = text_of(c.world);
  CHECK(text.find("rank 0") != std::string::npos, "it says \"{}\"", text);
  if (c.rank > 0) return;
  const char* const call = std::getenv("DEVICE_CALL");
  const std::string words =
      fmt::format("{}: out of memory (2)", call != nullptr ? call : "cuMemcpyAsync");
  CHECK(text.find(words) != std::string::npos, "it says \"{}\"", text);
}

// A device is lost at rank 0: all are told, and other teams go on with memory of the host.
void lost(const Context& c) {
  esp_team* spare = nullptr;
  CHECK_OK(esp_team_dup(c.world, &spare), c.world, "dup");
  Buffer buffer(&the_device(), 4000);
  esp_status status = ESP_OK;
  for (int i = 0; i < 50 && status == ESP_OK; ++i) {
    status = esp_allreduce(c.world, ESP_IN_PLACE, buffer.at(), 1000, ESP_INT32, ESP_MAX);
  }
  CHECK_EQ(status, ESP_ERR_DEVICE, "{}", text_of(c.world));
  const std::string text = text_of(c.world);
  CHECK(text.find("rank 0") != std::string::npos, "it says \"{}\"", text);
  int sum = 1;
  CHECK_OK(esp_allreduce(spare, ESP_IN_PLACE, &sum, 1, ESP_INT32, ESP_SUM), spare, "host");
  CHECK_EQ(sum, c.size, "on the other team");
  CHECK_OK(esp_team_free(spare), spare, "free");
  buffer.abandon();  // A lost device takes nothing back.
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  return test::run_cases({{"simple", test::simple},
                          {"in_place", test::in_place},
                          {"unequal", test::unequal},
                          {"elements", test::elements},
                          {"started", test::started},
                          {"messages", test::messages},
                          {"broken", test::broken},
                          {"lost", test::lost}},
                         argc, argv);
}
