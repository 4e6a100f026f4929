// The names of nodes: that of this machine, in a form which every list of names can hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace esp_run {

// The host name as a node's name. The kernel takes any 64 bytes for a host name, while lists of
// nodes have separators: what is neither a letter, a digit, '.', '-' nor '_' becomes a '_'.
std::string node_name_of_host(std::string_view host);

// One name per node: the host's, or "<host>-node0", "<host>-node1"... Throws LaunchError.
std::vector<std::string> name_nodes(int nodes);

// The names as the value of PMIX_NODE_MAP.
std::string node_map(const std::vector<std::string>& names);

}  // namespace esp_run
