#include "esp-bench/proximity.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <string>
#include <vector>

#include "esp-bench/clock.hpp"
#include "esp-bench/host.hpp"
#include "esp-bench/statistics.hpp"

namespace espalier::bench {
namespace {

constexpr std::uint32_t kBounces = 500;  // per rally, both ways
constexpr int kRallies = 20;

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void sleep_until_over(Court& court) {
  while (court.over.load(std::memory_order_acquire) == 0) {
    syscall(SYS_futex, &court.over, FUTEX_WAIT, 0, nullptr, nullptr, 0);
  }
}

void announce_over(Court& court) {
  court.over.store(1, std::memory_order_release);
  syscall(SYS_futex, &court.over, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Rank 0 makes anonymous memory; the others open it through /proc, so nothing has a name.
Court* share_court(Backend& backend) {
  int address[2] = {-1, -1};  // pid and descriptor of rank 0
  int fd = -1;
  if (backend.rank() == 0) {
    fd = memfd_create("esp-bench", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, sizeof(Court)) == 0) {
      address[0] = getpid();
      address[1] = fd;
    }
  }
  backend.bcast(address, sizeof address, 0);
  if (backend.rank() != 0 && address[1] >= 0) {
    const std::string path =
        "/proc/" + std::to_string(address[0]) + "/fd/" + std::to_string(address[1]);
    fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  void* memory = MAP_FAILED;
  if (fd >= 0) memory = mmap(nullptr, sizeof(Court), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  double failed = memory == MAP_FAILED ? 1.0 : 0.0;
  backend.combine({&failed, 1}, Combine::kMax);  // Also keeps rank 0's descriptor open for all.
  if (fd >= 0) close(fd);
  if (failed > 0.5 && memory != MAP_FAILED) munmap(memory, sizeof(Court));
  return failed > 0.5 ? nullptr : static_cast<Court*>(memory);
}

// A CPU for each player; equal where no two are to be had.
void choose_cpus(Backend& backend, const std::vector<int>& mine, int cpus[2]) {
  int offer[2] = {mine.front(), mine.size() > 1 ? mine[1] : mine.front()};
  backend.bcast(offer, sizeof offer, 0);
  int other[2] = {mine.front(), mine.size() > 1 ? 1 : 0};
  backend.bcast(other, sizeof other, 1);
  cpus[0] = offer[0];
  cpus[1] = other[1] == 1 ? offer[1] : other[0];  // A pinned rank 1 stays where it is.
}

}  // namespace

double bounce(Court& court, int player, int rallies) {
  const auto mine = static_cast<std::uint32_t>(player);
  std::vector<double> one_way_ns;
  for (int rally = 0; rally < rallies; ++rally) {
    const std::int64_t start = now_ns();
    for (std::uint32_t i = 0; i < kBounces; ++i) {
      std::uint32_t ball = court.ball.load(std::memory_order_acquire);
      while ((ball & 1u) != mine) {
        pause_cpu();
        ball = court.ball.load(std::memory_order_acquire);
      }
      court.ball.store(ball + 1, std::memory_order_release);  // Only the one at the ball writes.
    }
    one_way_ns.push_back(static_cast<double>(now_ns() - start) / (2.0 * kBounces));
  }
  return summarize(one_way_ns).median;
}

double measure_proximity(Backend& backend, bool one_machine) {
  if (backend.size() < 2 || !one_machine) return 0.0;
  Court* court = share_court(backend);
  if (court == nullptr) return 0.0;
  const std::vector<int> mine = allowed_cpus();
  int cpus[2] = {0, 0};
  choose_cpus(backend, mine, cpus);
  double one_way_ns = 0.0;
  if (cpus[0] != cpus[1]) {
    const int rank = backend.rank();
    if (rank < 2) {
      pin_to(cpus[rank]);
      one_way_ns = bounce(*court, rank, kRallies);
      pin_to(mine);
    }
    if (rank == 0) announce_over(*court);
    if (rank >= 2) sleep_until_over(*court);
  }
  backend.bcast(&one_way_ns, sizeof one_way_ns, 0);
  munmap(court, sizeof(Court));
  return one_way_ns;
}

}  // namespace espalier::bench
