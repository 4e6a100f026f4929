// Graphs of neighbours, for the functions on them.
//
// A graph is made by all members of a team together, which compare their edges, and is a list on
// each of them from then on. Ownership: of the job. Threads: owner, except reading. path: setup
#pragma once

#include "api/start.hpp"

namespace espalier::api {

// The team of a call on the graph, and the neighbours in it. An error has been reported.
esp_status take_graph(esp_graph* graph, const char* caller, Call& call, esp_team*& team);
// Its graphs have no team any more.
void leave_graphs(esp_team& team) noexcept;

}  // namespace espalier::api
