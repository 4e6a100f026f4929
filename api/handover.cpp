// The communication thread of a job: how it begins, how threads hand over to it, and how it tells
// them that something has come. path: setup (start), data
#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <utility>

#include "api/api.hpp"

namespace espalier {
namespace {

// So often a waiting thread gives its core away before it sleeps: where this rank has a core for
// each of two threads for about as long as it takes to wake the progress thread and be answered.
constexpr std::uint32_t kRoomyYields = 250, kCrowdedYields = 4;

}  // namespace

Outcome start_progress_thread(esp_job& job) {
  const bool roomy = 2 * job.nodes.machine_ranks <= job.nodes.usable_cpus;
  ThreadSurroundings here = current_surroundings();
  here.crowded = !roomy;
  auto place = place_beside(here, job.config.progress_cpus);
  if (!place) {
    return error(ESP_ERR_CONFIG, fmt::format("{}: {}", job.config.written_name("PROGRESS_CPUS"),
                                             place.error().text));
  }
  job.progress_place = std::move(*place);
  job.waiting_yields = roomy ? kRoomyYields : kCrowdedYields;
  if (auto done = job.worker->enable_submission(); !done) return done;
  const Outcome started = job.worker->start_thread(job.progress_place.cpus);
  if (started || started.error().status.code() != ESP_ERR_CONFIG) return started;
  return error(ESP_ERR_CONFIG, fmt::format("{}={}: {}", job.config.written_name("PROGRESS_CPUS"),
                                           job.config.progress_cpus, started.error().text));
}

int Announcer::progress() noexcept {
  const Counters& c = job_.counters;
  const std::uint64_t now = job_.ends + c.messages_received.value() + c.portions_delivered.value();
  if (std::exchange(seen_, now) != now) job_.events.announce();
  return 0;
}

}  // namespace espalier

namespace espalier::api {

void submit_slowly(esp_job& job, const Submission& work) noexcept {
  // The thread takes them as fast as it can. One that computes or sleeps in a callback does not.
  constexpr int kYields = 64;
  constexpr timespec kNap = {0, 50'000};
  job.counters.submissions_full.add_from_any(1);
  const LongWait told(job.state.get());
  for (int i = 0; !job.worker->submit(work); ++i) {
    if (i < kYields) {
      sched_yield();
    } else {
      ::nanosleep(&kNap, nullptr);
    }
  }
}

SharedRequest* take_shared(esp_job& job, const esp_notify* notify) noexcept {
  SharedRequest* made = job.shared_requests.allocate();
  if (made == nullptr) {
    (void)fail(job, ESP_ERR_NO_MEMORY, "no memory for a request");
    return nullptr;
  }
  made->job = &job;
  if (notify != nullptr) made->notify = *notify;
  return made;
}

Engine::Started end_at_once(esp_team& handle) {
  (void)fail_team(handle, handle.team.fault);
  return {true, handle.team.fault};
}

void enter_shared(esp_request& request) noexcept {
  ++request.job->shared_under_way;
  if (!request.reports()) list_open(request);
}

void conclude_shared(esp_request& request, Result<Engine::Started> started) noexcept {
  if (!started) {
    (void)fail(*request.job, started.error());
    finish_request(&request, started.error().status);
  } else if (started->done) {
    finish_request(&request, started->status);
  }
}

}  // namespace espalier::api
