// Assertions that stay on in every build.
//
// ESP_ASSERT is for programmer errors inside the library: O(1), on data that is in cache anyway. It
// is never used on what a user, a file or the wire supplied; those get a Status. ESP_ASSERT_SLOW is
// for checks that walk structures (debug and sanitizer builds).
#pragma once

namespace espalier {

[[noreturn, gnu::cold, gnu::noinline]] void assertion_failed(const char* expression,
                                                             const char* file, int line) noexcept;

}  // namespace espalier

#define ESP_ASSERT(expression)                        \
  (__builtin_expect(static_cast<bool>(expression), 1) \
       ? void()                                       \
       : ::espalier::assertion_failed(#expression, __FILE__, __LINE__))

#ifdef NDEBUG
#define ESP_ASSERT_SLOW(expression) void()
#else
#define ESP_ASSERT_SLOW(expression) ESP_ASSERT(expression)
#endif
