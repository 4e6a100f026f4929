// The teams that are measured, and what a profile says of where they are. path: setup
#pragma once

#include <string>
#include <vector>

#include "coll/choice/profile.hpp"

namespace esp_tune {

struct Place {
  std::vector<int> members;   // ranks of the job, ascending; 0 is among them
  espalier::Situation where;  // without collective and bytes
};

// One for each number of ranks; an empty list: 2, 4, 8... and all. With several nodes as many ranks
// of each as go evenly, or one of each of as many nodes; else the first ones. `node_of` has the
// node of each rank of the job; `network` and `cores` are the job's.
std::vector<Place> places_of(const std::vector<int>& node_of, const std::vector<int>& ranks,
                             espalier::NetworkClass network, espalier::CoreClass cores);

// From the report of a job (esp_job_describe): over TCP if any peer is reached by it, else by RDMA;
// kAny where there is no other node.
espalier::NetworkClass network_of(const std::string& report);
// Whether a waiting rank keeps its core.
espalier::CoreClass cores_of(const std::string& report);

}  // namespace esp_tune
