// Planted bugs: one-line errors that a test build can switch on, one at a time, to prove that the
// swarm (tests/swarm) finds errors of that kind.
//
//   const std::uint32_t limit = ESP_PLANT(7, ordinal + 1, ordinal + 2);
//
// Without ESPALIER_PLANTED_BUGS the first expression is all that the compiler sees. The numbers
// and what they stand for: bugs.cpp in tests/swarm and tests/multicast, tag_bugs.cpp. path: data
#pragma once

#ifdef ESPALIER_PLANTED_BUGS

namespace espalier {
// Which one is on; 0: none. Test builds only; set before anything runs.
extern int planted_bug;
}  // namespace espalier

#define ESP_PLANT(number, normal, buggy) (::espalier::planted_bug == (number) ? (buggy) : (normal))

#else

#define ESP_PLANT(number, normal, buggy) (normal)

#endif
