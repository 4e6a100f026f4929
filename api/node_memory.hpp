// The memory that the ranks of a node share: where they meet for it, who makes it and who has it.
// Parts of bring_up(). path: setup
#pragma once

#include "api/handles.hpp"

namespace espalier {

// Before the exchange of cards: where this rank is met. None where the system does not let it be:
// then it shares memory with nobody, and the log says so.
Outcome open_meeting_point(esp_job& job);
// After it, when the node is known: collective over its ranks.
Outcome share_memory(esp_job& job);

}  // namespace espalier
