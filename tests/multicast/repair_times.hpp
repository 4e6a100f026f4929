// How long repairs take when one packet is lost at one member and nothing else goes wrong.
#pragma once

#include <cstdint>

namespace espalier::multicast::played {

// Prints the distribution; false: a repair has taken more than two round trips and the reorder
// window, or was not alone.
bool repair_times(std::uint64_t losses);

}  // namespace espalier::multicast::played
