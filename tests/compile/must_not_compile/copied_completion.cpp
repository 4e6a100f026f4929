// error: use of deleted function|call to deleted constructor
// The address of a completion is its identity: queues hold pointers to it.
#include "core/completion.hpp"

void f(espalier::Completion& posted) {
  espalier::Completion copy = posted;
}
