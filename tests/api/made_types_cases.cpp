// Types that are made: what is refused, and how long they live.
#include <cstring>
#include <string>

#include "tests/api/cases.hpp"
#include "tests/support/typed.hpp"

namespace test {
namespace made_types_cases {
namespace {

#define TYPE_SAYS(call, status)                                                                \
  do {                                                                                         \
    CHECK_STATUS(call, status, context.world, "must be refused");                              \
    CHECK(std::strlen(esp_job_error(context.job)) > 10, "\"{}\"", esp_job_error(context.job)); \
  } while (false)

void refused(const Context& context) {
  esp_job* const job = context.job;
  esp_type made = ESP_BYTE;
  const std::size_t some[] = {1, 2}, none[] = {0, 0}, far[] = {0, std::size_t{1} << 47};
  CHECK_EQ(esp_type_strided(nullptr, ESP_INT32, 2, 1, 4, 0, &made), ESP_ERR_ARGUMENT, "no job");
  TYPE_SAYS(esp_type_strided(job, ESP_INT32, 2, 1, 4, 0, nullptr), ESP_ERR_ARGUMENT);
  TYPE_SAYS(esp_type_strided(job, ESP_INT32, 0, 1, 4, 0, &made), ESP_ERR_ARGUMENT);
  TYPE_SAYS(esp_type_strided(job, ESP_INT32, 2, 0, 4, 0, &made), ESP_ERR_ARGUMENT);
  TYPE_SAYS(esp_type_strided(job, ESP_INT32, 2, 1, std::size_t{1} << 46, 0, &made),
            ESP_ERR_ARGUMENT);
  TYPE_SAYS(esp_type_strided(job, ESP_INT32, ~std::size_t{0}, 3, ~std::size_t{0}, 0, &made),
            ESP_ERR_ARGUMENT);
  TYPE_SAYS(esp_type_strided(job, ESP_INT32, 2, 1, 4, ~std::size_t{0}, &made), ESP_ERR_ARGUMENT);
  TYPE_SAYS(esp_type_strided(job, static_cast<esp_type>(4711), 2, 1, 4, 0, &made), ESP_ERR_TYPE);
  TYPE_SAYS(esp_type_strided(job, ESP_TYPE_HIGHEST, 2, 1, 4, 0, &made), ESP_ERR_TYPE);
  TYPE_SAYS(esp_type_blocks(job, ESP_INT32, 2, nullptr, some, 0, &made), ESP_ERR_ARGUMENT);
  TYPE_SAYS(esp_type_blocks(job, ESP_INT32, 2, some, nullptr, 0, &made), ESP_ERR_ARGUMENT);
  TYPE_SAYS(esp_type_blocks(job, ESP_INT32, 2, some, some, 0, nullptr), ESP_ERR_ARGUMENT);
  TYPE_SAYS(esp_type_blocks(job, ESP_INT32, 0, some, some, 0, &made), ESP_ERR_ARGUMENT);
  TYPE_SAYS(esp_type_blocks(job, ESP_INT32, 2, none, some, 0, &made), ESP_ERR_ARGUMENT);
  TYPE_SAYS(esp_type_blocks(job, ESP_INT32, 2, some, far, 0, &made), ESP_ERR_ARGUMENT);
  for (const esp_type type :
       {ESP_INT32, ESP_TYPE_COUNT, static_cast<esp_type>(99'999), ESP_TYPE_HIGHEST}) {
    const esp_status status = esp_type_free(job, type);
    CHECK(status == ESP_ERR_ARGUMENT || status == ESP_ERR_TYPE, "{}", esp_status_text(status));
  }
  // Types of types there are not.
  const Typed column = strided(job, ESP_INT32, 2, 1, 4);
  const esp_status status = esp_type_strided(job, column.type, 2, 1, 4, 0, &made);
  CHECK(status == ESP_ERR_ARGUMENT || status == ESP_ERR_TYPE, "{}", esp_status_text(status));
  CHECK_OK(esp_type_free(job, column.type), context.world, "");
  CHECK_STATUS(esp_bcast(context.world, &made, 1, column.type, 0), ESP_ERR_TYPE, context.world,
               "after free");
  const esp_status again = esp_type_free(job, column.type);
  CHECK(again == ESP_ERR_ARGUMENT || again == ESP_ERR_TYPE, "{}", esp_status_text(again));
}

// What uses a type keeps it.
void in_use(const Context& context) {
  esp_team* const world = context.world;
  const Typed column = strided(context.job, ESP_INT32, 3, 1, 5);
  std::vector<int> x(100, context.rank);
  esp_request *stays = nullptr, *started = nullptr;
  CHECK_OK(esp_allreduce_init(world, ESP_IN_PLACE, x.data(), 4, column.type, ESP_MAX, nullptr,
                              nullptr, &stays),
           world, "");
  TYPE_SAYS(esp_type_free(context.job, column.type), ESP_ERR_STATE);
  CHECK_OK(esp_request_start(stays), world, "nothing was lost");
  CHECK_OK(esp_request_wait(&stays), world, "");
  CHECK_EQ(x[10], context.size - 1, "");
  CHECK_EQ(x[1], context.rank, "between blocks");
  CHECK_OK(esp_request_free(&stays), world, "");
  char byte = 0;
  // Rank 0 comes when all others have found it under way.
  for (int r = 1; context.rank == 0 && r < context.size; ++r) {
    CHECK_OK(esp_recv(world, &byte, 1, r, 10), world, "");
  }
  CHECK_OK(esp_allreduce_start(world, ESP_IN_PLACE, x.data(), 4, column.type, ESP_SUM, nullptr,
                               nullptr, &started),
           world, "");
  if (context.rank != 0) {
    TYPE_SAYS(esp_type_free(context.job, column.type), ESP_ERR_STATE);
    CHECK_OK(esp_send(world, &byte, 1, 0, 10), world, "");
  }
  CHECK_OK(esp_request_wait(&started), world, "");
  CHECK_EQ(x[10], (context.size - 1) * context.size, "");
  CHECK_OK(esp_type_free(context.job, column.type), world, "");
}

// Arrays are the caller's again; many come and go; what has been freed gives its number back or
// not.
void many(const Context& context) {
  std::vector<std::size_t> lengths = {1, 2}, displs = {4, 0};
  esp_type made = ESP_BYTE;
  CHECK_OK(esp_type_blocks(context.job, ESP_INT32, 2, lengths.data(), displs.data(), 0, &made),
           context.world, "");
  lengths = displs = {100'000, 200'000};
  int x[5] = {1, 2, 3, 4, 5}, y[5] = {};
  CHECK_OK(esp_allreduce(context.world, x, y, 1, made, ESP_MAX), context.world, "");
  CHECK(y[0] == 1 && y[1] == 2 && y[2] == 0 && y[3] == 0 && y[4] == 5, "{} {} {} {} {}", y[0], y[1],
        y[2], y[3], y[4]);
  CHECK_OK(esp_type_free(context.job, made), context.world, "");
  std::vector<Typed> types;
  for (std::size_t i = 0; i < 300; ++i)
    types.push_back(strided(context.job, ESP_INT32, 2, 1, i + 1));
  for (std::size_t i = types.size(); i-- > 0;) {
    std::vector<int> z(i + 2, context.rank);
    CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, z.data(), 1, types[i].type, ESP_MAX),
             context.world, "");
    CHECK_EQ(z.back(), context.size - 1, "type {}", i);
    CHECK_OK(esp_type_free(context.job, types[i].type), context.world, "");
  }
}

// The size and name of what is not built in are not told without its job.
void looked_at(const Context& context) {
  const Typed column = strided(context.job, ESP_DOUBLE, 3, 1, 5);
  CHECK(column.type >= ESP_TYPE_COUNT, "a made type has a number of its own");
  CHECK(esp_type_name(column.type) != nullptr, "a name");
  CHECK_OK(esp_type_free(context.job, column.type), context.world, "");
}

}  // namespace
}  // namespace made_types_cases

void made_types(const Context& context) {
  made_types_cases::refused(context);
  made_types_cases::in_use(context);
  made_types_cases::many(context);
  made_types_cases::looked_at(context);
}

}  // namespace test
