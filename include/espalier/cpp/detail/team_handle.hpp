// What all functions of a team are made of: the C handle, ranges taken apart, and the ways to
// report. path: short
#ifndef ESPALIER_CPP_DETAIL_TEAM_HANDLE_HPP
#define ESPALIER_CPP_DETAIL_TEAM_HANDLE_HPP

#include <cstddef>
#include <ranges>

#include "espalier/cpp/detail/start.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/options.hpp"
#include "espalier/cpp/pattern.hpp"
#include "espalier/cpp/persistent_request.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/type.hpp"

namespace esp::detail {

// A C call that starts something, or (`stays`) makes a persistent request for it, short of how it
// reports. `wrong`: why its ranges do not fit together, or nullptr.
template <typename F>
struct Call {
  const char* wrong;
  F begin;
};
template <typename F>
Call(const char*, F) -> Call<F>;

// The three forms of a C function, and (`apply`) how one is called: apply(function, how...) passes
// what they have in common, then `how` to report.
template <typename Apply, typename Now, typename Later>
struct Forms {
  const char* wrong;
  Apply apply;
  Now* now;
  Later *start, *init;

  auto later(const CollOptions& options) const noexcept {
    return Call{wrong, [apply = apply, start = start, init = init, c = options.to_c()](
                           bool stays, const esp_notify* notify, esp_request** out) {
                  return apply(stays ? init : start, &c, notify, out);
                }};
  }
};
template <typename Apply, typename Now, typename Later>
Forms(const char*, Apply, Now*, Later*, Later*) -> Forms<Apply, Now, Later>;

class TeamHandle {
 public:
  explicit TeamHandle(esp_team* team) noexcept : team_(team) {}

  esp_team* get() const noexcept { return team_; }
  int rank() const noexcept { return esp_team_rank(team_); }
  int size() const noexcept { return esp_team_size(team_); }

 protected:
  static auto* data(auto&& range) noexcept { return std::ranges::data(range); }
  // Elements and their type; those of what lies in a pattern are patterns.
  template <typename R>
  static std::size_t size_of(const R& range) noexcept {
    if constexpr (kIsPatterned<R>) return range.count();
    return std::ranges::size(range);
  }
  template <typename R>
  static esp_type type_in(const R& range) noexcept {
    if constexpr (kIsPatterned<R>) return range.type();
    return type_of<std::ranges::range_value_t<R>>;
  }
  template <typename R>
  static std::size_t bytes_of(const R& range) noexcept {
    static_assert(!kIsPatterned<R>, "messages and regions take elements that lie side by side");
    return std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>);
  }
  // Why a range, or two of one call, cannot be taken; or nullptr.
  template <typename R>
  static const char* unfit(const R& range) noexcept {
    if constexpr (kIsPatterned<R>) {
      if (!range.fits()) return "the pattern reaches beyond its memory";
    }
    return nullptr;
  }
  static const char* unfit(const auto& input, const auto& output) noexcept {
    if (const char* wrong = unfit(input)) return wrong;
    if (const char* wrong = unfit(output)) return wrong;
    return type_in(input) == type_in(output) ? nullptr : "input and output differ in their pattern";
  }
  static const char* differ(const auto& input, const auto& output) noexcept {
    if (const char* wrong = unfit(input, output)) return wrong;
    return size_of(input) == size_of(output) ? nullptr : "input and output differ in length";
  }

  static Status refuse(const char* wrong) noexcept { return Status(ESP_ERR_ARGUMENT, wrong); }
  Status explain(esp_status status) const noexcept { return detail::explain(team_, status); }
  template <typename A, typename N, typename L>
  Status now(const Forms<A, N, L>& forms) const noexcept {
    return forms.wrong != nullptr ? refuse(forms.wrong) : explain(forms.apply(forms.now));
  }
  template <typename F>
  Result<Request> request(const Call<F>& call) const {
    if (call.wrong != nullptr) return Result<Request>(refuse(call.wrong));
    return detail::request(team_, [&](const esp_notify* notify, esp_request** out) {
      return call.begin(false, notify, out);
    });
  }
  template <typename F>
  Status started(Notify& notify, const Call<F>& call) const noexcept {
    if (call.wrong != nullptr) return refuse(call.wrong);
    return detail::started(team_, notify, [&](const esp_notify* told, esp_request** out) {
      return call.begin(false, told, out);
    });
  }
  template <typename F>
  Result<PersistentRequest> persistent(const Call<F>& call) const {
    return persistent(call, nullptr, [] { return Notify::Kept(); });
  }
  template <typename F>
  Result<PersistentRequest> persistent(Notify& notify, const Call<F>& call) const {
    const esp_notify repeated = notify.repeated();
    return persistent(call, &repeated, [&] { return notify.keep(); });
  }

  esp_team* team_;

 private:
  template <typename F>
  Result<PersistentRequest> persistent(const Call<F>& call, const esp_notify* notify,
                                       auto&& keep) const {
    if (call.wrong != nullptr) return Result<PersistentRequest>(refuse(call.wrong));
    esp_request* handle = nullptr;
    const esp_status status = call.begin(true, notify, &handle);
    if (status != ESP_OK) return Result<PersistentRequest>(explain(status));
    return Result<PersistentRequest>(PersistentRequest(handle, team_, keep()));
  }
};

}  // namespace esp::detail

#endif  // ESPALIER_CPP_DETAIL_TEAM_HANDLE_HPP
