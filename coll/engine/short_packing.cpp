#include "coll/engine/short_packing.hpp"

#include <new>
#include <numeric>

namespace espalier {

bool ShortPacking::begin(const Team& team, Call& call) noexcept {
  const CollectiveTraits& traits = traits_of(call.collective);
  const auto members = static_cast<std::size_t>(team.size());
  const bool in_many = traits.input == Extent::kCounts;
  const bool irregular = is_irregular(call.collective);
  const std::size_t* counts = in_many ? call.in_counts : call.out_counts;
  pattern_ = call.pattern;
  if (irregular) {
    counts_.reset(new (std::nothrow) std::size_t[members]);
    if (counts_ == nullptr) return false;
    for (std::size_t r = 0; r < members; ++r) counts_[r] = counts[r] * pattern_->elements();
    (in_many ? call.in_counts : call.out_counts) = counts_.get();
  }
  const auto bytes_of = [&](Extent extent) -> std::uint64_t {
    if (extent == Extent::kNone) return 0;
    if (extent == Extent::kPerMember) return call.bytes() * members;
    if (!irregular) return call.bytes();
    const std::uint64_t elements =
        extent == Extent::kOne
            ? counts_[static_cast<std::size_t>(team.rank)]
            : std::accumulate(counts_.get(), counts_.get() + members, std::uint64_t{0});
    return elements * call.element_bytes;
  };
  const std::uint64_t in = call.packs_input ? bytes_of(traits.input) : 0;
  output_bytes_ = call.packs_output ? bytes_of(traits.output) : 0;
  memory_.reset(new (std::nothrow) std::byte[in + output_bytes_ + 1]);
  if (memory_ == nullptr) return false;
  form_ = call.form;
  if (call.packs_input) {
    user_input_ = static_cast<const std::byte*>(call.input);
    input_ = memory_.get();
    input_bytes_ = in;
    call.input = input_;
  }
  if (call.packs_output) {
    auto* user = static_cast<std::byte*>(call.output);
    std::byte* packed = memory_.get() + in;
    call.output = packed;
    const bool sends_output = traits.input == Extent::kNone && team.rank == call.root;
    // The first member of an exscan gets nothing.
    const bool gets = !sends_output && (call.collective != Collective::kExscan || team.rank > 0);
    if (sends_output) {
      user_input_ = user;
      input_ = packed;
      input_bytes_ = output_bytes_;
    }
    if (gets) user_output_ = user;
    output_ = packed;
    element_bytes_ = call.element_bytes;
    if (traits.output == Extent::kCounts) displs_ = call.out_displs;
    if (displs_ != nullptr) blocks_ = members;
    call.out_displs = nullptr;
  }
  call.packs_input = call.packs_output = false;
  call.pattern = nullptr;
  call.form = nullptr;
  refresh();
  return true;
}

void ShortPacking::refresh() noexcept {
  if (user_input_ != nullptr) pack(*pattern_, form_, input_, user_input_, 0, input_bytes_);
}

void ShortPacking::end() noexcept {
  if (user_output_ == nullptr) return;
  if (displs_ == nullptr) return unpack(*pattern_, form_, user_output_, output_, 0, output_bytes_);
  const std::byte* from = output_;
  for (std::size_t b = 0; b < blocks_; ++b) {
    const std::uint64_t bytes = counts_[b] * element_bytes_;
    // Where nothing comes, a displacement means nothing.
    if (bytes == 0) continue;
    unpack(*pattern_, form_, user_output_ + displs_[b] * pattern_->extent_bytes(), from, 0, bytes);
    from += bytes;
  }
}

}  // namespace espalier
