#include "api/extents.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/check.hpp"
#include "core/pattern.hpp"

namespace espalier::api {
namespace {

// No call can be that large; catches negative counts that became huge.
constexpr std::uint64_t kBytesMax = Pattern::kBytesMax;

esp_status bad(esp_team& handle, const Call& call, const std::string& what) {
  return fail(*handle.job, ESP_ERR_ARGUMENT, fmt::format("{}: {}", caller_of(call), what));
}

// One buffer of a call, as the caller describes it.
struct Side {
  Extent extent = Extent::kNone;
  const std::size_t* counts = nullptr;
  const std::size_t* displs = nullptr;  // nullptr: one block after the other
  const esp_type* types = nullptr;
  std::size_t blocks = 0;
  const char* prefix = "";      // of the arrays' names
  std::uint64_t own_count = 0;  // of one block, and of each where all are alike

  std::uint64_t total = 0;
  std::uint64_t longest = 0;
  std::uint64_t hash = 0;  // of what is packed
  std::uint64_t own_bytes = 0;
  bool has_gaps = false;  // of types: some block's elements lie apart
  bool overlaps = false;
};

// Bytes that an element takes at most, and from one to the next.
struct Unit {
  std::uint64_t most = 1, step = 1;
};
Unit unit_of(const Call& call) noexcept {
  if (call.pattern == nullptr) return {call.element_bytes, call.element_bytes};
  const Pattern& p = *call.pattern;
  return {std::max(p.packed_bytes(), p.extent_bytes()), p.extent_bytes()};
}

// The type of block b of those with types. False: reported.
bool look_at_type(esp_team& handle, const Call& call, Side& side, std::size_t b, Unit& unit,
                  esp_status& status) {
  const Pattern* pattern = handle.job->types.find(side.types[b]);
  if (pattern == nullptr) {
    status = fail(*handle.job, ESP_ERR_TYPE,
                  fmt::format("{}: {}types[{}]: there is no type {}", caller_of(call), side.prefix,
                              b, static_cast<int>(side.types[b])));
    return false;
  }
  unit = {std::max(pattern->packed_bytes(), pattern->extent_bytes()), 1};
  side.has_gaps = side.has_gaps || !pattern->is_plain();
  side.overlaps = side.overlaps || pattern->overlaps();
  return true;
}

esp_status measure_counts(esp_team& handle, const Call& call, Side& side) {
  const char* prefix = side.prefix;
  const bool typed = traits_of(call.collective).types;
  if (side.blocks == 0) return ESP_OK;
  if (side.counts == nullptr) return bad(handle, call, fmt::format("{}counts is NULL", prefix));
  if (typed && side.displs == nullptr) {
    return bad(handle, call, fmt::format("{}displs is NULL", prefix));
  }
  if (typed && side.types == nullptr) {
    return bad(handle, call, fmt::format("{}types is NULL", prefix));
  }
  Unit unit = unit_of(call);
  const std::uint64_t elements = call.pattern != nullptr ? call.pattern->elements() : 1;
  std::uint64_t bytes = 0;
  const auto rank = static_cast<std::size_t>(handle.team.rank);
  for (std::size_t b = 0; b < side.blocks; ++b) {
    esp_status status = ESP_OK;
    if (typed && !look_at_type(handle, call, side, b, unit, status)) return status;
    const std::uint64_t count = side.counts[b];
    if (count > (kBytesMax - bytes) / unit.most) [[unlikely]] {
      return bad(handle, call,
                 fmt::format("{}counts[{}] is {}, after {} elements (was it negative?)", prefix, b,
                             count, side.total));
    }
    const std::uint64_t last = kBytesMax / unit.step;
    if (side.displs != nullptr && count > 0 && side.displs[b] > last - count) [[unlikely]] {
      return bad(handle, call,
                 fmt::format("{}displs[{}] is {} (was it negative?)", prefix, b, side.displs[b]));
    }
    if (b == rank) {
      side.own_bytes = (side.displs != nullptr ? side.displs[b] : side.total) * unit.step;
    }
    side.total += count;
    side.longest = std::max(side.longest, count);
    side.hash = hash_length(side.hash, count * elements);
    bytes += count * unit.most;
  }
  return ESP_OK;
}

esp_status measure_regular(esp_team& handle, const Call& call, Side& side) {
  if (side.extent == Extent::kNone) return ESP_OK;
  const bool many = side.extent == Extent::kPerMember;
  const std::uint64_t count = side.own_count;
  const Unit unit = unit_of(call);
  const std::uint64_t blocks = many ? std::max<std::size_t>(side.blocks, 1) : 1;
  if (count > kBytesMax / unit.most / blocks) [[unlikely]] {
    const CollectiveTraits& traits = traits_of(call.collective);
    return bad(handle, call,
               fmt::format("a count of {} elements{} (was it negative?)", count,
                           !many              ? ""
                           : traits.neighbors ? " for each neighbour"
                                              : " for each member"));
  }
  // What goes to nobody need not be there.
  if (call.neighbors != nullptr && side.blocks == 0) return ESP_OK;
  side.total = many ? count * side.blocks : count;
  if (many) side.own_bytes = count * unit.step * static_cast<std::uint64_t>(handle.team.rank);
  return ESP_OK;
}

esp_status measure_side(esp_team& handle, const Call& call, Side& side, bool matters) {
  if (!matters) return ESP_OK;
  return side.extent == Extent::kCounts ? measure_counts(handle, call, side)
                                        : measure_regular(handle, call, side);
}

// The root's own block, on both sides.
esp_status compare_own_of_root(esp_team& handle, Call& call) {
  const bool gathers = traits_of(call.collective).root_gets;
  const std::size_t count =
      (gathers ? call.out_counts : call.in_counts)[static_cast<std::size_t>(call.root)];
  if (call.in_place || call.own_count == count) return ESP_OK;
  return bad(handle, call,
             fmt::format("counts[{}] is {}, and count {} at the root itself", call.root, count,
                         call.own_count));
}

// A block has the same length for who sends and who gets it here.
esp_status compare_own(esp_team& handle, Call& call) {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (traits.rooted && is_irregular(call.collective) && handle.team.rank == call.root) {
    return compare_own_of_root(handle, call);
  }
  const bool both = traits.input == Extent::kCounts && traits.output == Extent::kCounts;
  if (!both || traits.neighbors || call.in_place) return ESP_OK;
  const int r = handle.team.rank;
  const auto size = [&](const std::size_t* counts, const esp_type* types) {
    return counts[r] * (traits.types ? handle.job->types.find(types[r])->packed_bytes() : 1);
  };
  const std::uint64_t in = size(call.in_counts, call.in_types);
  const std::uint64_t out = size(call.out_counts, call.out_types);
  if (in == out) return ESP_OK;
  if (traits.types) {
    return bad(handle, call,
               fmt::format("in_counts[{0}] of in_types[{0}] are {1} bytes and out_counts[{0}] of "
                           "out_types[{0}] are {2}, of this rank itself",
                           r, in, out));
  }
  return bad(handle, call,
             fmt::format("in_counts[{0}] is {1} and out_counts[{0}] is {2}, of this rank itself", r,
                         in, out));
}

esp_status choose_packing(esp_team& handle, Call& call, const Side& in, const Side& out) {
  const CollectiveTraits& traits = traits_of(call.collective);
  const auto [gives, gets] = sides_of(handle.team, call);
  const bool made = call.pattern != nullptr;
  call.packs_input = gives && (made || in.has_gaps);
  call.packs_output = gets && (made || out.has_gaps);
  const bool sends_output =
      traits.input == Extent::kNone && traits.root_sends && handle.team.rank == call.root;
  const bool overlaps = made ? call.pattern->overlaps() : out.overlaps;
  if (!call.packs_output || !overlaps || sends_output) return ESP_OK;
  return bad(handle, call, "elements of which two blocks overlap cannot be received");
}

}  // namespace

bool gets_output(const Team& team, const Call& call) noexcept {
  return !traits_of(call.collective).root_gets || team.rank == call.root;
}
bool gives_input(const Team& team, const Call& call) noexcept {
  return !traits_of(call.collective).root_sends || team.rank == call.root;
}

Sides sides_of(const Team& team, const Call& call) noexcept {
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool stays = call.in_place && traits.root_sends;
  return {gives_input(team, call) && traits.input != Extent::kNone,
          gets_output(team, call) && traits.output != Extent::kNone && !stays};
}

esp_status measure_buffers(esp_team& handle, Call& call, Extents& extents) {
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool both = traits.input == Extent::kCounts && traits.output == Extent::kCounts;
  const auto members = static_cast<std::size_t>(handle.team.size());
  const Neighbors* near = call.neighbors;
  if (call.in_place && both) {
    call.in_counts = call.out_counts;
    call.in_displs = call.out_displs;
    call.in_types = call.out_types;
  }
  if (traits.types) call.types = &handle.job->types;
  Side in{.extent = traits.input,
          .counts = call.in_counts,
          .displs = call.in_displs,
          .types = call.in_types,
          .blocks = near != nullptr ? near->destinations.size() : members,
          .prefix = both ? "in_" : ""};
  Side out{.extent = traits.output,
           .counts = call.out_counts,
           .displs = call.out_displs,
           .types = call.out_types,
           .blocks = near != nullptr ? near->sources.size() : members,
           .prefix = both ? "out_" : ""};
  const bool many_out = traits.output > Extent::kOne;
  // In place the call's own count says nothing: the list has it.
  const std::size_t* of_root = traits.root_gets ? call.out_counts : call.in_counts;
  if (call.in_place && traits.rooted && of_root != nullptr) {
    call.own_count = of_root[static_cast<std::size_t>(call.root)];
  }
  // The side of many blocks first: the other may follow from it.
  Side& many = many_out ? out : in;
  Side& other = many_out ? in : out;
  other.own_count = many.own_count = is_irregular(call.collective) ? call.own_count : call.count;
  const bool gets = gets_output(handle.team, call), gives = gives_input(handle.team, call);
  esp_status status = measure_side(handle, call, many, many_out ? gets : gives);
  if (status != ESP_OK) return status;
  if (all_know_lengths(call.collective)) {
    call.count = many.total;
    call.longest = many.longest;
    call.lengths_hash = static_cast<std::uint32_t>(many.hash >> 32);
    other.own_count = many.counts[handle.team.rank];
  }
  if (!(call.in_place && both)) {
    status = measure_side(handle, call, other, many_out ? gives : gets);
    if (status != ESP_OK) return status;
  } else {
    other.total = many.total;
    other.has_gaps = many.has_gaps;
  }
  status = compare_own(handle, call);
  if (status != ESP_OK) return status;
  extents.input = in.total;
  extents.output = out.total;
  extents.own_bytes = out.extent == Extent::kOne ? in.own_bytes : out.own_bytes;
  if (call.pattern != nullptr) {
    call.count *= call.pattern->elements();
    call.longest *= call.pattern->elements();
    call.own_count *= call.pattern->elements();
  }
  return choose_packing(handle, call, in, out);
}

}  // namespace espalier::api
