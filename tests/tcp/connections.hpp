// What tests of connections share. Values.
#pragma once

#include "tests/harness/relay_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {

inline net::TcpOptions loopback() {
  return tcp_options("127.0.0.1");
}

struct Ends {
  // Posted at rank 0, from and to rank 1, in every state that there is.
  explicit Ends(World& world) : world_(world) {
    view.in_place = true;
    (void)posted.receive(world.wire(0));
    (void)view.receive(world.wire(0));
    for (auto& m : granted) (void)m->receive(world.wire(0), 16);
    EXPECT_EQ(untaken.send(world.wire(0), true), Posted::kPending);
  }
  void expect_all_ended(esp_status code) {
    for (Message* m : {&posted, &view}) {
      EXPECT_EQ(m->received.fired, 1);
      EXPECT_EQ(m->received.status.code(), code);
      EXPECT_EQ(m->received.status.rank(), 1);
    }
    for (auto& m : granted) EXPECT_EQ(m->received.fired, 1);
    EXPECT_EQ(untaken.sent.fired, 1);
    EXPECT_EQ(untaken.sent.status.code(), code);
    // What is posted from now on ends likewise, from progress().
    Message late(1, 0, FlowId(9, 0, 0), 10, 1), send(0, 1, FlowId(9, 0, 1), 10, 1);
    EXPECT_EQ(late.receive(world_.wire(0)), Posted::kPending);
    EXPECT_EQ(send.send(world_.wire(0)), Posted::kPending);
    Message cancelled(1, 0, FlowId(9, 0, 2), 10, 1), unsent(0, 1, FlowId(9, 0, 3), 10, 1);
    EXPECT_EQ(cancelled.receive(world_.wire(0)), Posted::kPending);
    EXPECT_EQ(unsent.send(world_.wire(0)), Posted::kPending);
    world_.wire(0).cancel(cancelled.received);
    world_.wire(0).cancel(unsent.sent);
    EXPECT_EQ(late.received.fired + send.sent.fired, 0);
    (void)world_.wire(0).progress();
    EXPECT_EQ(late.received.fired, 1);
    EXPECT_EQ(send.sent.fired, 1);
    EXPECT_EQ(cancelled.received.fired + unsent.sent.fired, 0);
    EXPECT_EQ(late.received.status.code(), code);
    EXPECT_EQ(send.sent.status.code(), code);
  }
  bool over() const { return posted.received.complete() && untaken.sent.complete(); }

  Message posted{1, 0, FlowId(8, 0, 0), 1000, 1}, view{1, 0, FlowId(8, 0, 1), 1000, 1},
      untaken{0, 1, FlowId(8, 0, 2), 1000, 1};
  Messages granted = make_flow(1, 0, FlowId(8, 0, 3), 40, 100);

 private:
  World& world_;
};

// Looks at rank 0 alone.
template <typename Done>
bool step_first(World& world, Done&& done) {
  for (int i = 0; i < 5000; ++i) {
    if (done()) return true;
    if (world.wire(0).progress() == 0) world.rest();
  }
  return done();
}

inline void connect_pair(World& world) {
  Message m(0, 1, FlowId(7, 0, 0), 100, 1);
  carry(world, m);
}

}  // namespace espalier::test
