#include "bootstrap/directory.hpp"

#include <cstring>
#include <type_traits>

namespace espalier {

static_assert(sizeof(Directory::Row) == 16, "what a rank of the job costs");
static_assert(std::is_trivially_copyable_v<Directory::Site> &&
              std::has_unique_object_representations_v<Directory::Site>);

std::optional<std::span<const std::byte>> Directory::address(Rank rank,
                                                             WireKind kind) const noexcept {
  const std::byte* at = block_ + head().addresses + std::uint64_t{4} * row(rank).addresses;
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  return find_address({at + sizeof bytes, bytes}, kind);
}

}  // namespace espalier
