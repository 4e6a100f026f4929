#include "accel/shim/started.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <thread>
#include <utility>

#include "accel/shim/persistent.hpp"

namespace espalier::accel {
namespace {

// How often the helper looks, when nobody else has driven the job meanwhile.
constexpr auto kHelperPeriod = std::chrono::microseconds(500);
constexpr int kIdleLooks = 100;
constexpr double kLeavingSeconds = 2;

// Programs may end without MPI_Finalize, and the helper with them: nothing here is destroyed.
struct List {
  std::mutex mutex;
  std::condition_variable changed;
  Started* first = nullptr;
  bool closes = false;
  std::thread helper;
  // Writers: under `mutex`, and on_end(); readers: any. They publish nothing.
  std::atomic<std::uint32_t> under_way{0};  // not yet complete for the MPI
  std::atomic<std::uint32_t> ended{0};      // of these
  std::atomic<std::uint32_t> drives{0};     // by the program
};
List& g_list = *new List;

int query(void* context, MPI_Status* status) {
  const auto& started = *static_cast<Started*>(context);
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return conclude(started.comm, started.team, started.outcome);
}

// MPICH calls it for a request that is freed while the operation goes on, too.
int release(void* context) {
  auto* started = static_cast<Started*>(context);
  if (!started->is_complete) {
    started->is_freed = true;
  } else {
    delete started;
  }
  return MPI_SUCCESS;
}

void complete(Started& one) {
  const bool is_freed = one.is_freed;
  one.is_complete = true;
  PMPI_Grequest_complete(one.request);
  if (is_freed) delete &one;
}

// Collectives cannot be cancelled.
int cancel(void*, int) {
  return MPI_SUCCESS;
}

// As long as there is something to do, and the program does not want to do it itself.
void drive_for_a_while() {
  const std::uint32_t drives = g_list.drives.load(std::memory_order_relaxed);
  for (int idle = 0; idle < kIdleLooks; ++idle) {
    if (g_list.drives.load(std::memory_order_relaxed) != drives) return;
    if (!state().turn.try_lock()) return;
    if (esp_progress(state().job) > 0) idle = 0;
    state().turn.unlock();
  }
}

void help() {
  std::unique_lock lock(g_list.mutex);
  std::uint32_t seen = 0;
  while (!g_list.closes) {
    if (g_list.first == nullptr) {
      g_list.changed.wait(lock);
      continue;
    }
    g_list.changed.wait_for(lock, kHelperPeriod);
    const std::uint32_t drives = g_list.drives.load(std::memory_order_relaxed);
    if (std::exchange(seen, drives) != drives || g_list.closes) continue;
    lock.unlock();
    drive_for_a_while();
    lock.lock();
  }
}

// Of signals the program's handlers think that they come to its own threads.
void start_helper() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  g_list.helper = std::thread(help);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Takes those that have ended out of the list.
Started* take_ended() {
  const std::lock_guard lock(g_list.mutex);
  Started* taken = nullptr;
  for (Started** place = &g_list.first; *place != nullptr;) {
    Started* one = *place;
    if (!one->ended.load(std::memory_order_acquire)) {
      place = &one->next;
      continue;
    }
    *place = one->next;
    one->next = std::exchange(taken, one);
    g_list.ended.fetch_sub(1, std::memory_order_relaxed);
  }
  return taken;
}

}  // namespace

void on_end(void* context, esp_status status) {
  auto& started = *static_cast<Started*>(context);
  started.outcome = status;
  g_list.ended.fetch_add(1, std::memory_order_relaxed);
  started.ended.store(true, std::memory_order_release);
}

int list_started(std::unique_ptr<Started> started, MPI_Request* request) {
  const int code = PMPI_Grequest_start(&query, &release, &cancel, started.get(), request);
  Started* listed = started.release();
  if (code != MPI_SUCCESS) return code;  // the library has it still
  listed->request = *request;
  list(*listed);
  return MPI_SUCCESS;
}

void list(Started& started) {
  const std::lock_guard lock(g_list.mutex);
  if (!state().threaded && !g_list.helper.joinable()) start_helper();
  g_list.under_way.fetch_add(1, std::memory_order_relaxed);
  started.next = std::exchange(g_list.first, &started);
  g_list.changed.notify_one();
}

bool are_under_way() noexcept {
  return g_list.under_way.load(std::memory_order_relaxed) != 0;
}

void drive_started() {
  if (!are_under_way()) return;
  g_list.drives.fetch_add(1, std::memory_order_relaxed);
  if (state().threaded) {
    sched_yield();
  } else {
    const Turn turn;
    (void)esp_progress(state().job);
  }
  if (g_list.ended.load(std::memory_order_relaxed) == 0) return;
  for (Started* one = take_ended(); one != nullptr;) {
    Started* next = one->next;
    if (one->outcome == ESP_OK) one->stage.end();
    g_list.under_way.fetch_sub(1, std::memory_order_relaxed);
    if (one->rounds != nullptr) {
      end_round(*one);
    } else {
      complete(*one);
    }
    one = next;
  }
}

// Requests that the program has freed are complete when it leaves the MPI. Those that it has
// forgotten are its fault: the job cancels them.
void end_started() {
  const double patient_until = esp_time() + kLeavingSeconds;
  while (are_under_way() && esp_time() < patient_until) drive_started();
  {
    const std::lock_guard lock(g_list.mutex);
    g_list.closes = true;
    g_list.changed.notify_one();
  }
  if (g_list.helper.joinable()) g_list.helper.join();
}

}  // namespace espalier::accel
