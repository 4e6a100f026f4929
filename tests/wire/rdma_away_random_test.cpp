// Segments in memory of devices over RDMA, any mix: lengths, who has what where, adapters and
// drivers that refuse, connections that break, receives that come late, operations that are taken
// back. Every byte of the others is checked, and nothing is left behind.
#include "core/prng.hpp"
#include "tests/harness/rdma_world.hpp"
#include "tests/harness/traffic.hpp"
#include "tests/harness/two_places.hpp"

namespace espalier::test {
namespace {

struct Exchange {
  Exchange(Rank from, std::uint64_t flow, std::uint64_t bytes)
      : message(from, 1 - from, FlowId(1, 0, flow), bytes, flow), place(bytes) {}
  Message message;
  std::vector<std::byte> place;
  bool away = false;
  // Steps. The receiver hears later than the sender that both give up.
  std::uint64_t sent_at = 0, received_at = 0, cancelled_at = kNever, heard_at = kNever;
  bool taken_back = false;
};

class AwayTraffic {
 public:
  explicit AwayTraffic(std::uint64_t seed) : prng_(seed) {
    const char* const faults[] = {"", "break=60,heal=4ms",
                                  "break=300,rnr=0.01,echo=0.01,loss=0.02,reorder=0.05,heal=20ms"};
    RdmaWorldOptions options;
    options.registers = prng_.below(2) != 0;
    options.faults = faults[prng_.below(std::size(faults))];
    world_ = std::make_unique<RdmaWorld>(2, options);
    for (Rank r = 0; r < 2; ++r) {
      const esp_status errors[] = {ESP_OK, ESP_OK, ESP_OK, ESP_ERR_SYSTEM, ESP_ERR_UNSUPPORTED};
      away_[r].file_error = errors[prng_.below(std::size(errors))];
      away_[r].retries = static_cast<int>(prng_.below(4));
      world_->frames(r).set_away(&away_[r]);
    }
    for (std::uint64_t i = 0; i < 40; ++i) draw(i);
  }
  ~AwayTraffic() {
    for (Rank r = 0; r < 2; ++r) world_->frames(r).set_away(nullptr);
  }

  void run() {
    for (std::uint64_t now = 0; now < 20'000 && !finished(now); ++now) {
      for (const auto& one : all_) act(*one, now);
      (void)step(*world_);
      for (TwoPlaces& away : away_) {
        if (prng_.below(8) == 0) away.end_fetches();
      }
    }
    for (const auto& one : all_) check(*one);
    for (TwoPlaces& away : away_) {
      EXPECT_EQ(away.allocated, 0);
      EXPECT_TRUE(away.fetches.empty());
    }
  }
  std::uint64_t direct() { return world_->counters(0).device_direct_bytes.value(); }

 private:
  void draw(std::uint64_t flow) {
    const std::uint64_t lengths[] = {1, 40, 5'000, 70'000, 300'000};
    const auto from = static_cast<Rank>(prng_.below(2));
    auto one = std::make_unique<Exchange>(from, flow, lengths[prng_.below(std::size(lengths))]);
    Message& m = one->message;
    one->away = prng_.below(3) != 0;
    if (one->away) away_[from].add(m.source);
    m.in_place = prng_.below(5) == 0;
    if (!m.in_place && prng_.below(2) != 0) {
      away_[1 - from].add(one->place);
      m.received.takes_away = true;
      m.received.place = one->place.data();
    }
    one->sent_at = prng_.below(800);
    one->received_at = prng_.below(800);
    if (prng_.below(4) == 0) {
      one->cancelled_at = 1 + prng_.below(1'000);
      one->heard_at = one->cancelled_at + prng_.below(400);
    }
    all_.push_back(std::move(one));
  }

  void act(Exchange& one, std::uint64_t now) {
    Message& m = one.message;
    if (now >= one.sent_at && m.sent.posted == Posted::kRetry && now < one.cancelled_at) send(one);
    const bool is_posted = now > one.received_at;
    if (now == one.received_at && now < one.heard_at) (void)m.receive(world_->wire(m.to));
    if (now == one.cancelled_at && m.sent.posted == Posted::kPending && m.sent.fired == 0) {
      world_->wire(m.from).cancel(m.sent);
      if (one.away) std::memset(m.source.data(), 0xEE, m.source.size());
    }
    if (now != one.heard_at) return;
    if (is_posted && !m.received.complete()) {
      world_->wire(m.to).cancel(m.received);
      std::memset(one.place.data(), 0x11, one.place.size());
      m.target.assign(m.target.size(), std::byte{0x11});
      one.taken_back = true;  // Nothing is written there from here on.
    }
  }
  void send(Exchange& one) {
    Message& m = one.message;
    if (!one.away) return (void)m.send(world_->wire(m.from));
    Send send;
    send.segment = {m.to, m.flow, 0, 1, 0};
    send.data = m.source.data();
    send.bytes = send.flow_bytes = m.bytes;
    send.away = true;
    m.sent.posted = world_->wire(m.from).send(send, m.sent);
  }
  static bool is_cancelled(const Exchange& one) { return one.cancelled_at != kNever; }
  bool finished(std::uint64_t now) const {
    return std::ranges::all_of(all_, [&](const auto& one) {
      return is_cancelled(*one) ? now > one->heard_at + 200 : one->message.complete();
    });
  }
  void check(Exchange& one) {
    Message& m = one.message;
    SCOPED_TRACE(m.flow.key);
    const auto all = [](const std::vector<std::byte>& memory, unsigned value) {
      return std::ranges::all_of(memory, [&](std::byte b) { return b == std::byte(value); });
    };
    if (one.taken_back) {
      EXPECT_TRUE(all(one.place, 0x11) && all(m.target, 0x11)) << "written after it was cancelled";
    }
    if (is_cancelled(one) && !(m.received.complete() && m.received.status.ok())) return;
    ASSERT_TRUE(m.received.complete());
    ASSERT_TRUE(m.received.status.ok());
    EXPECT_TRUE(is_cancelled(one) || m.sent.complete());
    const std::byte* const at = m.received.is_away ? one.place.data() : m.received.data();
    EXPECT_TRUE(holds(at, m.bytes, m.seed));
    world_->wire(m.to).release(m.received);
  }

  Prng prng_;
  std::array<TwoPlaces, 2> away_;
  std::unique_ptr<RdmaWorld> world_;
  std::vector<std::unique_ptr<Exchange>> all_;
};

TEST(RdmaAwayTraffic, Any) {
  std::uint64_t direct = 0;
  for (std::uint64_t seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    AwayTraffic traffic(seed);
    traffic.run();
    direct += traffic.direct();
  }
  EXPECT_GT(direct, 0U);
}

}  // namespace
}  // namespace espalier::test
