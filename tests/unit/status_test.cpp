// Status and Result: what they carry, and that misuse is caught.
#include "core/status.hpp"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Status, DefaultIsOkAndNamesNobody) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.rank(), kNoRank);
}

TEST(Status, CarriesCodeRankAndErrno) {
  const Status status(ESP_ERR_PEER_DIED, 7, 104);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ESP_ERR_PEER_DIED);
  EXPECT_EQ(status.rank(), 7);
  EXPECT_EQ(status.error_number(), 104);
}

TEST(Result, HoldsEitherAValueOrAnError) {
  Result<int> good(3);
  EXPECT_EQ(*good, 3);
  const Result<int> bad(error(ESP_ERR_CONFIG, "no such knob"));
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().text, "no such knob");
}

TEST(ResultDeathTest, ValueOfAnErrorIsAProgrammingError) {
  Result<int> bad(error(ESP_ERR_CONFIG, "no"));
  EXPECT_DEATH((void)bad.value(), "invariant violated");
}

}  // namespace
}  // namespace espalier
