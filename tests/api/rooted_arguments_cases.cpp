// Wrong arguments of gathers to a root, scatters, reduce-scatters, alltoallw and of types that are
// made: each gets its documented status and a text, and nothing was started.
#include <cstring>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/typed.hpp"

namespace test {
namespace rooted_arguments_cases {
namespace {

constexpr auto kNoType = static_cast<esp_type>(54321);
constexpr std::size_t kNegative = ~std::size_t{0};

// What every call of a test needs, all in order. Every rank is the root of its own calls: who is
// refused starts nothing, so it does not matter who else calls.
struct Arguments {
  explicit Arguments(const Context& context)
      : members(static_cast<std::size_t>(context.size)),
        x(members * 4, 1),
        y(members * 4, 2),
        counts(members, 4),
        displs(members),
        bytes(members),
        types(members, ESP_INT32) {
    for (std::size_t r = 0; r < members; ++r) displs[r] = 4 * r, bytes[r] = 16 * r;
  }
  ~Arguments() {
    CHECK_EQ(x.back(), 1, "an argument error changed the input");
    CHECK_EQ(y.front(), 2, "an argument error changed the output");
  }
  std::size_t members;
  std::vector<int> x, y;
  std::vector<std::size_t> counts, displs, bytes;
  std::vector<esp_type> types;
};

void gathers_and_scatters(const Context& context) {
  Arguments a(context);
  esp_team* const world = context.world;
  int *x = a.x.data(), *y = a.y.data();
  const int me = context.rank;
  CHECK_EQ(esp_gather(nullptr, x, y, 4, ESP_INT32, 0), ESP_ERR_ARGUMENT, "no team");
  CHECK_EQ(esp_scatter(nullptr, x, y, 4, ESP_INT32, 0), ESP_ERR_ARGUMENT, "no team");
  for (const int root : {-1, context.size, 1'000'000}) {
    REFUSED_WITH(esp_gather(world, x, y, 4, ESP_INT32, root), ESP_ERR_ARGUMENT, "root");
    REFUSED_WITH(esp_scatter(world, x, y, 4, ESP_INT32, root), ESP_ERR_ARGUMENT, "root");
    REFUSED_WITH(esp_gatherv(world, x, 4, y, a.counts.data(), nullptr, ESP_INT32, root),
                 ESP_ERR_ARGUMENT, "root");
    REFUSED_WITH(esp_scatterv(world, x, a.counts.data(), nullptr, y, 4, ESP_INT32, root),
                 ESP_ERR_ARGUMENT, "root");
  }
  CHECK_STATUS(esp_gather(world, x, y, 4, kNoType, me), ESP_ERR_TYPE, world, "");
  CHECK_STATUS(esp_scatter(world, x, y, 4, kNoType, me), ESP_ERR_TYPE, world, "");
  CHECK_STATUS(esp_gatherv(world, x, 4, y, a.counts.data(), nullptr, kNoType, me), ESP_ERR_TYPE,
               world, "");
  CHECK_STATUS(esp_scatterv(world, x, a.counts.data(), nullptr, y, 4, kNoType, me), ESP_ERR_TYPE,
               world, "");
  REFUSED_WITH(esp_gather(world, nullptr, y, 4, ESP_INT32, me), ESP_ERR_ARGUMENT,
               "esp_gather: the input is NULL");
  REFUSED_WITH(esp_gather(world, x, nullptr, 4, ESP_INT32, me), ESP_ERR_ARGUMENT,
               "esp_gather: the output is NULL");
  REFUSED_WITH(esp_scatter(world, nullptr, y, 4, ESP_INT32, me), ESP_ERR_ARGUMENT,
               "esp_scatter: the input is NULL");
  REFUSED_WITH(esp_scatter(world, x, nullptr, 4, ESP_INT32, me), ESP_ERR_ARGUMENT,
               "esp_scatter: the output is NULL");
  REFUSED_WITH(esp_gather(world, y + 4 * me, y, 4, ESP_INT32, me), ESP_ERR_ARGUMENT,
               "use ESP_IN_PLACE");
  REFUSED_WITH(esp_gather(world, x, y, kNegative, ESP_INT32, me), ESP_ERR_ARGUMENT, "(was it");
  REFUSED_WITH(esp_scatter(world, x, y, kNegative, ESP_INT32, me), ESP_ERR_ARGUMENT, "(was it");
  REFUSED_WITH(esp_gatherv(world, x, 4, y, nullptr, nullptr, ESP_INT32, me), ESP_ERR_ARGUMENT,
               "esp_gatherv: counts is NULL");
  REFUSED_WITH(esp_scatterv(world, x, nullptr, nullptr, y, 4, ESP_INT32, me), ESP_ERR_ARGUMENT,
               "esp_scatterv: counts is NULL");
  // Above what is possible for all, though not for one.
  const std::size_t most = (std::size_t{1} << 47) / sizeof(int) / a.members;
  REFUSED_WITH(esp_gather(world, x, y, most + 1, ESP_INT32, me), ESP_ERR_ARGUMENT, "(was it");
  const std::string last = fmt::format("displs[{}] is 1844", a.members - 1);
  a.displs.back() = kNegative;
  REFUSED_WITH(esp_gatherv(world, x, 4, y, a.counts.data(), a.displs.data(), ESP_INT32, me),
               ESP_ERR_ARGUMENT, last.c_str());
  REFUSED_WITH(esp_scatterv(world, x, a.counts.data(), a.displs.data(), y, 4, ESP_INT32, me),
               ESP_ERR_ARGUMENT, last.c_str());
  a.counts.back() = kNegative;
  REFUSED_WITH(esp_gatherv(world, x, 4, y, a.counts.data(), nullptr, ESP_INT32, me),
               ESP_ERR_ARGUMENT, fmt::format("counts[{}] is 1844", a.members - 1).c_str());
  REFUSED_WITH(esp_gatherv(world, x, kNegative, y, a.displs.data(), nullptr, ESP_INT32, me),
               ESP_ERR_ARGUMENT, "1844");
  // In place is for the root.
  if (context.size > 1) {
    const int other = (me + 1) % context.size;
    CHECK_STATUS(esp_gather(world, ESP_IN_PLACE, y, 4, ESP_INT32, other), ESP_ERR_ARGUMENT, world,
                 "in place elsewhere");
    CHECK_STATUS(esp_scatter(world, x, const_cast<void*>(ESP_IN_PLACE), 4, ESP_INT32, other),
                 ESP_ERR_ARGUMENT, world, "in place elsewhere");
  }
  esp_request* request = reinterpret_cast<esp_request*>(&a);
  REFUSED_WITH(esp_gather_start(world, nullptr, y, 4, ESP_INT32, me, nullptr, nullptr, &request),
               ESP_ERR_ARGUMENT, "esp_gather_start: the input is NULL");
  CHECK(request == nullptr, "a refused call gave a request");
  REFUSED_WITH(esp_scatter_start(world, x, y, 4, ESP_INT32, me, nullptr, nullptr, nullptr),
               ESP_ERR_ARGUMENT, "esp_scatter_start: exactly one of");
  REFUSED_WITH(
      esp_gatherv_init(world, x, 4, y, nullptr, nullptr, ESP_INT32, me, nullptr, nullptr, &request),
      ESP_ERR_ARGUMENT, "esp_gatherv_init: counts is NULL");
  CHECK_OK(esp_barrier(world), world, "nothing was started");
}

void reduce_scatters(const Context& context) {
  Arguments a(context);
  esp_team* const world = context.world;
  int *x = a.x.data(), *y = a.y.data();
  const std::size_t* counts = a.counts.data();
  CHECK_EQ(esp_reduce_scatter(nullptr, x, y, counts, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT,
           "no team");
  REFUSED_WITH(esp_reduce_scatter(world, nullptr, y, counts, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT,
               "esp_reduce_scatter: the input is NULL");
  REFUSED_WITH(esp_reduce_scatter(world, x, nullptr, counts, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT,
               "esp_reduce_scatter: the output is NULL");
  REFUSED_WITH(esp_reduce_scatter(world, x, y, nullptr, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT,
               "esp_reduce_scatter: counts is NULL");
  REFUSED_WITH(esp_reduce_scatter_block(world, nullptr, y, 4, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT,
               "esp_reduce_scatter_block: the input is NULL");
  REFUSED_WITH(esp_reduce_scatter_block(world, x, nullptr, 4, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT,
               "esp_reduce_scatter_block: the output is NULL");
  CHECK_STATUS(esp_reduce_scatter_block(world, x, y, 4, kNoType, ESP_SUM), ESP_ERR_TYPE, world, "");
  CHECK_STATUS(esp_reduce_scatter_block(world, x, y, 4, ESP_FLOAT, ESP_BAND), ESP_ERR_TYPE, world,
               "");
  REFUSED_WITH(esp_reduce_scatter_block(world, x, y, 4, ESP_INT32, 9999), ESP_ERR_ARGUMENT,
               "there is no operator 9999");
  REFUSED_WITH(esp_reduce_scatter_block(world, x, x, 4, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT,
               "use ESP_IN_PLACE");
  REFUSED_WITH(esp_reduce_scatter_block(world, x, y, kNegative, ESP_INT32, ESP_SUM),
               ESP_ERR_ARGUMENT, "(was it");
  a.counts.back() = kNegative;
  REFUSED_WITH(esp_reduce_scatter(world, x, y, counts, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT,
               fmt::format("counts[{}] is 1844", a.members - 1).c_str());
  a.counts.assign(a.members, 0);
  CHECK_OK(esp_reduce_scatter(world, nullptr, nullptr, counts, ESP_INT32, ESP_SUM), world,
           "nothing at all");
  CHECK_OK(esp_reduce_scatter_block(world, ESP_IN_PLACE, nullptr, 0, ESP_INT32, ESP_SUM), world,
           "nothing at all");
}

void typed_exchanges(const Context& context) {
  Arguments a(context);
  esp_team* const world = context.world;
  int *x = a.x.data(), *y = a.y.data();
  const auto *c = a.counts.data(), *d = a.bytes.data();
  const esp_type* t = a.types.data();
  CHECK_EQ(esp_alltoallw(nullptr, x, c, d, t, y, c, d, t), ESP_ERR_ARGUMENT, "no team");
  REFUSED_WITH(esp_alltoallw(world, x, nullptr, d, t, y, c, d, t), ESP_ERR_ARGUMENT,
               "in_counts is NULL");
  REFUSED_WITH(esp_alltoallw(world, x, c, nullptr, t, y, c, d, t), ESP_ERR_ARGUMENT,
               "in_displs is NULL");
  REFUSED_WITH(esp_alltoallw(world, x, c, d, nullptr, y, c, d, t), ESP_ERR_ARGUMENT,
               "in_types is NULL");
  REFUSED_WITH(esp_alltoallw(world, x, c, d, t, y, nullptr, d, t), ESP_ERR_ARGUMENT,
               "out_counts is NULL");
  REFUSED_WITH(esp_alltoallw(world, x, c, d, t, y, c, nullptr, t), ESP_ERR_ARGUMENT,
               "out_displs is NULL");
  REFUSED_WITH(esp_alltoallw(world, x, c, d, t, y, c, d, nullptr), ESP_ERR_ARGUMENT,
               "out_types is NULL");
  REFUSED_WITH(esp_alltoallw(world, nullptr, c, d, t, y, c, d, t), ESP_ERR_ARGUMENT,
               "the input is NULL");
  REFUSED_WITH(esp_alltoallw(world, x, c, d, t, nullptr, c, d, t), ESP_ERR_ARGUMENT,
               "the output is NULL");
  std::vector<esp_type> wrong = a.types;
  wrong.back() = kNoType;
  CHECK_STATUS(esp_alltoallw(world, x, c, d, wrong.data(), y, c, d, t), ESP_ERR_TYPE, world, "");
  CHECK_STATUS(esp_alltoallw(world, x, c, d, t, y, c, d, wrong.data()), ESP_ERR_TYPE, world, "");
  std::vector<std::size_t> negative = a.counts;
  negative.back() = kNegative;
  const std::size_t last = a.members - 1;
  REFUSED_WITH(esp_alltoallw(world, x, negative.data(), d, t, y, c, d, t), ESP_ERR_ARGUMENT,
               fmt::format("in_counts[{}] is 1844", last).c_str());
  REFUSED_WITH(esp_alltoallw(world, x, c, d, t, y, c, negative.data(), t), ESP_ERR_ARGUMENT,
               fmt::format("out_displs[{}] is 1844", last).c_str());
  CHECK_OK(esp_barrier(world), world, "nothing was started");
}

}  // namespace
}  // namespace rooted_arguments_cases

void rooted_arguments(const Context& context) {
  rooted_arguments_cases::gathers_and_scatters(context);
  rooted_arguments_cases::reduce_scatters(context);
  rooted_arguments_cases::typed_exchanges(context);
}

}  // namespace test
