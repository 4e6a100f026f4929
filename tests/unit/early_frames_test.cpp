// For how long flush() speaks of frames that cannot leave (net/early_frames.hpp).
#include "net/early_frames.hpp"

#include <gtest/gtest.h>

namespace espalier::net {
namespace {

struct Waiter {
  std::uint64_t early_ns = 0;
  bool waits = true;
};

class Early : public ::testing::Test {
 protected:
  bool flushed() {
    return early_.flushed(clock_, [](const Waiter& waiter) { return waiter.waits; });
  }

  ManualClock clock_;
  EarlyFrames<Waiter> early_;
  Waiter a_, b_;
};

TEST_F(Early, NothingWaitsAtFirstAndNotWhenItHasLeft) {
  EXPECT_TRUE(flushed());
  early_.note(a_, clock_);
  EXPECT_FALSE(flushed()) << "noted at 0 ns, too";
  a_.waits = false;
  EXPECT_TRUE(flushed());
  EXPECT_EQ(a_.early_ns, 0U);
}

TEST_F(Early, ThePatienceIsForAPeerInARow) {
  early_.note(a_, clock_);
  clock_.advance_ns(kFlushPatienceNs - 1);
  early_.note(a_, clock_);  // more frames do not begin it anew
  EXPECT_FALSE(flushed());
  clock_.advance_ns(2);
  EXPECT_TRUE(flushed()) << "it waits, and nobody stays for it";
  early_.note(b_, clock_);
  EXPECT_FALSE(flushed()) << "another has its own";
  b_.waits = a_.waits = false;
  EXPECT_TRUE(flushed());
  a_.waits = true;
  early_.note(a_, clock_);
  EXPECT_FALSE(flushed()) << "a new row";
}

}  // namespace
}  // namespace espalier::net
