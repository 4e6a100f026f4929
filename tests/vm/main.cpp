// verbs_tests: needs an RDMA device, of which it says so at once where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "net/verbs/verbs.hpp"

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
    std::printf("SKIP: no usable RDMA device: %s\n", espalier::verbs::why_no_device().c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
