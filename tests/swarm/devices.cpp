// Memory of devices that members of a node read where it lies: who has some, and who opens it.
#include <utility>

#include "tests/swarm/drawing.hpp"

namespace espalier::swarm {
namespace {

bool may_share(const OpSpec& op) {
  return op.collective != Collective::kBarrier && !op.traits().types;
}

}  // namespace

// Nothing is taken back in these: in one thread nobody lets go of a place while its owner waits for
// that.
void draw_devices(Scenario& scenario) {
  if (!draws_devices(scenario)) return;
  ESP_ASSERT(scenario.stage == StageKind::kShm && scenario.moves && !scenario.troubled());
  Prng prng(scenario.seed ^ 0x64657669636573ULL);
  SharedDevices& devices = scenario.devices.emplace();
  devices.nameless = pick(prng, {0.0, 0.1, 0.5});
  devices.refused = pick(prng, {0.0, 0.1, 0.5});
  const double closed = pick(prng, {0.0, 0.2, 0.5});
  for (std::uint32_t r = 0; r < scenario.ranks; ++r) devices.opens.push_back(!prng.chance(closed));
  scenario.tuning.device_share_bytes = 1;
  for (OpSpec& op : scenario.ops) {
    if (!may_share(op) || prng.chance(0.2)) continue;
    op.shares = true;
    op.combines = op.reduces() && prng.chance(0.5);
    if (!op.flow()) op.pattern = std::make_shared<const Pattern>(Pattern::plain(op.type));
  }
}

}  // namespace espalier::swarm
