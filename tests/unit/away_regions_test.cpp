// Registrations of memory of devices (net/rdma/away_regions.hpp).
#include "net/rdma/away_regions.hpp"

#include <gtest/gtest.h>

#include "tests/harness/two_places.hpp"
#include "tests/unit/registrar.hpp"

namespace espalier::rdma {
namespace {

struct FileRegistrar : Registrar {
  Result<Region> enroll_file(int file, const std::byte* begin, std::uint64_t bytes) override {
    EXPECT_GE(file, 0);
    return enroll(begin, bytes);
  }
};

class AwayRegionsTest : public testing::Test {
 protected:
  AwayRegionsTest() { regions_.set(&away_); }
  const std::byte* allocation(int number) {
    return reinterpret_cast<const std::byte*>(std::uintptr_t{0x10'0000} * (number + 1));
  }
  void add(int number, std::uint64_t bytes = 10'000) {
    away_.allocations.push_back(
        {static_cast<std::uint64_t>(number) + 1, allocation(number), bytes});
  }

  FileRegistrar port_;
  ::espalier::test::TwoPlaces away_;
  AwayRegions regions_{port_};
};

TEST_F(AwayRegionsTest, AnAllocationIsRegisteredAsAWhole) {
  add(0);
  const Region* part = regions_.hold(allocation(0) + 5'000, 100);
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part->begin, allocation(0));
  EXPECT_EQ(part->bytes, 12'288U) << "its pages";
  EXPECT_EQ(regions_.find(allocation(0), 10'000), part);
  EXPECT_EQ(regions_.find(allocation(0), 10'001), nullptr) << "not all of it is the allocation's";
  regions_.drop(allocation(0));
  EXPECT_EQ(regions_.find(allocation(0), 1), nullptr) << "nobody holds it";
  EXPECT_NE(regions_.hold(allocation(0), 10'000), nullptr);
  EXPECT_EQ(port_.enrolled, 1U);
  regions_.drop(allocation(0));
  EXPECT_EQ(regions_.hold(allocation(0) + 9'999, 2), nullptr);
  EXPECT_EQ(regions_.hold(allocation(3), 1), nullptr) << "the host's";
}

TEST_F(AwayRegionsTest, WhatWasFreedAndGivenAgainIsAnotherOne) {
  add(0);
  ASSERT_NE(regions_.hold(allocation(0), 1), nullptr);
  regions_.drop(allocation(0));
  away_.allocations[0].number = 77;
  ASSERT_NE(regions_.hold(allocation(0), 1), nullptr);
  EXPECT_EQ(port_.enrolled, 2U);
  regions_.drop(allocation(0));
}

TEST_F(AwayRegionsTest, TheOldestThatNobodyHoldsGoes) {
  for (int i = 0; i < 66; ++i) add(i);
  ASSERT_NE(regions_.hold(allocation(0), 1), nullptr);
  for (int i = 1; i < 65; ++i) {
    ASSERT_NE(regions_.hold(allocation(i), 1), nullptr) << i;
    regions_.drop(allocation(i));
  }
  EXPECT_EQ(regions_.count(), 64U);
  EXPECT_EQ(port_.live, 64);
  EXPECT_NE(regions_.find(allocation(0), 1), nullptr) << "the oldest is held";
  const std::uint64_t made = port_.enrolled;
  ASSERT_NE(regions_.hold(allocation(64), 1), nullptr);
  EXPECT_EQ(port_.enrolled, made) << "the youngest is there";
  ASSERT_NE(regions_.hold(allocation(1), 1), nullptr);
  EXPECT_EQ(port_.enrolled, made + 1) << "that one went";
  for (const int i : {0, 1, 64}) regions_.drop(allocation(i));
}

TEST_F(AwayRegionsTest, WhereAllAreHeldThereIsNoMore) {
  for (int i = 0; i < 65; ++i) add(i);
  for (int i = 0; i < 64; ++i) ASSERT_NE(regions_.hold(allocation(i), 1), nullptr);
  EXPECT_EQ(regions_.hold(allocation(64), 1), nullptr);
  regions_.drop(allocation(9));
  EXPECT_NE(regions_.hold(allocation(64), 1), nullptr) << "later there is";
}

TEST_F(AwayRegionsTest, WhatIsRevokedIsReachedByNobody) {
  add(0);
  ASSERT_NE(regions_.hold(allocation(0), 1), nullptr);
  ASSERT_NE(regions_.hold(allocation(0), 1), nullptr);
  regions_.revoke(allocation(0));
  EXPECT_EQ(port_.live, 0);
  EXPECT_EQ(regions_.find(allocation(0), 1), nullptr);
  ASSERT_NE(regions_.hold(allocation(0), 1), nullptr) << "under another key";
  EXPECT_EQ(port_.live, 1);
  regions_.revoke(allocation(0));  // Nor is that one, beside what is revoked already.
  EXPECT_EQ(port_.live, 0);
  ASSERT_NE(regions_.hold(allocation(0), 1), nullptr);
  for (int i = 0; i < 4; ++i) regions_.drop(allocation(0));
  EXPECT_EQ(regions_.count(), 1U);
  EXPECT_EQ(port_.live, 1);
}

TEST_F(AwayRegionsTest, WhatIsRefusedIsAskedForOnce) {
  add(0);
  add(1);
  away_.file_error = ESP_ERR_SYSTEM;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(regions_.hold(allocation(0), 1), nullptr);
  EXPECT_EQ(away_.files, 1);
  EXPECT_TRUE(regions_.usable());
  away_.file_error = ESP_ERR_UNSUPPORTED;
  EXPECT_EQ(regions_.hold(allocation(1), 1), nullptr);
  EXPECT_FALSE(regions_.usable());
  EXPECT_EQ(regions_.why(), "no file of this memory");
}

TEST_F(AwayRegionsTest, ALimitMakesOthersGo) {
  add(0);
  add(1);
  port_.bytes_max = 20'000;
  ASSERT_NE(regions_.hold(allocation(0), 1), nullptr);
  EXPECT_EQ(regions_.hold(allocation(1), 1), nullptr);
  regions_.drop(allocation(0));
  away_.allocations[1].number = 9;  // The other was refused.
  EXPECT_NE(regions_.hold(allocation(1), 1), nullptr);
  EXPECT_EQ(port_.live, 1);
  regions_.drop(allocation(1));
  regions_.set(nullptr);
  EXPECT_EQ(port_.live, 0);
  EXPECT_FALSE(regions_.usable());
}

}  // namespace
}  // namespace espalier::rdma
