// The sections of docs/results/gpu_published.md, simulated when they are asked for. path: setup
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench/experiments/devices/published_runs.hpp"

namespace espalier::experiments {

inline constexpr std::uint64_t kSizes[] = {64 << 10, 256 << 10, 1 << 20,
                                           4 << 20,  16 << 20,  64 << 20};

// Devices of a node that read each other: of leaders, and in one node alone (published_nodes.cpp).
std::string leaders_section(const sim::Machine& psg, const sim::Machine& ri2);
std::string one_node_section(const sim::Machine& dgx);

using Expect = std::function<void(bool holds, const std::string& what)>;
void expect_nodes(const Expect& expect);

}  // namespace espalier::experiments
