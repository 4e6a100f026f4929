// Operators: the built-in ones, and those made of a C++ function.
//
// Op is a value, valid for the job that made it (built-in ones: for all). UserOp owns an operator
// and the function behind it; it must outlive the operations that use it and go before its job.
// path: setup
#ifndef ESPALIER_CPP_OP_HPP
#define ESPALIER_CPP_OP_HPP

#include <cstddef>
#include <memory>
#include <utility>

#include "espalier/cpp/result.hpp"
#include "espalier/cpp/type.hpp"

namespace esp {

struct Op {
  esp_op value;
};

inline constexpr Op kSum{ESP_SUM};
inline constexpr Op kProd{ESP_PROD};
inline constexpr Op kMin{ESP_MIN};
inline constexpr Op kMax{ESP_MAX};
inline constexpr Op kLogicalAnd{ESP_LAND};
inline constexpr Op kLogicalOr{ESP_LOR};
inline constexpr Op kLogicalXor{ESP_LXOR};
inline constexpr Op kBitAnd{ESP_BAND};
inline constexpr Op kBitOr{ESP_BOR};
inline constexpr Op kBitXor{ESP_BXOR};
inline constexpr Op kMinLoc{ESP_MINLOC};
inline constexpr Op kMaxLoc{ESP_MAXLOC};
inline constexpr Op kSumReproducible{ESP_SUM_REPRODUCIBLE};

// Whether operands may be exchanged. If not, the operator is applied in rank order.
enum class Commutative : bool { kNo, kYes };

// An operator on elements of type T made of a callable T(const T& of_lower_ranks, const T&
// of_higher_ranks), which must be associative. Use it with ranges of T alone.
template <Element T, typename F>
  requires std::is_invocable_r_v<T, F&, const T&, const T&>
class UserOp {
 public:
  static Result<UserOp> create(esp_job* job, F function, Commutative commutative) {
    UserOp made(job, std::make_unique<F>(std::move(function)));
    const esp_status status =
        esp_op_create(job, &UserOp::apply, made.function_.get(),
                      commutative == Commutative::kYes ? 1 : 0, &made.op_.value);
    if (status != ESP_OK) return Result<UserOp>(Status(status, esp_job_error(job)));
    return Result<UserOp>(std::move(made));
  }

  UserOp(UserOp&& other) noexcept
      : job_(other.job_),
        op_(std::exchange(other.op_, Op{-1})),
        function_(std::move(other.function_)) {}
  UserOp& operator=(UserOp&&) = delete;
  // Outlives the operations that use it. If not, it stays with its function until the job ends.
  ~UserOp() {
    const bool used = op_.value >= 0 && esp_op_free(job_, op_.value) == ESP_ERR_STATE;
    if (used) (void)function_.release();
  }

  operator Op() const noexcept { return op_; }

 private:
  UserOp(esp_job* job, std::unique_ptr<F> function) noexcept
      : job_(job), function_(std::move(function)) {}

  static void apply(const void* in, void* inout, std::size_t count, esp_type, void* context) {
    F& function = *static_cast<F*>(context);
    const T* lower = static_cast<const T*>(in);
    T* higher = static_cast<T*>(inout);
    for (std::size_t i = 0; i < count; ++i) higher[i] = function(lower[i], higher[i]);
  }

  esp_job* job_;
  Op op_{-1};
  std::unique_ptr<F> function_;  // Its address is the operator's context.
};

}  // namespace esp

#endif  // ESPALIER_CPP_OP_HPP
