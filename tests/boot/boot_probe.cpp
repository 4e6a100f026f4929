// A rank of a test job, on the Bootstrap interface alone. `boot_probe <scene> [arguments]`.
//
// Each scene prints "ok <rank>/<size> <scene>" when what it checks held and exits with 0; else it
// says what did not hold and exits with 1.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/pmix_client.hpp"
#include "core/config.hpp"
#include "espalier/espalier.h"

namespace {

using espalier::Bootstrap;
using espalier::Rank;
using namespace std::chrono_literals;

std::vector<std::string> arguments;

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "probe failed: {}\n", text);
  std::exit(1);
}

void require(bool holds, const std::string& text) {
  if (!holds) fail(text);
}

std::string argument(std::size_t index, const char* otherwise) {
  return index < arguments.size() ? arguments[index] : otherwise;
}

std::unique_ptr<Bootstrap> open() {
  const espalier::Config config;
  auto opened = espalier::open_bootstrap(nullptr, config);
  if (!opened) {
    fmt::print(stderr, "open: {}\n", opened.error().text);
    std::exit(3);
  }
  return std::move(*opened);
}

// Cards differ in content and in length; every seventh is empty.
std::vector<std::byte> card_of(Rank rank, int salt = 0) {
  const std::size_t length = rank % 7 == 6 ? 0 : 200 + static_cast<std::size_t>(rank) * 3;
  std::vector<std::byte> card(length);
  for (std::size_t i = 0; i < length; ++i) {
    card[i] = static_cast<std::byte>((static_cast<int>(i) * 31 + rank * 7 + salt) & 0xff);
  }
  return card;
}

void exchange_and_check(Bootstrap& bootstrap, int salt = 0) {
  auto cards = bootstrap.exchange(card_of(bootstrap.rank(), salt));
  if (!cards) fail(fmt::format("exchange: {}", cards.error().text));
  require(static_cast<int>(cards->size()) == bootstrap.size(), "number of cards");
  for (Rank rank = 0; rank < bootstrap.size(); ++rank) {
    require((*cards)[static_cast<std::size_t>(rank)] == card_of(rank, salt),
            fmt::format("card of rank {}", rank));
  }
}

void must(espalier::Outcome outcome, const char* what) {
  if (!outcome) fail(fmt::format("{}: {}", what, outcome.error().text));
}

void say_ok(Bootstrap& bootstrap, const char* scene) {
  fmt::print("ok {}/{} {}\n", bootstrap.rank(), bootstrap.size(), scene);
  std::fflush(stdout);
}

// exchange [name]: the whole life of a job; `name` is what Bootstrap::name() must say.
void exchange_scene() {
  auto bootstrap = open();
  exchange_and_check(*bootstrap);
  for (int i = 0; i < 5; ++i) must(bootstrap->barrier(), "barrier");
  require(!bootstrap->job_id().empty(), "job id");
  if (!arguments.empty()) {
    require(bootstrap->name() == arguments[0], fmt::format("name is {}", bootstrap->name()));
  }
  require(bootstrap->poll_deaths().empty(), "nobody died");
  must(bootstrap->close(), "close");
  say_ok(*bootstrap, "exchange");
}

// where: job id, node name and CPUs, for the caller to compare.
void where_scene() {
  auto bootstrap = open();
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof(cpus), &cpus);
  std::string list;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &cpus)) list += fmt::format("{}{}", list.empty() ? "" : ",", cpu);
  }
  const std::string line = fmt::format("where {} {} {} {}\n", bootstrap->rank(),
                                       bootstrap->job_id(), bootstrap->node_name(), list);
  fmt::print("{}", line);
  must(bootstrap->close(), "close");
}

// program: what the launcher told this rank about each: number of its program, place on its node.
void program_scene() {
  auto bootstrap = open();
  std::string line = fmt::format("program of {}:", bootstrap->rank());
  for (Rank rank = 0; rank < bootstrap->size(); ++rank) {
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, bootstrap->job_id().c_str(), static_cast<pmix_rank_t>(rank));
    for (const char* key : {PMIX_APPNUM, PMIX_LOCAL_RANK}) {
      const auto number = espalier::pmix::launcher_number(process, key);
      line += number ? fmt::format(" {}", *number) : " -";
    }
    line += ";";
  }
  fmt::print("{}\n", line);
  exchange_and_check(*bootstrap);
  must(bootstrap->close(), "close");
}

// job: a job of the public API, and nothing in it.
void job_scene() {
  esp_job* job = nullptr;
  if (esp_job_init(nullptr, &job) != ESP_OK) std::exit(3);  // It has said why.
  const int rank = esp_job_rank(job), size = esp_job_size(job);
  require(esp_job_finalize(job) == ESP_OK, "finalize");
  fmt::print("ok {}/{} job\n", rank, size);
}

// crowd: what ranks of a large node say to each other, on the board, in flows and as messages.
void crowd_scene() {
  esp_job* job = nullptr;
  if (esp_job_init(nullptr, &job) != ESP_OK) std::exit(3);
  esp_team* world = esp_job_world(job);
  const int rank = esp_job_rank(job), size = esp_job_size(job), last = size - 1;
  int source = -1;
  const auto on_message = [](void* to, int from, std::uint64_t, const void*, std::size_t) {
    *static_cast<int*>(to) = from;
  };
  require(esp_am_register(job, 0, on_message, &source) == ESP_OK, "register");
  require(esp_barrier(world) == ESP_OK, "barrier");
  require(esp_am_send(job, (rank + size / 2) % size, 0, 0, nullptr, 0) == ESP_OK, "message");
  int small = rank;
  require(esp_bcast(world, &small, 1, ESP_INT32, last) == ESP_OK && small == last, "bcast");
  std::vector<int> large(50'000, rank);
  require(esp_bcast(world, large.data(), large.size(), ESP_INT32, 0) == ESP_OK, "large bcast");
  require(large == std::vector<int>(large.size(), 0), "content of the large bcast");
  if (rank == 0) {
    large.assign(large.size(), 7);
    require(esp_send(world, large.data(), large.size() * sizeof(int), last, 0) == ESP_OK, "send");
  } else if (rank == last) {
    require(esp_recv(world, large.data(), large.size() * sizeof(int), 0, 0) == ESP_OK, "recv");
    require(large == std::vector<int>(large.size(), 7), "content of the message");
  }
  while (source < 0) {
    if (esp_progress(job) == 0) std::this_thread::sleep_for(1ms);
  }
  require((source + size / 2) % size == rank, fmt::format("message of {}", source));
  require(esp_job_finalize(job) == ESP_OK, "finalize");
  fmt::print("ok {}/{} crowd\n", rank, size);
}

// gate <ready> <go>: says that it is up, waits until the file <go> exists, then lives as usual.
void gate_scene() {
  auto bootstrap = open();
  must(bootstrap->barrier(), "barrier");
  std::ofstream(arguments.at(0), std::ios::app) << fmt::format("{}\n", getpid());
  while (access(arguments.at(1).c_str(), F_OK) != 0) std::this_thread::sleep_for(10ms);
  exchange_and_check(*bootstrap);
  must(bootstrap->close(), "close");
  say_ok(*bootstrap, "gate");
}

// twice: two jobs of one process at once, opened in the same order everywhere.
void twice_scene() {
  auto first = open();
  auto second = open();
  require(first->job_id() == second->job_id() || first->size() == 1, "same job");
  exchange_and_check(*first, 1);
  exchange_and_check(*second, 2);
  must(first->barrier(), "barrier");
  must(first->close(), "close");
  must(second->barrier(), "barrier after the other job was left");
  must(second->close(), "close");
  say_ok(*second, "twice");
}

// child: programs started by a rank are jobs of their own, and a fork must not use the job.
void child_scene() {
  auto bootstrap = open();
  const pid_t forked = fork();
  if (forked == 0) {
    const bool is_refused = !bootstrap->barrier() && !bootstrap->close();
    _exit(is_refused ? 0 : 1);
  }
  int status = -1;
  waitpid(forked, &status, 0);
  require(status == 0, "a forked child is refused");
  const int code = std::system(fmt::format("{} exchange singleton", arguments.at(0)).c_str());
  require(code == 0, "a child program is a singleton");
  exchange_and_check(*bootstrap);
  must(bootstrap->close(), "close");
  require(!bootstrap->barrier(), "a barrier after close is refused");
  say_ok(*bootstrap, "child");
}

void die_as(const std::string& way) {
  if (way == "kill") raise(SIGKILL);
  if (way == "segv") {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (way == "leave") _exit(0);  // Without a word to the launcher.
  _exit(std::stoi(way));
}

// Waits until exactly the ranks below `count` have been reported dead.
void expect_deaths(Bootstrap& bootstrap, const std::vector<Rank>& expected) {
  std::vector<Rank> dead;
  const auto limit = std::chrono::steady_clock::now() + 20s;
  while (dead.size() < expected.size() && std::chrono::steady_clock::now() < limit) {
    for (const Rank rank : bootstrap.poll_deaths()) dead.push_back(rank);
    std::this_thread::sleep_for(2ms);
  }
  std::sort(dead.begin(), dead.end());
  require(dead == expected, fmt::format("{} deaths reported", dead.size()));
  std::this_thread::sleep_for(50ms);
  require(bootstrap.poll_deaths().empty(), "a death is reported once");
}

// death <rank> <way>: that rank dies, the others hear of it by an event and go on.
void death_scene() {
  auto bootstrap = open();
  const Rank victim = std::stoi(argument(0, "1"));
  exchange_and_check(*bootstrap);
  must(bootstrap->barrier(), "barrier");
  if (bootstrap->rank() == victim) die_as(argument(1, "kill"));
  expect_deaths(*bootstrap, {victim});
  must(bootstrap->barrier(), "barrier of the survivors");
  must(bootstrap->close(), "close");
  say_ok(*bootstrap, "death");
}

// die-in-fence <rank>: dies while the others wait for it in a barrier, which must end with an
// error.
void die_in_fence_scene() {
  auto bootstrap = open();
  const Rank victim = std::stoi(argument(0, "1"));
  exchange_and_check(*bootstrap);
  if (bootstrap->rank() == victim) {
    std::this_thread::sleep_for(300ms);
    die_as("kill");
  }
  const espalier::Outcome outcome = bootstrap->barrier();
  require(!outcome && outcome.error().status.code() == ESP_ERR_PEER_DIED,
          "the barrier reports the death");
  require(outcome.error().status.rank() == victim, outcome.error().text);
  expect_deaths(*bootstrap, {victim});
  must(bootstrap->close(), "close");
  say_ok(*bootstrap, "die-in-fence");
}

// die-early <rank> <joined?>: dies before or after it has joined, in any case before its card is
// out.
void die_early_scene() {
  const char* own_rank = std::getenv("PMIX_RANK");
  const Rank victim = std::stoi(argument(0, "1"));
  const bool is_victim = own_rank != nullptr && std::stoi(own_rank) == victim;
  if (is_victim && argument(1, "before") == "before") die_as("kill");
  auto bootstrap = open();
  if (is_victim) die_as("kill");
  const auto cards = bootstrap->exchange(card_of(bootstrap->rank()));
  require(!cards.ok(), "the exchange reports the death");
  require(cards.error().status.code() == ESP_ERR_PEER_DIED, cards.error().text);
  require(cards.error().status.rank() == victim, cards.error().text);
  expect_deaths(*bootstrap, {victim});
  must(bootstrap->close(), "close");
  say_ok(*bootstrap, "die-early");
}

// abort <rank> <code>: one rank aborts, the others wait in a barrier that never comes.
void abort_scene() {
  auto bootstrap = open();
  must(bootstrap->barrier(), "barrier");
  if (bootstrap->rank() == std::stoi(argument(0, "0"))) {
    bootstrap->abort(std::stoi(argument(1, "7")), "for the test");
  }
  std::this_thread::sleep_for(60s);
  fail("still alive after an abort");
}

// exit <rank> <way>: one rank fails, the others wait for ever.
void exit_scene() {
  auto bootstrap = open();
  must(bootstrap->barrier(), "barrier");
  if (bootstrap->rank() == std::stoi(argument(0, "0"))) die_as(argument(1, "3"));
  std::this_thread::sleep_for(60s);
  fail("still alive");
}

// wait <file>: appends a line to the file and sleeps; a signal ends it.
void wait_scene() {
  auto bootstrap = open();
  must(bootstrap->barrier(), "barrier");
  std::ofstream(arguments.at(0), std::ios::app) << fmt::format("{}\n", getpid());
  std::this_thread::sleep_for(60s);
  fail("nobody ended the wait");
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void()>> scenes{
      {"exchange", exchange_scene},
      {"where", where_scene},
      {"twice", twice_scene},
      {"child", child_scene},
      {"death", death_scene},
      {"die-in-fence", die_in_fence_scene},
      {"die-early", die_early_scene},
      {"abort", abort_scene},
      {"exit", exit_scene},
      {"wait", wait_scene},
      {"gate", gate_scene},
      {"program", program_scene},
      {"job", job_scene},
      {"crowd", crowd_scene},
  };
  const auto scene = scenes.find(argc > 1 ? argv[1] : "");
  if (scene == scenes.end()) {
    fmt::print(stderr, "usage: boot_probe scene [arguments]\n");
    return 2;
  }
  arguments.assign(argv + 2, argv + argc);
  scene->second();
  return 0;
}
