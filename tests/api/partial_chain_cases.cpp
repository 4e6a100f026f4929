// Chains: what one operation delivers is ready in the input of another, on the same team or on
// another, round by round; a failure of the first is one of the second.
#include <cstring>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"

namespace test {
namespace partial_chain_cases {
namespace {

void wrong(const std::string& what) {
  CHECK(false, "{}", what);
}

constexpr int kBlocks = 8;

esp_partial delivering() {
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = ESP_PARTIAL_DELIVER;
  partial.blocks = kBlocks;
  return partial;
}
esp_partial following(esp_request* first) {
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = ESP_PARTIAL_AWAIT;
  partial.partitions = kBlocks;
  partial.after = first;
  return partial;
}
esp_coll_options with(const esp_partial& partial) {
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.partial = &partial;
  return options;
}

int share(int rank, std::size_t at, int round) {
  return rank * 100 + static_cast<int>(at % 11) + round;
}
int total(int size, std::size_t at, int round) {
  int sum = 0;
  for (int r = 0; r < size; ++r) sum += share(r, at, round);
  return sum;
}

// The two of an allreduce: a reduction to one, whose parts go on as they come.
void reduce_and_broadcast(const Context& context, esp_team* down, std::size_t n, bool in_order) {
  std::vector<int> mine(n), y(n, -1);
  for (std::size_t i = 0; i < n; ++i) mine[i] = share(context.rank, i, 0);
  esp_request *up = nullptr, *back = nullptr;
  const esp_partial first = delivering();
  const esp_coll_options deliver = with(first);
  CHECK_OK(esp_reduce_start(context.world, mine.data(), y.data(), n, ESP_INT32, ESP_SUM, 0,
                            &deliver, nullptr, &up),
           context.world, "");
  if (!in_order) CHECK_OK(esp_job_check(context.job), context.world, "");
  const esp_partial second = following(up);
  const esp_coll_options await = with(second);
  CHECK_OK(esp_bcast_start(down, y.data(), n, ESP_INT32, 0, &await, nullptr, &back), down, "");
  CHECK_OK(esp_request_wait(&back), down, "");
  CHECK_OK(esp_request_wait(&up), context.world, "");
  for (std::size_t i = 0; i < n; ++i) {
    if (y[i] != total(context.size, i, 0)) return wrong(fmt::format("element {} is {}", i, y[i]));
  }
}

void rounds(const Context& context, std::size_t n) {
  std::vector<int> mine(n), y(n, -1);
  esp_request *up = nullptr, *back = nullptr;
  const esp_partial first = delivering();
  const esp_coll_options deliver = with(first);
  CHECK_OK(esp_reduce_init(context.world, mine.data(), y.data(), n, ESP_INT32, ESP_SUM, 0, &deliver,
                           nullptr, &up),
           context.world, "");
  const esp_partial second = following(up);
  const esp_coll_options await = with(second);
  CHECK_OK(esp_bcast_init(context.world, y.data(), n, ESP_INT32, 0, &await, nullptr, &back),
           context.world, "");
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < n; ++i) mine[i] = share(context.rank, i, round);
    CHECK_OK(esp_request_start(up), context.world, "");
    CHECK_OK(esp_request_start(back), context.world, "");
    CHECK_OK(esp_request_wait(&back), context.world, "");
    CHECK_OK(esp_request_wait(&up), context.world, "");
    for (std::size_t i = 0; i < n; ++i) {
      if (y[i] != total(context.size, i, round)) {
        return wrong(fmt::format("round {} element {} is {}", round, i, y[i]));
      }
    }
  }
  CHECK_OK(esp_request_free(&back), context.world, "");
  CHECK_OK(esp_request_free(&up), context.world, "");
}

// The second operation's team fails with the text of the first.
void failures_go_on(const Context& context) {
  if (context.size < 2) return;
  esp_team *above = nullptr, *below = nullptr;
  CHECK_OK(esp_team_dup(context.world, &above), context.world, "");
  CHECK_OK(esp_team_dup(context.world, &below), context.world, "");
  constexpr std::size_t kElements = 30'000;
  std::vector<int> mine(kElements, 1), y(kElements, -1);
  const esp_partial first = delivering();
  const esp_coll_options deliver = with(first);
  esp_request *up = nullptr, *back = nullptr;
  const std::size_t n = context.rank == 1 ? kElements - 1 : kElements;  // another call
  CHECK_OK(esp_reduce_start(above, mine.data(), y.data(), n, ESP_INT32, ESP_SUM, 0, &deliver,
                            nullptr, &up),
           above, "");
  const esp_partial second = following(up);
  const esp_coll_options await = with(second);
  const esp_status started =
      esp_bcast_start(below, y.data(), kElements, ESP_INT32, 0, &await, nullptr, &back);
  esp_status ended = started;
  if (started == ESP_OK) ended = esp_request_wait(&back);
  CHECK(ended != ESP_OK, "the second did not fail");
  const esp_status first_ended = esp_request_wait(&up);  // whose segments are gone may have ended
  if (context.rank == 0) {
    CHECK_EQ(first_ended, ESP_ERR_MISMATCH, "");
    CHECK_EQ(ended, ESP_ERR_MISMATCH, "");
    CHECK_EQ(std::string(esp_team_error(below)), std::string(esp_team_error(above)), "");
  }
  CHECK_OK(esp_team_free(below), context.world, "");
  CHECK_OK(esp_team_free(above), context.world, "");
}

// What a persistent request follows is persistent, too, and its end is noticed.
void leaders_that_go(const Context& context) {
  std::vector<int> mine(400, 1), y(400, -1);
  const esp_partial first = delivering();
  const esp_coll_options deliver = with(first);
  esp_request *up = nullptr, *back = nullptr;
  CHECK_OK(esp_reduce_start(context.world, mine.data(), y.data(), y.size(), ESP_INT32, ESP_SUM, 0,
                            &deliver, nullptr, &up),
           context.world, "");
  const esp_partial once = following(up);
  const esp_coll_options after_once = with(once);
  REFUSED_WITH(
      esp_bcast_init(context.world, y.data(), y.size(), ESP_INT32, 0, &after_once, nullptr, &back),
      ESP_ERR_ARGUMENT, "follows a persistent one");
  CHECK_OK(esp_request_wait(&up), context.world, "");
  CHECK_OK(esp_reduce_init(context.world, mine.data(), y.data(), y.size(), ESP_INT32, ESP_SUM, 0,
                           &deliver, nullptr, &up),
           context.world, "");
  const esp_partial second = following(up);
  const esp_coll_options await = with(second);
  CHECK_OK(esp_bcast_init(context.world, y.data(), y.size(), ESP_INT32, 0, &await, nullptr, &back),
           context.world, "");
  CHECK_OK(esp_request_free(&up), context.world, "");
  REFUSED_WITH(esp_request_start(back), ESP_ERR_STATE, "has been freed");
  CHECK_OK(esp_request_free(&back), context.world, "");
}

void refused(const Context& context) {
  int in = 1, out = 0;
  esp_request *plain = nullptr, *request = nullptr;
  CHECK_OK(esp_barrier_start(context.world, nullptr, nullptr, &plain), context.world, "");
  const esp_partial second = following(plain);
  const esp_coll_options await = with(second);
  REFUSED_WITH(esp_allreduce_start(context.world, &in, &out, 1, ESP_INT32, ESP_SUM, &await, nullptr,
                                   &request),
               ESP_ERR_ARGUMENT, "after is an operation");
  CHECK_OK(esp_request_wait(&plain), context.world, "");
}

}  // namespace
}  // namespace partial_chain_cases

void partial_chain(const Context& context) {
  using namespace partial_chain_cases;
  esp_team* down = nullptr;
  CHECK_OK(esp_team_dup(context.world, &down), context.world, "");
  if (down == nullptr) return;
  for (const std::size_t n : {std::size_t{9}, std::size_t{500}, std::size_t{50'000}}) {
    reduce_and_broadcast(context, context.world, n, true);
    reduce_and_broadcast(context, down, n, false);
    rounds(context, n);
  }
  CHECK_OK(esp_team_free(down), context.world, "");
  refused(context);
  leaders_that_go(context);
  failures_go_on(context);
}

}  // namespace test
