#include "tests/multicast/bugs.hpp"

namespace espalier::multicast::played {
namespace {

constexpr ::test::PlantedBug kGroupBugs[] = {
    {97, "damaged data", "the checksum of a packet is not looked at"},
    {98, "delivered twice", "a packet that came before its turn counts as new when it comes again"},
    {99, "ignored limit", "a window is one packet wider than was agreed"},
    {100, "early release", "an acknowledgement does not speak for the members below"},
    {101, "lost data", "of a dead source nobody looks for what lies beyond a gap"},
    {102, "lost wake-up", "a source stops to probe before it asks by mail"},
    {103, "lost data", "what was asked for is not asked for again"},
    {104, "overlooked death", "a dead member still counts among those below"},
    {105, "lost news", "where mail has no room for the end of a source, it counts as told"},
    {106, "survivors disagree", "packets of a dead source are taken after the report about them"},
};

constexpr ::test::PlantedBug kPlacedBugs[] = {
    {120, "early release", "a segment counts as arrived although members below lack it"},
    {122, "ignored limit", "a segment is sent before all have places for it"},
    {123, "wrong bytes", "a packet counts as that of the place it came into"},
    {124, "lost wake-up", "what a dead parent was asked for is not asked for again"},
    {125, "lost data", "what waits in spare memory is not put in its place"},
    {126, "late write", "a segment is whole while places of it are in the port's queue"},
    {127, "wrong bytes", "a segment is whole before what lies beside a device is stored there"},
    {128, "wrong bytes", "what strays counts as here although its place is posted again"},
};

}  // namespace

std::span<const ::test::PlantedBug> group_bugs() noexcept {
  return kGroupBugs;
}

std::span<const ::test::PlantedBug> placed_bugs() noexcept {
  return kPlacedBugs;
}

}  // namespace espalier::multicast::played
