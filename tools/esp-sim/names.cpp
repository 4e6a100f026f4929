#include "tools/esp-sim/names.hpp"

namespace esp_sim {
namespace {

template <typename Enum>
std::string at(const std::vector<std::string>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

}  // namespace

const std::vector<std::string>& algorithm_names() {
  static const std::vector<std::string> names = {"auto",       "short", "tree",    "publish",
                                                 "spread",     "ring",  "bruck",   "doubling",
                                                 "one-factor", "xor",   "halving", "linear"};
  return names;
}
const std::vector<std::string>& shape_names() {
  static const std::vector<std::string> names = {"auto",    "flat",     "chain",
                                                 "binary",  "binomial", "kary",
                                                 "knomial", "two-tree", "double-leader"};
  return names;
}
const std::vector<std::string>& variant_names() {
  static const std::vector<std::string> names = {"event", "waitall", "blocking"};
  return names;
}
const std::vector<std::string>& placement_names() {
  static const std::vector<std::string> names = {"by-core", "by-node", "random", "by-socket"};
  return names;
}
const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (std::size_t c = 0; c < espalier::kCollectives; ++c) {
      all.emplace_back(collective_name(static_cast<espalier::Collective>(c)));
    }
    return all;
  }();
  return names;
}
const std::vector<std::string>& overlap_names() {
  static const std::vector<std::string> names = {"off", "none", "thread", "shared"};
  return names;
}
const std::vector<std::string>& consumer_names() {
  static const std::vector<std::string> names = {"off", "after", "partial"};
  return names;
}
const std::vector<std::string>& multicast_names() {
  static const std::vector<std::string> names = {"off", "auto", "on"};
  return names;
}
const std::vector<std::string>& staging_names() {
  static const std::vector<std::string> names = {"off", "whole", "pieces", "shared"};
  return names;
}
const std::vector<std::string>& reducer_names() {
  static const std::vector<std::string> names = {"host", "device"};
  return names;
}

std::string name_of(esp_algorithm value) {
  return at(algorithm_names(), value);
}
std::string name_of(esp_shape value) {
  return at(shape_names(), value);
}
std::string name_of(esp_variant value) {
  return at(variant_names(), value);
}
std::string name_of(espalier::sim::Placement value) {
  return at(placement_names(), value);
}
std::string name_of(espalier::sim::Overlap value) {
  return at(overlap_names(), value);
}
std::string name_of(espalier::sim::Consuming value) {
  return at(consumer_names(), value);
}
std::string name_of(espalier::Multicast value) {
  return at(multicast_names(), value);
}
std::string name_of(espalier::sim::Staging value) {
  return at(staging_names(), value);
}
std::string name_of(espalier::sim::Reducer value) {
  return at(reducer_names(), value);
}

}  // namespace esp_sim
