#include "coll/engine/combiner.hpp"

#include <cstring>

#include "core/copy.hpp"

namespace espalier {

void Combiner::combine_user(void* dst, const void* const* src, std::size_t k, std::size_t count,
                            std::vector<std::byte>& scratch) const {
  const std::size_t bytes = count * type_size(type_);
  if (bytes == 0) return;
  // The result accumulates in dst from the last operand backwards; an earlier operand that lies
  // in dst must be saved first.
  std::size_t saved = k;
  for (std::size_t j = 0; j + 1 < k; ++j) {
    if (src[j] == dst) saved = j;
  }
  if (saved != k) {
    if (scratch.size() < bytes) scratch.resize(bytes);
    copy_bytes(scratch.data(), dst, bytes);
  }
  if (src[k - 1] != dst) copy_bytes(dst, src[k - 1], bytes);
  for (std::size_t j = k - 1; j-- > 0;) {
    user_.function(j == saved ? scratch.data() : src[j], dst, count, type_, user_.context);
  }
}

}  // namespace espalier
