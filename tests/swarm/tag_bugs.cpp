#include "tests/swarm/tag_bugs.hpp"

namespace espalier::swarm {
namespace {

constexpr ::test::PlantedBug kTagBugs[] = {
    {85, "wrong order", "receives with wildcards count before exact ones, whenever posted"},
    {86, "lost credit", "who takes a message does not tell its sender"},
    {87, "wrong resource", "a send that ends gives the first slot back, not its own"},
    {88, "wrong length", "a flow is shorter than what its receiver is ready for"},
    {89, "early completion", "synchronous sends are sent at once"},
    {90, "wrong number", "members are named by their ranks in the job"},
    {91, "wrong answer", "who receives nothing of a message names another to its sender"},
    {92, "ignored limit", "windows are counted without what each message costs besides"},
    {93, "overlooked death", "a receive from anybody does not miss the last member"},
    {94, "lost wake-up", "who waits for a message without receiving it is not told of any"},
    {95, "lost credit", "windows that stayed shut while too much waited are not opened again"},
    {96, "lost news", "who waits for messages alone does not hear that a team has failed"},
};

}  // namespace

std::span<const ::test::PlantedBug> tag_bugs() noexcept {
  return kTagBugs;
}

}  // namespace espalier::swarm
