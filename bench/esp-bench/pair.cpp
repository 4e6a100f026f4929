#include "esp-bench/pair.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "esp-bench/host.hpp"

namespace espalier::bench {

void Gate::wait_for(std::uint32_t value) const {
  for (int spins = 0; turn.load(std::memory_order_acquire) != value; ++spins) {
    if (spins == 10000) {
      spins = 0;
      sched_yield();
    }
  }
}

SharedMemory::SharedMemory(std::size_t bytes) : data_(nullptr), bytes_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error("no " + std::to_string(bytes) +
                             " bytes of shared memory: " + std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(memory);
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_);
}

void run_pair(PairCpus cpus, const std::function<void(pid_t)>& parent_part,
              const std::function<void()>& child_part) {
  const auto before = allowed_cpus();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // Never spin on after the parent is gone.
    pin_to(cpus.child);
    child_part();
    _exit(0);
  }
  pin_to(cpus.parent);
  parent_part(child);
  pin_to(before);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("the second process of a floor measurement failed");
}

}  // namespace espalier::bench
