// What is said about settings that are not as they should be: once for the ranks of a node.
//
// The rank that the launcher calls the first of its node speaks for all, as soon as it knows that
// it is. Another one says its own warnings when it shares memory with ranks that have different
// ones. (Under esp-run the launcher has spoken, core/said_warnings.hpp.) Threads: owner.
// path: setup
#pragma once

#include "api/handles.hpp"

namespace espalier {

// With or without a bootstrap: who has none speaks for itself.
void say_warnings_for_node(const esp_job& job);
// By the rank that makes the node's shared memory, before anybody else has it.
void note_warnings(const esp_job& job, shm::Header& header);
// When the shared memory is mapped.
void say_differing_warnings(const esp_job& job);

}  // namespace espalier
