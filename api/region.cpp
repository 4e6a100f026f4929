// C API: regions, and operations on them. Contracts in espalier.h.
//
// What is on the own node is done here and now by the calling thread, also in threaded mode: the
// handle does not change while it lives. The rest is the owner's (api/one_sided.hpp).
// path: short (own node), data, setup (create, free)
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "api/api.hpp"
#include "api/near_access.hpp"

using espalier::Counter;
using espalier::Finish;
using espalier::Purpose;
using espalier::RemoteCall;
using Started = espalier::Engine::Started;
using espalier::net::RemoteKind;
namespace api = espalier::api;

namespace {

// What members tell each other: bytes, place + 1, number, and the address and key by which adapters
// know the memory (0: they do not).
constexpr std::size_t kWords = 5;

// The own part.
struct Part {
  std::byte* memory = nullptr;  // nullptr: there is none
  std::uint32_t number = 0;
  espalier::net::RemoteMemory direct;
};

esp_status bad(const char* caller, const esp_region& region, const std::string& what) {
  return api::bad_argument(*region.team->job, caller, what);
}

// The part of a member's memory that an operation means, or a reported error.
esp_status check(const char* caller, const esp_region* region, int rank, size_t offset,
                 size_t bytes) {
  if (region == nullptr) return ESP_ERR_ARGUMENT;
  if (rank < 0 || static_cast<std::size_t>(rank) >= region->members.size()) [[unlikely]] {
    return bad(caller, *region,
               fmt::format("rank {} in a region of {}", rank, region->members.size()));
  }
  const std::uint64_t size = region->members[static_cast<std::size_t>(rank)].bytes;
  if (bytes > size || offset > size - bytes) [[unlikely]] {
    return bad(caller, *region,
               fmt::format("{} bytes at offset {} are not within the {} bytes of rank {}", bytes,
                           offset, size, rank));
  }
  return ESP_OK;
}

esp_status check_copy(const char* caller, const esp_region* region, int rank, size_t offset,
                      const void* buffer, size_t bytes) {
  const esp_status status = check(caller, region, rank, offset, bytes);
  if (status != ESP_OK) return status;
  if (buffer == nullptr && bytes > 0)
    return bad(caller, *region, fmt::format("{} bytes, but the buffer is NULL", bytes));
  return ESP_OK;
}

esp_status check_word(const char* caller, const esp_region* region, int rank, size_t offset) {
  const esp_status status = check(caller, region, rank, offset, sizeof(std::uint64_t));
  if (status != ESP_OK) return status;
  if (offset % sizeof(std::uint64_t) != 0) {
    return bad(caller, *region, fmt::format("an atomic at offset {}: not a multiple of 8", offset));
  }
  return ESP_OK;
}

// An operation, checked.
struct Access {
  const char* caller;
  const esp_region& region;
  const esp_region::Member& member;
  RemoteCall call;
  bool on_device = false;  // its buffer

  esp_job& job() const noexcept { return *region.team->job; }
  bool at_hand() const noexcept {
    return call.bytes == 0 || (member.pointer != nullptr && !on_device);
  }
};

esp_status find_buffer(Access& access) {
  espalier::Devices& devices = *access.job().devices;
  if (!devices.may_be()) [[likely]]
    return ESP_OK;
  return devices.locate(access.caller, access.call.memory, access.call.bytes, access.on_device);
}

Access access(const char* caller, const esp_region& region, int rank, RemoteKind kind,
              size_t offset, void* memory, size_t bytes) noexcept {
  const esp_region::Member& member = region.members[static_cast<std::size_t>(rank)];
  return {caller,
          region,
          member,
          {kind, member.rank, member.number, offset, memory, bytes, {}, member.direct}};
}

void count(const Access& access) noexcept {
  espalier::Counters& counters = access.job().counters;
  Counter* counter = &counters.atomics;
  if (access.call.kind == RemoteKind::kPut) counter = &counters.puts;
  if (access.call.kind == RemoteKind::kGet) counter = &counters.gets;
  const bool copies = access.member.pointer != nullptr && counter != &counters.atomics;
  const std::uint64_t copied = copies ? access.call.bytes : 0;
  // Other threads may be counting, too.
  if (access.job().threaded) {
    counter->add_from_any(1);
    counters.region_bytes.add_from_any(copied);
  } else {
    *counter += 1;
    counters.region_bytes += copied;
  }
}

// Done already; a callback still waits for progress.
esp_status report_done(const Access& access, const esp_notify* notify, esp_request** request) {
  esp_job& job = access.job();
  if (notify == nullptr || notify->callback == nullptr) {
    espalier::access_near(access.call, access.member.pointer);
    if (notify == nullptr) {
      *request = &job.completed;
    } else {
      __atomic_fetch_sub(notify->counter, 1, __ATOMIC_RELEASE);
    }
    return ESP_OK;
  }
  espalier::access_near(access.call, access.member.pointer);
  return api::start_with_request(job, notify, request, [](esp_request*) {
    return espalier::Result<Started>(Started{true, {}});
  });
}

// Through memory of the host.
esp_status start_staged(const Access& access, const esp_notify* notify, esp_request** request) {
  esp_job& job = access.job();
  espalier::StagedAccesses* const by = &job.devices->accesses();
  const espalier::StagedAccesses::Access what = {access.caller, access.call, access.member.pointer};
  return api::start_with_request(job, notify, request,
                                 [by, what](esp_request* pending) -> espalier::Result<Started> {
                                   return by->start(what, Finish{api::finish_request, pending});
                                 });
}

// Of an access whose buffer was found.
esp_status begin(const Access& access, const esp_notify* notify, esp_request** request) {
  esp_job& job = access.job();
  const esp_status reports = api::check_report(job, access.caller, notify, request);
  if (reports != ESP_OK) return reports;
  if (job.one_sided->is_closed()) [[unlikely]]
    return api::fail(job, ESP_ERR_CANCELED, "the job is being finalized");
  if (access.on_device) [[unlikely]] {
    const esp_status staged = start_staged(access, notify, request);
    if (staged == ESP_OK) count(access);
    return staged;
  }
  const auto ask = [to = job.one_sided.get(), call = access.call](esp_request* pending) {
    return to->start(call, Finish{api::finish_request, pending});
  };
  const esp_status status = access.at_hand() ? report_done(access, notify, request)
                                             : api::start_with_request(job, notify, request, ask);
  if (status == ESP_OK) count(access);
  return status;
}

esp_status start(Access access, const esp_notify* notify, esp_request** request) {
  const esp_status found = find_buffer(access);
  return found == ESP_OK ? begin(access, notify, request) : found;
}

esp_status run(Access access) {
  esp_job& job = access.job();
  if (!api::may_block(job)) return api::refuse_blocking(job, access.caller);
  if (const esp_status found = find_buffer(access); found != ESP_OK) return found;
  if (access.at_hand()) {
    espalier::access_near(access.call, access.member.pointer);
    count(access);
    return ESP_OK;
  }
  esp_request* request = nullptr;
  const esp_status status = begin(access, nullptr, &request);
  return status == ESP_OK ? esp_request_wait(&request) : status;
}

// Zeroed, and known to its own node and, where it has one, to the adapter.
Part make_part(esp_job& job, size_t bytes) {
  Part part;
  api::on_owner(job, [&] {
    part.memory = static_cast<std::byte*>(job.heap->allocate(bytes));
    if (part.memory == nullptr) return;
    std::memset(part.memory, 0, bytes);
    part.number = job.one_sided->offer(part.memory, bytes);
    part.direct = job.one_sided->exposed(part.number);
  });
  return part;
}

void free_memory(esp_job& job, std::byte* memory, std::uint32_t number) {
  api::on_owner(job, [&] {
    job.one_sided->retract(number);
    (void)job.heap->release(memory);
  });
}

// Everybody learns everybody's memory.
esp_status introduce(esp_team& team, const Part& part, size_t bytes,
                     std::vector<std::uint64_t>& words) {
  words.assign(static_cast<std::size_t>(team.team.size()) * kWords, 0);
  std::uint64_t* mine = &words[static_cast<std::size_t>(team.team.rank) * kWords];
  mine[0] = bytes;
  mine[1] = part.memory != nullptr ? team.job->segment->offset_of(part.memory) + 1 : 0;
  mine[2] = part.number;
  mine[3] = part.direct.address;
  mine[4] = part.direct.key;
  return api::sum_words(team, words, Purpose::kRegion);
}

// What they have told. Fails on all members when there is no memory on one.
esp_status fill(esp_region& region, const std::vector<std::uint64_t>& words) {
  esp_team& team = *region.team;
  esp_job& job = *team.job;
  for (std::size_t m = 0; m * kWords < words.size(); ++m) {
    const std::uint64_t* told = &words[m * kWords];
    if (told[1] == 0) {
      return api::fail(job, ESP_ERR_NO_MEMORY,
                       fmt::format("no {} bytes left for a region on rank {} "
                                   "(ESPALIER_HEAP_BYTES)",
                                   told[0], team.team.members[m]));
    }
    esp_region::Member member;
    member.rank = team.team.members[m];
    member.bytes = told[0];
    member.number = static_cast<std::uint32_t>(told[2]);
    member.direct = {told[3], static_cast<std::uint32_t>(told[4])};
    if (job.nodes.is_local(member.rank)) member.pointer = job.segment->at(told[1] - 1);
    region.members.push_back(member);
  }
  return ESP_OK;
}

}  // namespace

extern "C" {

esp_status esp_region_create(esp_team* team, size_t bytes, esp_region** region) {
  if (team == nullptr) return ESP_ERR_ARGUMENT;
  esp_job& job = *team->job;
  if (region == nullptr) return api::bad_argument(job, __func__, "no place for the region");
  *region = nullptr;
  if (!api::may_block(job)) return api::refuse_blocking(job, __func__);
  const api::Caller caller(*team);
  auto made = std::make_unique<esp_region>();
  made->team = team;
  const Part part = make_part(job, bytes);
  std::vector<std::uint64_t> words;
  // Others may know the memory now though this member fails: then it stays, with the job.
  esp_status status = introduce(*team, part, bytes, words);
  if (status != ESP_OK) return status;
  status = fill(*made, words);
  if (status != ESP_OK) {
    if (part.memory != nullptr) free_memory(job, part.memory, part.number);
    return status;
  }
  api::on_owner(job, [&] {
    job.regions.push_back(std::move(made));
    *region = job.regions.back().get();
  });
  return ESP_OK;
}

esp_status esp_region_free(esp_region* region) {
  if (region == nullptr) return ESP_ERR_ARGUMENT;
  esp_team& team = *region->team;
  esp_job& job = *team.job;
  if (!api::may_block(job)) return api::refuse_blocking(job, __func__);
  const api::Caller caller(team);
  const esp_status status = api::meet(team, Purpose::kRegionEnd);
  const esp_region::Member own = region->members[static_cast<std::size_t>(team.team.rank)];
  api::on_owner(job, [&] {
    // Where not everybody has come, somebody may still write.
    if (status == ESP_OK) {
      free_memory(job, own.pointer, own.number);
    }
    std::erase_if(job.regions, [&](const auto& one) { return one.get() == region; });
  });
  return status;
}

void* esp_region_memory(const esp_region* region) {
  return region != nullptr ? esp_region_pointer(region, region->team->team.rank) : nullptr;
}

size_t esp_region_bytes(const esp_region* region, int rank) {
  if (region == nullptr || rank < 0) return 0;
  const auto r = static_cast<std::size_t>(rank);
  return r < region->members.size() ? region->members[r].bytes : 0;
}

void* esp_region_pointer(const esp_region* region, int rank) {
  if (region == nullptr || rank < 0) return nullptr;
  const auto r = static_cast<std::size_t>(rank);
  return r < region->members.size() ? region->members[r].pointer : nullptr;
}

esp_status esp_put(esp_region* region, int rank, size_t offset, const void* buffer, size_t bytes) {
  const esp_status status = check_copy(__func__, region, rank, offset, buffer, bytes);
  if (status != ESP_OK) return status;
  return run(
      access(__func__, *region, rank, RemoteKind::kPut, offset, const_cast<void*>(buffer), bytes));
}

esp_status esp_get(esp_region* region, int rank, size_t offset, void* buffer, size_t bytes) {
  const esp_status status = check_copy(__func__, region, rank, offset, buffer, bytes);
  if (status != ESP_OK) return status;
  return run(access(__func__, *region, rank, RemoteKind::kGet, offset, buffer, bytes));
}

esp_status esp_fetch_add(esp_region* region, int rank, size_t offset, uint64_t value,
                         uint64_t* old) {
  const esp_status status = check_word(__func__, region, rank, offset);
  if (status != ESP_OK) return status;
  Access add = access(__func__, *region, rank, RemoteKind::kFetchAdd, offset, old, sizeof value);
  add.call.operands = {value, 0};
  return run(add);
}

esp_status esp_compare_swap(esp_region* region, int rank, size_t offset, uint64_t expected,
                            uint64_t desired, uint64_t* old) {
  const esp_status status = check_word(__func__, region, rank, offset);
  if (status != ESP_OK) return status;
  Access swap =
      access(__func__, *region, rank, RemoteKind::kCompareSwap, offset, old, sizeof desired);
  swap.call.operands = {expected, desired};
  return run(swap);
}

esp_status esp_put_start(esp_region* region, int rank, size_t offset, const void* buffer,
                         size_t bytes, const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  const esp_status status = check_copy(__func__, region, rank, offset, buffer, bytes);
  if (status != ESP_OK) return status;
  return start(
      access(__func__, *region, rank, RemoteKind::kPut, offset, const_cast<void*>(buffer), bytes),
      notify, request);
}

esp_status esp_get_start(esp_region* region, int rank, size_t offset, void* buffer, size_t bytes,
                         const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  const esp_status status = check_copy(__func__, region, rank, offset, buffer, bytes);
  if (status != ESP_OK) return status;
  return start(access(__func__, *region, rank, RemoteKind::kGet, offset, buffer, bytes), notify,
               request);
}

esp_status esp_fetch_add_start(esp_region* region, int rank, size_t offset, uint64_t value,
                               uint64_t* old, const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  const esp_status status = check_word(__func__, region, rank, offset);
  if (status != ESP_OK) return status;
  Access add = access(__func__, *region, rank, RemoteKind::kFetchAdd, offset, old, sizeof value);
  add.call.operands = {value, 0};
  return start(add, notify, request);
}

esp_status esp_compare_swap_start(esp_region* region, int rank, size_t offset, uint64_t expected,
                                  uint64_t desired, uint64_t* old, const esp_notify* notify,
                                  esp_request** request) {
  if (request != nullptr) *request = nullptr;
  const esp_status status = check_word(__func__, region, rank, offset);
  if (status != ESP_OK) return status;
  Access swap =
      access(__func__, *region, rank, RemoteKind::kCompareSwap, offset, old, sizeof desired);
  swap.call.operands = {expected, desired};
  return start(swap, notify, request);
}

}  // extern "C"
