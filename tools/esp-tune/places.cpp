#include "tools/esp-tune/places.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace esp_tune {
namespace {

using espalier::CoreClass;
using espalier::NetworkClass;

// The first `most` ranks of each of the first `nodes` nodes.
std::vector<int> of_each(const std::vector<int>& node_of, int nodes, int most) {
  std::vector<int> members, taken(static_cast<std::size_t>(nodes), 0);
  for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
    const int node = node_of[rank];
    if (node >= nodes || taken[static_cast<std::size_t>(node)] == most) continue;
    ++taken[static_cast<std::size_t>(node)];
    members.push_back(static_cast<int>(rank));
  }
  return members;
}

std::vector<int> members_of(const std::vector<int>& node_of, int ranks) {
  const int nodes = *std::max_element(node_of.begin(), node_of.end()) + 1;
  const auto wanted = static_cast<std::size_t>(ranks);
  std::vector<int> members = of_each(node_of, std::min(nodes, ranks), std::max(ranks / nodes, 1));
  if (members.size() == wanted) return members;
  members.resize(wanted);
  for (std::size_t rank = 0; rank < wanted; ++rank) members[rank] = static_cast<int>(rank);
  return members;
}

}  // namespace

std::vector<Place> places_of(const std::vector<int>& node_of, const std::vector<int>& ranks,
                             NetworkClass network, CoreClass cores) {
  const int size = static_cast<int>(node_of.size());
  std::vector<int> numbers = ranks;
  if (numbers.empty()) {
    for (int k = 2; k < size; k *= 2) numbers.push_back(k);
    numbers.push_back(size);
  }
  std::vector<Place> places;
  for (const int number : numbers) {
    Place place{members_of(node_of, number), {}};
    std::set<int> nodes;
    for (const int rank : place.members) nodes.insert(node_of[static_cast<std::size_t>(rank)]);
    place.where.ranks = number;
    place.where.nodes = static_cast<std::int32_t>(nodes.size());
    const bool one = nodes.size() == 1;
    place.where.network = one ? NetworkClass::kAny : network;
    place.where.cores = one ? cores : CoreClass::kAny;
    places.push_back(std::move(place));
  }
  return places;
}

// "  rank 1    pid 4711     on node-1           tcp, not connected yet (...)"
NetworkClass network_of(const std::string& report) {
  NetworkClass network = NetworkClass::kAny;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string rank, number, pid, id, on, node, wire;
    words >> rank >> number >> pid >> id >> on >> node >> wire;
    if (rank != "rank" || pid != "pid" || wire == "this" || wire == "shm") continue;
    if (wire == "tcp,") return NetworkClass::kTcp;
    network = NetworkClass::kRdma;
  }
  return network;
}

CoreClass cores_of(const std::string& report) {
  const bool shared = report.find("a waiting rank gives its core away") != std::string::npos;
  return shared ? CoreClass::kShared : CoreClass::kOwn;
}

}  // namespace esp_tune
