// Registration for the launcher's reports of dead ranks.
//
// The handler runs on the progress thread of libpmix and only fills the latch, which must outlive
// the registration. Path: setup.
#pragma once

#include <pmix.h>

#include <cstddef>
#include <optional>

#include "bootstrap/death_latch.hpp"

namespace espalier::pmix {

// Nothing when the launcher takes no registrations; deaths then show in the transports only.
std::optional<std::size_t> register_for_deaths(DeathLatch& latch);
void deregister(std::size_t registration);

}  // namespace espalier::pmix
