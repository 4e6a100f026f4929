// WireContract: the fixture of the conformance suite of core/wire.hpp, whose cases stand in
// conformance_*.cpp and run over all_worlds().
#pragma once

#include <memory>
#include <string>

#include "tests/harness/traffic.hpp"
#include "tests/harness/world_kind.hpp"

namespace espalier::test {

// One copy of each case for all worlds: instantiated as templates, they took a minute to compile.
class WireContract : public ::testing::TestWithParam<WorldKind> {
 protected:
  void SetUp() override {
    if (const std::string why_not = why_not_here(GetParam()); !why_not.empty()) {
      GTEST_SKIP() << why_not;
    }
  }
  World& make(int ranks) {
    world_.reset();  // Before: two at a time would share a network.
    world_ = GetParam().make(ranks);
    return *world_;
  }

 private:
  std::unique_ptr<World> world_;
};

// What two ranks must have exchanged before frames between them take the wire's best way. `number`:
// another one for each call.
inline void meet(World& world, Rank a, Rank b, std::uint64_t number) {
  Message there(a, b, FlowId(90, 0, number), 8, number), back(b, a, FlowId(90, 1, number), 8, 1);
  for (Message* m : {&there, &back}) {
    (void)m->receive(world.wire(m->to));
    ASSERT_TRUE(step_until(world, [&] { return m->send(world.wire(m->from)) != Posted::kRetry; }));
  }
  ASSERT_TRUE(step_until(world, [&] { return there.complete() && back.complete(); }));
  settle(world);
}

// What came of a message whose sender had taken it back.
inline void check_taken_back(const World& world, const Message& m) {
  if (m.received.status.code() != ESP_ERR_SYSTEM) return m.check();
  EXPECT_TRUE(world.loses_what_is_taken_back());
  EXPECT_EQ(m.received.status.rank(), m.from);
}

}  // namespace espalier::test
