// A thread of the library's own, which takes no signal that is meant for the program's threads: a
// program that blocks a signal to wait for it need not know of other threads.
// Threads: any. path: setup
#pragma once

#include <pthread.h>

#include <span>

namespace espalier {

// Signals that its own instructions raise (SIGSEGV and the like) are not blocked. 0, or the errno
// for which there is no thread. It may run on `cpus` alone (EINVAL: on none of them), where there
// are any; else where its maker may.
int start_quiet_thread(pthread_t& thread, void* (*run)(void*), void* argument,
                       std::span<const int> cpus = {}) noexcept;

}  // namespace espalier
