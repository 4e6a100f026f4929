// error: nodiscard|unused-result|unused-value
// A Result that nobody looks at is a bug.
#include "core/status.hpp"

espalier::Result<int> make();
void f() {
  make();
}
