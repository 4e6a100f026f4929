// CHECK_S: a status of the C++ layer is ok. path: setup
#pragma once

#include "espalier/espalier.hpp"
#include "tests/support/rank_check.hpp"

#define CHECK_S(call)                                                  \
  do {                                                                 \
    const esp::Status checked_status = (call);                         \
    CHECK(checked_status.ok(), "{} {}", #call, checked_status.text()); \
  } while (false)
