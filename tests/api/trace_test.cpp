// What a trace shows of the segments of collectives and messages: two ranks as threads of this
// process, a tree and a publishing broadcast, messages, and a receive for which nothing is sent.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/rank_check.hpp"
#include "tests/support/thread_bootstrap.hpp"

namespace {

using Json = nlohmann::json;

constexpr std::size_t kSegments = 12;
constexpr std::size_t kSegmentBytes = 4096;
constexpr unsigned kChannel = 7;
constexpr unsigned kDeafChannel = 8;
constexpr unsigned kBlockingChannel = 9;
constexpr int kChannelOffset = 256;  // of `vertex` in the trace of a message

void broadcast(esp_team* world, esp_algorithm algorithm) {
  std::vector<char> data(kSegments * kSegmentBytes);
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.algorithm = algorithm;
  options.segment_bytes = kSegmentBytes;
  esp_request* request = nullptr;
  CHECK_OK(
      esp_bcast_start(world, data.data(), data.size(), ESP_BYTE, 0, &options, nullptr, &request),
      world, "");
  CHECK_OK(esp_request_wait(&request), world, "");
}

// Both directions at once, the same numbers on both sides: only the kind tells them apart.
void exchange(esp_team* world, int rank) {
  std::vector<char> out(20'000), in(out.size());
  esp_request* requests[2] = {};
  CHECK_OK(esp_recv_start(world, in.data(), in.size(), 1 - rank, kChannel, nullptr, &requests[0]),
           world, "");
  CHECK_OK(esp_send_start(world, out.data(), out.size(), 1 - rank, kChannel, nullptr, &requests[1]),
           world, "");
  for (esp_request*& request : requests) CHECK_OK(esp_request_wait(&request), world, "");
}

// A blocking receive that had to wait: long enough that it is surely there first.
void wait_for_message(esp_team* world, int rank) {
  std::uint64_t data = 0;
  if (rank == 0) {
    CHECK_OK(esp_recv(world, &data, sizeof data, 1, kBlockingChannel), world, "");
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK_OK(esp_send(world, &data, sizeof data, 0, kBlockingChannel), world, "");
  }
}

void play(test::Meeting& meeting, int number, const std::string& file) {
  const esp_bootstrap bootstrap = meeting.of(number);
  const char* settings[] = {"TRACE=1", nullptr};
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.bootstrap = &bootstrap;
  options.settings = settings;
  const test::Opened opened = test::open_job(options);
  CHECK_EQ(opened.status, ESP_OK, "{}", opened.text);
  esp_job* job = opened.job;
  if (job == nullptr) return;
  esp_team* world = esp_job_world(job);
  broadcast(world, ESP_ALGORITHM_TREE);
  broadcast(world, ESP_ALGORITHM_PUBLISH);
  exchange(world, number);
  wait_for_message(world, number);
  char unheard[8];
  esp_request* request = nullptr;
  if (number == 1) {
    CHECK_OK(esp_recv_start(world, unheard, sizeof unheard, 0, kDeafChannel, nullptr, &request),
             world, "");
  }
  CHECK_OK(esp_barrier(world), world, "");
  CHECK_EQ(esp_trace_write(job, file.c_str()), ESP_OK, "{}", esp_job_error(job));
  CHECK_EQ(esp_job_finalize(job), ESP_OK, "");
}

// The spans of a name; every one has a beginning and a length.
std::vector<Json> spans(const Json& trace, const std::string& name) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"]) {
    if (event["name"] != name) continue;
    CHECK(event["ph"] == "X", "{}", event.dump());
    CHECK(event.value("dur", -1.0) >= 0.0, "{}", event.dump());
    found.push_back(event);
  }
  return found;
}

std::size_t count_on(const std::vector<Json>& events, int vertex) {
  return static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(), [&](const Json& e) { return e["args"]["vertex"] == vertex; }));
}

std::string lane_of(const Json& trace, const Json& span) {
  for (const Json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name" && event["tid"] == span["tid"]) return event["args"]["name"];
  }
  return "none";
}

void check_trace(const Json& trace, int number) {
  test::g_case = "trace of rank " + std::to_string(number);
  CHECK_EQ(trace["otherData"]["dropped_events"].get<int>(), 0, "");
  const auto sends = spans(trace, "send");
  const auto receives = spans(trace, "recv");
  const auto published = spans(trace, "publish");
  const int messages = kChannelOffset + static_cast<int>(kChannel);
  const std::size_t pieces = count_on(sends, messages);
  CHECK(pieces >= 1, "");
  CHECK_EQ(count_on(receives, messages), pieces, "");
  // Besides messages: the tree's segments and the published ones. The barrier goes the short way.
  CHECK_EQ(sends.size() - pieces, number == 0 ? kSegments : 0u, "");
  CHECK_EQ(published.size(), number == 0 ? kSegments : 0u, "");
  // Rank 0's is the blocking one.
  CHECK_EQ(receives.size() - pieces, number == 1 ? 2 * kSegments : 1u, "");
  CHECK_EQ(count_on(receives, kChannelOffset + static_cast<int>(kBlockingChannel)),
           number == 0 ? 1u : 0u, "");
  // The exchange, and what rank 0 waited for.
  CHECK_EQ(spans(trace, "point-to-point").size(), number == 0 ? 3u : 2u, "");
  for (const Json& span : sends) {
    CHECK_EQ(lane_of(trace, span), "send to " + std::to_string(1 - number), "");
  }
  for (const Json& span : receives) {
    if (span["args"]["vertex"] >= kChannelOffset) continue;
    CHECK_EQ(span["args"]["value"].get<std::size_t>(), kSegmentBytes, "");
  }
  const auto stuck = spans(trace, "recv (unfinished)");
  CHECK_EQ(stuck.size(), number == 1 ? 1u : 0u, "");
  for (const Json& span : stuck) {
    CHECK_EQ(span["args"]["vertex"].get<int>(), kChannelOffset + static_cast<int>(kDeafChannel),
             "");
    CHECK_EQ(lane_of(trace, span), "recv from 0", "");
  }
  CHECK_EQ(spans(trace, "send (unfinished)").size(), 0u, "");
}

}  // namespace

int main() {
  const auto folder = std::filesystem::temp_directory_path();
  std::string files[2];
  for (int r = 0; r < 2; ++r) {
    files[r] = (folder / fmt::format("espalier_trace_{}_{}.json", ::getpid(), r)).string();
  }
  {
    test::Meeting meeting(2);
    std::jthread other([&] { play(meeting, 1, files[1]); });
    play(meeting, 0, files[0]);
  }
  for (int r = 0; r < 2; ++r) {
    std::ifstream file(files[r]);
    check_trace(Json::parse(file), r);
    std::filesystem::remove(files[r]);
  }
  fmt::print("{} checks, {} failures\n", test::g_checks.load(), test::g_failures.load());
  return test::g_failures.load() == 0 ? 0 : 1;
}
