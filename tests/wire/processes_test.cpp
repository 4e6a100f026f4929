// Shared-memory wires in processes of their own, at full speed: what one thread that steps all
// ranks cannot show (ordering of memory, sleeping and waking, CMA between processes).
#include "tests/harness/asked_world.hpp"
#include "tests/harness/exchange.hpp"
#include "tests/harness/shm_world.hpp"

namespace espalier::test {
namespace {

constexpr int kProcesses = 3;

// Told through memory that was there before the fork.
struct Meeting {
  std::atomic<int> pids[kProcesses] = {};
  std::atomic<int> mapped{0}, done{0};
};

struct Setup {
  ShmWorldOptions options;
  int file = -1;  // open before the fork
  Transfer transfer;
};

// Runs all exchanges of a rank; sleeps on the doorbell whenever there is nothing to do.
int exchange_all(Wire& wire, Doorbell& doorbell, Rank me) {
  int empty = 0;
  const bool right = exchange_with_all(wire, me, kProcesses, [&](auto&& over) {
    empty = wire.progress() > 0 ? 0 : empty + 1;
    if (empty < 20 || over()) return;
    doorbell.sleep([&] { return wire.progress() > 0; }, 20'000'000);
    wire.idle();
  });
  return right ? 0 : 3;
}

shm::Layout layout_of(const ShmWorldOptions& options) {
  return {kProcesses, options.arena_bytes, options.heap_bytes};
}

int run_rank(const Setup& setup, Meeting& meeting, Rank me) {
  const shm::Layout layout = layout_of(setup.options);
  auto file = shm::MemoryFile::adopt(Descriptor(setup.file), layout.total(), {});
  if (!file) return 1;
  const auto index = static_cast<std::uint32_t>(me);
  auto segment = shm::Segment::map(std::move(*file), layout, index);
  if (!segment) return 2;
  auto& mine = (*segment)->rank_block(index);
  for (std::uint32_t r = 0; r < kProcesses; ++r) {
    (*segment)->may_pull(index, r).store(static_cast<std::uint8_t>(shm::PullAccess::kYes));
  }
  const bool asymmetric = asymmetric_fence_register();
  meeting.pids[me].store(::getpid());
  meeting.mapped.fetch_add(1);
  wait_for(meeting.mapped, kProcesses);
  std::vector<shm::ShmPeer> peers;
  for (Rank r = 0; r < kProcesses; ++r) peers.push_back({r, VisiblePid(meeting.pids[r].load())});
  Counters counters;
  Doorbell doorbell(mine.bell, (*segment)->header().sleepers, asymmetric);
  shm::ShmWire wire(**segment, peers, setup.options.wire, doorbell, counters);
  AskedWire asked(wire, setup.transfer);
  const int code = exchange_all(asked, doorbell, me);
  // Nobody leaves while another may still read from here.
  meeting.done.fetch_add(1);
  while (code == 0 && meeting.done.load() < kProcesses) {
    (void)wire.progress();
    ::usleep(100);
  }
  return code;
}

void run_processes(const ShmWorldOptions& options, const Transfer& transfer = {}) {
  auto file = shm::MemoryFile::create(layout_of(options).total(), {});
  ASSERT_TRUE(file.ok());
  const Setup setup{options, file->fd(), transfer};
  Shared<Meeting> meeting;
  run_ranks(kProcesses, [&](Rank r) { return run_rank(setup, *meeting, r); });
}

TEST(ShmProcesses, ExchangeThroughTheArena) {
  run_processes({});
}

TEST(ShmProcesses, ExchangeThroughAVerySmallArena) {
  ShmWorldOptions options;
  options.arena_bytes = 256 << 10;
  run_processes(options);
}

TEST(ShmProcesses, ExchangeByCma) {
  ShmWorldOptions options;
  options.wire.pull.threshold = 0;
  options.wire.quantum_bytes = 8 << 10;
  run_processes(options);
}

TEST(ShmProcesses, ExchangeByWritingIntoReceives) {
  run_processes({}, {.path = Path::kPush});
}

}  // namespace
}  // namespace espalier::test
