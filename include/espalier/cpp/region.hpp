// Region: elements on every member of a team that the others write, read and count in.
//
//   auto table = esp::Region<double>::create(team, 1000).value();  // collective
//   table.put({2, 10}, row);               // into elements 10... of member 2
//   auto old = ticket.fetch_add({0, 0}, 1);  // 64-bit integers
//
// Move-only. create(), free() and the destructor are collective over the team. Positions and
// lengths count elements. path: short where the C call is
#ifndef ESPALIER_CPP_REGION_HPP
#define ESPALIER_CPP_REGION_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "espalier/cpp/detail/start.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/team.hpp"
#include "espalier/cpp/type.hpp"

namespace esp {

// An element of a region: a member's rank in the team, and where in its memory.
struct At {
  int rank = 0;
  std::size_t index = 0;
};

template <typename T>
concept Countable = std::integral<T> && sizeof(T) == 8;

// A buffer of a region's elements.
template <typename R, typename T>
concept BufferOfTheRegionsElements =
    std::same_as<std::ranges::range_value_t<R>, std::remove_cv_t<T>>;

template <Element T>
class Region {
 public:
  // `count` of this member; the elements are zero.
  static Result<Region> create(TeamRef team, std::size_t count) {
    esp_region* made = nullptr;
    const esp_status status = esp_region_create(team.get(), bytes(count), &made);
    if (status != ESP_OK) return Result<Region>(detail::explain(team.get(), status));
    return Region(made, team.get());
  }
  Region(Region&& other) noexcept
      : region_(std::exchange(other.region_, nullptr)), team_(other.team_) {}
  Region& operator=(Region&&) = delete;
  ~Region() {
    if (region_ != nullptr) (void)free();
  }
  Status free() noexcept { return explain(esp_region_free(std::exchange(region_, nullptr))); }

  esp_region* get() const noexcept { return region_; }
  std::size_t size(int rank) const noexcept { return esp_region_bytes(region_, rank) / sizeof(T); }
  // The own elements, and those of a member: empty when it is on another node.
  std::span<T> local() const noexcept { return at_hand(TeamRef(team_).rank()); }
  std::span<T> at_hand(int rank) const noexcept {
    auto* elements = static_cast<T*>(esp_region_pointer(region_, rank));
    return elements != nullptr ? std::span<T>(elements, size(rank)) : std::span<T>();
  }

  // ---- blocking ----
  template <Readable R>
    requires BufferOfTheRegionsElements<R, T>
  Status put(At to, const R& elements) const noexcept {
    return explain(esp_put(region_, to.rank, offset(to), std::ranges::data(elements),
                           bytes(std::ranges::size(elements))));
  }
  template <Writable R>
    requires BufferOfTheRegionsElements<R, T>
  Status get(At from, R&& elements) const noexcept {
    return explain(esp_get(region_, from.rank, offset(from), std::ranges::data(elements),
                           bytes(std::ranges::size(elements))));
  }
  // The old value.
  Result<T> fetch_add(At at, T value) const
    requires Countable<T>
  {
    std::uint64_t old = 0;
    const esp_status status = esp_fetch_add(region_, at.rank, offset(at), word(value), &old);
    return status == ESP_OK ? Result<T>(static_cast<T>(old)) : Result<T>(explain(status));
  }
  Result<T> compare_swap(At at, T expected, T desired) const
    requires Countable<T>
  {
    std::uint64_t old = 0;
    const esp_status status =
        esp_compare_swap(region_, at.rank, offset(at), word(expected), word(desired), &old);
    return status == ESP_OK ? Result<T>(static_cast<T>(old)) : Result<T>(explain(status));
  }

  // ---- non-blocking: a request, or a callback or counter ----
  template <ReadableLater R>
    requires BufferOfTheRegionsElements<R, T>
  Result<Request> put_start(At to, R&& elements) const {
    return request(put_call(to, elements));
  }
  template <Writable R>
    requires BufferOfTheRegionsElements<R, T>
  Result<Request> get_start(At from, R&& elements) const {
    return request(get_call(from, elements));
  }
  template <ReadableLater R>
    requires BufferOfTheRegionsElements<R, T>
  Status put_start(At to, R&& elements, Notify notify) const noexcept {
    return started(notify, put_call(to, elements));
  }
  template <Writable R>
    requires BufferOfTheRegionsElements<R, T>
  Status get_start(At from, R&& elements, Notify notify) const noexcept {
    return started(notify, get_call(from, elements));
  }
  // Nobody asks for the old value.
  Result<Request> add_start(At at, T value) const
    requires Countable<T>
  {
    return request(add_call(at, value, nullptr));
  }
  Status add_start(At at, T value, Notify notify) const noexcept
    requires Countable<T>
  {
    return started(notify, add_call(at, value, nullptr));
  }
  // `old` is a buffer: the library's until the operation has ended.
  Result<Request> fetch_add_start(At at, T value, T& old) const
    requires Countable<T>
  {
    return request(add_call(at, value, &old));
  }
  Status fetch_add_start(At at, T value, T& old, Notify notify) const noexcept
    requires Countable<T>
  {
    return started(notify, add_call(at, value, &old));
  }
  Result<Request> compare_swap_start(At at, T expected, T desired, T& old) const
    requires Countable<T>
  {
    return request(swap_call(at, expected, desired, old));
  }
  Status compare_swap_start(At at, T expected, T desired, T& old, Notify notify) const noexcept
    requires Countable<T>
  {
    return started(notify, swap_call(at, expected, desired, old));
  }

 private:
  Region(esp_region* region, esp_team* team) noexcept : region_(region), team_(team) {}

  // More than there can be stays that, for the C calls to refuse.
  static std::size_t bytes(std::size_t elements) noexcept {
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
    return elements <= kMost / sizeof(T) ? elements * sizeof(T) : kMost;
  }
  static std::size_t offset(At at) noexcept { return bytes(at.index); }
  Status explain(esp_status status) const noexcept { return detail::explain(team_, status); }

  auto put_call(At to, const auto& elements) const noexcept {
    return [this, to, &elements](const esp_notify* notify, esp_request** out) {
      return esp_put_start(region_, to.rank, offset(to), std::ranges::data(elements),
                           bytes(std::ranges::size(elements)), notify, out);
    };
  }
  auto get_call(At from, auto& elements) const noexcept {
    return [this, from, &elements](const esp_notify* notify, esp_request** out) {
      return esp_get_start(region_, from.rank, offset(from), std::ranges::data(elements),
                           bytes(std::ranges::size(elements)), notify, out);
    };
  }
  static std::uint64_t word(T value) noexcept { return static_cast<std::uint64_t>(value); }
  auto add_call(At at, T value, T* old) const noexcept {
    return [this, at, value, old](const esp_notify* notify, esp_request** out) {
      return esp_fetch_add_start(region_, at.rank, offset(at), word(value),
                                 reinterpret_cast<std::uint64_t*>(old), notify, out);
    };
  }
  auto swap_call(At at, T expected, T desired, T& old) const noexcept {
    return [this, at, expected, desired, &old](const esp_notify* notify, esp_request** out) {
      return esp_compare_swap_start(region_, at.rank, offset(at), word(expected), word(desired),
                                    reinterpret_cast<std::uint64_t*>(&old), notify, out);
    };
  }
  Result<Request> request(auto&& call) const { return detail::request(team_, call); }
  Status started(Notify& notify, auto&& call) const noexcept {
    return detail::started(team_, notify, call);
  }

  esp_region* region_;
  esp_team* team_;
};

}  // namespace esp

#endif  // ESPALIER_CPP_REGION_HPP
