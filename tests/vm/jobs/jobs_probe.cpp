// A rank of a job over RDMA, in the guest (jobs.sh).
//
//   jobs_probe collect     every collective, every byte of it checked, from private memory and from
//                          memory of esp_alloc
//   jobs_probe register S  the same, and broadcasts until every rank has registered memory, for at
//                          most S seconds
//   jobs_probe roots       broadcasts and reductions from and to every rank
//   jobs_probe tree        one broadcast from and one reduction to rank 0, of one segment each
//   jobs_probe placed      broadcasts of 1 to 16 MiB, which come without a copy by multicast
//   jobs_probe last S      sums and broadcasts for S seconds by rank 0's clock; all must be right
//   jobs_probe lose LOST   the same until one fails, which must name LOST, to LOST itself one of
//                          the others; those go on with each other
//   jobs_probe gone        the device of rank 0 goes (device_gone.cpp), and the same; the ranks of
//                          each node go on with each other, too, and sleep while they wait
//   jobs_probe reach       half of the ranks put and get while the other half, each on another
//                          node, looks at its own memory only
#include <dlfcn.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <regex>
#include <string>

#include "tests/support/collectives.hpp"
#include "tests/support/counter.hpp"

namespace test {
namespace {

void collect(const Context& context) {
  esp_team* world = context.world;
  const int last = context.size - 1;
  for (const std::size_t count : {1ul, 20'000ul}) {
    check_bcast(world, {.count = count, .root = 0});
    check_bcast(world, {.count = count, .root = last});
    check_reduce(world, {.count = count, .root = last, .in_place = true});
    check_reduce(world, {.type = ESP_DOUBLE, .count = count, .op = ESP_MAX});
    check_allreduce(world, {.count = count});
    CHECK_OK(esp_barrier(world), world, "barrier");
  }
}

// Its segments are sent from registered memory and placed into it.
void from_heap(const Context& context, std::size_t count, int root) {
  auto* data = static_cast<std::uint32_t*>(esp_alloc(context.job, count * sizeof(std::uint32_t)));
  CHECK(data != nullptr, "esp_alloc");
  if (data == nullptr) return;
  const auto value = [&](std::size_t i) {
    return static_cast<std::uint32_t>(i * 2654435761u) ^ static_cast<std::uint32_t>(root);
  };
  for (std::size_t i = 0; i < count; ++i) data[i] = context.rank == root ? value(i) : 0;
  CHECK_OK(esp_bcast(context.world, data, count, ESP_UINT32, root), context.world, "heap");
  std::size_t right = 0;
  while (right < count && data[right] == value(right)) ++right;
  CHECK_EQ(right, count, "heap, root {}", root);
  esp_free(context.job, data);
}

void roots(const Context& context) {
  for (const std::size_t count : {1ul, 20'000ul}) {
    for (int root = 0; root < context.size; ++root) {
      check_bcast(context.world, {.count = count, .root = root});
      check_reduce(context.world, {.count = count, .root = root});
    }
  }
}

// A rank registers what it sends or receives when it is connected by then, and its receive is there
// before the frame.
void registered(const Context& context, double seconds) {
  const double begin = esp_time();
  for (unsigned char more = 1; more != 0;) {
    for (int root = 0; root < context.size; ++root) {
      check_bcast(context.world, {.count = 20'000, .root = root});
    }
    more = counter(context, "registrations") == 0 && esp_time() - begin < seconds ? 1 : 0;
    CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, &more, 1, ESP_UINT8, ESP_MAX),
             context.world, "go on");
    if (esp_team_error(context.world)[0] != '\0') return;
  }
}

void tree(const Context& context) {
  check_bcast(context.world, {.count = 4096});
  check_reduce(context.world, {.count = 4096});
}

// Again and again until it is so at all ranks: the first segments of a root go another way, and
// those that come before their receive are copied.
template <typename Round>
void until_placed(const Context& context, const char* what, int root, Round&& round) {
  const double begin = esp_time();
  for (unsigned char more = 1; more == 1;) {
    const std::uint64_t before = counter(context, "group_placed");
    const std::uint64_t registered = counter(context, "registrations");
    round();
    const std::uint64_t segments = counter(context, "group_placed") - before;
    const bool placed = context.rank == root || segments > 0;
    const bool again =
        std::strcmp(what, "heap") == 0 && counter(context, "registrations") > registered;
    more = placed && !again ? 0 : 1;
    fmt::print("rank {}: {} from {}, {} segments placed{}\n", context.rank, what, root, segments,
               again ? ", memory was registered" : "");
    const bool late = esp_time() - begin > 30;
    CHECK(more == 0 || !late, "{} was copied, or registered", what);
    if (late && more == 1) more = 2;
    CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, &more, 1, ESP_UINT8, ESP_MAX),
             context.world, "whether all have it");
    if (esp_team_error(context.world)[0] != '\0') return;
  }
}

void placed(const Context& context) {
  const char* wires = std::getenv("ESPALIER_WIRES");
  const bool connects = wires != nullptr && std::strstr(wires, "rc") != nullptr;
  for (const int root : {0, context.size - 1}) {
    const auto broadcast = [&](const char* what, std::size_t bytes) {
      until_placed(context, what, root, [&] {
        check_bcast(context.world, {.type = ESP_BYTE, .count = bytes, .root = root});
      });
    };
    broadcast("1 MiB", 1u << 20);
    broadcast("4 MiB and 13 bytes", (4u << 20) + 13);
    if (root == 0) broadcast("16 MiB", 16u << 20);
    // Of connections; where there are none it is registered for each segment.
    until_placed(context, connects ? "heap" : "other memory", root,
                 [&] { from_heap(context, 200'000, root); });
  }
}

// For who waits outside.
void tell_begun(const Context& context) {
  if (context.rank != 0) return;
  fmt::print("begun\n");
  std::fflush(stdout);
}

// How often this process has slept. That a rank does is told by no time here: the guest's
// processors are emulated.
long sleeps() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_nvcsw;
}

// One sum and one broadcast of several segments.
esp_status round(const Context& context, std::uint32_t number) {
  std::vector<std::uint32_t> sums(20'000, number);
  esp_status status =
      esp_allreduce(context.world, ESP_IN_PLACE, sums.data(), sums.size(), ESP_UINT32, ESP_SUM);
  if (status != ESP_OK) return status;
  const auto expected = number * static_cast<std::uint32_t>(context.size);
  for (const std::uint32_t sum : sums) CHECK_EQ(sum, expected, "round {}", number);
  std::uint32_t told = context.rank == 0 ? number : 0;
  status = esp_bcast(context.world, &told, 1, ESP_UINT32, 0);
  CHECK(status != ESP_OK || told == number, "round {}", number);
  return status;
}

// Where UNTIL is a path, at least until there is such a file.
bool lasts(double begin, double seconds) {
  const char* until = std::getenv("UNTIL");
  const double passed = esp_time() - begin;
  return passed < seconds || (until != nullptr && ::access(until, F_OK) != 0 && passed < 60);
}

void last(const Context& context, double seconds) {
  const double begin = esp_time();
  for (std::uint32_t number = 1, more = 1; more != 0; ++number) {
    CHECK_OK(round(context, number), context.world, "round {}", number);
    if (number == 1) tell_begun(context);
    more = g_failures == 0 && lasts(begin, seconds) ? 1 : 0;
    CHECK_OK(esp_bcast(context.world, &more, 1, ESP_UINT32, 0), context.world, "go on");
    if (esp_team_error(context.world)[0] != '\0') return;
  }
}

bool names(const std::string& text, int rank) {
  return std::regex_search(text, std::regex("\\brank " + std::to_string(rank) + "\\b"));
}

// `go`: what the lost one does so that it is lost. The adapters find it out, not the job's limit of
// time.
void lose(
    const Context& context, int lost, void (*go)() = [] {}) {
  const bool mine = context.rank == lost;
  Context others = context;
  CHECK_OK(esp_team_split(context.world, mine ? ESP_NO_TEAM : 0, context.rank, &others.world),
           context.world, "split");
  others.size = context.size - 1;
  others.rank = context.rank - (context.rank > lost ? 1 : 0);
  esp_status status = round(context, 1);
  CHECK_OK(status, context.world, "before");
  tell_begun(context);
  if (mine) go();
  for (std::uint32_t number = 2; status == ESP_OK; ++number) status = round(context, number);
  const std::string text = esp_team_error(context.world);
  fmt::print("rank {}: {}\n", context.rank, text);
  CHECK(status == ESP_ERR_NETWORK || status == ESP_ERR_PEER_DIED, "{}", esp_status_text(status));
  bool right = !mine && names(text, lost);
  for (int other = 0; mine && other < context.size; ++other) {
    right |= other != lost && names(text, other);
  }
  CHECK(right, "names another, or nobody: {}", text);
  if (!mine) CHECK_OK(round(others, 1), others.world, "the others");
}

void lose_device() {
  auto* flag = static_cast<int*>(::dlsym(RTLD_DEFAULT, "device_gone"));
  CHECK(flag != nullptr, "device_gone.so is not there");
  if (flag != nullptr) *flag = 1;
}

// Two ranks per node.
void gone(const Context& context) {
  esp_team* node = nullptr;
  CHECK_OK(esp_team_split(context.world, context.rank / 2, context.rank, &node), context.world,
           "split");
  Context pair = context;
  pair.world = node;
  pair.rank = context.rank % 2;
  pair.size = 2;
  CHECK_OK(round(pair, 1), node, "before, on the node");
  lose(context, 0, lose_device);
  CHECK_OK(round(pair, 2), node, "after");
  const long before = sleeps();
  timespec rest = {2, 0};
  if (context.rank % 2 != 0) ::nanosleep(&rest, nullptr);
  CHECK_OK(esp_barrier(node), node, "a wait");
  // A tenth of a second at a time.
  const long slept = sleeps() - before;
  fmt::print("rank {} slept {} times\n", context.rank, slept);
  CHECK(context.rank % 2 != 0 || slept >= 8, "slept {} times in two seconds", slept);
}

// Does not call the library until the last put is there.
void compute(const Context& context, const volatile unsigned char* flag) {
  const double begin = esp_time();
  while (*flag == 0 && esp_time() - begin < 40) {
  }
  CHECK(*flag == 1, "nothing has come to rank {}, which computes", context.rank);
}

void reach(const Context& context) {
  constexpr std::size_t kBytes = 1'000'000, kFlag = kBytes;
  const int half = context.size / 2;
  const bool puts = context.rank < half;
  const int target = context.rank + half;
  esp_region* region = nullptr;
  CHECK_OK(esp_region_create(context.world, kBytes + 1, &region), context.world, "create");
  auto* heap = static_cast<unsigned char*>(esp_alloc(context.job, kBytes));
  CHECK(region != nullptr && heap != nullptr, "memory");
  if (region == nullptr || heap == nullptr) return;
  std::vector<unsigned char> own(kBytes), back(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) {
    own[i] = static_cast<unsigned char>(i * 31 + i / 253 + static_cast<std::size_t>(target));
  }
  // The first ones make the connection, and go without.
  for (int i = 0; i < 50; ++i) {
    if (puts) CHECK_OK(esp_put(region, target, 0, own.data(), 10), context.world, "first");
    CHECK_OK(esp_barrier(context.world), context.world, "first");
  }
  auto* mine = static_cast<unsigned char*>(esp_region_memory(region));
  if (!puts) {
    compute(context, mine + kFlag);
  } else {
    std::memcpy(heap, own.data(), kBytes);
    for (unsigned char* data : {own.data(), heap}) {
      CHECK_OK(esp_put(region, target, 0, data, kBytes), context.world, "put");
      std::fill(back.begin(), back.end(), static_cast<unsigned char>(0));
      CHECK_OK(esp_get(region, target, 0, back.data(), kBytes), context.world, "get");
      CHECK(back == own, "what is got");
    }
    std::memset(heap, 0, kBytes);
    CHECK_OK(esp_get(region, target, 0, heap, kBytes), context.world, "get");
    CHECK(std::memcmp(heap, own.data(), kBytes) == 0, "what is got");
    const unsigned char one = 1;
    CHECK_OK(esp_put(region, target, kFlag, &one, 1), context.world, "flag");
  }
  CHECK_OK(esp_barrier(context.world), context.world, "end");
  for (std::size_t i = 0; i < kBytes && !puts; ++i) {
    const auto byte =
        static_cast<unsigned char>(i * 31 + i / 253 + static_cast<std::size_t>(context.rank));
    if (mine[i] == byte) continue;
    CHECK(false, "byte {}", i);
    break;
  }
  CHECK_OK(esp_region_free(region), context.world, "free");
  esp_free(context.job, heap);
}

int run(const std::string& mode, double number) {
  const Opened opened = open_job();
  if (opened.status != ESP_OK) {
    fmt::print(stderr, "esp_job_init: {}\n", opened.text);
    return 1;
  }
  const Context context = {opened.job, esp_job_world(opened.job), esp_job_rank(opened.job),
                           esp_job_size(opened.job)};
  g_rank = context.rank;
  g_case = mode;
  if (mode == "collect" || mode == "register") {
    collect(context);
    for (int root = 0; root < std::min(context.size, 2); ++root) from_heap(context, 50'000, root);
    if (mode == "register") registered(context, number);
  } else if (mode == "roots") {
    roots(context);
  } else if (mode == "tree") {
    tree(context);
  } else if (mode == "placed") {
    placed(context);
  } else if (mode == "reach") {
    reach(context);
  } else if (mode == "last") {
    last(context, number);
  } else if (mode == "gone") {
    gone(context);
  } else {
    lose(context, static_cast<int>(number));
  }
  const esp_status end = esp_job_finalize(context.job);
  const bool lossy = mode == "lose" || mode == "gone";
  CHECK(end == ESP_OK || lossy, "finalize: {}", esp_status_text(end));
  if (g_failures == 0) fmt::print("OK rank {}, {} checks\n", context.rank, g_checks.load());
  return g_failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  return test::run(argv[1], argc > 2 ? std::atof(argv[2]) : 1.0);
}
