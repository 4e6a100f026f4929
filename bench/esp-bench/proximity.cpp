#include "esp-bench/proximity.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
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

// Of this process; 0 where /proc shows another one's processes, or nothing.
std::uint64_t pid_namespace() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    // From the namespace of /proc down to the own one.
    if (line.rfind("NSpid:", 0) == 0 && line != "NSpid:\t" + std::to_string(getpid())) return 0;
  }
  struct stat space {};
  return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

// Rank 0 makes anonymous memory; the others open it through /proc, so nothing has a name. In
// another PID namespace its number means another process.
Court* share_court(Backend& backend) {
  struct {
    std::uint64_t space = 0;
    int pid = -1, descriptor = -1;
  } address;  // of rank 0
  int fd = -1;
  if (backend.rank() == 0) {
    fd = memfd_create("esp-bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && ftruncate(fd, sizeof(Court)) == 0 && fcntl(fd, F_ADD_SEALS, kSeals) == 0) {
      address = {pid_namespace(), getpid(), fd};
    }
  }
  backend.bcast(&address, sizeof address, 0);
  const bool visible = address.space != 0 && address.space == pid_namespace();
  if (backend.rank() != 0 && address.descriptor >= 0 && visible) {
    const std::string path =
        "/proc/" + std::to_string(address.pid) + "/fd/" + std::to_string(address.descriptor);
    fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat file {};
    const int seals = fcntl(fd, F_GET_SEALS);  // -1: no memory file
    const bool is_it = seals >= 0 && (seals & kSeals) == kSeals && fstat(fd, &file) == 0 &&
                       file.st_size == sizeof(Court);
    if (fd >= 0 && !is_it) close(std::exchange(fd, -1));
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
