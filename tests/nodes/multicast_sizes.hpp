// What multicast_probe.cpp carries of all sizes, every byte of it checked, and what the adapters
// say of it.
#pragma once

#include "tests/nodes/multicast_sent.hpp"

namespace test {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

// From each root in turn, to all, by all; at last so many MiB.
inline void carry_sizes(const Context& context, double mib) {
  const auto size = static_cast<std::size_t>(context.size);
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 1; bytes <= 2 * kMiB; bytes *= 8) sizes.push_back(bytes);
  sizes.push_back(static_cast<std::size_t>(mib * static_cast<double>(kMiB)));
  int root = 0;
  for (const std::size_t bytes : sizes) {
    check_bcast(context.world, {.type = ESP_BYTE, .count = bytes, .root = root++ % context.size});
    const std::vector<std::size_t> blocks(size, std::max<std::size_t>(bytes / size, 1));
    check_allgather(context.world, {.layout = packed(blocks), .irregular = false}, {});
  }
}

// Three at once, on teams of their own.
inline void carry_from_three(const Context& context, esp_team* const (&teams)[3]) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, kMiB, 4 * kMiB + 3}) {
    Broadcasts all;
    for (int k = 0; k < 3; ++k) {
      all.push_back(std::make_unique<Broadcast>(teams[k], bytes, k % context.size, k));
    }
    CHECK_OK(run(all), context.world, "three of {} bytes", bytes);
  }
}

// What all adapters send in a broadcast, of a job with one rank for each.
inline Sent sent_in_bcast(const Context& context, std::size_t bytes,
                          const esp_coll_options* options) {
  esp_team* world = context.world;
  CHECK_OK(esp_barrier(context.world), world, "before");
  const Sent before = sent_by_me(context);
  check_bcast(world, {.type = ESP_BYTE, .count = bytes, .root = 0, .options = options});
  CHECK_OK(esp_barrier(context.world), world, "after");
  const std::vector<Sent> all = sent_since(context, before);
  Sent sum;
  sum.adapter = total(all, &Sent::adapter);
  sum.adapter_packets = total(all, &Sent::adapter_packets);
  return sum;
}

// Once for all, where a tree of messages sends it once to each.
inline void check_adapters(const Context& context) {
  if (std::getenv("SENT_BYTES") == nullptr) return;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.algorithm = ESP_ALGORITHM_TREE;
  const Sent group = sent_in_bcast(context, 4 * kMiB, nullptr);
  const Sent tree = sent_in_bcast(context, 4 * kMiB, &options);
  if (context.rank == 0) {
    fmt::print(
        "4 MiB to {} others, sent by the adapters: {} bytes in {} packets by multicast, {} "
        "in {} by a tree\n",
        context.size - 1, group.adapter, group.adapter_packets, tree.adapter, tree.adapter_packets);
  }
  const std::uint64_t others = static_cast<std::uint64_t>(context.size) - 1;
  CHECK(group.adapter >= 4 * kMiB, "{} bytes", group.adapter);
  CHECK(group.adapter < 6 * kMiB, "once to each member? {} bytes", group.adapter);
  CHECK(tree.adapter >= others * 4 * kMiB, "a tree, too: {} bytes", tree.adapter);
}

}  // namespace test
