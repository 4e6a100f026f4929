// Ranks in processes of their own: at full speed, asleep on the link's descriptor whenever there is
// nothing to do; and the death of one of them.
#include <poll.h>

#include <algorithm>
#include <array>

#include "core/clock.hpp"
#include "net/frame_wire.hpp"
#include "net/tcp/tcp_link.hpp"
#include "tests/harness/exchange.hpp"

namespace espalier::test {
namespace {

constexpr int kRanks = 3;

struct Card {
  std::size_t bytes = 0;
  std::array<std::byte, net::TcpContact::kBytesMax> contact = {};
};

// Told through memory that was there before the fork.
struct Meeting {
  Card cards[kRanks];
  std::atomic<int> listening{0}, connected{0}, done{0};
};

class Process {
 public:
  static std::unique_ptr<Process> start(Meeting& meeting, Rank me) {
    auto process = std::make_unique<Process>();
    net::TcpOptions options;
    options.rank = me;
    options.job_size = kRanks;
    options.interface = "127.0.0.1";
    auto link = net::TcpLink::create(options, process->clock_, process->counters, Log());
    if (!link) return nullptr;
    process->link = std::move(*link);
    const auto mine = net::contact_bytes(process->link->contact());
    meeting.cards[me].bytes = mine.size();
    std::copy(mine.begin(), mine.end(), meeting.cards[me].contact.begin());
    meeting.listening.fetch_add(1);
    wait_for(meeting.listening, kRanks);
    for (Rank r = 0; r < kRanks; ++r) {
      if (r == me) continue;
      auto contact =
          net::parse_contact({meeting.cards[r].contact.data(), meeting.cards[r].bytes}, r);
      if (!contact) return nullptr;
      process->link->set_contact(r, std::move(*contact));
    }
    process->wire = std::make_unique<net::FrameWire>(*process->link, net::FrameWireOptions{},
                                                     process->counters);
    return process;
  }

  // One look; sleeps when it has found nothing.
  void look() {
    if (wire->progress() > 0) {
      empty_ = 0;
      return;
    }
    if (++empty_ < 20 || !link->arm()) return;
    pollfd bell = {link->descriptor(), POLLIN, 0};
    ++sleeps;
    (void)::poll(&bell, 1, 100);
    wire->idle();
  }
  // Says goodbye and waits until it may go.
  void leave() {
    for (Rank r = 0; r < kRanks; ++r) link->say_goodbye(r);
    while (!link->drained()) look();
  }

  Counters counters;
  std::unique_ptr<net::TcpLink> link;
  std::unique_ptr<net::FrameWire> wire;
  int sleeps = 0;

 private:
  SteadyClock clock_;
  int empty_ = 0;
};

// Exit codes: 0, or what went wrong.
int exchange(Meeting& meeting, Rank me) {
  const auto process = Process::start(meeting, me);
  if (process == nullptr) return 1;
  if (!exchange_with_all(*process->wire, me, kRanks, [&](auto&&) { process->look(); })) return 2;
  // Everybody goes when it is ready: the others are not to take that for a death.
  process->leave();
  for (Rank peer = 0; peer < kRanks; ++peer) {
    if (!process->wire->state(peer).ok()) return 3;
  }
  return process->counters.unexpected.value() > 100'000 ? 4 : 0;
}

TEST(TcpProcesses, ExchangeAndLeave) {
  Shared<Meeting> meeting;
  run_ranks(kRanks, [&](Rank r) { return exchange(*meeting, r); });
}

// Ranks 0 and 1 talk to each other and wait for rank 2, which is killed.
int survive(Meeting& meeting, Rank me) {
  const auto process = Process::start(meeting, me);
  if (process == nullptr) return 1;
  Message from(2, me, FlowId(2, 0, 0), 1000, 1), to(me, 2, FlowId(2, 0, 1), 1000, 1);
  (void)from.receive(*process->wire);
  (void)to.send(*process->wire, true);
  Exchange exchange(*process->wire, me, 1 - me);
  const auto told = [&] { return from.received.complete() && to.sent.complete(); };
  bool connected = false;
  while (!told() || !exchange.over()) {
    // The exchange ends only after the death, so that it is under way then.
    if ((told() || process->counters.segments_received.value() < 100) && !exchange.act()) return 2;
    if (!connected && process->link->socket_of(2) >= 0) {
      connected = true;
      meeting.connected.fetch_add(1);
    }
    process->look();
  }
  if (from.received.status.code() != ESP_ERR_PEER_DIED || from.received.status.rank() != 2)
    return 3;
  if (to.sent.status.code() != ESP_ERR_PEER_DIED || to.sent.status.rank() != 2) return 4;
  if (!process->wire->state(1 - me).ok()) return 5;
  process->leave();
  return 0;
}

int sit(Meeting& meeting) {
  const auto process = Process::start(meeting, 2);
  while (process != nullptr) process->look();
  return 1;
}

TEST(TcpProcesses, AKilledRankIsNamedAndTheOthersGoOn) {
  Shared<Meeting> meeting;
  Child first([&] { return survive(*meeting, 0); });
  Child second([&] { return survive(*meeting, 1); });
  Child killed([&] { return sit(*meeting); });
  wait_for(meeting->connected, 2);
  killed.kill();
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0);
}

}  // namespace
}  // namespace espalier::test
