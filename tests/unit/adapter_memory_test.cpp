// Memory that adapters read and write while this process goes on (net/rdma/adapter_memory.hpp).
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "net/rdma/send_packets.hpp"
#include "registrar.hpp"

namespace espalier::rdma {
namespace {

// The kernel's flags of the mapping that this address is in.
std::string mapping_flags(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2) {
      inside = begin <= wanted && wanted < end;
    } else if (inside && line.rfind("VmFlags:", 0) == 0) {
      return line + " ";
    }
  }
  return {};
}

// A child that was forked has pages of its own, and on older kernels the adapter may stay with the
// child's: "dc" is the kernel's word for a mapping that children do not get.
TEST(SendPackets, AreNotCopiedToChildren) {
  Registrar port;
  const auto packets = std::move(*SendPackets::create(port, 2));
  const std::string flags = mapping_flags(packets->region().begin);
  if (flags.empty()) GTEST_SKIP() << "this kernel does not tell in /proc/self/smaps";
  EXPECT_NE(flags.find(" dc "), std::string::npos) << flags;
}

}  // namespace
}  // namespace espalier::rdma
