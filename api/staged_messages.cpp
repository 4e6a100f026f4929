#include "api/staged_messages.hpp"

#include <fmt/format.h>

#include <memory>

#include "api/handles.hpp"

namespace espalier {

StagedMessages::Line& StagedMessages::line(Rank to) {
  Line* const met = lines_.find(to);
  return met != nullptr ? *met : lines_.meet(to, std::make_unique<Line>());
}

Result<Engine::Started> StagedMessages::send(const char* caller, Rank to,
                                             const ActiveMessage& message, bool on_device,
                                             const Finish& finish) {
  Line& before = line(to);
  if (!on_device && before.empty()) return job_.one_sided->send(to, message, finish);
  Letter* const letter = letters_.allocate(*this, caller, to, message, finish);
  if (letter == nullptr) return error(ESP_ERR_NO_MEMORY, "no memory for a message");
  Engine::Started started = on_device ? copy(*letter) : Engine::Started{true, {}};
  letter->copied = started.done;
  const bool is_next = started.done && started.status.ok() && before.empty();
  if (is_next) started = pass_on(*letter);
  if (started.done && (is_next || !started.status.ok())) {
    explain(*letter, started.status);
    release(*letter);
    return started;
  }
  if (!is_next) before.push_back(*letter);
  return Engine::Started{};
}

Engine::Started StagedMessages::copy(Letter& letter) noexcept {
  Mover& mover = copies_.mover();
  letter.memory = mover.allocate(letter.message.bytes);
  if (letter.memory == nullptr) return {true, Status(ESP_ERR_NO_MEMORY)};
  void* const payload = const_cast<void*>(letter.message.payload);
  letter.message.payload = letter.memory;
  return copies_.start({.pattern = &job_.short_tables.plain_patterns[ESP_BYTE],
                        .elements = static_cast<std::byte*>(payload),
                        .run = letter.memory,
                        .bytes = letter.message.bytes,
                        .packs = true},
                       {&on_copied, &letter});
}

// Nothing is before it.
Engine::Started StagedMessages::pass_on(Letter& letter) {
  auto sent = job_.one_sided->send(letter.to, letter.message, {&on_sent, &letter});
  if (sent.ok()) return *sent;
  job_.errors.set(sent.error().text);
  return {true, sent.error().status};
}

// With it go those that have waited for it alone.
void StagedMessages::on_copied(void* context, Status status) noexcept {
  auto& copied = *static_cast<Letter*>(context);
  StagedMessages& self = copied.owner;
  copied.copied = true;
  copied.status = status;
  Line& line = self.line(copied.to);
  while (Letter* const next = line.front()) {
    if (!next->copied) return;
    next->unlink();
    const Engine::Started sent =
        next->status.ok() ? self.pass_on(*next) : Engine::Started{true, next->status};
    if (sent.done) on_sent(next, sent.status);
  }
}

void StagedMessages::on_sent(void* context, Status status) noexcept {
  auto& letter = *static_cast<Letter*>(context);
  const Finish finish = letter.finish;
  StagedMessages& self = letter.owner;
  self.explain(letter, status);
  self.release(letter);
  finish.function(finish.context, status);
}

void StagedMessages::release(Letter& letter) noexcept {
  if (letter.memory != nullptr) copies_.mover().release(letter.memory, letter.message.bytes);
  letters_.release(&letter);
}

// What becomes of a message that has been copied is told by who carries it (OneSided).
void StagedMessages::explain(const Letter& letter, Status status) noexcept {
  if (status.code() == ESP_ERR_DEVICE) {
    job_.errors.set(
        fmt::format("{}, rank {}: {}", letter.caller, job_.rank, copies_.mover().why()));
  } else if (status.code() == ESP_ERR_NO_MEMORY) {
    job_.errors.set(fmt::format("{}: no memory of the host to copy by", letter.caller));
  }
}

}  // namespace espalier
