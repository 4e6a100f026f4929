// Blocks: how the members' parts lie in a buffer, where they differ in length. path: setup
#ifndef ESPALIER_CPP_BLOCKS_HPP
#define ESPALIER_CPP_BLOCKS_HPP

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>

#include "espalier/espalier.h"

namespace esp {

// A contiguous range of std::size_t that does not end with the call. The name is for those who pass
// something else: compilers print it.
template <typename R>
concept SizesThatOutliveTheCall =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> && std::same_as<std::ranges::range_value_t<R>, std::size_t>;
template <typename R>
concept TypesThatOutliveTheCall =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> && std::same_as<std::ranges::range_value_t<R>, esp_type>;

// Counts and displacements in elements, an entry for each member (of a graph: for each neighbor).
// Without displacements (or with an empty range of them) one block follows the other. Borrows the
// ranges: they stay as they are until the operation that takes them has ended.
class Blocks {
 public:
  // None, where they do not matter: on others than the root.
  Blocks() noexcept = default;
  template <SizesThatOutliveTheCall Counts>
  Blocks(Counts&& counts) noexcept : counts_(counts) {}
  template <SizesThatOutliveTheCall Counts, SizesThatOutliveTheCall Displs>
  Blocks(Counts&& counts, Displs&& displs) noexcept : counts_(counts), displs_(displs) {}

  // As the C API takes them.
  const std::size_t* counts() const noexcept { return counts_.data(); }
  const std::size_t* displs() const noexcept { return displs_.empty() ? nullptr : displs_.data(); }

  // Why they do not fit a team of so many members or neighbors, and a buffer of so many elements;
  // or nullptr.
  const char* misfit(std::size_t members, std::size_t length) const noexcept {
    if (counts_.size() != members || (!displs_.empty() && displs_.size() != members)) {
      return "counts or displacements do not have an entry for each member or neighbor";
    }
    std::size_t next = 0;
    for (std::size_t r = 0; r < members; ++r) {
      const std::size_t count = counts_[r], begin = displs_.empty() ? next : displs_[r];
      if (count > 0 && (begin > length || count > length - begin)) {
        return "a block lies outside the buffer";
      }
      next = begin + count;
    }
    return nullptr;
  }

 private:
  std::span<const std::size_t> counts_, displs_;
};

// Blocks with types of their own: displacements in bytes, type_of<T> or Pattern::get(). Borrows the
// ranges likewise.
class TypedBlocks {
 public:
  TypedBlocks() noexcept = default;
  template <SizesThatOutliveTheCall Counts, SizesThatOutliveTheCall Displs,
            TypesThatOutliveTheCall Types>
  TypedBlocks(Counts&& counts, Displs&& displs, Types&& types) noexcept
      : counts_(counts), displs_(displs), types_(types) {}

  const std::size_t* counts() const noexcept { return counts_.data(); }
  const std::size_t* displs() const noexcept { return displs_.data(); }
  const esp_type* types() const noexcept { return types_.data(); }
  const char* misfit(std::size_t members) const noexcept {
    if (counts_.size() == members && displs_.size() == members && types_.size() == members) {
      return nullptr;
    }
    return "counts, displacements or types do not have an entry for each member or neighbor";
  }

 private:
  std::span<const std::size_t> counts_, displs_;
  std::span<const esp_type> types_;
};

}  // namespace esp

#endif  // ESPALIER_CPP_BLOCKS_HPP
