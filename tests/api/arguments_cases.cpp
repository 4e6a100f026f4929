// Wrong arguments: each gets its documented status on every rank, and nothing was started.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/collectives.hpp"

namespace test {
namespace {

constexpr auto kNoType = static_cast<esp_type>(ESP_TYPE_COUNT);
constexpr std::size_t kTooMany = SIZE_MAX / 2;

#define REFUSED(call, status) CHECK_STATUS(call, status, context.world, "must be refused")

bool says(const Context& context, const char* words) {
  return std::strstr(esp_job_error(context.job), words) != nullptr;
}

void check_still_works(const Context& context) {
  check_allreduce(context.world, {.type = ESP_INT32, .count = 10});
  check_bcast(context.world, {.type = ESP_DOUBLE, .count = 2000, .root = context.size - 1});
}

void collectives(const Context& context) {
  int x[4] = {1, 2, 3, 4}, y[4] = {};
  esp_team* world = context.world;
  REFUSED(esp_barrier(nullptr), ESP_ERR_ARGUMENT);
  REFUSED(esp_bcast(nullptr, x, 1, ESP_INT32, 0), ESP_ERR_ARGUMENT);
  REFUSED(esp_bcast(world, nullptr, 1, ESP_INT32, 0), ESP_ERR_ARGUMENT);
  REFUSED(esp_bcast(world, x, 1, ESP_INT32, -1), ESP_ERR_ARGUMENT);
  REFUSED(esp_bcast(world, x, 1, ESP_INT32, context.size), ESP_ERR_ARGUMENT);
  REFUSED(esp_bcast(world, x, 1, kNoType, 0), ESP_ERR_TYPE);
  REFUSED(esp_bcast(world, x, kTooMany, ESP_INT32, 0), ESP_ERR_ARGUMENT);
  REFUSED(esp_reduce(world, nullptr, y, 1, ESP_INT32, ESP_SUM, 0), ESP_ERR_ARGUMENT);
  REFUSED(esp_reduce(world, x, y, 1, ESP_INT32, ESP_SUM, context.size), ESP_ERR_ARGUMENT);
  REFUSED(esp_reduce(world, x, y, 1, ESP_FLOAT, ESP_BAND, 0), ESP_ERR_TYPE);
  REFUSED(esp_reduce(world, x, y, 1, ESP_INT32, ESP_MINLOC, 0), ESP_ERR_TYPE);
  REFUSED(esp_reduce(world, x, y, 1, ESP_INT32, -1, 0), ESP_ERR_ARGUMENT);
  REFUSED(esp_reduce(world, x, y, 1, ESP_INT32, 9999, 0), ESP_ERR_ARGUMENT);
  REFUSED(esp_allreduce(nullptr, x, y, 1, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT);
  REFUSED(esp_allreduce(world, nullptr, y, 1, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT);
  REFUSED(esp_allreduce(world, x, nullptr, 1, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT);
  REFUSED(esp_allreduce(world, x, y, 1, kNoType, ESP_SUM), ESP_ERR_TYPE);
  REFUSED(esp_allreduce(world, x, y, 1, ESP_COMPLEX_FLOAT, ESP_MAX), ESP_ERR_TYPE);
  CHECK_EQ(x[3], 4, "an argument error changed the input");
  CHECK_EQ(y[0], 0, "an argument error changed the output");
  CHECK(says(context, "esp_allreduce: "), "{}", esp_job_error(context.job));
}

// Nothing to send needs no buffer, in place or not, blocking or not.
void empty(const Context& context) {
  esp_team* world = context.world;
  for (const void* input : {static_cast<const void*>(nullptr), ESP_IN_PLACE}) {
    for (int root = 0; root < context.size; ++root) {
      const void* mine = context.rank == root ? input : nullptr;
      esp_request* request = nullptr;
      CHECK_OK(esp_bcast(world, nullptr, 0, ESP_INT32, root), world, "");
      CHECK_OK(esp_reduce(world, mine, nullptr, 0, ESP_INT32, ESP_SUM, root), world, "{}", input);
      CHECK_OK(esp_allreduce(world, input, nullptr, 0, ESP_INT32, ESP_SUM), world, "{}", input);
      CHECK_OK(
          finish(esp_bcast_start(world, nullptr, 0, ESP_DOUBLE, root, nullptr, nullptr, &request),
                 &request),
          world, "");
      CHECK_OK(finish(esp_reduce_start(world, mine, nullptr, 0, ESP_INT32, ESP_SUM, root, nullptr,
                                       nullptr, &request),
                      &request),
               world, "{}", input);
      CHECK_OK(finish(esp_allreduce_start(world, input, nullptr, 0, ESP_INT32, ESP_SUM, nullptr,
                                          nullptr, &request),
                      &request),
               world, "{}", input);
    }
  }
  if (context.rank != 0) {
    REFUSED(esp_reduce(world, ESP_IN_PLACE, nullptr, 0, ESP_INT32, ESP_SUM, 0), ESP_ERR_ARGUMENT);
  }
}

// It stands for an input alone.
void in_place_outputs(const Context& context) {
  int x[4] = {};
  void* const place = const_cast<void*>(ESP_IN_PLACE);
  esp_team* world = context.world;
  esp_request* request = nullptr;
  REFUSED(esp_bcast(world, place, 1, ESP_INT32, 0), ESP_ERR_ARGUMENT);
  REFUSED(esp_bcast_start(world, place, 1, ESP_INT32, 0, nullptr, nullptr, &request),
          ESP_ERR_ARGUMENT);
  REFUSED(esp_allreduce(world, x, place, 1, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT);
  REFUSED(esp_allreduce(world, ESP_IN_PLACE, place, 1, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT);
  REFUSED(esp_scan(world, x, place, 1, ESP_INT32, ESP_SUM), ESP_ERR_ARGUMENT);
  REFUSED(esp_allgather(world, ESP_IN_PLACE, place, 1, ESP_INT32), ESP_ERR_ARGUMENT);
  if (context.rank == 0) {
    REFUSED(esp_reduce(world, x, place, 1, ESP_INT32, ESP_SUM, 0), ESP_ERR_ARGUMENT);
  }
}

void starting(const Context& context) {
  int x = 0;
  std::int64_t counter = 0;
  esp_request* request = nullptr;
  const auto callback = [](void*, esp_status) { fail(__FILE__, __LINE__, "a refused call fired"); };
  const esp_notify both{callback, nullptr, &counter};
  esp_team* world = context.world;
  REFUSED(esp_barrier_start(world, nullptr, nullptr, nullptr), ESP_ERR_ARGUMENT);
  CHECK(says(context, "esp_barrier_start: exactly one of"), "{}", esp_job_error(context.job));
  REFUSED(esp_barrier_start(world, nullptr, &both, nullptr), ESP_ERR_ARGUMENT);
  REFUSED(esp_bcast_start(world, &x, 1, ESP_INT32, -1, nullptr, nullptr, &request),
          ESP_ERR_ARGUMENT);
  CHECK(request == nullptr, "a refused call gave a request");
  const esp_notify counted{nullptr, nullptr, &counter};
  REFUSED(esp_bcast_start(world, &x, 1, kNoType, 0, nullptr, &counted, nullptr), ESP_ERR_TYPE);
  CHECK_EQ(counter, std::int64_t{0}, "a refused call counted down");
  const auto refuse = [&](auto change) {
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    change(options);
    REFUSED(esp_bcast_start(world, &x, 1, ESP_INT32, 0, &options, nullptr, &request),
            ESP_ERR_ARGUMENT);
  };
  refuse([](auto& o) { o.struct_size = 0; });
  CHECK(says(context, "ESP_COLL_OPTIONS_INIT"), "{}", esp_job_error(context.job));
  refuse([](auto& o) { o.algorithm = static_cast<esp_algorithm>(ESP_ALGORITHM_COUNT); });
  refuse([](auto& o) { o.shape = static_cast<esp_shape>(ESP_SHAPE_COUNT); });
  refuse([](auto& o) { o.variant = static_cast<esp_variant>(ESP_VARIANT_COUNT); });
  refuse([](auto& o) { o.radix = -1; });
  refuse([](auto& o) {
    o.shape = ESP_SHAPE_KNOMIAL;
    o.radix = 1;
  });
  refuse([](auto& o) { o.window_send = 65; });
  refuse([](auto& o) { o.window_recv = -1; });
  CHECK(says(context, "esp_bcast_start: option window_recv"), "{}", esp_job_error(context.job));
}

void teams_and_operators(const Context& context) {
  esp_team* team = nullptr;
  esp_op op = 0;
  esp_team* world = context.world;
  REFUSED(esp_team_dup(nullptr, &team), ESP_ERR_ARGUMENT);
  REFUSED(esp_team_dup(world, nullptr), ESP_ERR_ARGUMENT);
  REFUSED(esp_team_split(world, -2, 0, &team), ESP_ERR_ARGUMENT);
  const int outside[] = {0, context.size}, twice[] = {0, 0};
  REFUSED(esp_team_include(world, outside, 2, &team), ESP_ERR_ARGUMENT);
  REFUSED(esp_team_include(world, twice, 2, &team), ESP_ERR_ARGUMENT);
  REFUSED(esp_team_include(world, nullptr, 1, &team), ESP_ERR_ARGUMENT);
  REFUSED(esp_team_include(world, twice, -1, &team), ESP_ERR_ARGUMENT);
  CHECK(team == nullptr, "a refused call gave a team");
  REFUSED(esp_team_free(nullptr), ESP_ERR_ARGUMENT);
  REFUSED(esp_team_free(world), ESP_ERR_STATE);
  CHECK(says(context, "the world team"), "{}", esp_job_error(context.job));
  REFUSED(esp_op_create(context.job, nullptr, nullptr, 1, &op), ESP_ERR_ARGUMENT);
  REFUSED(esp_op_free(context.job, ESP_SUM), ESP_ERR_ARGUMENT);
  REFUSED(esp_op_free(context.job, 9999), ESP_ERR_ARGUMENT);
  CHECK_EQ(esp_op_defined(-1, ESP_INT32), 0, "no operator");
  CHECK_EQ(esp_op_defined(ESP_SUM, kNoType), 0, "no type");
  CHECK_EQ(esp_type_size(kNoType), std::size_t{0}, "no type");
  for (int s = 0; s <= ESP_STATUS_COUNT; ++s) {
    CHECK(esp_status_text(static_cast<esp_status>(s)) != nullptr, "status {}", s);
  }
}

void flows_and_requests(const Context& context) {
  char byte = 0;
  esp_team* world = context.world;
  const int other = (context.rank + 1) % context.size;
  REFUSED(esp_send(world, &byte, 1, context.rank, 0), ESP_ERR_ARGUMENT);
  REFUSED(esp_recv(world, &byte, 1, context.rank, 0), ESP_ERR_ARGUMENT);
  CHECK(says(context, "is this rank itself"), "{}", esp_job_error(context.job));
  REFUSED(esp_send(world, &byte, 1, context.size, 0), ESP_ERR_ARGUMENT);
  REFUSED(esp_recv(world, &byte, 1, -1, 0), ESP_ERR_ARGUMENT);
  if (other != context.rank) {
    REFUSED(esp_send(world, &byte, 1, other, 256), ESP_ERR_ARGUMENT);
    CHECK(says(context, "esp_send: channel 256"), "{}", esp_job_error(context.job));
    REFUSED(esp_send(world, nullptr, 1, other, 0), ESP_ERR_ARGUMENT);
    REFUSED(esp_recv_start(world, &byte, 1, other, 0, nullptr, nullptr), ESP_ERR_ARGUMENT);
    CHECK(says(context, "esp_recv_start: exactly one of"), "{}", esp_job_error(context.job));
    REFUSED(esp_recv(world, nullptr, 1, other, 0), ESP_ERR_ARGUMENT);
    CHECK(says(context, "esp_recv: 1 bytes, but"), "{}", esp_job_error(context.job));
  }
  int index = 0, done = 0;
  REFUSED(esp_request_test(nullptr, &done), ESP_ERR_ARGUMENT);
  REFUSED(esp_request_wait(nullptr), ESP_ERR_ARGUMENT);
  REFUSED(esp_request_wait_any(nullptr, 1, &index), ESP_ERR_ARGUMENT);
  REFUSED(esp_request_wait_all(nullptr, 1), ESP_ERR_ARGUMENT);
  CHECK_OK(esp_request_wait_all(nullptr, 0), world, "none");
  std::size_t completed = 0;
  REFUSED(esp_request_wait_some(nullptr, 1, &index, nullptr, &completed), ESP_ERR_ARGUMENT);
  REFUSED(esp_request_wait_some(nullptr, 0, &index, nullptr, nullptr), ESP_ERR_ARGUMENT);
  CHECK_OK(esp_request_wait_some(nullptr, 0, nullptr, nullptr, &completed), world, "none");
  REFUSED(esp_request_test_any(nullptr, 1, &index, &done), ESP_ERR_ARGUMENT);
  REFUSED(esp_request_test_any(nullptr, 0, &index, nullptr), ESP_ERR_ARGUMENT);
  CHECK_OK(esp_request_test_any(nullptr, 0, &index, &done), world, "none");
  REFUSED(esp_request_test_all(nullptr, 1, &done), ESP_ERR_ARGUMENT);
  REFUSED(esp_request_test_all(nullptr, 0, nullptr), ESP_ERR_ARGUMENT);
  CHECK_OK(esp_request_test_all(nullptr, 0, &done), world, "none");
  REFUSED(esp_counter_wait(context.job, nullptr, 0, 0.1), ESP_ERR_ARGUMENT);
  REFUSED(esp_job_check(nullptr), ESP_ERR_ARGUMENT);
  CHECK_OK(esp_job_check(context.job), world, "all are there");
}

// What `work` writes to stderr.
template <typename Work>
std::string on_stderr(Work work) {
  const int file = ::memfd_create("stderr", MFD_CLOEXEC), kept = ::dup(STDERR_FILENO);
  ::dup2(file, STDERR_FILENO);
  work();
  ::dup2(kept, STDERR_FILENO);
  ::close(kept);
  std::string text(4096, '\0');
  const ssize_t bytes = ::pread(file, text.data(), text.size(), 0);
  ::close(file);
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

void jobs(const Context& context) {
  esp_job* none = nullptr;
  REFUSED(esp_job_init(nullptr, nullptr), ESP_ERR_ARGUMENT);
  REFUSED(esp_job_finalize(nullptr), ESP_ERR_ARGUMENT);
  // Zeroed instead of initialised: nothing in it is trusted, not even where to put the text.
  esp_job_options zeroed = {};
  esp_status status = ESP_OK;
  const std::string text = on_stderr([&] { status = esp_job_init(&zeroed, &none); });
  REFUSED(status, ESP_ERR_ARGUMENT);
  CHECK(none == nullptr, "a refused call gave a job");
  CHECK(text.find("begin with ESP_JOB_OPTIONS_INIT") != std::string::npos, "it said '{}'", text);
}

void settings(const Context& context) {
  // A job of its own, alone, so that the settings can be wrong without anybody waiting.
  const auto gather = [](void*, const void* mine, std::size_t bytes, void* all) {
    std::memcpy(all, mine, bytes);
    return 0;
  };
  const esp_bootstrap alone{nullptr, 0, 1, gather, nullptr};
  for (const char* wrong : {"COUNTERS=maybe", "TRACE", "WIRES=udp"}) {
    const char* list[] = {wrong, nullptr};
    esp_job_options options = ESP_JOB_OPTIONS_INIT;
    options.bootstrap = &alone;
    options.settings = list;
    const Opened opened = open_job(options);
    REFUSED(opened.status, ESP_ERR_CONFIG);
    CHECK(opened.job == nullptr, "{}", wrong);
    CHECK(!opened.text.empty(), "no explanation for {}", wrong);
    const bool as_written = opened.text.find("ESPALIER_") == std::string::npos;
    CHECK(as_written, "{} is not named as it was written: {}", wrong, opened.text);
  }
}

}  // namespace

void arguments(const Context& context) {
  collectives(context);
  empty(context);
  check_still_works(context);
  in_place_outputs(context);
  starting(context);
  teams_and_operators(context);
  flows_and_requests(context);
  jobs(context);
  settings(context);
  check_still_works(context);
}

}  // namespace test
