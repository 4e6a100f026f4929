// C API: messages that are matched by source and tag. Contracts in tags.h. path: short, data
#include "api/tag.hpp"

#include <fmt/format.h>

#include "core/datatype.hpp"

using espalier::ActiveMessage;
using espalier::Engine;
using espalier::error;
using espalier::Finish;
using espalier::Rank;
using espalier::Result;
using espalier::Status;
using espalier::TagBlock;
using espalier::TagMessages;
using espalier::TagSending;
namespace api = espalier::api;
using api::TagCall;

namespace espalier::api {

esp_status check_tag_call(const char* caller, TagCall& call, bool receives) {
  if (call.team == nullptr) return ESP_ERR_ARGUMENT;
  esp_job& job = *call.team->job;
  const int size = call.team->team.size();
  const bool any = receives && call.peer == ESP_ANY_SOURCE;
  if ((call.peer < 0 || call.peer >= size) && !any) [[unlikely]] {
    return bad_argument(job, caller, fmt::format("rank {} in a team of {}", call.peer, size));
  }
  const std::size_t size_of = type_size(call.type);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(call.count, size_of, &bytes) || bytes > Pattern::kBytesMax ||
      call.count > Pattern::kBytesMax) [[unlikely]] {
    return bad_argument(job, caller, "the count is absurd (was it negative?)");
  }
  if (call.buffer == nullptr && bytes > 0) [[unlikely]] {
    return bad_argument(job, caller, fmt::format("{} bytes, but the buffer is NULL", bytes));
  }
  const bool here = !job.threaded;  // Otherwise start_on_team looks, on the owner.
  if (here && call.team->team.failed()) [[unlikely]]
    return fail_team(*call.team, call.team->team.fault);
  if (job.devices->may_be() && call.count > 0) [[unlikely]]
    return job.devices->look_at(caller, *call.team, call.buffer, call.on_device);
  return ESP_OK;
}

namespace {

TagBlock on_device(esp_job& job, TagBlock block) {
  if (block.pattern == nullptr) block.pattern = &job.short_tables.plain_patterns[ESP_BYTE];
  block.device = &job.devices->copies();
  return block;
}

}  // namespace

Result<TagBlock> tag_block(esp_job& job, const TagCall& call, bool receives) {
  if (const std::size_t size = type_size(call.type); size != 0) [[likely]] {
    const TagBlock block = {call.buffer, call.count * size};
    return call.on_device ? on_device(job, block) : block;
  }
  const Pattern* pattern = job.types.find(call.type);
  if (pattern == nullptr) {
    return error(ESP_ERR_TYPE, fmt::format("there is no type {}", static_cast<int>(call.type)));
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(call.count, pattern->packed_bytes(), &bytes) ||
      bytes > Pattern::kBytesMax) {
    return error(ESP_ERR_ARGUMENT, fmt::format("{} elements are too many bytes", call.count));
  }
  if (receives && pattern->overlaps()) {
    return error(ESP_ERR_ARGUMENT, "blocks of an element overlap, and cannot be received");
  }
  const TagBlock block = {call.buffer, bytes, pattern->is_plain() ? nullptr : pattern};
  return call.on_device ? on_device(job, block) : block;
}

}  // namespace espalier::api

namespace {

Result<Engine::Started> send_tagged(const TagCall& call, bool synchronous, const Finish& finish) {
  Result<TagBlock> block = api::tag_block(*call.team->job, call, false);
  if (!block) return block.error();
  return call.team->job->tags->send(
      TagSending{call.team->team, call.peer, call.tag, *block, synchronous, call.aside}, finish);
}

Result<Engine::Started> receive_tagged(const TagCall& call, esp_request& pending) {
  Result<TagBlock> block = api::tag_block(*call.team->job, call, true);
  if (!block) return block.error();
  return call.team->job->tags->receive(api::tag_receiving(call, *block),
                                       Finish{api::finish_request, &pending}, pending.receive);
}

// Sends that need nothing remembered: the message is in the mailbox of a rank of this node.
bool sent_at_once(const TagCall& call) {
  esp_job& job = *call.team->job;
  if (job.threaded || job.worker->in_progress()) return false;
  const std::size_t size = espalier::type_size(call.type);
  const std::uint64_t bytes = call.count * size;
  if (size == 0 || bytes > job.tags->limits().eager_bytes) return false;
  const TagBlock block = {call.buffer, bytes};
  return job.tags->send_now({call.team->team, call.peer, call.tag, block, false, call.aside});
}

// Of a call that has been checked.
esp_status begin_send(const TagCall& call, bool synchronous, const esp_notify* notify,
                      esp_request** request) {
  return api::start_on_team(*call.team, notify, request, [call, synchronous](esp_request* pending) {
    return send_tagged(call, synchronous, {api::finish_request, pending});
  });
}

esp_status start_send(const char* caller, TagCall call, bool synchronous, const esp_notify* notify,
                      esp_request** request) {
  if (request != nullptr) *request = nullptr;
  esp_status status = api::check_tag_call(caller, call, false);
  if (status == ESP_OK) status = api::check_report(*call.team->job, caller, notify, request);
  if (status != ESP_OK) return status;
  if (notify == nullptr && !synchronous && !call.on_device && sent_at_once(call)) {
    *request = &call.team->job->completed;
    return ESP_OK;
  }
  return begin_send(call, synchronous, notify, request);
}

esp_status send_and_wait(const TagCall& call, bool synchronous) {
  esp_request* request = nullptr;
  const esp_status started = begin_send(call, synchronous, nullptr, &request);
  return started == ESP_OK ? api::tag_ended(*call.team, esp_request_wait(&request)) : started;
}

// Of a short message in memory of a device a copy is sent, so that it need not wait for its
// receiver. nullptr: there is none, for it is long, or the type is wrong, or there is no memory.
std::byte* take_room(const TagCall& call, TagBlock& block) {
  esp_job& job = *call.team->job;
  std::byte* room = nullptr;
  api::on_owner(job, [&] {
    Result<TagBlock> found = api::tag_block(job, call, false);
    if (!found || found->bytes == 0 || found->bytes > job.tags->limits().eager_bytes) return;
    block = *found;
    room = block.device->mover().allocate(block.bytes);
  });
  return room;
}

esp_status send_from_device(const char* caller, const TagCall& call, bool synchronous) {
  esp_job& job = *call.team->job;
  TagBlock block;
  std::byte* room = synchronous ? nullptr : take_room(call, block);
  if (room == nullptr) return send_and_wait(call, synchronous);
  const espalier::Outcome copied =
      job.devices->copy({.pattern = block.pattern,
                         .elements = static_cast<std::byte*>(block.memory),
                         .run = room,
                         .bytes = block.bytes,
                         .packs = true});
  TagCall copy = call;
  copy.buffer = room;
  copy.count = block.bytes;
  copy.type = ESP_BYTE;
  copy.on_device = false;
  esp_status status = ESP_OK;
  if (!copied.ok()) {
    status = job.devices->fail(caller, *call.team, copied.error().text);
  } else if (!sent_at_once(copy)) {
    status = send_and_wait(copy, false);
  }
  api::on_owner(job, [&] { block.device->mover().release(room, block.bytes); });
  return status;
}

esp_status run_send(const char* caller, TagCall call, bool synchronous) {
  const esp_status status = api::check_tag_call(caller, call, false);
  if (status != ESP_OK) return status;
  esp_job& job = *call.team->job;
  if (!api::may_block(job)) return api::refuse_blocking(job, caller);
  if (!synchronous && !call.on_device && sent_at_once(call)) [[likely]]
    return ESP_OK;
  const api::Caller under_way(*call.team);
  return call.on_device ? send_from_device(caller, call, synchronous)
                        : send_and_wait(call, synchronous);
}

// Of a call that has been checked.
esp_status begin_receive(const TagCall& call, const esp_notify* notify, esp_request** request) {
  return api::start_on_team(*call.team, notify, request, [call](esp_request* pending) {
    return receive_tagged(call, *pending);
  });
}

esp_status start_receive(const char* caller, TagCall call, const esp_notify* notify,
                         esp_request** request) {
  if (request != nullptr) *request = nullptr;
  esp_status status = api::check_tag_call(caller, call, true);
  if (status == ESP_OK) status = api::check_report(*call.team->job, caller, notify, request);
  return status == ESP_OK ? begin_receive(call, notify, request) : status;
}

// What is there, or comes within so many looks, and no other receive or message is before it.
bool received_at_once(const TagCall& call, Status& status) {
  esp_job& job = *call.team->job;
  if (job.threaded || call.peer == ESP_ANY_SOURCE || !job.tags->nothing_waits()) return false;
  const Rank from = call.team->team.members[static_cast<std::size_t>(call.peer)];
  const std::size_t size = espalier::type_size(call.type);
  if (size == 0 || !job.one_sided->is_near(from)) return false;
  const TagBlock block = {call.buffer, call.count * size};
  for (std::uint32_t looks = job.worker->spins(); looks > 0; --looks) {
    const std::optional<ActiveMessage> next = job.one_sided->front(from);
    if (!next) {
      espalier::Worker::pause();
      continue;
    }
    if (!job.tags->accept(api::tag_receiving(call, block), from, *next, status)) return false;
    job.one_sided->pop(from);
    return true;
  }
  return false;
}

esp_status run_receive(const char* caller, TagCall call) {
  const esp_status checked = api::check_tag_call(caller, call, true);
  if (checked != ESP_OK) return checked;
  esp_job& job = *call.team->job;
  if (!api::may_block(job)) return api::refuse_blocking(job, caller);
  Status status;
  if (!call.on_device && received_at_once(call, status)) [[likely]] {
    api::flush(job);
    return status.code();
  }
  const api::Caller under_way(*call.team);
  esp_request* request = nullptr;
  const esp_status started = begin_receive(call, nullptr, &request);
  return started == ESP_OK ? api::tag_ended(*call.team, esp_request_wait(&request)) : started;
}

TagCall outgoing(esp_team* team, const void* buffer, size_t count, esp_type type, int dest,
                 uint64_t tag) noexcept {
  return {team, const_cast<void*>(buffer), count, type, dest, tag};
}

}  // namespace

esp_status api::send_aside(const char* caller, const TagCall& call) {
  TagCall own = call;
  own.aside = true;
  return run_send(caller, own, false);
}

esp_status api::receive_aside(const char* caller, const TagCall& call) {
  TagCall own = call;
  own.aside = true;
  return run_receive(caller, own);
}

extern "C" {

esp_status esp_tag_send(esp_team* team, const void* buffer, size_t count, esp_type type, int dest,
                        uint64_t tag) {
  return run_send(__func__, outgoing(team, buffer, count, type, dest, tag), false);
}

esp_status esp_tag_send_synchronous(esp_team* team, const void* buffer, size_t count, esp_type type,
                                    int dest, uint64_t tag) {
  return run_send(__func__, outgoing(team, buffer, count, type, dest, tag), true);
}

esp_status esp_tag_send_start(esp_team* team, const void* buffer, size_t count, esp_type type,
                              int dest, uint64_t tag, const esp_notify* notify,
                              esp_request** request) {
  return start_send(__func__, outgoing(team, buffer, count, type, dest, tag), false, notify,
                    request);
}

esp_status esp_tag_send_synchronous_start(esp_team* team, const void* buffer, size_t count,
                                          esp_type type, int dest, uint64_t tag,
                                          const esp_notify* notify, esp_request** request) {
  return start_send(__func__, outgoing(team, buffer, count, type, dest, tag), true, notify,
                    request);
}

esp_status esp_tag_recv(esp_team* team, void* buffer, size_t count, esp_type type, int source,
                        uint64_t tag, uint64_t mask, esp_tag_info* info) {
  return run_receive(__func__, {team, buffer, count, type, source, tag, mask, info});
}

esp_status esp_tag_recv_start(esp_team* team, void* buffer, size_t count, esp_type type, int source,
                              uint64_t tag, uint64_t mask, esp_tag_info* info,
                              const esp_notify* notify, esp_request** request) {
  return start_receive(__func__, {team, buffer, count, type, source, tag, mask, info}, notify,
                       request);
}

}  // extern "C"
