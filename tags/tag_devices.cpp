// TagMessages, bytes that come to memory of a device, or leave it, without a flow: what has come at
// once, and what this rank sends itself. They pass through memory of the mover's. path: data
#include <fmt/format.h>

#include "tags/tag_state.hpp"

namespace espalier {

// Of a message that came at once. Started::status: as of begin_move().
TagMessages::Started TagMessages::land(Receive& receive, const TagKey& key,
                                       std::span<const std::byte> payload) noexcept {
  receive.rank = key.source;
  receive.tag = key.tag;
  receive.bytes = payload.size();
  receive.moves = true;
  const std::uint64_t fits = std::min<std::uint64_t>(payload.size(), receive.block.bytes);
  if (fits == 0) return {true, {}};
  Mover& mover = receive.block.device->mover();
  std::byte* memory = mover.allocate(fits);
  if (memory == nullptr) return {true, Status(ESP_ERR_NO_MEMORY)};
  copy_bytes(memory, payload.data(), fits);
  Carried* carried = carried_.allocate(receive, nullptr, mover, memory, fits);
  if (carried != nullptr) return put(*carried);
  mover.release(memory, fits);
  return {true, Status(ESP_ERR_NO_MEMORY)};
}

// Either end is on a device, or both are.
TagMessages::Started TagMessages::carry_to_self(Receive& receive, Send& send,
                                                std::uint64_t bytes) noexcept {
  send.moves = true;
  StagedCopies* from = send.block.device;
  Mover& mover = (from != nullptr ? from : receive.block.device)->mover();
  std::byte* memory = mover.allocate(bytes);
  Carried* carried =
      memory != nullptr ? carried_.allocate(receive, &send, mover, memory, bytes) : nullptr;
  if (carried == nullptr) {
    mover.release(memory, bytes);
    set_ended(send, ESP_ERR_NO_MEMORY);
    return {true, Status(ESP_ERR_NO_MEMORY)};
  }
  if (from == nullptr) {
    tag_pack(memory, send.block, bytes);
    return put(*carried);
  }
  const Started got = from->start({.pattern = send.block.pattern,
                                   .elements = static_cast<std::byte*>(send.block.memory),
                                   .run = memory,
                                   .bytes = bytes,
                                   .packs = true},
                                  {&on_got, carried});
  if (!got.done) return {};
  return got.status.ok() ? put(*carried) : settle(*carried, got.status);
}

// All bytes are in its memory.
TagMessages::Started TagMessages::put(Carried& carried) noexcept {
  const TagBlock& to = carried.receive.block;
  if (to.device == nullptr) {
    tag_unpack(to, carried.memory, carried.bytes);
    return settle(carried, {});
  }
  const Started started = to.device->start({.pattern = to.pattern,
                                            .elements = static_cast<std::byte*>(to.memory),
                                            .run = carried.memory,
                                            .bytes = carried.bytes},
                                           {&on_put, &carried});
  return started.done ? settle(carried, started.status) : started;
}

void TagMessages::on_got(void* context, Status status) noexcept {
  auto& carried = *static_cast<Carried*>(context);
  Receive& receive = carried.receive;
  TagMessages& self = receive.owner;
  const Started started = status.ok() ? self.put(carried) : self.settle(carried, status);
  if (started.done) self.end(receive, started.status);
}

void TagMessages::on_put(void* context, Status status) noexcept {
  auto& carried = *static_cast<Carried*>(context);
  Receive& receive = carried.receive;
  receive.owner.end(receive, receive.owner.settle(carried, status).status);
}

// The end of all but its receive. What a driver fails with is the end of the team, as of flows.
TagMessages::Started TagMessages::settle(Carried& carried, Status status) noexcept {
  Receive& receive = carried.receive;
  if (status.code() == ESP_ERR_DEVICE && !receive.team.failed()) {
    parts_.engine.fail(
        receive.team, status,
        fmt::format("{}, rank {}: {}", describe(receive), status.rank(), carried.mover.why()));
  }
  if (carried.send != nullptr) set_ended(*carried.send, status);
  carried.mover.release(carried.memory, carried.bytes);
  carried_.release(&carried);
  return {true, status};
}

}  // namespace espalier
