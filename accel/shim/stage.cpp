#include "accel/shim/stage.hpp"

#include <algorithm>
#include <climits>

#include "accel/shim/state.hpp"

namespace espalier::accel {
namespace {

// Calls of the MPI take an int: of larger ones so many bytes at once.
constexpr std::int64_t kPackedAtOnce = 1 << 30;

// Calls go(elements, memory, bytes) for parts of which each can be packed by one call.
template <typename Go>
void in_parts(const Elements& what, unsigned char* packed, std::size_t bytes, Go&& go) {
  Extent extent;
  if (bytes == 0 || !extent_of(what.type, extent)) return;
  const std::int64_t step = std::max<std::int64_t>(1, kPackedAtOnce / extent.size);
  for (std::int64_t first = 0; first < what.count; first += step) {
    const std::int64_t n = std::min(step, what.count - first);
    go(static_cast<char*>(what.base) + first * extent.extent, static_cast<int>(n),
       packed + first * extent.size, static_cast<int>(n * extent.size));
  }
}

// Elements as MPI_Pack takes them: that of MPICH takes none at MPI_BOTTOM, so there they are seen
// from some other place.
class Seen {
 public:
  Seen(const void* from, int n, MPI_Datatype of, const void* place)
      : base(const_cast<void*>(from)), count(n), type(of) {
    if (from != MPI_BOTTOM || n == 0) return;
    const auto back = -reinterpret_cast<MPI_Aint>(place);
    if (PMPI_Type_create_hindexed(1, &n, &back, of, &made_) != MPI_SUCCESS) return;
    if (PMPI_Type_commit(&made_) != MPI_SUCCESS) return;
    base = const_cast<void*>(place);
    count = 1;
    type = made_;
  }
  ~Seen() {
    if (made_ != MPI_DATATYPE_NULL) PMPI_Type_free(&made_);
  }
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;

  void* base;
  int count;
  MPI_Datatype type;

 private:
  MPI_Datatype made_ = MPI_DATATYPE_NULL;
};

}  // namespace

unsigned char* Stage::room(std::size_t bytes) {
  auto* made = static_cast<unsigned char*>(std::malloc(std::max<std::size_t>(bytes, 1)));
  if (made == nullptr) {
    ok_ = false;
  } else {
    memory_.emplace_back(made);
  }
  return made;
}

void* Stage::elements(const Elements& what, bool reads, bool writes) {
  Extent extent;
  if (!extent_of(what.type, extent) || extent.plain) [[likely]]
    return what.base;
  const auto bytes = static_cast<std::size_t>(what.count * extent.size);
  unsigned char* packed = room(bytes);
  if (packed != nullptr) pieces_.push_back({what, packed, bytes, reads, writes});
  return packed;
}

std::vector<std::size_t>& Stage::numbers(std::size_t count) {
  return *numbers_.emplace_back(std::make_unique<std::vector<std::size_t>>(count));
}

// The library takes no negative displacements: they become relative to the lowest block. Blocks
// that do not lie as bytes do are packed one after the other.
ByteBlocks Stage::blocks(const Blocks& what, int members, bool reads, bool writes) {
  const auto n = static_cast<std::size_t>(members);
  std::vector<std::size_t>& counts = numbers(n);
  std::vector<std::size_t>& displs = numbers(n);
  Extent extent;
  if (!extent_of(what.type, extent)) {
    ok_ = false;
    return {};
  }
  std::int64_t lowest = 0;
  bool first = true;
  for (std::size_t i = 0; i < n; ++i) {
    if (what.counts[i] == 0) continue;
    if (first || what.displs[i] < lowest) lowest = what.displs[i];
    first = false;
  }
  std::size_t total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    counts[i] = static_cast<std::size_t>(what.counts[i] * extent.size);
    const std::int64_t place = (what.displs[i] - lowest) * extent.size;
    displs[i] = !extent.plain ? total : what.counts[i] == 0 ? 0 : static_cast<std::size_t>(place);
    total += counts[i];
  }
  auto* base = static_cast<char*>(what.base);
  if (extent.plain) return {base + lowest * extent.extent, counts.data(), displs.data()};
  unsigned char* packed = room(total);
  if (packed == nullptr) return {};
  for (std::size_t i = 0; i < n; ++i) {
    const Elements block = {base + what.displs[i] * extent.extent, what.counts[i], what.type};
    pieces_.push_back({block, packed + displs[i], counts[i], reads, writes});
  }
  return {packed, counts.data(), displs.data()};
}

const void* Stage::apart(const void* in, std::size_t in_bytes, const void* out,
                         std::size_t out_bytes) {
  if (in == ESP_IN_PLACE || out == ESP_IN_PLACE || in_bytes == 0 || out_bytes == 0) return in;
  const auto from = reinterpret_cast<std::uintptr_t>(in),
             to = reinterpret_cast<std::uintptr_t>(out);
  if (from + in_bytes <= to || to + out_bytes <= from) [[likely]]
    return in;
  unsigned char* copy = room(in_bytes);
  const auto count = static_cast<std::int64_t>(in_bytes);
  if (copy != nullptr) {
    pieces_.push_back({{const_cast<void*>(in), count, MPI_BYTE}, copy, in_bytes, true, false});
  }
  return copy;
}

std::size_t Stage::bytes_from_base(const ByteBlocks& blocks, int members) noexcept {
  std::size_t end = 0;
  for (int r = 0; r < members && blocks.counts != nullptr; ++r) {
    end = std::max(end, blocks.displs[r] + blocks.counts[r]);
  }
  return end;
}

bool Stage::begin() const {
  bool takes = true;
  for (const Piece& piece : pieces_) {
    const auto pack = [&](const void* from, int count, unsigned char* packed, int bytes) {
      int at = 0;
      const Seen seen(from, count, piece.elements.type, packed);
      const int code = PMPI_Pack(seen.base, seen.count, seen.type, packed, bytes, &at, state().own);
      if (code != MPI_SUCCESS) takes = false;
    };
    if (piece.reads) {
      in_parts(piece.elements, piece.packed, piece.bytes, pack);
    } else {
      pack(piece.elements.base, 0, piece.packed, 0);
    }
  }
  return takes;
}

void Stage::end() const {
  for (const Piece& piece : pieces_) {
    if (!piece.writes) continue;
    in_parts(piece.elements, piece.packed, piece.bytes,
             [&](void* to, int count, const unsigned char* packed, int bytes) {
               int at = 0;
               const Seen seen(to, count, piece.elements.type, packed);
               PMPI_Unpack(packed, bytes, &at, seen.base, seen.count, seen.type, state().own);
             });
  }
}

}  // namespace espalier::accel
