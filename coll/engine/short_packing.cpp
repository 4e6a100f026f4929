#include "coll/engine/short_packing.hpp"

#include <new>
#include <numeric>
#include <utility>

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
  mover_ = std::exchange(call.mover, nullptr);
  order_ = call.order;
  call.reduction = nullptr;
  memory_bytes_ = in + output_bytes_ + 1;
  memory_ = mover_ != nullptr ? mover_->allocate(memory_bytes_)
                              : new (std::nothrow) std::byte[memory_bytes_];
  if (memory_ == nullptr) return false;
  form_ = call.form;
  if (call.packs_input) {
    user_input_ = static_cast<const std::byte*>(call.input);
    input_ = memory_;
    input_bytes_ = in;
    call.input = input_;
  }
  if (call.packs_output) {
    auto* user = static_cast<std::byte*>(call.output);
    std::byte* packed = memory_ + in;
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
  return true;
}

ShortPacking::~ShortPacking() {
  if (carrying_ == Carrying::kPending) mover_->cancel(*this);
  if (mover_ != nullptr) {
    mover_->release(memory_, memory_bytes_);
  } else {
    delete[] memory_;
  }
}

void ShortPacking::on_carried(Completion& self, Status status) noexcept {
  auto& packing = static_cast<ShortPacking&>(self);
  packing.carrying_ = Carrying::kCarried;
  if (!status.ok()) packing.status_ = status;
}

// True: it is done. Else it is asked for again.
bool ShortPacking::carry_out(const Repack& what) noexcept {
  if (mover_ == nullptr) {
    if (what.packs) {
      pack(*what.pattern, what.form, what.run, what.elements, 0, what.bytes);
    } else {
      unpack(*what.pattern, what.form, what.elements, what.run, 0, what.bytes);
    }
    return true;
  }
  if (carrying_ == Carrying::kIdle && status_.ok()) {
    const Posted posted = mover_->repack(what, *this);
    if (posted == Posted::kDone) return true;
    if (posted == Posted::kPending) carrying_ = Carrying::kPending;
  }
  if (carrying_ != Carrying::kCarried) return false;
  carrying_ = Carrying::kIdle;
  return status_.ok();
}

bool ShortPacking::is_packed() noexcept {
  if (user_input_ == nullptr || packed_) return true;
  packed_ = carry_out({.pattern = pattern_,
                       .form = form_,
                       .elements = const_cast<std::byte*>(user_input_),
                       .run = input_,
                       .bytes = input_bytes_,
                       .packs = true,
                       .behind = order_});
  return packed_;
}

bool ShortPacking::unpack_part(std::byte* elements, const std::byte* from,
                               std::uint64_t bytes) noexcept {
  // Where nothing comes, a displacement means nothing.
  if (bytes == 0) return true;
  return carry_out({.pattern = pattern_,
                    .form = form_,
                    .elements = elements,
                    .run = const_cast<std::byte*>(from),
                    .bytes = bytes,
                    .behind = order_});
}

bool ShortPacking::is_unpacked() noexcept {
  if (user_output_ == nullptr) return true;
  const std::size_t parts = displs_ != nullptr ? blocks_ : 1;
  for (; unpacked_ < parts; ++unpacked_) {
    std::byte* elements = user_output_;
    std::uint64_t bytes = output_bytes_;
    if (displs_ != nullptr) {
      bytes = counts_[unpacked_] * element_bytes_;
      if (bytes > 0) elements += displs_[unpacked_] * pattern_->extent_bytes();
    }
    if (!unpack_part(elements, output_ + unpacked_bytes_, bytes)) return false;
    unpacked_bytes_ += bytes;
  }
  return true;
}

}  // namespace espalier
