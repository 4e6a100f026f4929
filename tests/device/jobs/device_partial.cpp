// device_partial CASE...: operations that are delivered, or made ready, bit by bit, whose buffers
// are memory of a device at some members, as one rank of a job. DEVICE_LIBRARY names the driver's
// library. What is delivered is read from the device at once, and compared with what the same call
// gives on the host.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>

#include "tests/device/jobs/device_memory.hpp"
#include "tests/support/blocks.hpp"

namespace test {
namespace {

Device* place(unsigned kinds, unsigned bit) {
  return (kinds & bit) != 0 ? &the_device() : nullptr;
}

constexpr std::size_t kElement = 4;
constexpr int kParts = 3;
const std::size_t kCounts[] = {1, 5, 3000, 70'001};

// Small numbers: sums of them are exact.
Bytes numbers(int seed, std::size_t elements) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<std::int32_t> values(elements + 1);
  for (auto& value : values) value = static_cast<std::int32_t>(random() % 1000);
  Bytes data(elements * kElement);
  std::copy_n(reinterpret_cast<const std::byte*>(values.data()), data.size(), data.begin());
  return data;
}

// Lengths of this member's input and output, in elements, and of the blocks that the input is of.
struct Subject {
  std::string name;
  std::size_t input = 0, output = 0, blocks = 1;
  bool sends_output = false;  // a broadcast's root, whose message stands there
  std::function<esp_status(const void*, void*, const esp_coll_options*, esp_request**)> start;
};

using Visit = std::function<void(const Subject&)>;

void for_each_call(const Context& c, std::size_t n, const Visit& visit) {
  const auto size = static_cast<std::size_t>(c.size);
  const int root = c.size / 2;
  const bool is_root = c.rank == root;
  esp_team* const w = c.world;
  using Options = const esp_coll_options*;
  const auto named = [&](const char* name) { return fmt::format("{} of {}", name, n); };
  visit({named("bcast"), 0, n, 1, is_root, [=](auto, void* out, Options o, esp_request** r) {
           return esp_bcast_start(w, out, n, ESP_INT32, root, o, nullptr, r);
         }});
  visit({named("reduce"), n, is_root ? n : 0, 1, false,
         [=](const void* in, void* out, Options o, esp_request** r) {
           return esp_reduce_start(w, in, out, n, ESP_INT32, ESP_SUM, root, o, nullptr, r);
         }});
  visit({named("allreduce"), n, n, 1, false,
         [=](const void* in, void* out, Options o, esp_request** r) {
           return esp_allreduce_start(w, in, out, n, ESP_INT32, ESP_SUM, o, nullptr, r);
         }});
  visit({named("scan"), n, n, 1, false, [=](const void* in, void* out, Options o, esp_request** r) {
           return esp_scan_start(w, in, out, n, ESP_INT32, ESP_SUM, o, nullptr, r);
         }});
  visit({named("allgather"), n, n * size, 1, false,
         [=](const void* in, void* out, Options o, esp_request** r) {
           return esp_allgather_start(w, in, out, n, ESP_INT32, o, nullptr, r);
         }});
  visit({named("alltoall"), n * size, n * size, size, false,
         [=](const void* in, void* out, Options o, esp_request** r) {
           return esp_alltoall_start(w, in, out, n, ESP_INT32, o, nullptr, r);
         }});
  visit({named("gather"), n, is_root ? n * size : 0, 1, false,
         [=](const void* in, void* out, Options o, esp_request** r) {
           return esp_gather_start(w, in, out, n, ESP_INT32, root, o, nullptr, r);
         }});
  visit({named("scatter"), is_root ? n * size : 0, n, is_root ? size : 1, false,
         [=](const void* in, void* out, Options o, esp_request** r) {
           return esp_scatter_start(w, in, out, n, ESP_INT32, root, o, nullptr, r);
         }});
  visit({named("reduce_scatter_block"), n * size, n, size, false,
         [=](const void* in, void* out, Options o, esp_request** r) {
           return esp_reduce_scatter_block_start(w, in, out, n, ESP_INT32, ESP_SUM, o, nullptr, r);
         }});
}

// On the host, all at once.
Bytes expected(const Context& c, const Subject& subject, const Bytes& given) {
  Bytes out = subject.sends_output ? given : Bytes(subject.output * kElement);
  esp_request* request = nullptr;
  CHECK_OK(subject.start(given.data(), out.data(), nullptr, &request), c.world, "{}", subject.name);
  CHECK_OK(esp_request_wait(&request), c.world, "{}", subject.name);
  return out;
}

// Which bytes of an output have been delivered, each once and final.
class Delivered {
 public:
  Delivered(const Buffer& output, const Bytes& final, bool on_device, std::string what)
      : output_(output),
        final_(final),
        on_device_(on_device),
        seen_(final.size(), false),
        what_(std::move(what)) {}

  void note(const esp_segment& segment) {
    const auto* const at = static_cast<const std::byte*>(segment.address);
    const std::ptrdiff_t offset = at - output_.at();
    const bool inside =
        offset >= 0 && static_cast<std::size_t>(offset) + segment.bytes <= final_.size();
    CHECK(inside, "{}: delivered {} bytes at {}", what_, segment.bytes, offset);
    if (!inside) return;
    Bytes came(segment.bytes);
    if (on_device_) {
      the_device().read(came.data(), at, came.size());
    } else {
      std::copy_n(at, came.size(), came.begin());
    }
    CHECK(std::equal(came.begin(), came.end(), final_.begin() + offset), "{}: bytes from {}", what_,
          offset);
    for (std::size_t i = 0; i < segment.bytes; ++i) {
      twice_ = twice_ || seen_[static_cast<std::size_t>(offset) + i];
      seen_[static_cast<std::size_t>(offset) + i] = true;
    }
  }
  void finish() const {
    CHECK(!twice_, "{}: delivered twice", what_);
    CHECK(std::all_of(seen_.begin(), seen_.end(), [](bool seen) { return seen; }),
          "{}: not all was delivered", what_);
  }

 private:
  const Buffer& output_;
  const Bytes& final_;
  bool on_device_, twice_ = false;
  std::vector<bool> seen_;
  std::string what_;
};

void write_part(std::byte* to, const std::byte* from, std::size_t bytes, bool on_device) {
  if (on_device) {
    the_device().write(to, from, bytes);
  } else if (bytes > 0) {
    std::copy_n(from, bytes, to);
  }
}

// Writes the partitions of an input in some order, and says so of each.
void make_ready(const Context& c, esp_request* request, const Subject& subject, std::byte* input,
                const Bytes& given, bool on_device, int seed) {
  const std::size_t length = given.size() / kElement / subject.blocks;
  std::vector<int> order(subject.blocks * kParts);
  for (std::size_t p = 0; p < order.size(); ++p) order[p] = static_cast<int>(p);
  std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(seed)));
  const auto begin = [&](std::size_t part) {
    return (length / kParts * part + std::min(part, length % kParts)) * kElement;
  };
  for (const int p : order) {
    const auto part = static_cast<std::size_t>(p);
    const std::size_t block = part / kParts * length * kElement, k = part % kParts;
    write_part(input + block + begin(k), given.data() + block + begin(k), begin(k + 1) - begin(k),
               on_device);
    CHECK_OK(esp_ready(request, p), c.world, "{}: partition {}", subject.name, p);
    (void)esp_progress(c.job);
  }
}

void take_all(const Context& c, esp_request* request, Delivered& delivered) {
  esp_segment one;
  int taken = 0;
  while (esp_segment_wait(request, &one, &taken) == ESP_OK && taken != 0) delivered.note(one);
  CHECK_OK(esp_segment_take(request, &one, &taken), c.world, "at the end");
}

// With buffers where `kinds` says, by the flags of esp_partial.
void run(const Context& c, const Subject& subject, unsigned kinds, unsigned flags) {
  const std::string what = fmt::format("{}, kinds {}, flags {}", subject.name, kinds, flags);
  const std::size_t given_elements = subject.sends_output ? subject.output : subject.input;
  const Bytes given = numbers(c.rank + static_cast<int>(flags), given_elements);
  const Bytes final = expected(c, subject, given);
  Buffer input(place(kinds, 1), subject.input * kElement);
  Buffer output(place(kinds, 2), subject.output * kElement);
  Buffer& source = subject.sends_output ? output : input;
  const bool awaits = (flags & ESP_PARTIAL_AWAIT) != 0 && given_elements > 0;
  if (!awaits && given_elements > 0) source.write(given);
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = flags;
  partial.blocks = 4;
  partial.partitions = kParts;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.partial = &partial;
  esp_request* request = nullptr;
  CHECK_OK(subject.start(subject.input > 0 ? input.at() : nullptr,
                         subject.output > 0 ? output.at() : nullptr, &options, &request),
           c.world, "{}", what);
  if (awaits) {
    const bool there = (kinds & (subject.sends_output ? 2U : 1U)) != 0;
    make_ready(c, request, subject, source.at(), given, there, c.rank);
  }
  Delivered delivered(output, final, (kinds & 2) != 0, what);
  if ((flags & ESP_PARTIAL_DELIVER) != 0) {
    take_all(c, request, delivered);
    delivered.finish();
  }
  CHECK_OK(esp_request_wait(&request), c.world, "{}", what);
  bool whole = false;
  CHECK(output.read(whole) == final, "{}: other bytes", what);
  CHECK(whole, "{}: bytes beside the output were written", what);
}

void by_flags(const Context& c, unsigned flags) {
  for (const std::size_t n : kCounts) {
    for_each_call(c, n, [&](const Subject& subject) {
      run(c, subject, 3, flags);
      run(c, subject, static_cast<unsigned>(c.rank) % 4, flags);
      run(c, subject, static_cast<unsigned>(c.rank + 1) % 3, flags);
    });
  }
}

void delivered(const Context& c) {
  by_flags(c, ESP_PARTIAL_DELIVER);
}
void segments(const Context& c) {
  by_flags(c, ESP_PARTIAL_DELIVER | ESP_PARTIAL_SEGMENTS);
}
void awaited(const Context& c) {
  by_flags(c, ESP_PARTIAL_AWAIT);
}
void both(const Context& c) {
  by_flags(c, ESP_PARTIAL_AWAIT | ESP_PARTIAL_DELIVER | ESP_PARTIAL_SEGMENTS);
}

// To a function, in rounds of a persistent request that both awaits and delivers.
void rounds(const Context& c) {
  for (const std::size_t n : kCounts) {
    Buffer input(&the_device(), n * kElement), output(&the_device(), n * kElement);
    std::vector<esp_segment> told;  // Its thread may be the library's, and know no device.
    esp_partial partial = ESP_PARTIAL_INIT;
    partial.flags = ESP_PARTIAL_AWAIT | ESP_PARTIAL_DELIVER;
    partial.partitions = kParts;
    partial.blocks = 5;
    partial.context = &told;
    partial.function = [](void* context, const esp_segment* segment) {
      static_cast<std::vector<esp_segment>*>(context)->push_back(*segment);
    };
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.partial = &partial;
    esp_request* request = nullptr;
    CHECK_OK(esp_allreduce_init(c.world, input.at(), output.at(), n, ESP_INT32, ESP_SUM, &options,
                                nullptr, &request),
             c.world, "init");
    const Subject plain = {
        "allreduce",
        n,
        n,
        1,
        false,
        [&](const void* in, void* out, const esp_coll_options* o, esp_request** r) {
          return esp_allreduce_start(c.world, in, out, n, ESP_INT32, ESP_SUM, o, nullptr, r);
        }};
    for (int round = 0; round < 4; ++round) {
      const Bytes given = numbers(c.rank * 10 + round, n);
      const Bytes final = expected(c, plain, given);
      Delivered delivered(output, final, true, fmt::format("round {} of {}", round, n));
      told.clear();
      CHECK_OK(esp_request_start(request), c.world, "round {}", round);
      make_ready(c, request, plain, input.at(), given, true, round);
      CHECK_OK(esp_request_wait(&request), c.world, "round {}", round);
      for (const esp_segment& one : told) delivered.note(one);
      delivered.finish();
    }
    CHECK_OK(esp_request_free(&request), c.world, "free");
  }
}

// A reduction's deliveries open the input of a broadcast, in the device's memory.
void chain(const Context& c) {
  for (const std::size_t n : kCounts) {
    const int root = c.size - 1;
    const Bytes given = numbers(c.rank, n);
    Buffer input(&the_device(), n * kElement), vector(&the_device(), n * kElement);
    input.write(given);
    esp_partial first = ESP_PARTIAL_INIT, second = ESP_PARTIAL_INIT;
    first.flags = ESP_PARTIAL_DELIVER;
    first.blocks = 7;
    esp_coll_options up = ESP_COLL_OPTIONS_INIT, down = ESP_COLL_OPTIONS_INIT;
    up.partial = &first;
    esp_request *reduced = nullptr, *spread = nullptr;
    CHECK_OK(esp_reduce_start(c.world, input.at(), vector.at(), n, ESP_INT32, ESP_SUM, root, &up,
                              nullptr, &reduced),
             c.world, "reduce {}", n);
    second.flags = ESP_PARTIAL_AWAIT;
    second.partitions = 7;
    second.after = reduced;
    down.partial = &second;
    CHECK_OK(esp_bcast_start(c.world, vector.at(), n, ESP_INT32, root,
                             c.rank == root ? &down : nullptr, nullptr, &spread),
             c.world, "bcast {}", n);
    CHECK_OK(esp_request_wait(&spread), c.world, "bcast {}", n);
    CHECK_OK(esp_request_wait(&reduced), c.world, "reduce {}", n);
    Bytes sum(n * kElement);
    CHECK_OK(esp_allreduce(c.world, given.data(), sum.data(), n, ESP_INT32, ESP_SUM), c.world, "");
    bool whole = false;
    CHECK(vector.read(whole) == sum && whole, "the sum of {} numbers", n);
  }
}

// Messages in partitions, of another number at either end, around a ring.
void partitioned(const Context& c) {
  if (c.size == 1) {
    CHECK(true, "nobody to send to");
    return;
  }
  const int right = (c.rank + 1) % c.size, left = (c.rank + c.size - 1) % c.size;
  for (const std::size_t n : {std::size_t{1}, std::size_t{4000}, std::size_t{60'001}}) {
    for (unsigned kinds = 1; kinds < 4; ++kinds) {
      const Subject message = {fmt::format("message of {}", n), n, n, 1, false, nullptr};
      Buffer from(place(kinds, 1), n * kElement), into(place(kinds, 2), n * kElement);
      esp_request *sent = nullptr, *came = nullptr;
      CHECK_OK(esp_partitioned_send_init(c.world, from.at(), n * kElement, kParts, right, 4,
                                         nullptr, &sent),
               c.world, "send");
      CHECK_OK(
          esp_partitioned_recv_init(c.world, into.at(), n * kElement, 5, left, 4, nullptr, &came),
          c.world, "recv");
      for (int round = 0; round < 2; ++round) {
        const Bytes mine = numbers(c.rank + round * 9, n), theirs = numbers(left + round * 9, n);
        Delivered delivered(into, theirs, (kinds & 2) != 0, message.name);
        CHECK_OK(esp_request_start(came), c.world, "recv");
        CHECK_OK(esp_request_start(sent), c.world, "send");
        // Bytes are cut, not elements.
        const std::size_t bytes = n * kElement;
        for (const int p : {1, 0, 2}) {
          const auto begin = [&](std::size_t k) {
            return bytes / kParts * k + std::min(k, bytes % kParts);
          };
          const auto k = static_cast<std::size_t>(p);
          write_part(from.at() + begin(k), mine.data() + begin(k), begin(k + 1) - begin(k),
                     (kinds & 1) != 0);
          CHECK_OK(esp_ready(sent, p), c.world, "partition {}", p);
        }
        take_all(c, came, delivered);
        delivered.finish();
        CHECK_OK(esp_request_wait(&came), c.world, "recv");
        CHECK_OK(esp_request_wait(&sent), c.world, "send");
        bool whole = false;
        CHECK(into.read(whole) == theirs && whole, "{}, kinds {}", message.name, kinds);
      }
      CHECK_OK(esp_request_free(&sent), c.world, "free");
      CHECK_OK(esp_request_free(&came), c.world, "free");
    }
  }
}

// What is placed in order of arrival is the host's, and says so.
void refused(const Context& c) {
  Buffer in(&the_device(), 64 * kElement), out(&the_device(), 64 * kElement);
  const std::size_t n = 64 / static_cast<std::size_t>(c.size);
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = ESP_PARTIAL_DELIVER | ESP_PARTIAL_UNORDERED;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.partial = &partial;
  esp_request* request = nullptr;
  CHECK_STATUS(
      esp_alltoall_start(c.world, in.at(), out.at(), n, ESP_INT32, &options, nullptr, &request),
      ESP_ERR_UNSUPPORTED, c.world, "unordered");
  const std::string text = esp_job_error(c.job);
  CHECK(text.find("on the host") != std::string::npos, "it says \"{}\"", text);
  CHECK_OK(esp_alltoall(c.world, in.at(), out.at(), n, ESP_INT32), c.world, "without it");
}

// The driver fails at rank 0 while something is delivered and awaited.
void broken(const Context& c) {
  constexpr std::size_t kLong = 200'000;
  esp_status status = ESP_OK;
  for (int i = 0; i < 40 && status == ESP_OK; ++i) {
    const std::size_t n = i % 2 == 0 ? kLong : 10;
    Buffer input(&the_device(), n * kElement), output(&the_device(), n * kElement);
    esp_partial partial = ESP_PARTIAL_INIT;
    partial.flags = ESP_PARTIAL_AWAIT | ESP_PARTIAL_DELIVER;
    partial.partitions = kParts;
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.partial = &partial;
    esp_request* request = nullptr;
    status = esp_allreduce_start(c.world, input.at(), output.at(), n, ESP_INT32, ESP_SUM, &options,
                                 nullptr, &request);
    if (status != ESP_OK) break;
    (void)esp_ready_range(request, 0, kParts - 1);
    esp_segment one;
    int taken = 0;
    while (esp_segment_wait(request, &one, &taken) == ESP_OK && taken != 0) {
    }
    status = esp_request_wait(&request);
  }
  CHECK_EQ(status, ESP_ERR_DEVICE, "{}", text_of(c.world));
  const std::string text = text_of(c.world);
  CHECK(text.find("rank 0") != std::string::npos, "it says \"{}\"", text);
  if (c.rank > 0) return;
  CHECK(text.find("cuMemcpyAsync: out of memory (2)") != std::string::npos, "it says \"{}\"", text);
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  return test::run_cases({{"delivered", test::delivered},
                          {"segments", test::segments},
                          {"awaited", test::awaited},
                          {"both", test::both},
                          {"rounds", test::rounds},
                          {"chain", test::chain},
                          {"partitioned", test::partitioned},
                          {"refused", test::refused},
                          {"broken", test::broken}},
                         argc, argv);
}
