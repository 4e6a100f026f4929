// accused_probe PLACEMENT MODE: one rank of the job calls something else than the others. Whom the
// others name must be that rank; whom it names itself, any other; and it is said what it called.
//
// PLACEMENT is the node of each rank, a digit each ("0110": ranks 1 and 2 share a node). MODE:
// calls (blocking and started ones, each rank and each kind of difference in turn), or
// finalize:RANK (calls whose difference nobody meets before the job ends).
#include <unistd.h>

#include <functional>

#include "espalier/espalier.h"
#include "tests/nodes/probe.hpp"

namespace {

// What a rank calls, as texts put it.
struct Call {
  const char* text;
  int collective;  // 0 barrier, 1 bcast, 2 reduce, 3 allreduce
  std::size_t count;
  esp_type type;
  esp_op op;
  int root;
};

struct Kind {
  const char* what;
  Call all, odd;
};
const Call kBcast = {"bcast of 8 int32 from root 0", 1, 8, ESP_INT32, ESP_SUM, 0};
const Call kLarge = {"bcast of 50000 int32 from root 0", 1, 50'000, ESP_INT32, ESP_SUM, 0};
const Call kSum = {"allreduce (sum) of 8 int32", 3, 8, ESP_INT32, ESP_SUM, 0};
const Call kReduce = {"reduce (sum) of 8 int32 to root 0", 2, 8, ESP_INT32, ESP_SUM, 0};
const Call kBarrier = {"barrier", 0, 0, ESP_BYTE, ESP_SUM, 0};
const Kind kKinds[] = {
    {"root", kBcast, {"bcast of 8 int32 from root 1", 1, 8, ESP_INT32, ESP_SUM, 1}},
    {"root, large", kLarge, {"bcast of 50000 int32 from root 3", 1, 50'000, ESP_INT32, ESP_SUM, 3}},
    {"count", kBcast, {"bcast of 9 int32 from root 0", 1, 9, ESP_INT32, ESP_SUM, 0}},
    {"type", kSum, {"allreduce (sum) of 8 float", 3, 8, ESP_FLOAT, ESP_SUM, 0}},
    {"operator", kSum, {"allreduce (max) of 8 int32", 3, 8, ESP_INT32, ESP_MAX, 0}},
    {"root of a reduce",
     kReduce,
     {"reduce (sum) of 8 int32 to root 2", 2, 8, ESP_INT32, ESP_SUM, 2}},
    {"collective", kBarrier, kSum},
    {"another collective", kReduce, kBcast},
};

const Kind kReduceAtEnd = {"at the end",
                           {"reduce (sum) of 8 int32 to root", 2, 8, ESP_INT32, ESP_SUM, 0},
                           {"bcast of 8 int32 from root", 1, 8, ESP_INT32, ESP_SUM, 0}};

esp_status start(esp_team* team, const Call& call, esp_request** request) {
  static std::vector<std::int32_t> in(50'000), out(50'000);
  switch (call.collective) {
    case 0:
      return esp_barrier_start(team, nullptr, nullptr, request);
    case 1:
      return esp_bcast_start(team, out.data(), call.count, call.type, call.root, nullptr, nullptr,
                             request);
    case 2:
      return esp_reduce_start(team, in.data(), out.data(), call.count, call.type, call.op,
                              call.root, nullptr, nullptr, request);
    default:
      return esp_allreduce_start(team, in.data(), out.data(), call.count, call.type, call.op,
                                 nullptr, nullptr, request);
  }
}

esp_status block(esp_team* team, const Call& call) {
  static std::vector<std::int32_t> in(50'000), out(50'000);
  switch (call.collective) {
    case 0:
      return esp_barrier(team);
    case 1:
      return esp_bcast(team, out.data(), call.count, call.type, call.root);
    case 2:
      return esp_reduce(team, in.data(), out.data(), call.count, call.type, call.op, call.root);
    default:
      return esp_allreduce(team, in.data(), out.data(), call.count, call.type, call.op);
  }
}

struct Case {
  const Kind& kind;
  int odd;
  bool started;

  std::string name() const {
    return std::string(kind.what) + ", rank " + std::to_string(odd) + " differs, " +
           (started ? "started" : "blocking");
  }
};

// Ranks that the text speaks of, without "this rank".
std::vector<int> named_in(const std::string& text) {
  std::vector<int> ranks;
  for (std::size_t at = text.find("rank "); at != text.npos; at = text.find("rank ", at + 1)) {
    if (std::isdigit(static_cast<unsigned char>(text[at + 5])) != 0) {
      ranks.push_back(std::atoi(text.c_str() + at + 5));
    }
  }
  return ranks;
}

// Whether somebody is named, rightly.
bool accuses(const Rank& r, const Case& c, const std::string& text) {
  const std::vector<int> named = named_in(text);
  for (const int rank : named) {
    const bool right = r.rank == c.odd ? rank != r.rank : rank == c.odd;
    expect(r, right, c.name() + ": an innocent rank is named: " + text);
  }
  const std::size_t called = text.find(" called ");
  expect(r, text.find("freed") == text.npos, c.name() + ": the end is not the reason: " + text);
  const std::size_t mine = text.find(" where this rank called ");
  if (named.empty() || called == text.npos || mine == text.npos) return !named.empty();
  const std::string theirs = text.substr(called + 8, mine - called - 8);
  const Call& other = named.front() == c.odd ? c.kind.odd : c.kind.all;
  // Who finds out at a later operation, and no earlier, has found a barrier there.
  expect(r, theirs.starts_with(other.text) || theirs.starts_with("something else, at some time"),
         c.name() + ": not what it called: " + text);
  return true;
}

// The number of those that name somebody.
int disagree(const Rank& r, const Case& c) {
  esp_team* team = nullptr;
  expect(r, esp_team_dup(r.world, &team) == ESP_OK, "dup");
  const Call& call = r.rank == c.odd ? c.kind.odd : c.kind.all;
  esp_status status = ESP_OK;
  if (c.started) {
    esp_request* request = nullptr;
    status = start(team, call, &request);
    if (status == ESP_OK) status = esp_request_wait(&request);
  } else {
    status = block(team, call);
  }
  // A root may be done with its part before anybody else has called: then the next call tells.
  for (int i = 0; i < 2 && status == ESP_OK; ++i) status = esp_barrier(team);
  expect(r, status == ESP_ERR_MISMATCH, c.name() + ": " + esp_status_text(status));
  std::int32_t accused = accuses(r, c, esp_team_error(team)) ? 1 : 0;
  expect(r, esp_team_free(team) == ESP_OK, "free");
  expect(r, esp_allreduce(r.world, ESP_IN_PLACE, &accused, 1, ESP_INT32, ESP_SUM) == ESP_OK,
         "the world after " + c.name());
  return accused;
}

void all_calls(const Rank& r) {
  int cases = 0, accusations = 0;
  for (const Kind& kind : kKinds) {
    for (const bool started : {false, true}) {
      for (int odd = 0; odd < r.size; ++odd) {
        const Case c = {kind, odd, started};
        const int accused = disagree(r, c);
        expect(r, accused > 0, c.name() + ": nobody could say who");
        accusations += accused;
        ++cases;
      }
    }
  }
  if (r.rank == 0) {
    std::printf("%d of %d texts name somebody\n", accusations, cases * r.size);
  }
  // To name nobody is right, but of little use.
  expect(r, accusations * 10 >= cases * r.size * 9, "hardly anybody is named");
}

// What the library logs meanwhile.
std::string logged(const std::function<void()>& work) {
  std::FILE* file = std::tmpfile();
  const int before = dup(STDERR_FILENO);
  if (file == nullptr || before < 0 || dup2(fileno(file), STDERR_FILENO) < 0) return "no file";
  work();
  dup2(before, STDERR_FILENO);
  close(before);
  std::rewind(file);
  std::string text(10'000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

// All but one send it what they bring to a reduction, and are done; it has begun a broadcast, and
// is done as well. The difference is found when the job ends.
void finalize(Rank& r, int odd) {
  const Case c = {kReduceAtEnd, odd, false};
  Call call = r.rank == odd ? c.kind.odd : c.kind.all;
  call.root = odd;
  expect(r, block(r.world, call) == ESP_OK, "its part is done at once");
  esp_status status = ESP_OK;
  const std::string text = logged([&] { status = esp_job_finalize(r.job); });
  r.job = nullptr;
  expect(r, status == ESP_ERR_MISMATCH, std::string("finalize: ") + esp_status_text(status));
  expect(r, text.find("called") != text.npos, "what the log says: " + text);
  if (!accuses(r, c, text)) std::printf("rank %d: %s", r.rank, text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string placement = argc > 1 ? argv[1] : "";
  const std::string mode = argc > 2 ? argv[2] : "calls";
  const char* mine = std::getenv("PMIX_RANK");
  if (mine == nullptr || static_cast<std::size_t>(std::atoi(mine)) >= placement.size()) {
    std::puts("BAD no rank, or no placement");
    return 1;
  }
  const std::string node(1, placement[static_cast<std::size_t>(std::atoi(mine))]);
  setenv("ESPALIER_NODE_NAME", node.c_str(), 1);
  Rank r = join();
  if (mode.starts_with("finalize:")) {
    finalize(r, std::atoi(mode.c_str() + 9));
    return 0;
  }
  all_calls(r);
  expect(r, esp_job_finalize(r.job) == ESP_OK, "finalize");
  return 0;
}
