// Where ranks are inside their nodes: sockets, NUMA nodes, outer caches.
//
// Values; functions of the cards and of settings that are equal everywhere, so all ranks agree.
// path: setup
#pragma once

#include <string_view>
#include <vector>

#include "bootstrap/card.hpp"
#include "bootstrap/job_nodes.hpp"
#include "coll/team_nodes.hpp"

namespace espalier {

// By rank; empty: trees are not to follow such levels. Where `topology` (ESPALIER_TOPOLOGY)
// describes another machine, its sockets are emulated: rank k of each node is on core k of it,
// modulo the cores. ESP_ERR_CONFIG: no description.
Result<std::vector<InnerPlace>> inner_places(const Config& config, const std::vector<Card>& cards,
                                             const JobNodes& nodes);

}  // namespace espalier
