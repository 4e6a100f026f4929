// Delivery of what does not lie in one run: elements apart, displaced blocks, sums in another form;
// and consumers that start, end and free things.
#include <vector>

#include "tests/api/cases.hpp"

namespace test {
namespace partial_layouts_cases {
namespace {

esp_coll_options with(const esp_partial& partial) {
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.partial = &partial;
  return options;
}

esp_partial delivering(unsigned flags) {
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = ESP_PARTIAL_DELIVER | flags;
  return partial;
}

template <typename Visit>
void take_all(const Context& context, esp_request*& request, Visit&& visit) {
  esp_segment segment;
  int taken = 0;
  while (esp_segment_take(request, &segment, &taken) == ESP_IN_PROGRESS || taken != 0) {
    if (taken != 0) {
      visit(segment);
    } else {
      esp_progress(context.job);
    }
  }
  CHECK_OK(esp_request_wait(&request), context.world, "");
}

// Columns of a matrix: a segment has the address of its block, in which the elements stand apart.
void columns(const Context& context, std::size_t rows, unsigned flags) {
  constexpr std::size_t kStride = 3;
  esp_type column = ESP_BYTE;
  CHECK_OK(esp_type_strided(context.job, ESP_INT32, 1, 1, kStride, kStride, &column), context.world,
           "");
  const auto members = static_cast<std::size_t>(context.size);
  std::vector<int> mine(rows * kStride, -1), all(rows * kStride * members, -1);
  for (std::size_t r = 0; r < rows; ++r) {
    mine[r * kStride] = context.rank * 10'000 + static_cast<int>(r);
  }
  const esp_partial partial = delivering(flags);
  const esp_coll_options options = with(partial);
  esp_request* request = nullptr;
  CHECK_OK(esp_allgather_start(context.world, mine.data(), all.data(), rows, column, &options,
                               nullptr, &request),
           context.world, "");
  std::vector<std::size_t> seen(members, 0);
  take_all(context, request, [&](const esp_segment& segment) {
    const auto block = static_cast<std::size_t>(segment.block);
    const int* first = all.data() + block * rows * kStride;
    CHECK(segment.address == first, "block {} begins elsewhere", block);
    const std::size_t begin = segment.offset / sizeof(int), n = segment.bytes / sizeof(int);
    for (std::size_t r = begin; r < begin + n; ++r) {
      CHECK_EQ(first[r * kStride], segment.source * 10'000 + static_cast<int>(r), "row {}", r);
    }
    seen[block] += n;
  });
  for (std::size_t b = 0; b < members; ++b) CHECK_EQ(seen[b], rows, "block {}", b);
  CHECK_OK(esp_type_free(context.job, column), context.world, "");
}

// Blocks in the opposite order, with gaps.
void displaced(const Context& context, std::size_t count) {
  const auto members = static_cast<std::size_t>(context.size);
  const std::vector<std::size_t> counts(members, count);
  std::vector<std::size_t> displs(members);
  for (std::size_t r = 0; r < members; ++r) displs[r] = (members - 1 - r) * (count + 2) + 1;
  std::vector<int> mine(count, context.rank), all(members * (count + 2) + 1, -1);
  const esp_partial partial = delivering(0);
  const esp_coll_options options = with(partial);
  esp_request* request = nullptr;
  CHECK_OK(esp_allgatherv_start(context.world, mine.data(), all.data(), counts.data(),
                                displs.data(), ESP_INT32, &options, nullptr, &request),
           context.world, "");
  int blocks = 0;
  take_all(context, request, [&](const esp_segment& segment) {
    const int* place = all.data() + displs[static_cast<std::size_t>(segment.block)];
    CHECK(segment.address == place, "block {} lies elsewhere", segment.block);
    CHECK_EQ(place[count - 1], segment.source, "");
    ++blocks;
  });
  CHECK_EQ(blocks, context.size, "");
}

// Sums that travel as 32 bytes each are delivered as the numbers they are.
void reproducible(const Context& context, std::size_t count) {
  std::vector<double> mine(count), sums(count, -1);
  for (std::size_t i = 0; i < count; ++i) mine[i] = context.rank + static_cast<double>(i);
  esp_partial partial = delivering(ESP_PARTIAL_SEGMENTS);
  partial.blocks = 3;
  const esp_coll_options options = with(partial);
  esp_request* request = nullptr;
  CHECK_OK(esp_allreduce_start(context.world, mine.data(), sums.data(), count, ESP_DOUBLE,
                               ESP_SUM_REPRODUCIBLE, &options, nullptr, &request),
           context.world, "");
  std::size_t seen = 0;
  take_all(context, request, [&](const esp_segment& segment) {
    const auto* data = static_cast<const double*>(segment.address);
    const auto at = static_cast<std::size_t>(data - sums.data());
    const std::size_t n = segment.bytes / sizeof(double);
    for (std::size_t i = 0; i < n; ++i) {
      const double wanted =
          context.size * static_cast<double>(at + i) + context.size * (context.size - 1) / 2.0;
      CHECK_EQ(data[i], wanted, "element {}", at + i);
    }
    seen += n;
  });
  CHECK_EQ(seen, count, "");
}

// A function starts an operation for each block, and may not block or free what is under way.
struct Starter {
  static void segment(void* self, const esp_segment* segment) {
    auto& starter = *static_cast<Starter*>(self);
    const Context& context = *starter.context;
    CHECK_STATUS(esp_barrier(context.world), ESP_ERR_STATE, context.world, "blocks in a callback");
    CHECK_STATUS(esp_team_free(starter.team), ESP_ERR_STATE, context.world, "freed under way");
    const esp_notify count = {nullptr, nullptr, &starter.open};
    CHECK_OK(esp_barrier_start(context.world, nullptr, &count, nullptr), context.world, "");
    starter.blocks += segment->bytes > 0 ? 1 : 0;
  }
  const Context* context;
  esp_team* team;
  int64_t open = 0;
  int blocks = 0;
};

void a_starting_consumer(const Context& context, std::size_t count) {
  Starter starter{&context, nullptr};
  CHECK_OK(esp_team_dup(context.world, &starter.team), context.world, "");
  starter.open = context.size + 1;
  const auto members = static_cast<std::size_t>(context.size);
  std::vector<int> out(count * members, context.rank), in(count * members, -1);
  esp_partial partial = delivering(0);
  partial.function = Starter::segment;
  partial.context = &starter;
  const esp_coll_options options = with(partial);
  const esp_notify done = {nullptr, nullptr, &starter.open};
  CHECK_OK(esp_alltoall_start(starter.team, out.data(), in.data(), count, ESP_INT32, &options,
                              &done, nullptr),
           starter.team, "");
  CHECK_OK(esp_counter_wait(context.job, &starter.open, 0, 0), context.world, "");
  CHECK_EQ(starter.blocks, context.size, "");
  CHECK_OK(esp_team_free(starter.team), context.world, "");
}

}  // namespace
}  // namespace partial_layouts_cases

void partial_layouts(const Context& context) {
  using namespace partial_layouts_cases;
  for (const std::size_t count : {std::size_t{2}, std::size_t{400}, std::size_t{30'000}}) {
    columns(context, count, 0);
    columns(context, count, ESP_PARTIAL_SEGMENTS);
    displaced(context, count);
    reproducible(context, count);
    a_starting_consumer(context, count);
  }
}

}  // namespace test
