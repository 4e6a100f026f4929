// A rank of a job whose nodes publish to each other by multicast (docs/multicast.md): with
// MULTICAST=on, on emulated nodes, in network namespaces and in the guest.
//
//   multicast_probe MODE [NUMBER]
//   multicast_probe MODE FOLDER RANK SIZE    without a launcher: ranks meet in a folder
//
//   collect    every collective, every byte of it; large ones go to the group, once for all
//   leaders    the same where each node has two ranks in the group, of four
//   sizes N    broadcasts and allgathers of 1 byte to N MiB, and three sources at once
//   messages   the same where the network has no group: publications are relayed
//   none       the same where nobody asks for a group
//   teams      several teams at once, freed early and late, more of them than have groups
//   last S     broadcasts on three teams for S seconds by rank 0's clock
//   falls      broadcasts until the world's group is given up, which is explained
//   die        rank 1 is killed among broadcasts, of which it is a source; the others go on
//   stop       rank 1 is stopped for two seconds among broadcasts
//   slow       rank 1 comes late to the last ones, when others have left
//   measure N  how much of several broadcasts at once overlaps, of the least of N times
//
// Where SENT_BYTES is the path of a counter of this node's adapter, that counts, too.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "tests/nodes/folder.hpp"
#include "tests/nodes/multicast_sizes.hpp"
#include "tests/support/gathers.hpp"

namespace test {
namespace {

constexpr int kVictim = 1;

// ---- every collective ----

// Nobody leaves before the last has entered. All ranks are on one machine, with one clock.
void check_barrier(const Context& context, int late) {
  std::vector<double> entered(static_cast<std::size_t>(context.size));
  if (context.rank == late) ::usleep(20'000);
  const double mine = esp_time();
  CHECK_OK(esp_barrier(context.world), context.world, "barrier");
  const double left = esp_time();
  CHECK_OK(esp_allgather(context.world, &mine, entered.data(), sizeof mine, ESP_BYTE),
           context.world, "times");
  const double last = *std::max_element(entered.begin(), entered.end());
  CHECK(left >= last, "left a barrier {} s before the last had entered", last - left);
}

void gather(const Context& context, const Way& way) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{70'000}}) {
    const std::vector<std::size_t> equal(static_cast<std::size_t>(context.size), bytes);
    check_allgather(context.world, {.layout = packed(equal), .irregular = false}, way);
    std::vector<std::size_t> counts;
    for (std::size_t r = 0; r < equal.size(); ++r) counts.push_back(r * 7919 % (bytes + 1));
    check_allgather(context.world, {.layout = packed(counts)}, way);
  }
}

void collect(const Context& context) {
  const esp_coll_options free = ESP_COLL_OPTIONS_INIT;
  esp_team* world = context.world;
  const auto bcast = [&](std::size_t bytes, int root, bool starts) {
    check_bcast(
        world,
        {.type = ESP_BYTE, .count = bytes, .root = root, .options = starts ? &free : nullptr});
  };
  for (const bool starts : {false, true}) {
    const esp_coll_options* options = starts ? &free : nullptr;
    for (int root = 0; root < context.size; ++root) {
      for (const std::size_t bytes : {1, 77, 4096, 65'537}) bcast(bytes, root, starts);
    }
    for (const std::size_t count : {1, 1000, 100'000}) {
      check_allreduce(world, {.count = count, .options = options});
      check_allreduce(world,
                      {.type = ESP_DOUBLE, .count = count, .in_place = true, .options = options});
    }
    gather(context, {.form = starts ? Form::kRequest : Form::kBlocking});
    check_barrier(context, starts ? context.size - 1 : 0);
  }
  bcast(kMiB, 1, false);
  bcast(4 * kMiB, context.size - 1, true);
  check_allreduce(world, {.count = kMiB});
}

// A large broadcast takes as many packets as its bytes fill, whatever the number of members, and
// all of them are the root's node's.
void check_sent_once(const Context& context) {
  const auto payload = packet_payload(context);
  CHECK(payload.has_value(), "no groups: {}", description(context));
  const bool open = open_group(context, context.world);
  CHECK(open, "it does not open");
  if (!payload || !open) return;
  for (const int root : {0, 1, context.size - 1}) {
    CHECK_OK(esp_barrier(context.world), context.world, "before");
    const Sent before = sent_by_me(context);
    check_bcast(context.world, {.type = ESP_BYTE, .count = 4 * kMiB, .root = root});
    const auto all = sent_since(context, before);
    const std::uint64_t packets = total(all, &Sent::packets), relays = total(all, &Sent::relays);
    const std::uint64_t least = 4 * kMiB / *payload;
    std::uint64_t most_of_one = 0;
    for (const Sent& one : all) most_of_one = std::max(most_of_one, one.packets);
    if (context.rank == 0) {
      fmt::print("4 MiB from {}: {} packets, {} relays, at least {}\n", root, packets, relays,
                 least);
    }
    CHECK(packets >= least, "{} packets, {} are needed", packets, least);
    CHECK(packets <= least * 5 / 4 + 16, "{} packets, {} are needed", packets, least);
    CHECK(most_of_one + 16 >= packets, "{} of {} packets are of one rank", most_of_one, packets);
    CHECK_EQ(relays, 0U, "of an open group");
  }
}

// Two ranks of each node are in the group, one of each socket: each publishes its part's blocks of
// an allgather, and nobody else anything.
void leaders(const Context& context) {
  check_sent_once(context);
  const int members = context.size / 2;
  const bool is_member = description(context).find(fmt::format(
                             "multicast to {} others; {} leaders of {} nodes", members - 1, members,
                             context.size / 4)) != std::string::npos;
  const Sent before = sent_by_me(context);
  gather(context, {.form = Form::kBlocking});
  const auto all = sent_since(context, before);
  const bool has_sent = all[static_cast<std::size_t>(context.rank)].packets > 0;
  CHECK_EQ(has_sent, is_member, "{}", description(context));
  CHECK_EQ(total(all, &Sent::relays), 0U, "of an open group");
  int sources = 0;
  for (const Sent& one : all) sources += one.packets > 0 ? 1 : 0;
  CHECK_EQ(sources, members, "ranks that have sent to the group");
  collect(context);
}

void none(const Context& context) {
  collect(context);
  const auto all = sent_since(context, {});
  CHECK_EQ(total(all, &Sent::packets), 0U, "where nobody asks for a group");
  CHECK_EQ(total(all, &Sent::relays), 0U, "where nobody asks for a group");
}

void messages(const Context& context) {
  collect(context);
  const auto all = sent_since(context, {});
  CHECK_EQ(total(all, &Sent::packets), 0U, "where there is no group");
  CHECK(total(all, &Sent::relays) > 0, "nothing was relayed");
  if (context.rank == 0) fmt::print("{}", description(context));
}

// ---- teams ----

esp_team* copy_of(esp_team* parent) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_dup(parent, &team), parent, "dup");
  return team;
}

// Both halves have one number.
void splits(const Context& context) {
  for (const int color : {context.rank % 2, context.rank * 2 / context.size}) {
    esp_team* half = nullptr;
    CHECK_OK(esp_team_split(context.world, color, context.rank, &half), context.world, "split");
    Broadcasts all;
    for (int root = 0; root < esp_team_size(half); ++root) {
      all.push_back(std::make_unique<Broadcast>(half, 60'000, root, color * 100 + root));
    }
    for (int root = 0; root < context.size; ++root) {
      all.push_back(std::make_unique<Broadcast>(context.world, 9'000, root, root));
    }
    CHECK_OK(run(all), context.world, "halves");
    CHECK_OK(esp_team_free(half), context.world, "free");
  }
}

// Several of each source under way, of three sources.
void in_flight(const Context& context, esp_team* const (&teams)[3], int rounds) {
  for (int round = 0; round < rounds; ++round) {
    Broadcasts all;
    for (int k = 0; k < 12; ++k) {
      const std::size_t bytes = static_cast<std::size_t>(k * k) * 3001 + 1;
      all.push_back(std::make_unique<Broadcast>(teams[k % 3], bytes, (k % 3 * 2 + 1) % context.size,
                                                round * 12 + k));
    }
    CHECK_OK(run(all), context.world, "in flight, round {}", round);
  }
}

// The root frees it at once, the others when they come to it.
void freed(const Context& context) {
  for (int round = 0; round < 6; ++round) {
    esp_team* team = copy_of(context.world);
    const int root = round % context.size;
    Broadcast first(team, 40'000, root, round), second(team, 5, root, round);
    if (context.rank != root) ::usleep(static_cast<useconds_t>(context.rank * 3'000));
    CHECK_OK(first.start(), team, "freed");
    CHECK_OK(second.start(), team, "freed");
    CHECK_OK(first.wait(), team, "freed");
    CHECK_OK(second.wait(), team, "freed");
    first.check();
    second.check();
    CHECK_OK(esp_team_free(team), context.world, "free");
  }
}

void crowd(const Context& context) {
  constexpr int kTeams = 12;
  std::vector<esp_team*> teams;
  for (int i = 0; i < kTeams; ++i) teams.push_back(copy_of(context.world));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kTeams; ++i) {  // One after the other, then all at once.
      Broadcasts one;
      one.push_back(std::make_unique<Broadcast>(teams[static_cast<std::size_t>(i)], 30'000,
                                                (i + round) % context.size, i));
      CHECK_OK(run(one), context.world, "team {}", i);
    }
    Broadcasts all;
    for (int i = 0; i < kTeams; ++i) {
      all.push_back(std::make_unique<Broadcast>(teams[static_cast<std::size_t>(i)], 20'000,
                                                (i * 5 + round) % context.size, i));
    }
    CHECK_OK(run(all), context.world, "all teams");
  }
  if (context.rank == 0) fmt::print("{}", description(context));
  if (context.rank % 2 == 1) std::reverse(teams.begin(), teams.end());
  teams.resize(kTeams - 2);  // The rest is left to the end of the job.
  for (esp_team* team : teams) CHECK_OK(esp_team_free(team), context.world, "free");
}

void teams(const Context& context) {
  esp_team* const three[3] = {context.world, copy_of(context.world), copy_of(context.world)};
  splits(context);
  in_flight(context, three, 4);
  freed(context);
  crowd(context);
  in_flight(context, three, 4);
  const auto all = sent_since(context, {});
  CHECK(total(all, &Sent::packets) > 0, "nothing went by multicast");
}

void sizes(const Context& context, double mib) {
  esp_team* const three[3] = {context.world, copy_of(context.world), copy_of(context.world)};
  CHECK(open_group(context, context.world), "the group does not open");
  const Sent before = sent_by_me(context);
  carry_sizes(context, mib);
  carry_from_three(context, three);
  const auto all = sent_since(context, before);
  if (context.rank == 0) {
    fmt::print("{} packets, {} relays\n{}", total(all, &Sent::packets), total(all, &Sent::relays),
               description(context));
  }
  CHECK(total(all, &Sent::packets) > 0, "nothing went by multicast");
}

// ---- what goes wrong ----

void tell_begun(const Context& context) {
  if (context.rank != 0) return;
  fmt::print("begun\n");
  std::fflush(stdout);
}

// On three teams at once, of three sources. The first failure.
esp_status round_of(const Context& context, esp_team* const (&teams)[3], int number) {
  Broadcasts all;
  for (int k = 0; k < 3; ++k) {
    const int root = (number + k) % context.size;
    all.push_back(std::make_unique<Broadcast>(teams[k], 300'000, root, number * 3 + k));
  }
  return run(all);
}

// Where UNTIL is a path, at least until there is such a file.
bool lasts(double begin, double seconds) {
  const char* until = std::getenv("UNTIL");
  const double passed = esp_time() - begin;
  return passed < seconds || (until != nullptr && ::access(until, F_OK) != 0 && passed < 60);
}

void last(const Context& context, double seconds) {
  esp_team* const three[3] = {context.world, copy_of(context.world), copy_of(context.world)};
  const double begin = esp_time();
  int number = 0;
  for (unsigned char more = 1; more != 0; ++number) {
    CHECK_OK(round_of(context, three, number), context.world, "round {}", number);
    if (number == 0) tell_begun(context);
    more = g_failures == 0 && lasts(begin, seconds) ? 1 : 0;
    CHECK_OK(esp_bcast(context.world, &more, 1, ESP_BYTE, 0), context.world, "go on");
    if (esp_team_error(context.world)[0] != '\0') return;
  }
  const auto all = sent_since(context, {});
  if (context.rank == 0) {
    fmt::print("{} rounds, {} packets, {} relays\n{}", number, total(all, &Sent::packets),
               total(all, &Sent::relays), description(context));
  }
}

void falls(const Context& context) {
  const double begin = esp_time();
  for (unsigned char state = 1; state == 1;) {
    check_bcast(context.world, {.type = ESP_BYTE, .count = kMiB, .root = 0});
    if (const auto lost = lost_of_1000(context)) {
      CHECK(*lost > 100 && *lost <= 1000, "{} of 1000", *lost);
      state = 0;
    }
    if (esp_time() - begin > 90) state = 2;
    CHECK_OK(esp_bcast(context.world, &state, 1, ESP_BYTE, 0), context.world, "go on");
    CHECK(state != 2, "it is not given up");
  }
  collect(context);
  if (context.rank == 0)
    fmt::print("after {:.1f} s:\n{}", esp_time() - begin, description(context));
}

void die(const Context& context) {
  esp_team* const three[3] = {context.world, copy_of(context.world), copy_of(context.world)};
  Context others = context;
  CHECK_OK(esp_team_split(context.world, context.rank == kVictim ? ESP_NO_TEAM : 0, context.rank,
                          &others.world),
           context.world, "split");
  others.size = context.size - 1;
  CHECK(open_group(context, context.world), "the group does not open");
  if (context.rank == kVictim) {
    struct sigaction action {};
    action.sa_handler = [](int) { ::raise(SIGKILL); };
    ::sigaction(SIGALRM, &action, nullptr);
    ::ualarm(300'000, 0);
  }
  esp_status status = ESP_OK;
  double begin = 0;
  for (int number = 0; status == ESP_OK; ++number) {
    begin = esp_time();
    status = round_of(context, three, number);
  }
  const double took = esp_time() - begin;
  std::string text;
  for (esp_team* team : three) text += fmt::format("{}; ", esp_team_error(team));
  CHECK_EQ(status, ESP_ERR_PEER_DIED, "{}", text);
  CHECK(took < kEndSeconds, "took {} s", took);
  CHECK(text.find(fmt::format("rank {} ", kVictim)) != std::string::npos, "names another: {}",
        text);
  esp_team* const survivors[3] = {others.world, others.world, others.world};
  for (int number = 0; number < 3; ++number) {
    CHECK_OK(round_of(others, survivors, number), others.world, "the others");
  }
  fmt::print("rank {}: {:.2f} s, {}\n", context.rank, took, text);
}

// A child that stops this process for two seconds, soon after a byte was written to what is
// returned. Made before the job: forking with registered memory is another matter.
int make_stopper() {
  const pid_t parent = ::getpid();
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  if (::fork() != 0) return ends[1];
  ::close(ends[1]);
  char go = 0;
  if (::read(ends[0], &go, 1) != 1) ::_exit(0);
  ::usleep(300'000);
  ::kill(parent, SIGSTOP);
  ::usleep(2'000'000);
  ::kill(parent, SIGCONT);
  ::_exit(0);
}

void stop(const Context& context, int stopper) {
  esp_team* const three[3] = {context.world, copy_of(context.world), copy_of(context.world)};
  CHECK(open_group(context, context.world), "the group does not open");
  if (context.rank == kVictim) CHECK_EQ(::write(stopper, "s", 1), 1, "stopper");
  double longest = 0;
  const double begin = esp_time();
  unsigned char more = 1;
  for (int number = 0; more != 0; ++number) {
    const double before = esp_time();
    CHECK_OK(round_of(context, three, number), context.world, "round {}", number);
    longest = std::max(longest, esp_time() - before);
    more = longest < 1 && esp_time() - begin < 30 ? 1 : 0;
    CHECK_OK(esp_bcast(context.world, &more, 1, ESP_BYTE, 0), context.world, "go on");
    if (esp_team_error(context.world)[0] != '\0') return;
  }
  for (int number = 0; number < 5; ++number) {
    CHECK_OK(round_of(context, three, number), context.world, "after");
  }
  if (context.rank == 0) CHECK(longest > 1, "nobody was stopped");
}

void slow(const Context& context) {
  CHECK(open_group(context, context.world), "the group does not open");
  esp_team* copy = copy_of(context.world);
  CHECK_OK(esp_barrier(context.world), context.world, "before");
  if (context.rank == kVictim) ::sleep(2);
  Broadcast first(copy, 6'000, 0, 1), second(context.world, 3'000, context.size - 1, 2);
  CHECK_OK(first.start(), copy, "late");
  CHECK_OK(second.start(), copy, "late");
  CHECK_OK(first.wait(), copy, "late");
  CHECK_OK(second.wait(), context.world, "late");
  first.check();
  second.check();
}

// ---- overlap ----

double time_of(const Context& context, Broadcasts& all) {
  CHECK_OK(esp_barrier(context.world), context.world, "measure");
  const double begin = esp_time();
  CHECK_OK(run(all), context.world, "measure");
  CHECK_OK(esp_barrier(context.world), context.world, "measure");
  return esp_time() - begin;
}

// (m T_single - T_multi) / (m T_single), of the least of so many times.
void measure(const Context& context, double times) {
  std::vector<esp_team*> copies;
  for (int k = 0; k < std::min(context.size, 4); ++k) {
    copies.push_back(copy_of(context.world));
  }
  double alone = 0, together = 1e9;
  const auto made = [&](std::size_t k) {
    return std::make_unique<Broadcast>(copies[k], 2 * kMiB, static_cast<int>(k),
                                       static_cast<int>(k));
  };
  for (std::size_t k = 0; k < copies.size(); ++k) {
    double least = 1e9;
    for (int i = 0; i < times; ++i) {
      Broadcasts one;
      one.push_back(made(k));
      least = std::min(least, time_of(context, one));
    }
    alone += least;
  }
  for (int i = 0; i < times; ++i) {
    Broadcasts all;
    for (std::size_t k = 0; k < copies.size(); ++k) all.push_back(made(k));
    together = std::min(together, time_of(context, all));
  }
  if (context.rank != 0) return;
  fmt::print(
      "{} broadcasts of 2 MiB: {:.2f} ms one after the other, {:.2f} ms at once, OP {:.2f}\n",
      copies.size(), alone * 1e3, together * 1e3, (alone - together) / alone);
}

// ---- the program ----

int run_mode(const std::string& mode, double number, const esp_job_options& options) {
  const int stopper = mode == "stop" ? make_stopper() : -1;
  const Opened opened = open_job(options);
  if (opened.status != ESP_OK) {
    fmt::print(stderr, "esp_job_init: {}\n", opened.text);
    return 1;
  }
  const Context context = {opened.job, esp_job_world(opened.job), esp_job_rank(opened.job),
                           esp_job_size(opened.job)};
  g_rank = context.rank;
  g_case = mode;
  if (mode == "collect") {
    collect(context);
    check_sent_once(context);
    check_adapters(context);
  } else if (mode == "sizes") {
    sizes(context, number);
  } else if (mode == "last") {
    last(context, number);
  } else if (mode == "measure") {
    measure(context, number);
  } else if (mode == "stop") {
    stop(context, stopper);
  } else {
    static constexpr Case kCases[] = {{"none", none},      {"messages", messages}, {"teams", teams},
                                      {"falls", falls},    {"die", die},           {"slow", slow},
                                      {"leaders", leaders}};
    const auto found = std::ranges::find(kCases, mode, &Case::name);
    CHECK(found != std::end(kCases), "no mode {}", mode);
    if (found != std::end(kCases)) found->run(context);
  }
  const esp_status end = esp_job_finalize(context.job);
  CHECK(end == ESP_OK || mode == "die", "finalize: {}", esp_status_text(end));
  if (g_failures == 0) fmt::print("OK rank {}, {} checks\n", context.rank, g_checks.load());
  return g_failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Folder folder;
  esp_bootstrap files;
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  if (argc > 4) {
    folder = {argv[2], std::atoi(argv[3]), std::atoi(argv[4])};
    files = folder.bootstrap();
    options.bootstrap = &files;
  }
  return test::run_mode(argv[1], argc == 3 ? std::atof(argv[2]) : 1.0, options);
}
