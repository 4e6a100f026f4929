#include "api/staged_accesses.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/handles.hpp"
#include "api/near_access.hpp"

namespace espalier {

Engine::Started StagedAccesses::start(const Access& access, const Finish& finish) noexcept {
  Operation* operation = operations_.allocate(*this, access, finish);
  if (operation == nullptr) return {true, Status(ESP_ERR_NO_MEMORY)};
  if (!advance(*operation)) return {};
  const Status status = operation->status;
  operations_.release(operation);
  return {true, status};
}

// True: nothing of it is under way any more.
bool StagedAccesses::advance(Operation& operation) noexcept {
  while (operation.status.ok() && operation.begun < operation.access.call.bytes &&
         operation.under_way < kAhead) {
    const Status status = begin_piece(operation);
    if (!status.ok()) fail(operation, status);
  }
  return operation.under_way == 0;
}

// Not ok: there is no such piece.
Status StagedAccesses::begin_piece(Operation& operation) noexcept {
  const RemoteCall& whole = operation.access.call;
  RemoteCall call = whole;
  call.offset += operation.begun;
  call.bytes = std::min(whole.bytes - operation.begun, kPieceBytes);
  std::byte* const memory = copies_.mover().allocate(call.bytes);
  call.memory = memory;
  if (memory == nullptr) return ESP_ERR_NO_MEMORY;
  std::byte* const on_device = static_cast<std::byte*>(whole.memory) + operation.begun;
  Piece* const piece = pieces_.allocate(operation, call, on_device);
  if (piece == nullptr) {
    copies_.mover().release(memory, call.bytes);
    return ESP_ERR_NO_MEMORY;
  }
  operation.begun += call.bytes;
  ++operation.under_way;
  const Engine::Started started = go_on(*piece);
  if (started.done) settle(*piece, started.status);
  return {};
}

// Both steps, or as far as they go at once.
Engine::Started StagedAccesses::go_on(Piece& piece) noexcept {
  while (piece.steps_left > 0) {
    const bool is_first = piece.steps_left-- == 2;
    const Engine::Started step = is_first == piece.puts() ? copy(piece) : access(piece);
    if (!step.done || !step.status.ok()) return step;
  }
  return {true, {}};
}

Engine::Started StagedAccesses::copy(Piece& piece) noexcept {
  return copies_.start({.pattern = &job_.short_tables.plain_patterns[ESP_BYTE],
                        .elements = piece.on_device,
                        .run = static_cast<std::byte*>(piece.call.memory),
                        .bytes = piece.call.bytes,
                        .packs = piece.puts()},
                       {&on_step, &piece});
}

Engine::Started StagedAccesses::access(Piece& piece) noexcept {
  if (std::byte* const near = piece.operation.access.near; near != nullptr) {
    access_near(piece.call, near);
    return {true, {}};
  }
  auto started = job_.one_sided->start(piece.call, {&on_step, &piece});
  return started.ok() ? *started : Engine::Started{true, started.error().status};
}

void StagedAccesses::on_step(void* context, Status status) noexcept {
  auto& piece = *static_cast<Piece*>(context);
  Operation& operation = piece.operation;
  StagedAccesses& self = operation.owner;
  const Engine::Started further = status.ok() ? self.go_on(piece) : Engine::Started{true, status};
  if (!further.done) return;
  self.settle(piece, further.status);
  if (!self.advance(operation)) return;
  const Finish finish = operation.finish;
  const Status ended = operation.status;
  self.operations_.release(&operation);
  finish.function(finish.context, ended);
}

void StagedAccesses::settle(Piece& piece, Status status) noexcept {
  Operation& operation = piece.operation;
  if (!status.ok()) fail(operation, status);
  --operation.under_way;
  copies_.mover().release(static_cast<std::byte*>(piece.call.memory), piece.call.bytes);
  pieces_.release(&piece);
}

// What becomes of a put or a get between nodes is told by who carries it (OneSided).
void StagedAccesses::fail(Operation& operation, Status status) noexcept {
  if (!operation.status.ok()) return;
  operation.status = status;
  const char* const caller = operation.access.caller;
  if (status.code() == ESP_ERR_DEVICE) {
    job_.errors.set(fmt::format("{}, rank {}: {}", caller, job_.rank, copies_.mover().why()));
  } else if (status.code() == ESP_ERR_NO_MEMORY) {
    job_.errors.set(fmt::format("{}: no memory of the host to copy by", caller));
  }
}

}  // namespace espalier
