// Teams that their members make alone: the others do not take part, lists may overlap, messages of
// the user's with the same tag do not matter, and lists that differ are named.
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/collectives.hpp"

namespace test {
namespace {

constexpr std::uint64_t kTag = 7;

void check_works(esp_team* team, const std::vector<int>& ranks) {
  CHECK_EQ(esp_team_size(team), static_cast<int>(ranks.size()), "members");
  int expected = 0, sum = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    CHECK_EQ(esp_team_job_rank(team, static_cast<int>(i)), ranks[i], "order");
    expected += ranks[i];
  }
  sum = esp_team_job_rank(team, esp_team_rank(team));
  CHECK_OK(esp_allreduce(team, ESP_IN_PLACE, &sum, 1, ESP_INT32, ESP_SUM), team, "");
  CHECK_EQ(sum, expected, "sum");
  check_bcast(team, {.type = ESP_INT32, .count = 40'000, .root = esp_team_size(team) - 1});
}

void make_and_check(const Context& context, const std::vector<int>& ranks, std::uint64_t tag) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_create(context.world, ranks.data(), static_cast<int>(ranks.size()), tag, &team),
           context.world, "tag {}", tag);
  if (team == nullptr) return;
  check_works(team, ranks);
  CHECK_OK(esp_team_free(team), context.world, "");
}

// From the highest down, every second one; the others call nothing.
void members_alone(const Context& context) {
  std::vector<int> ranks;
  for (int r = context.size - 1; r >= 0; r -= 2) ranks.push_back(r);
  if ((context.size - 1 - context.rank) % 2 == 0) make_and_check(context, ranks, kTag);
}

// Each rank with the next one, in turns: whoever is first waits for nobody but its partner.
void overlapping(const Context& context) {
  for (int first = 0; first + 1 < context.size; ++first) {
    if (context.rank == first || context.rank == first + 1) {
      make_and_check(context, {first + 1, first}, kTag);
    }
  }
}

// Messages and receives of the user's with this tag stay what they are, wildcards among them.
void among_messages(const Context& context) {
  const int next = (context.rank + 1) % context.size;
  const int before = (context.rank + context.size - 1) % context.size;
  int early = -1, any = -1;
  esp_request* posted = nullptr;
  CHECK_OK(esp_tag_recv_start(context.world, &any, 1, ESP_INT32, ESP_ANY_SOURCE, 0, 0, nullptr,
                              nullptr, &posted),
           context.world, "");
  std::vector<int> ranks(static_cast<std::size_t>(context.size));
  for (int r = 0; r < context.size; ++r) ranks[static_cast<std::size_t>(r)] = r;
  make_and_check(context, ranks, kTag);
  for (const int value : {100 + context.rank, 200 + context.rank}) {
    CHECK_OK(esp_tag_send(context.world, &value, 1, ESP_INT32, next, kTag), context.world, "");
  }
  make_and_check(context, ranks, kTag);
  CHECK_OK(esp_request_wait(&posted), context.world, "");
  CHECK_OK(esp_tag_recv(context.world, &early, 1, ESP_INT32, before, kTag, ESP_TAG_EXACT, nullptr),
           context.world, "");
  CHECK_EQ(any, 100 + before, "the first");
  CHECK_EQ(early, 200 + before, "the second");
}

void refused(const Context& context) {
  esp_team* team = nullptr;
  const int self = context.rank;
  const int twice[] = {self, self}, outside[] = {self, context.size};
  const int other = (self + 1) % context.size;
  const auto create = [&](const int* ranks, int count) {
    return esp_team_create(context.world, ranks, count, kTag, &team);
  };
  CHECK_STATUS(create(twice, 2), ESP_ERR_ARGUMENT, context.world, "twice");
  CHECK_STATUS(create(outside, 2), ESP_ERR_ARGUMENT, context.world, "outside");
  CHECK_STATUS(create(nullptr, 1), ESP_ERR_ARGUMENT, context.world, "no list");
  CHECK_STATUS(create(&self, -1), ESP_ERR_ARGUMENT, context.world, "negative");
  CHECK_STATUS(create(&self, 0), ESP_ERR_ARGUMENT, context.world, "nobody");
  if (other != self) CHECK_STATUS(create(&other, 1), ESP_ERR_ARGUMENT, context.world, "not listed");
  CHECK_EQ(esp_team_create(nullptr, &self, 1, kTag, &team), ESP_ERR_ARGUMENT, "no parent");
  CHECK_EQ(esp_team_create(context.world, &self, 1, kTag, nullptr), ESP_ERR_ARGUMENT, "no result");
  CHECK(team == nullptr, "nothing is made");
  make_and_check(context, {self}, kTag);
}

void lists_that_differ(const Context& context) {
  if (context.size < 3 || context.rank > 1) return;
  esp_team* team = nullptr;
  // The same number of members: 0 and 1 agree about who is first, and not about the order.
  if (context.rank == 0) {
    const int ranks[] = {0, 1};
    CHECK_STATUS(esp_team_create(context.world, ranks, 2, kTag + 1, &team), ESP_ERR_MISMATCH,
                 context.world, "");
  } else {
    const int ranks[] = {0, 1, 2};  // of which 1 sends three members' wishes
    CHECK_STATUS(esp_team_create(context.world, ranks, 3, kTag + 1, &team), ESP_ERR_MISMATCH,
                 context.world, "");
  }
  CHECK(team == nullptr, "nothing is made");
  const std::string text = esp_job_error(context.job);
  CHECK(text.find("esp_team_create") != text.npos, "{}", text);
}

}  // namespace

void team_create(const Context& context) {
  members_alone(context);
  overlapping(context);
  among_messages(context);
  refused(context);
  lists_that_differ(context);
  for (int round = 0; round < 200 && g_failures == 0; ++round) members_alone(context);
}

}  // namespace test
