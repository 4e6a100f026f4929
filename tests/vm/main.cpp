// verbs_tests: needs an RDMA device. Where there is none it says so at once, and is skipped; in a
// guest, which is made to have some, it fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/vm/nodes.hpp"

namespace {

bool any_device() {
  const auto ports = espalier::verbs::list_ports({});
  return std::any_of(ports.begin(), ports.end(),
                     [](const auto& info) { return info.why_not.empty(); });
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!::testing::GTEST_FLAG(list_tests) && !any_device()) {
    const bool guest = espalier::verbs::in_guest();
    std::printf("%s: no usable RDMA device: %s\n", guest ? "FAILED" : "SKIP",
                espalier::verbs::why_no_device().c_str());
    return guest ? 1 : 77;
  }
  return RUN_ALL_TESTS();
}
