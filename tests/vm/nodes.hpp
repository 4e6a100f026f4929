// What the tests of net/verbs run on: nodes, two where nothing else is said. In a guest these are
// Soft-RoCE devices with a network between them, which can be made bad; on a machine with one RDMA
// device all are that.
// There is one: main.cpp has looked.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/verbs/verbs.hpp"

namespace espalier::verbs {

inline bool in_guest() {
  return std::getenv("RXE_DEVS") != nullptr;
}

// Runs a command of the guest's system administration. True: it worked.
inline bool system_works(const std::string& command) {
  return in_guest() && std::system(command.c_str()) == 0;
}

// Calls `step` until it answers true; false: it never did, within a time that is ample.
inline bool eventually(const std::function<bool()>& step) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!step()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Calls it for as long as something that must not happen would take.
inline void for_a_while(const std::function<void()>& step) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < end) step();
}

inline bool readable(int descriptor, int timeout_ms) {
  pollfd wanted = {.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&wanted, 1, timeout_ms) == 1;
}

// Faults on the way from a node, while it lives.
class Netem {
 public:
  Netem(int node, const std::string& spec) : device_("n" + std::to_string(node)) {
    works_ = system_works("tc qdisc replace dev " + device_ + " root netem " + spec);
  }
  ~Netem() { (void)system_works("tc qdisc del dev " + device_ + " root"); }
  Netem(const Netem&) = delete;
  Netem& operator=(const Netem&) = delete;
  bool works() const { return works_; }
  // Packets that it has lost so far.
  std::uint64_t dropped() const {
    FILE* tc = works_ ? ::popen(("tc -s qdisc show dev " + device_).c_str(), "r") : nullptr;
    if (tc == nullptr) return 0;
    unsigned long long all = 0, count = 0;
    for (char line[512]; std::fgets(line, sizeof line, tc) != nullptr;) {
      const char* at = std::strstr(line, "(dropped ");
      if (at != nullptr && std::sscanf(at, "(dropped %llu", &count) == 1) all += count;
    }
    (void)::pclose(tc);
    return all;
  }

 private:
  std::string device_;
  bool works_ = false;
};

// The usable ports, of `count` nodes at most.
inline std::vector<PortInfo> usable_ports(std::size_t count) {
  std::vector<PortInfo> usable;
  for (const PortInfo& info : list_ports({})) {
    if (info.why_not.empty() && usable.size() < count) usable.push_back(info);
  }
  return usable;
}

template <std::size_t kNodes>
class Nodes : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<PortInfo> usable = usable_ports(kNodes);
    ASSERT_FALSE(usable.empty());
    for (std::size_t node = 0; node < kNodes; ++node) {
      auto opened = open_adapter(usable[std::min(node, usable.size() - 1)], options(), log());
      ASSERT_TRUE(opened.ok()) << opened.error().text;
      adapters_[node] = std::move(*opened);
    }
  }
  virtual Options options() const { return {}; }
  virtual Log log() { return Log(); }

  std::unique_ptr<Adapter> adapters_[kNodes];
};

using TwoNodes = Nodes<2>;

}  // namespace espalier::verbs
