// Completion: how a posted operation reports its end.
//
// Ownership: the caller owns the Completion and every buffer named by the operation until a post
// answers kPending; the library owns them until the callback runs; then both return to the caller.
// The callback runs exactly once, on the worker's owner thread, from progress(), never from inside
// a post. It may post but must not call progress(). path: data
#pragma once

#include <cstdint>

#include "core/status.hpp"

namespace espalier {

// What a post answers. kDone: finished, the completion will not fire. kPending: it fires once.
// kRetry: nothing happened, a resource is missing; try again after the wire reported resources
// (Wire::progress returned events).
enum class Posted : std::uint8_t { kDone, kPending, kRetry };

struct Completion {
  using Callback = void (*)(Completion& self, Status status) noexcept;

  Completion() = default;
  explicit Completion(Callback callback) noexcept : on_complete(callback) {}
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  void complete(Status status) noexcept { on_complete(*this, status); }

  Callback on_complete = nullptr;
  Completion* next =
      nullptr;  // Intrusive link; owned by whichever queue holds the pending operation.
};

// How an operation tells its end: called once, from progress() (or at once by a start that may
// complete immediately, see Engine::start).
struct Finish {
  using Function = void (*)(void* context, Status status) noexcept;
  Function function = nullptr;
  void* context = nullptr;
};

}  // namespace espalier
