// Wrong arguments of gathers and scans: each gets its documented status and a text that tells what
// is wrong, on every rank, and nothing was started.
#include <cstring>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/scans.hpp"

namespace test {
namespace gather_arguments_cases {
namespace {

constexpr auto kNoType = static_cast<esp_type>(ESP_TYPE_COUNT);
constexpr std::size_t kNegative = ~std::size_t{0};

// Refused as wrong arguments, with these words.
#define REFUSED_SAYING(call, words) REFUSED_WITH(call, ESP_ERR_ARGUMENT, words)

// What every call of a test needs, all in order.
struct Arguments {
  explicit Arguments(const Context& context)
      : members(static_cast<std::size_t>(context.size)),
        x(members * 4, 1),
        y(members * 4, 2),
        counts(members, 4),
        displs(members) {
    for (std::size_t r = 0; r < members; ++r) displs[r] = 4 * r;
  }
  ~Arguments() {
    CHECK_EQ(x.back(), 1, "an argument error changed the input");
    CHECK_EQ(y.front(), 2, "an argument error changed the output");
  }
  std::size_t members;
  std::vector<int> x, y;
  std::vector<std::size_t> counts, displs;
};

// Of one length for each member.
void regular(const Context& context) {
  Arguments a(context);
  esp_team* world = context.world;
  int *x = a.x.data(), *y = a.y.data();
  CHECK_EQ(esp_allgather(nullptr, x, y, 4, ESP_INT32), ESP_ERR_ARGUMENT, "no team");
  CHECK_EQ(esp_alltoall(nullptr, x, y, 4, ESP_INT32), ESP_ERR_ARGUMENT, "no team");
  CHECK_STATUS(esp_allgather(world, x, y, 4, kNoType), ESP_ERR_TYPE, world, "");
  CHECK_STATUS(esp_alltoall(world, x, y, 4, kNoType), ESP_ERR_TYPE, world, "");
  REFUSED_SAYING(esp_allgather(world, nullptr, y, 4, ESP_INT32),
                 "esp_allgather: the input is NULL");
  REFUSED_SAYING(esp_allgather(world, x, nullptr, 4, ESP_INT32),
                 "esp_allgather: the output is NULL");
  REFUSED_SAYING(esp_allgather(world, ESP_IN_PLACE, nullptr, 4, ESP_INT32), "the output is NULL");
  REFUSED_SAYING(esp_allgather(world, y, y, 4, ESP_INT32), "input and output are the same");
  REFUSED_SAYING(esp_allgather(world, y + 4 * context.rank, y, 4, ESP_INT32), "use ESP_IN_PLACE");
  REFUSED_SAYING(esp_allgather(world, x, y, kNegative, ESP_INT32),
                 "elements for each member (was it");
  REFUSED_SAYING(esp_alltoall(world, nullptr, y, 4, ESP_INT32), "esp_alltoall: the input is NULL");
  REFUSED_SAYING(esp_alltoall(world, x, nullptr, 4, ESP_INT32), "esp_alltoall: the output is NULL");
  REFUSED_SAYING(esp_alltoall(world, ESP_IN_PLACE, nullptr, 4, ESP_INT32), "the output is NULL");
  REFUSED_SAYING(esp_alltoall(world, y, y, 4, ESP_INT32), "input and output are the same");
  REFUSED_SAYING(esp_alltoall(world, x, y, kNegative, ESP_INT32),
                 "elements for each member (was it");
  // What is possible for one member is not for all.
  const std::size_t most = (std::size_t{1} << 47) / sizeof(int) / a.members;
  REFUSED_SAYING(esp_alltoall(world, x, y, most + 1, ESP_INT32),
                 "elements for each member (was it");
  REFUSED_SAYING(esp_allgather(world, x, y, most + 1, ESP_INT32),
                 "elements for each member (was it");
}

void irregular_gather(const Context& context) {
  Arguments a(context);
  esp_team* world = context.world;
  const int* x = a.x.data();
  int* y = a.y.data();
  const auto gather = [&](const void* input, void* output) {
    return esp_allgatherv(world, input, output, a.counts.data(), a.displs.data(), ESP_INT32);
  };
  CHECK_EQ(esp_allgatherv(nullptr, x, y, a.counts.data(), nullptr, ESP_INT32), ESP_ERR_ARGUMENT,
           "no team");
  CHECK_STATUS(esp_allgatherv(world, x, y, a.counts.data(), nullptr, kNoType), ESP_ERR_TYPE, world,
               "");
  REFUSED_SAYING(esp_allgatherv(world, x, y, nullptr, a.displs.data(), ESP_INT32),
                 "esp_allgatherv: counts is NULL");
  REFUSED_SAYING(gather(nullptr, y), "esp_allgatherv: the input is NULL");
  REFUSED_SAYING(gather(x, nullptr), "esp_allgatherv: the output is NULL");
  REFUSED_SAYING(gather(ESP_IN_PLACE, nullptr), "the output is NULL");
  REFUSED_SAYING(gather(y, y), "use ESP_IN_PLACE");
  REFUSED_SAYING(gather(y + 4 * context.rank, y), "use ESP_IN_PLACE");
  a.displs.back() = kNegative;
  REFUSED_SAYING(gather(x, y), fmt::format("displs[{}] is 1844", a.members - 1).c_str());
  // Nobody looks where nothing is.
  a.counts.assign(a.members, 0);
  CHECK_OK(gather(nullptr, nullptr), world, "nothing at all");
  CHECK_OK(gather(ESP_IN_PLACE, nullptr), world, "nothing at all");
  a.counts.back() = kNegative;
  REFUSED_SAYING(gather(x, y), fmt::format("counts[{}] is 1844", a.members - 1).c_str());
  a.counts.assign(a.members, (std::size_t{1} << 47) / sizeof(int));
  if (a.members > 1)
    REFUSED_SAYING(gather(x, y), "counts[1] is 35184372088832, after 35184372088832");
}

void irregular_exchange(const Context& context) {
  Arguments a(context);
  esp_team* world = context.world;
  const auto exchange = [&](const void* input, const std::vector<std::size_t>* in, void* output,
                            const std::vector<std::size_t>* out) {
    return esp_alltoallv(world, input, in != nullptr ? in->data() : nullptr, a.displs.data(),
                         output, out != nullptr ? out->data() : nullptr, a.displs.data(),
                         ESP_INT32);
  };
  const auto& c = a.counts;
  int *x = a.x.data(), *y = a.y.data();
  CHECK_EQ(esp_alltoallv(nullptr, x, c.data(), nullptr, y, c.data(), nullptr, ESP_INT32),
           ESP_ERR_ARGUMENT, "no team");
  REFUSED_SAYING(exchange(x, nullptr, y, &c), "esp_alltoallv: in_counts is NULL");
  REFUSED_SAYING(exchange(x, &c, y, nullptr), "esp_alltoallv: out_counts is NULL");
  REFUSED_SAYING(exchange(ESP_IN_PLACE, &c, y, nullptr), "out_counts is NULL");
  REFUSED_SAYING(exchange(nullptr, &c, y, &c), "the input is NULL");
  REFUSED_SAYING(exchange(x, &c, nullptr, &c), "the output is NULL");
  REFUSED_SAYING(exchange(ESP_IN_PLACE, nullptr, nullptr, &c), "the output is NULL");
  REFUSED_SAYING(exchange(y, &c, y, &c), "use ESP_IN_PLACE");
  std::vector<std::size_t> other = c;
  other[static_cast<std::size_t>(context.rank)] = 3;
  REFUSED_SAYING(exchange(x, &other, y, &c),
                 fmt::format("in_counts[{0}] is 3 and out_counts[{0}] is 4", context.rank).c_str());
  other = c;
  other.front() = kNegative;
  REFUSED_SAYING(exchange(x, &other, y, &c), "in_counts[0] is 1844");
  REFUSED_SAYING(exchange(x, &c, y, &other), "out_counts[0] is 1844");
  a.displs.back() = kNegative / 2;
  REFUSED_SAYING(exchange(x, &c, y, &c),
                 fmt::format("out_displs[{}] is 922", a.members - 1).c_str());
  REFUSED_SAYING(
      esp_alltoallv(world, x, c.data(), a.displs.data(), y, c.data(), nullptr, ESP_INT32),
      fmt::format("in_displs[{}] is 922", a.members - 1).c_str());
  const std::vector<std::size_t> none(a.members, 0);
  CHECK_OK(exchange(nullptr, &none, nullptr, &none), world, "nothing at all");
  CHECK_OK(exchange(y, &none, y, &none), world, "nothing at all");
}

void prefixes(const Context& context) {
  Arguments a(context);
  esp_team* world = context.world;
  int *x = a.x.data(), *y = a.y.data();
  for (const bool exclusive : {false, true}) {
    const auto scans = exclusive ? esp_exscan : esp_scan;
    CHECK_EQ(scans(nullptr, x, y, 1, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT, "no team");
    CHECK_STATUS(scans(world, x, y, 1, kNoType, ESP_SUM), ESP_ERR_TYPE, world, "");
    CHECK_STATUS(scans(world, x, y, 1, ESP_FLOAT, ESP_BAND), ESP_ERR_TYPE, world, "");
    REFUSED_SAYING(scans(world, x, y, 1, ESP_INT32, 9999), "there is no operator 9999");
    REFUSED_SAYING(scans(world, nullptr, y, 1, ESP_INT32, ESP_SUM), "the input is NULL");
    REFUSED_SAYING(scans(world, ESP_IN_PLACE, nullptr, 1, ESP_INT32, ESP_SUM),
                   "the output is NULL");
    REFUSED_SAYING(scans(world, y, y, 1, ESP_INT32, ESP_SUM), "use ESP_IN_PLACE");
    REFUSED_SAYING(scans(world, x, y, kNegative, ESP_INT32, ESP_SUM), "(was it negative?)");
    CHECK_OK(scans(world, nullptr, nullptr, 0, ESP_INT32, ESP_SUM), world, "nothing at all");
    CHECK_OK(scans(world, ESP_IN_PLACE, nullptr, 0, ESP_INT32, ESP_SUM), world, "nothing at all");
  }
  REFUSED_SAYING(esp_scan(world, x, nullptr, 1, ESP_INT32, ESP_SUM),
                 "esp_scan: the output is NULL");
  // Member 0 of an exscan gets nothing and needs no room for it.
  int before = -1;
  CHECK_OK(esp_exscan(world, x, context.rank == 0 ? nullptr : &before, 1, ESP_INT32, ESP_SUM),
           world, "");
  CHECK_EQ(before, context.rank == 0 ? -1 : context.rank, "exscan");
}

void starting(const Context& context) {
  Arguments a(context);
  esp_team* world = context.world;
  int *x = a.x.data(), *y = a.y.data();
  const std::size_t* counts = a.counts.data();
  esp_request* request = reinterpret_cast<esp_request*>(&a);
  REFUSED_SAYING(esp_allgather_start(world, nullptr, y, 1, ESP_INT32, nullptr, nullptr, &request),
                 "esp_allgather_start: the input is NULL");
  CHECK(request == nullptr, "a refused call gave a request");
  REFUSED_SAYING(esp_allgather_start(world, x, y, 1, ESP_INT32, nullptr, nullptr, nullptr),
                 "esp_allgather_start: exactly one of");
  REFUSED_SAYING(
      esp_allgatherv_start(world, x, y, counts, nullptr, ESP_INT32, nullptr, nullptr, nullptr),
      "esp_allgatherv_start: exactly one of");
  REFUSED_SAYING(esp_alltoall_start(world, x, y, 1, ESP_INT32, nullptr, nullptr, nullptr),
                 "esp_alltoall_start: exactly one of");
  REFUSED_SAYING(esp_alltoallv_start(world, x, counts, nullptr, y, counts, nullptr, ESP_INT32,
                                     nullptr, nullptr, nullptr),
                 "esp_alltoallv_start: exactly one of");
  REFUSED_SAYING(esp_scan_start(world, x, y, 1, ESP_INT32, ESP_SUM, nullptr, nullptr, nullptr),
                 "esp_scan_start: exactly one of");
  REFUSED_SAYING(esp_exscan_start(world, x, y, 1, ESP_INT32, ESP_SUM, nullptr, nullptr, nullptr),
                 "esp_exscan_start: exactly one of");
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.algorithm = ESP_ALGORITHM_BRUCK;
  options.radix = 1;
  REFUSED_SAYING(esp_alltoall_start(world, x, y, 1, ESP_INT32, &options, nullptr, &request),
                 "radix");
  options.radix = 0;
  const auto refused_by_plan = [&](esp_status status, const char* words) {
    CHECK_STATUS(status, ESP_ERR_UNSUPPORTED, world, "{}", words);
    const bool says_so = std::strstr(esp_job_error(context.job), words) != nullptr;
    CHECK(says_so, "\"{}\" does not say \"{}\"", esp_job_error(context.job), words);
  };
  refused_by_plan(esp_scan_start(world, x, y, 1, ESP_INT32, ESP_SUM, &options, nullptr, &request),
                  "esp_scan_start: ");
  options.algorithm = ESP_ALGORITHM_HALVING;
  refused_by_plan(esp_alltoall_start(world, x, y, 1, ESP_INT32, &options, nullptr, &request),
                  "esp_alltoall_start: ");
}

}  // namespace
}  // namespace gather_arguments_cases

void gather_arguments(const Context& context) {
  gather_arguments_cases::regular(context);
  gather_arguments_cases::irregular_gather(context);
  gather_arguments_cases::irregular_exchange(context);
  gather_arguments_cases::prefixes(context);
  gather_arguments_cases::starting(context);
  check_prefix(context.world, {.type = ESP_INT32, .count = 10}, false, {});
}

}  // namespace test
