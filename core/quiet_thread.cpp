#include "core/quiet_thread.hpp"

#include <csignal>
#include <initializer_list>

namespace espalier {

int start_quiet_thread(pthread_t& thread, void* (*run)(void*), void* argument) noexcept {
  sigset_t quiet, before;
  ::sigfillset(&quiet);
  for (const int raised : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    ::sigdelset(&quiet, raised);
  }
  ::pthread_sigmask(SIG_BLOCK, &quiet, &before);  // The thread inherits it.
  const int failure = ::pthread_create(&thread, nullptr, run, argument);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return failure;
}

}  // namespace espalier
