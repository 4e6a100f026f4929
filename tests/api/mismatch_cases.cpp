// Ranks that make different calls: by the next call on the team everybody gets an error that names
// somebody else's call, nobody hangs, and other teams go on working.
#include <unistd.h>

#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/collectives.hpp"

namespace test {
namespace {

// What a rank calls, and how texts put it.
struct Call {
  std::function<esp_status(esp_team*)> make;
  const char* text;
};

// Both ranks of a pair make their own call on a team made for the purpose.
void disagree(const Context& context, const char* what, const Call& even, const Call& odd) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_split(context.world, context.rank / 2, 0, &team), context.world, "{}", what);
  const bool is_even = context.rank % 2 == 0;
  const Call &mine = is_even ? even : odd, &other = is_even ? odd : even;
  esp_status status = mine.make(team);
  // A root may be done with its part before anybody else has called: then the next call tells.
  if (status == ESP_OK) status = esp_barrier(team);
  CHECK_STATUS(status, ESP_ERR_MISMATCH, team, "{}", what);
  const std::string text = esp_team_error(team);
  const auto tells = [&](const char* called) {
    return text.find(fmt::format("rank {} called {} where this rank called {}", context.rank ^ 1,
                                 called, mine.text)) != text.npos;
  };
  // What a member on another node has called may come too late to be told.
  const bool nodes = counter(context, "frames_sent") > 0;
  CHECK(tells(other.text) || (nodes && tells("something else, at some time,")), "{}: {}", what,
        text);
  int one = 1;
  CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, &one, 1, ESP_INT32, ESP_SUM), context.world,
           "the world after {}", what);
  CHECK_EQ(one, context.size, "the world after {}", what);
}

// What functions of the library tell each other meets no operation of the user's, though it is one
// of the same size, and texts name the functions.
void what_the_library_calls(const Context& context) {
  static std::uint64_t words[6];
  const auto makes_region = [](esp_team* t) {
    esp_region* region = nullptr;
    return esp_region_create(t, 64, &region);
  };
  const auto makes_team = [](esp_team* t) {
    esp_team* copy = nullptr;
    return esp_team_dup(t, &copy);
  };
  const auto sums = [](esp_team* t) {
    return esp_allreduce(t, ESP_IN_PLACE, words, std::size(words), ESP_UINT64, ESP_SUM);
  };
  const auto splits = [&](esp_team* t) {
    esp_team* part = nullptr;
    return esp_team_split(t, context.rank % 2, 0, &part);
  };
  const auto frees_region = [&](esp_team* t) {
    esp_region* region = nullptr;
    const esp_status made = esp_region_create(t, 64, &region);
    return made == ESP_OK ? esp_region_free(region) : made;
  };
  const auto makes_region_and_meets = [&](esp_team* t) {
    const esp_status made = makes_region(t);
    return made == ESP_OK ? esp_barrier(t) : made;
  };
  const Call region = {makes_region, "esp_region_create"}, copy = {makes_team, "esp_team_dup"};
  const Call sum = {sums, "allreduce (sum) of 6 uint64"};
  disagree(context, "a team and another", copy, {splits, "esp_team_split"});
  disagree(context, "a region and a team", region, copy);
  disagree(context, "a sum and a team", sum, copy);
  disagree(context, "a region and a sum", region, sum);
  disagree(context, "the end of a region and a barrier", {frees_region, "esp_region_free"},
           {makes_region_and_meets, "barrier"});
}

// All that is compared of operators of the user's.
void commutativity(const Context& context) {
  static std::int32_t words[4];
  esp_op op = -1;
  const auto keeps = [](const void*, void*, size_t, esp_type, void*) {};
  CHECK_OK(esp_op_create(context.job, keeps, nullptr, context.rank % 2, &op), context.world, "");
  const auto combines = [&](esp_team* t) {
    return esp_allreduce(t, ESP_IN_PLACE, words, std::size(words), ESP_INT32, op);
  };
  disagree(context, "commutativity", {combines, "allreduce (user, not commutative) of 4 int32"},
           {combines, "allreduce (user) of 4 int32"});
  CHECK_OK(esp_op_free(context.job, op), context.world, "");
}

// Messages of different sizes that begin with equal segments.
void sizes_of_a_message(const Context& context) {
  static char data[40'000];
  esp_team* team = nullptr;
  CHECK_OK(esp_team_split(context.world, context.rank / 2, 0, &team), context.world, "");
  const bool sends = context.rank % 2 == 0;
  const esp_status status =
      sends ? esp_send(team, data, 40'000, 1, 7) : esp_recv(team, data, 20'000, 0, 7);
  if (sends) {
    CHECK(status == ESP_OK || status == ESP_ERR_MISMATCH, "{}", esp_status_text(status));
  } else {
    CHECK_STATUS(status, ESP_ERR_MISMATCH, team, "a message of another size");
    const std::string text = esp_team_error(team);
    CHECK(text.find("channel 7 than the 20000 bytes") != text.npos, "{}", text);
  }
}

// Gathers and scans: what they call differs.
void calls_of_gathers(const Context& context) {
  static double x[100], y[200];
  static const std::size_t seven[] = {3, 4}, eight[] = {3, 5};
  const auto allgather = [](std::size_t count) {
    return [=](esp_team* t) { return esp_allgather(t, x, y, count, ESP_DOUBLE); };
  };
  const auto allgatherv = [](const std::size_t* counts) {
    return [=](esp_team* t) { return esp_allgatherv(t, x, y, counts, nullptr, ESP_DOUBLE); };
  };
  const auto alltoallv = [](esp_type type) {
    return
        [=](esp_team* t) { return esp_alltoallv(t, x, seven, nullptr, y, seven, nullptr, type); };
  };
  const auto scan = [](decltype(&esp_scan) scans) {
    return [=](esp_team* t) { return scans(t, x, y, 8, ESP_DOUBLE, ESP_SUM); };
  };
  const auto alltoall = [](esp_team* t) { return esp_alltoall(t, x, y, 8, ESP_DOUBLE); };
  const Call gather = {allgather(8), "allgather of 8 double"};
  disagree(context, "count of a gather", gather, {allgather(9), "allgather of 9 double"});
  disagree(context, "counts in all", {allgatherv(seven), "allgatherv of 7 double in all"},
           {allgatherv(eight), "allgatherv of 8 double in all"});
  disagree(context, "two gathers", gather, {alltoall, "alltoall of 8 double"});
  disagree(context, "type of an alltoallv", {alltoallv(ESP_DOUBLE), "alltoallv of double"},
           {alltoallv(ESP_INT64), "alltoallv of int64"});
  disagree(context, "two scans", {scan(esp_scan), "scan (sum) of 8 double"},
           {scan(esp_exscan), "exscan (sum) of 8 double"});
  disagree(context, "a gather and a barrier", gather, {esp_barrier, "barrier"});
}

// What rank `me` says of a block of so many elements, of which its neighbour sends more: segments
// may be long, of a network's, or short, of a node.
void tells_lengths(const std::string& text, int me, unsigned much, unsigned more) {
  const auto says = [&](const std::string& words) { return text.find(words) != text.npos; };
  const bool exact = says(fmt::format("rank {} sends {} bytes where rank {} expects {}", me - 1,
                                      (much + more) * 8, me, much * 8));
  CHECK(exact || much != 5, "{}", text);
  const bool last = says(fmt::format("of a block of {}", much * 8)) && says("from byte ");
  const bool number =
      says(fmt::format("rank {} sends more or fewer segments than rank {} expects "
                       "of {} bytes",
                       me - 1, me, much * 8));
  const bool long_one = says("sends at least") && says(fmt::format("expects {}", much * 8));
  CHECK(exact || last || number || long_one, "{}", text);
}

// Blocks of other lengths, as long in all. On lines nothing but the calls tells; of the last the
// short path takes one member's gather alone.
void lengths_that_all_know(const Context& context) {
  static double x[100'000], y[100'000];
  static const std::size_t kLengths[][2][2] = {{{1, 5}, {5, 1}},
                                               {{1, 30'000}, {30'000, 1}},
                                               {{1, 8192}, {8192, 1}},
                                               {{1, 32'768}, {32'768, 1}},
                                               {{1, 3000}, {1500, 1501}}};
  for (const auto& lengths : kLengths) {
    const std::size_t* mine = lengths[context.rank % 2];
    const std::size_t all = mine[0] + mine[1];
    for (const bool gathers : {true, false}) {
      esp_team* team = nullptr;
      CHECK_OK(esp_team_split(context.world, context.rank / 2, 0, &team), context.world, "");
      const std::uint64_t on_lines = counter(context, "short_operations");
      const esp_status status = gathers ? esp_allgatherv(team, x, y, mine, nullptr, ESP_DOUBLE)
                                        : esp_reduce_scatter(team, x, y, mine, ESP_DOUBLE, ESP_SUM);
      const bool by_plan = counter(context, "short_operations") == on_lines;
      CHECK_STATUS(status, ESP_ERR_MISMATCH, team, "{} elements, gathers {}", all, gathers);
      const std::string text = esp_team_error(team);
      const auto says = [&](const std::string& words) { return text.find(words) != text.npos; };
      const std::string called = fmt::format("{} of {} double in all",
                                             gathers ? "allgatherv" : "reduce_scatter (sum)", all);
      const int other = context.rank ^ 1;
      const bool by_call = says(
          fmt::format("rank {} called {} with other lengths of blocks where this rank called {}",
                      other, called, called));
      const bool by_block = says(fmt::format("lengths of blocks differ: rank {} sends", other));
      // What a member on another node has called may come too late to be told.
      const bool late = counter(context, "frames_sent") > 0 &&
                        (says("something else, at some time,") || says("different lengths"));
      CHECK(by_call || (by_plan && by_block) || late, "{}", text);
      int one = 1;
      CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, &one, 1, ESP_INT32, ESP_SUM),
               context.world, "the world");
    }
  }
}

// Calls that look alike, of which one sends less or more than the other expects: whoever expects it
// is told, and the team has ended.
void lengths_of_blocks(const Context& context) {
  static double x[100'000], y[100'000];
  // Or by a whole segment: of a node, of a network.
  for (const auto& [much, more] : {std::pair{5u, 1u}, std::pair{30'000u, 1u},
                                   std::pair{8192u, 8192u}, std::pair{32768u, 32768u}}) {
    const std::size_t right[] = {much, much}, wrong[] = {much, much + more};
    const bool sends = context.rank % 2 == 0;
    esp_team* team = nullptr;
    CHECK_OK(esp_team_split(context.world, context.rank / 2, 0, &team), context.world, "");
    esp_status status =
        esp_alltoallv(team, x, sends ? wrong : right, nullptr, y, right, nullptr, ESP_DOUBLE);
    if (sends && status == ESP_OK) status = esp_barrier(team);
    CHECK_STATUS(status, ESP_ERR_MISMATCH, team, "{} elements", much);
    const std::string text = esp_team_error(team);
    const bool tells = text.find("the lengths of blocks differ: rank") != text.npos;
    const bool told = text.find("gave a block different lengths") != text.npos;
    // Who expects less finds it out, and the other hears of it.
    CHECK(tells || (told && sends), "{}", text);
    if (!sends) tells_lengths(text, context.rank, much, more);
    int one = 1;
    CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, &one, 1, ESP_INT32, ESP_SUM), context.world,
             "the world");
  }
}

}  // namespace

// Run with a short TIMEOUT: who sends nothing cannot be seen to send too little.
void unsent(const Context& context) {
  if (context.size < 2) return;
  double x[8] = {}, y[8] = {};
  const std::size_t nothing[] = {0, 0}, five[] = {5, 0};
  esp_team* team = nullptr;
  CHECK_OK(esp_team_split(context.world, context.rank / 2, 0, &team), context.world, "");
  const bool expects = context.rank % 2 == 1;
  const esp_status status =
      esp_alltoallv(team, x, nothing, nullptr, y, expects ? five : nothing, nullptr, ESP_DOUBLE);
  if (expects) {
    CHECK_STATUS(status, ESP_ERR_TIMEOUT, team, "nothing comes");
    const std::string text = esp_team_error(team),
                      culprit = fmt::format("rank {}", context.rank - 1);
    CHECK(text.find(culprit) != text.npos, "{}", text);
  } else {
    CHECK_OK(status, team, "all was sent, and all has come");
    ::usleep(1'500'000);  // The world waits no longer than the team.
  }
  CHECK_OK(esp_barrier(context.world), context.world, "");
}

// The same, and who sends nothing goes to finalize. The last case of a job.
void unsent_by_leaver(const Context& context) {
  double x[8] = {}, y[8] = {};
  const bool expects = context.rank == 1;
  std::vector<std::size_t> nothing(static_cast<std::size_t>(context.size), 0), five = nothing;
  five[0] = 5;
  const esp_status status =
      esp_alltoallv(context.world, x, nothing.data(), nullptr, y,
                    expects ? five.data() : nothing.data(), nullptr, ESP_DOUBLE);
  if (!expects) {
    CHECK_OK(status, context.world, "nothing to send, nothing to receive");
    return;
  }
  CHECK_STATUS(status, ESP_ERR_MISMATCH, context.world, "the sender has gone");
  const std::string text = esp_team_error(context.world);
  CHECK(text.find("rank 0 finalizes its job and has sent nothing") != text.npos, "{}", text);
}

void mismatch(const Context& context) {
  static double x[20'000], y[20'000];
  const auto bcast = [](std::size_t count, int root) {
    return [=](esp_team* t) { return esp_bcast(t, x, count, ESP_DOUBLE, root); };
  };
  const auto allreduce = [](esp_type type, esp_op op) {
    return [=](esp_team* t) { return esp_allreduce(t, x, y, 8, type, op); };
  };
  const Call large = {bcast(20'000, 0), "bcast of 20000 double from root 0"};
  const Call sum = {allreduce(ESP_DOUBLE, ESP_SUM), "allreduce (sum) of 8 double"};
  disagree(context, "root", large, {bcast(20'000, 1), "bcast of 20000 double from root 1"});
  disagree(context, "count", {bcast(8, 0), "bcast of 8 double from root 0"},
           {bcast(9, 0), "bcast of 9 double from root 0"});
  disagree(context, "large count", large, {bcast(10, 0), "bcast of 10 double from root 0"});
  disagree(context, "type", sum, {allreduce(ESP_INT64, ESP_SUM), "allreduce (sum) of 8 int64"});
  commutativity(context);
  disagree(context, "operator", sum,
           {allreduce(ESP_DOUBLE, ESP_MAX), "allreduce (max) of 8 double"});
  disagree(context, "collective", sum, {esp_barrier, "barrier"});
  what_the_library_calls(context);
  sizes_of_a_message(context);
  calls_of_gathers(context);
  lengths_that_all_know(context);
  lengths_of_blocks(context);
}

}  // namespace test
