// Combiner: a reduction operator bound to a type: a built-in kernel or a user's function.
//
// combine() evaluates src[0] op src[1] op ... op src[k-1] in this order of operands. dst may be
// equal to any source. Built-in kernels associate from the left, user functions from the right
// (their signature makes that the way without temporaries); either is the same in every run.
// Threads: owner. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/datatype.hpp"

namespace espalier {

struct UserOperator {
  esp_op_function function = nullptr;
  void* context = nullptr;
  bool commutative = true;
};

class Combiner {
 public:
  Combiner() = default;
  // `past`: the same for results stored past the caches.
  Combiner(CombineKernel kernel, esp_type type, CombineKernel past = nullptr) noexcept
      : kernel_(kernel), past_(past != nullptr ? past : kernel), type_(type) {}
  Combiner(const UserOperator& user, esp_type type) noexcept
      : user_(user), type_(type), commutative_(user.commutative) {}

  CombineKernel builtin() const noexcept { return kernel_; }  // nullptr: a user's function
  bool commutative() const noexcept { return commutative_; }
  bool can_store_past() const noexcept { return past_ != kernel_; }
  // `scratch` is only used, and only grows, for user functions.
  void combine(void* dst, const void* const* src, std::size_t k, std::size_t count,
               std::vector<std::byte>& scratch, Store store = Store::kCached) const {
    if (kernel_ != nullptr) [[likely]] {
      (store == Store::kCached ? kernel_ : past_)(dst, src, k, count);
    } else {
      combine_user(dst, src, k, count, scratch);
    }
  }

 private:
  void combine_user(void* dst, const void* const* src, std::size_t k, std::size_t count,
                    std::vector<std::byte>& scratch) const;

  CombineKernel kernel_ = nullptr, past_ = nullptr;
  UserOperator user_;
  esp_type type_ = ESP_BYTE;
  bool commutative_ = true;
};

}  // namespace espalier
