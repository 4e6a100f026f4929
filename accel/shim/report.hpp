// What ESPALIER_ACCEL_REPORT prints at the end. path: setup
#pragma once

namespace espalier::accel {

// On the first process, what that one has counted.
void print_report();

}  // namespace espalier::accel
