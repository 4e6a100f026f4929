// Notify: how a non-blocking operation reports, other than through a Request.
//
//   team.bcast_start(x, 0, esp::Notify([&done](esp_status s) { done = s; }));
//   team.bcast_start(x, 0, esp::Notify::count_down(pending));
//
// The callable takes esp_status and runs exactly once, of a persistent request once a round, on the
// thread that drives progress, never from inside the starting call; it may start operations but
// must not block or throw. Where it lives:
//   - trivially copyable and no larger than a pointer (a lambda that captures one reference): in
//     the operation itself, nothing is allocated;
//   - an lvalue: where it is; the caller keeps it until it ran, nothing is allocated;
//   - anything else: on the heap, freed after it ran, with its persistent request, or when the
//     operation could not be started.
// path: short for the first two
#ifndef ESPALIER_CPP_NOTIFY_HPP
#define ESPALIER_CPP_NOTIFY_HPP

#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "espalier/espalier.h"

namespace esp {

template <typename F>
concept Callback = std::invocable<std::remove_cvref_t<F>&, esp_status>;

class [[nodiscard]] Notify {
 public:
  template <Callback F>
    requires(!std::same_as<std::remove_cvref_t<F>, Notify>)
  explicit Notify(F&& callable) {
    using Stored = std::remove_cvref_t<F>;
    if constexpr (std::is_lvalue_reference_v<F>) {
      notify_ = {&run_borrowed<Stored>, const_cast<Stored*>(&callable), nullptr};
    } else if constexpr (kFitsInPointer<Stored>) {
      notify_.callback = &run_inline<Stored>;
      std::memcpy(&notify_.context, &callable, sizeof callable);
    } else {
      notify_ = {&run_owned<Stored>, new Stored(std::forward<F>(callable)), nullptr};
      again_ = &run_borrowed<Stored>;
      discard_ = [](void* context) { delete static_cast<Stored*>(context); };
    }
  }

  // `counter` is decremented once, with release order, when the operation ends, failed or not.
  static Notify count_down(std::int64_t& counter) noexcept {
    Notify made;
    made.notify_.counter = &counter;
    return made;
  }

  Notify(Notify&& other) noexcept
      : notify_(other.notify_),
        again_(other.again_),
        discard_(std::exchange(other.discard_, nullptr)) {}
  Notify& operator=(Notify&&) = delete;
  ~Notify() {
    if (discard_ != nullptr) discard_(notify_.context);
  }

  // For the starting call: what the C API takes, and that it took it.
  const esp_notify* get() const noexcept { return &notify_; }
  void release() noexcept { discard_ = nullptr; }

  // The same for a persistent request, which keeps the callable until it goes.
  struct Kept {
    void* context = nullptr;
    void (*discard)(void*) = nullptr;
  };
  esp_notify repeated() const noexcept {
    return {again_ != nullptr ? again_ : notify_.callback, notify_.context, notify_.counter};
  }
  Kept keep() noexcept { return {notify_.context, std::exchange(discard_, nullptr)}; }

 private:
  template <typename F>
  static constexpr bool kFitsInPointer =
      std::is_trivially_copyable_v<F> && sizeof(F) <= sizeof(void*) && alignof(F) <= alignof(void*);

  Notify() noexcept = default;

  template <typename F>
  static void run_borrowed(void* context, esp_status status) {
    (*static_cast<F*>(context))(status);
  }
  template <typename F>
  static void run_inline(void* context, esp_status status) {
    // The bytes of the pointer are the callable: implicit-lifetime storage for a copy of it.
    alignas(F) unsigned char storage[sizeof(F)];
    std::memcpy(storage, &context, sizeof(F));
    (*std::launder(reinterpret_cast<F*>(storage)))(status);
  }
  template <typename F>
  static void run_owned(void* context, esp_status status) {
    const std::unique_ptr<F> callable(static_cast<F*>(context));
    (*callable)(status);
  }

  esp_notify notify_{nullptr, nullptr, nullptr};
  decltype(esp_notify::callback) again_ = nullptr;  // leaves what is on the heap there
  void (*discard_)(void*) = nullptr;
};

}  // namespace esp

#endif  // ESPALIER_CPP_NOTIFY_HPP
