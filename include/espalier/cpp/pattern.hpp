// Pattern: elements that lie apart (the columns of a matrix, the faces of a cube), as one element
// of a collective. Contracts: espalier/layouts.h.
//
//   auto column = job.strided<double>({.blocks = rows, .length = 1, .stride = width}).value();
//   team.bcast(column.in(std::span(matrix).subspan(2)), 0);    // its third column
//
// What in() gives goes wherever a collective takes a range of T: its length and all counts and
// displacements are those of patterns. Input and output of a call have the same pattern, unless the
// call has types for each block; what other members pass may lie otherwise. path: setup
#ifndef ESPALIER_CPP_PATTERN_HPP
#define ESPALIER_CPP_PATTERN_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <utility>

#include "espalier/cpp/result.hpp"
#include "espalier/cpp/type.hpp"

namespace esp {

// `blocks` blocks of `length` elements, which begin `stride` apart. `extent`: from the beginning of
// one pattern to that of the next; 0: as far as the last block reaches.
struct Stride {
  std::size_t blocks = 0, length = 1, stride = 0, extent = 0;
};

// So many patterns in a piece of memory. Borrows both: the Pattern outlives the operation.
template <Element T>
class Patterned : public std::span<T> {
 public:
  Patterned(std::span<T> memory, std::size_t count, esp_type type, bool fits) noexcept
      : std::span<T>(memory), count_(count), type_(type), fits_(fits) {}

  std::size_t count() const noexcept { return count_; }
  esp_type type() const noexcept { return type_; }
  // All of them end within the memory.
  bool fits() const noexcept { return fits_; }

 private:
  std::size_t count_;
  esp_type type_;
  bool fits_;
};

namespace detail {
template <typename R>
inline constexpr bool kIsPatterned = false;
template <typename T>
inline constexpr bool kIsPatterned<Patterned<T>> = true;
}  // namespace detail

// Owns its type; outlives the operations and persistent requests that use it, and goes before its
// job. If it does not, the type stays until the job ends.
template <Element T>
class Pattern {
 public:
  static Result<Pattern> strided(esp_job* job, const Stride& s) {
    Pattern made(job);
    const esp_status status =
        esp_type_strided(job, type_of<T>, s.blocks, s.length, s.stride, s.extent, &made.type_);
    if (status != ESP_OK) return Result<Pattern>(Status(status, esp_job_error(job)));
    made.measure(s.blocks > 0 ? (s.blocks - 1) * s.stride + s.length : 0, s.extent);
    return Result<Pattern>(std::move(made));
  }
  // Block i has lengths[i] elements and begins displs[i] after the beginning. Both are copied.
  static Result<Pattern> blocks(esp_job* job, std::span<const std::size_t> lengths,
                                std::span<const std::size_t> displs, std::size_t extent = 0) {
    if (lengths.size() != displs.size()) {
      return Result<Pattern>(
          Status(ESP_ERR_ARGUMENT, "lengths and displacements differ in number"));
    }
    Pattern made(job);
    const esp_status status = esp_type_blocks(job, type_of<T>, lengths.size(), lengths.data(),
                                              displs.data(), extent, &made.type_);
    if (status != ESP_OK) return Result<Pattern>(Status(status, esp_job_error(job)));
    std::size_t reach = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] > 0) reach = std::max(reach, displs[i] + lengths[i]);
    }
    made.measure(reach, extent);
    return Result<Pattern>(std::move(made));
  }

  Pattern(Pattern&& other) noexcept
      : job_(other.job_),
        type_(std::exchange(other.type_, kNone)),
        reach_(other.reach_),
        extent_(other.extent_) {}
  Pattern& operator=(Pattern&&) = delete;
  ~Pattern() {
    if (type_ != kNone) (void)esp_type_free(job_, type_);
  }

  // As the C API and calls with types for each block take it.
  esp_type get() const noexcept { return type_; }
  // Elements from the beginning of one to that of the next.
  std::size_t extent() const noexcept { return extent_; }

  // `count` of them, one extent after the other, from the beginning of `memory` on.
  template <ReadableLater R>
    requires std::same_as<std::ranges::range_value_t<R>, T>
  auto in(R&& memory, std::size_t count = 1) const noexcept {
    const std::span elements(memory);
    const std::size_t length = elements.size();
    const bool fits =
        count == 0 || (reach_ <= length && (count - 1) <= (length - reach_) / extent_);
    return Patterned<typename decltype(elements)::element_type>(elements, count, type_, fits);
  }

 private:
  static constexpr esp_type kNone = ESP_TYPE_COUNT;

  explicit Pattern(esp_job* job) noexcept : job_(job) {}
  void measure(std::size_t reach, std::size_t extent) noexcept {
    reach_ = reach;
    extent_ = extent != 0 ? extent : reach;
  }

  esp_job* job_;
  esp_type type_ = kNone;
  std::size_t reach_ = 0, extent_ = 1;  // elements
};

}  // namespace esp

template <typename T>
inline constexpr bool std::ranges::enable_borrowed_range<esp::Patterned<T>> = true;

#endif  // ESPALIER_CPP_PATTERN_HPP
