// A job over TCP whose connection goes through a relay (tests/wire/relay.hpp) that delays, stops or
// swallows what is sent. The kernel acknowledges all of it, so that only the job itself can notice.
#include <gtest/gtest.h>

#include <barrier>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "espalier/espalier.h"
#include "tests/harness/relay.hpp"

namespace espalier::test {
namespace {

using namespace std::chrono_literals;

constexpr int kRanks = 2;

// Ranks 0 and 1 are threads; each reads in the other's card that it listens at a relay. A third
// thread moves the bytes.
class RelayedJob {
 public:
  explicit RelayedJob(const char* timeout) {
    setenv("ESPALIER_WIRES", "tcp", 1);
    setenv("ESPALIER_TCP_INTERFACE", "127.0.0.1", 1);
    setenv("ESPALIER_TIMEOUT", timeout, 1);
    pump_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        if (!pump()) std::this_thread::sleep_for(100us);
      }
    });
  }
  ~RelayedJob() {
    for (const char* name : {"ESPALIER_WIRES", "ESPALIER_TCP_INTERFACE", "ESPALIER_TIMEOUT"}) {
      unsetenv(name);
    }
  }

  void set(const RelayPolicy& policy) {
    const std::lock_guard lock(mutex_);
    policy_ = policy;
    for (const auto& relay : relays_) relay->policy = policy;
  }
  std::size_t relays() {
    const std::lock_guard lock(mutex_);
    return relays_.size();
  }
  std::uint64_t passed_bytes() {
    const std::lock_guard lock(mutex_);
    std::uint64_t bytes = 0;
    for (const auto& relay : relays_) bytes += relay->passed_bytes();
    return bytes;
  }

  // Both ranks call what(job, rank); returns when both have finalized.
  template <typename What>
  void run(What&& what) {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks.emplace_back([this, rank, &what] {
        Seat seat = {this, rank};
        const esp_bootstrap bootstrap = {&seat, rank, kRanks, &RelayedJob::allgather, nullptr};
        esp_job_options options = ESP_JOB_OPTIONS_INIT;
        options.bootstrap = &bootstrap;
        esp_job* job = nullptr;
        ASSERT_EQ(esp_job_init(&options, &job), ESP_OK);
        what(job, rank);
        (void)esp_job_finalize(job);
      });
    }
  }

 private:
  struct Seat {
    RelayedJob* self;
    int rank;
  };

  static int allgather(void* context, const void* mine, std::size_t bytes, void* all) {
    const Seat& seat = *static_cast<Seat*>(context);
    RelayedJob& self = *seat.self;
    self.blocks_[seat.rank] = mine;
    self.barrier_.arrive_and_wait();
    const int other = 1 - seat.rank;
    auto* out = static_cast<std::byte*>(all);
    for (int r = 0; r < kRanks; ++r) {
      std::memcpy(out + static_cast<std::size_t>(r) * bytes, self.blocks_[r], bytes);
    }
    self.redirect({out + static_cast<std::size_t>(other) * bytes, bytes}, other);
    self.barrier_.arrive_and_wait();
    return 0;
  }

  // Wherever a card has a contact.
  void redirect(std::span<std::byte> card, Rank rank) {
    const std::size_t bytes = net::contact_bytes({{}, {net::TcpAddress()}}).size();
    for (std::size_t at = 0; at + bytes <= card.size(); ++at) {
      auto contact = net::parse_contact(card.subspan(at, bytes), rank);
      if (!contact.ok()) continue;
      const std::lock_guard lock(mutex_);
      relays_.push_back(std::make_unique<Relay>(contact->addresses.front(), relays_.size() + 1));
      relays_.back()->policy = policy_;
      const auto through = net::contact_bytes({contact->secret, {relays_.back()->address()}});
      std::memcpy(card.data() + at, through.data(), bytes);
    }
  }
  bool pump() {
    const std::lock_guard lock(mutex_);
    bool moved = false;
    for (const auto& relay : relays_) moved = relay->pump() || moved;
    return moved;
  }

  std::barrier<> barrier_{kRanks};
  const void* blocks_[kRanks] = {};
  std::mutex mutex_;  // guards the relays and their policy
  RelayPolicy policy_;
  std::vector<std::unique_ptr<Relay>> relays_;
  std::jthread pump_;
};

// A sum of many segments; wrong results are failures.
esp_status sum(esp_job* job, int rank, std::size_t count) {
  std::vector<std::int64_t> data(count);
  std::iota(data.begin(), data.end(), rank);
  const esp_status status =
      esp_allreduce(esp_job_world(job), ESP_IN_PLACE, data.data(), count, ESP_INT64, ESP_SUM);
  for (std::size_t i = 0; status == ESP_OK && i < count; ++i) {
    const auto expected = static_cast<std::int64_t>(2 * i + 1);
    if (data[i] != expected) {
      ADD_FAILURE() << "rank " << rank << ": element " << i << " is " << data[i];
      break;
    }
  }
  return status;
}

TEST(RelayedJob, ADelayCostsOnlyTime) {
  RelayedJob relayed("30");
  relayed.set({.delay_ns = 5'000'000});
  relayed.run([&](esp_job* job, int rank) {
    const double begin = esp_time();
    for (int round = 0; round < 3; ++round) EXPECT_EQ(sum(job, rank, 100'000), ESP_OK);
    EXPECT_GE(esp_time() - begin, 0.015) << "there and back needs the relay";
  });
  EXPECT_EQ(relayed.relays(), 2U);
}

TEST(RelayedJob, WhatIsFrozenAndThawedGoesOn) {
  RelayedJob relayed("30");
  std::jthread weather([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (const bool frozen : {true, false}) {
        relayed.set({.frozen = frozen});
        std::this_thread::sleep_for(30ms);
      }
    }
  });
  relayed.run([&](esp_job* job, int rank) {
    for (int round = 0; round < 20; ++round) EXPECT_EQ(sum(job, rank, 200'000), ESP_OK);
  });
  EXPECT_GT(relayed.passed_bytes(), 20U * 200'000 * 8);
}

// From the middle of a stream on; and everything from the first byte of the handshake on.
TEST(RelayedJob, WhatIsSwallowedEndsInAStatusThatNamesTheOther) {
  for (const bool at_once : {false, true}) {
    RelayedJob relayed("1.5");
    relayed.set({.swallow = at_once});
    std::barrier both_calculated(kRanks);
    relayed.run([&](esp_job* job, int rank) {
      EXPECT_EQ(at_once ? ESP_OK : sum(job, rank, 100'000), ESP_OK);
      both_calculated.arrive_and_wait();
      relayed.set({.swallow = true});
      const double begin = esp_time();
      esp_status status = ESP_OK;
      for (int round = 0; round < 100 && status == ESP_OK; ++round) {
        status = sum(job, rank, 100'000);
      }
      EXPECT_TRUE(status == ESP_ERR_TIMEOUT || status == ESP_ERR_PEER_DIED ||
                  status == ESP_ERR_NETWORK)
          << esp_status_text(status);
      const std::string text = esp_team_error(esp_job_world(job));
      EXPECT_NE(text.find("rank " + std::to_string(1 - rank)), std::string::npos) << text;
      EXPECT_LT(esp_time() - begin, 20);
    });
  }
}

}  // namespace
}  // namespace espalier::test
