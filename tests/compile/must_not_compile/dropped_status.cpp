// error: nodiscard|unused-result|unused-value
// A Status that nobody looks at is a bug.
#include "core/status.hpp"

espalier::Status post();
void f() {
  post();
}
