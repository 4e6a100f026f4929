#include "coll/engine/short_packing.hpp"

#include <new>

namespace espalier {
namespace {

std::uint64_t bytes_of(Extent extent, const Team& team, const Call& call) noexcept {
  if (extent == Extent::kNone) return 0;
  const auto members = static_cast<std::uint64_t>(team.size());
  return call.bytes() * (extent == Extent::kPerMember ? members : 1);
}

}  // namespace

bool ShortPacking::begin(const Team& team, Call& call) noexcept {
  const CollectiveTraits& traits = traits_of(call.collective);
  const std::uint64_t in = call.packs_input ? bytes_of(traits.input, team, call) : 0;
  output_bytes_ = call.packs_output ? bytes_of(traits.output, team, call) : 0;
  memory_.reset(new (std::nothrow) std::byte[in + output_bytes_ + 1]);
  if (memory_ == nullptr) return false;
  pattern_ = call.pattern;
  form_ = call.form;
  if (call.packs_input) {
    pack(*pattern_, form_, memory_.get(), static_cast<const std::byte*>(call.input), 0, in);
    call.input = memory_.get();
  }
  if (call.packs_output) {
    auto* user = static_cast<std::byte*>(call.output);
    std::byte* packed = memory_.get() + in;
    call.output = packed;
    const bool sends_output = traits.input == Extent::kNone && team.rank == call.root;
    // The first member of an exscan gets nothing.
    const bool gets = !sends_output && (call.collective != Collective::kExscan || team.rank > 0);
    if (sends_output) pack(*pattern_, form_, packed, user, 0, output_bytes_);
    if (gets) user_output_ = user;
    output_ = packed;
  }
  call.packs_input = call.packs_output = false;
  call.pattern = nullptr;
  call.form = nullptr;
  return true;
}

void ShortPacking::end() noexcept {
  if (user_output_ != nullptr) {
    unpack(*pattern_, form_, user_output_, output_, 0, output_bytes_);
  }
}

}  // namespace espalier
