#include "core/quiet_thread.hpp"

#include <sched.h>

#include <array>
#include <climits>
#include <csignal>
#include <initializer_list>

namespace espalier {
namespace {

// As the kernel takes them. Machines may have more CPUs than cpu_set_t.
constexpr int kCpusMax = 8192, kWordBits = sizeof(unsigned long) * CHAR_BIT;
using CpuMask = std::array<unsigned long, kCpusMax / kWordBits>;

int set_affinity(pthread_attr_t& attributes, std::span<const int> cpus) noexcept {
  CpuMask mask = {};
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= kCpusMax) continue;
    mask[static_cast<std::size_t>(cpu / kWordBits)] |= 1UL << (cpu % kWordBits);
  }
  return ::pthread_attr_setaffinity_np(&attributes, sizeof mask,
                                       reinterpret_cast<const cpu_set_t*>(mask.data()));
}

int create(pthread_t& thread, void* (*run)(void*), void* argument,
           std::span<const int> cpus) noexcept {
  if (cpus.empty()) return ::pthread_create(&thread, nullptr, run, argument);
  pthread_attr_t attributes;
  int failure = ::pthread_attr_init(&attributes);
  if (failure != 0) return failure;
  failure = set_affinity(attributes, cpus);
  if (failure == 0) failure = ::pthread_create(&thread, &attributes, run, argument);
  (void)::pthread_attr_destroy(&attributes);
  return failure;
}

}  // namespace

int start_quiet_thread(pthread_t& thread, void* (*run)(void*), void* argument,
                       std::span<const int> cpus) noexcept {
  sigset_t quiet, before;
  ::sigfillset(&quiet);
  for (const int raised : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    ::sigdelset(&quiet, raised);
  }
  ::pthread_sigmask(SIG_BLOCK, &quiet, &before);  // The thread inherits it.
  const int failure = create(thread, run, argument, cpus);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return failure;
}

}  // namespace espalier
