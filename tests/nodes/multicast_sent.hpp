// What multicast_probe.cpp looks at and does again and again: counters of what has been sent, and
// broadcasts that are under way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/counter.hpp"
#include "tests/support/gathers.hpp"

namespace test {

inline constexpr double kEndSeconds = 20;  // 2 s are usual; the machine may be busy

// ---- what has been sent ----

struct Sent {
  std::uint64_t packets = 0, relays = 0;  // of groups
  // What this node's adapter has sent, of all kinds: bytes, packets.
  std::uint64_t adapter = 0, adapter_packets = 0;
};

inline Sent sent_by_me(const Context& context) {
  Sent sent{counter(context, "group_packets"), counter(context, "group_relays")};
  if (const char* path = std::getenv("SENT_BYTES")) {
    std::ifstream(path) >> sent.adapter;
    std::ifstream(std::regex_replace(path, std::regex("bytes$"), "packets")) >>
        sent.adapter_packets;
  }
  return sent;
}

// What each rank has sent since `before`.
inline std::vector<Sent> sent_since(const Context& context, const Sent& before) {
  Sent mine = sent_by_me(context);
  mine.packets -= before.packets;
  mine.relays -= before.relays;
  mine.adapter -= before.adapter;
  mine.adapter_packets -= before.adapter_packets;
  std::vector<Sent> all(static_cast<std::size_t>(context.size));
  CHECK_OK(esp_allgather(context.world, &mine, all.data(), sizeof mine, ESP_BYTE), context.world,
           "counters");
  return all;
}

inline std::uint64_t total(const std::vector<Sent>& all, std::uint64_t Sent::*what) {
  std::uint64_t sum = 0;
  for (const Sent& one : all) sum += one.*what;
  return sum;
}

inline std::string description(const Context& context) {
  std::string text(esp_job_describe(context.job, nullptr, 0) + 1, '\0');
  esp_job_describe(context.job, text.data(), text.size());
  text.resize(std::strlen(text.c_str()));
  return text;
}

// Of a packet of the job's groups, without its header.
inline std::optional<std::uint64_t> packet_payload(const Context& context) {
  std::smatch found;
  const std::string text = description(context);
  if (!std::regex_search(text, found, std::regex("multicast +by .*packets of ([0-9]+) bytes"))) {
    return std::nullopt;
  }
  return std::stoull(found[1]) - 40;
}

// Packets for which the world's group was given up, as the description says.
inline std::optional<int> lost_of_1000(const Context& context) {
  std::smatch found;
  const std::string text = description(context);
  const std::regex line("team 0 .*: ([0-9]+) of 1000 packets were lost on the way to rank [0-9]");
  if (!std::regex_search(text, found, line)) return std::nullopt;
  return std::stoi(found[1]);
}

// ---- broadcasts ----

inline unsigned char value_of(std::size_t at, int seed) {
  return static_cast<unsigned char>(at * 31 + at / 253 + static_cast<std::size_t>(seed) * 101);
}

// One that is under way.
struct Broadcast {
  Broadcast(esp_team* on, std::size_t bytes, int from, int number)
      : team(on), root(from), seed(number), data(bytes) {
    if (esp_team_rank(team) != root) return;
    for (std::size_t i = 0; i < bytes; ++i) data[i] = value_of(i, seed);
  }
  esp_status start() {
    return esp_bcast_start(team, data.data(), data.size(), ESP_BYTE, root, nullptr, nullptr,
                           &request);
  }
  esp_status wait() { return request == nullptr ? ESP_OK : esp_request_wait(&request); }
  void check() const {
    std::size_t right = 0;
    while (right < data.size() && data[right] == value_of(right, seed)) ++right;
    CHECK_EQ(right, data.size(), "broadcast {} from {}", seed, root);
  }

  esp_team* team;
  int root, seed;
  std::vector<unsigned char> data;
  esp_request* request = nullptr;
};

using Broadcasts = std::vector<std::unique_ptr<Broadcast>>;

// All at once. The first failure.
inline esp_status run(Broadcasts& all) {
  esp_status worst = ESP_OK;
  const auto note = [&](esp_status status) { worst = worst == ESP_OK ? status : worst; };
  for (const auto& one : all) note(one->start());
  for (const auto& one : all) note(one->wait());
  for (const auto& one : all) {
    if (worst == ESP_OK) one->check();
  }
  return worst;
}

// Until the team's group is open, which all learn from rank 0. False: it does not open.
inline bool open_group(const Context& context, esp_team* team) {
  std::vector<unsigned char> data(4096);
  const double begin = esp_time();
  for (unsigned char state = 0; state == 0;) {
    const std::uint64_t before = sent_by_me(context).packets;
    CHECK_OK(esp_bcast(team, data.data(), data.size(), ESP_BYTE, 0), team, "first");
    if (sent_by_me(context).packets > before) state = 1;
    if (esp_time() - begin > kEndSeconds) state = 2;
    CHECK_OK(esp_bcast(team, &state, 1, ESP_BYTE, 0), team, "first");
    if (esp_team_error(team)[0] != '\0' || state == 2) return false;
    if (state == 1) return true;
  }
  return false;
}

}  // namespace test
