// The cold end of ESP_ASSERT: says what was violated and where, and aborts.
#include "core/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace espalier {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "espalier: invariant violated: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace espalier
