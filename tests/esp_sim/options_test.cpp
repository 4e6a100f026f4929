// Seeds, tables and what varies.
#include "tools/esp-sim/options.hpp"

#include <gtest/gtest.h>

#include "tools/esp-sim/report.hpp"

namespace esp_sim {
namespace {

using Seeds = std::vector<std::uint64_t>;

TEST(EspSimSeeds, ListsAndRanges) {
  EXPECT_EQ(parse_seeds("1").value(), (Seeds{1}));
  EXPECT_EQ(parse_seeds("0,5,10-13").value(), (Seeds{0, 5, 10, 11, 12, 13}));
  EXPECT_EQ(parse_seeds("7-7").value(), (Seeds{7}));
  for (const char* bad : {"", "x", "1,", "3-2", "-1", "1-", "1-2-3", "1.5", "0-1000000"}) {
    const auto seeds = parse_seeds(bad);
    ASSERT_FALSE(seeds.ok()) << bad;
    EXPECT_EQ(seeds.error().status.code(), ESP_ERR_ARGUMENT);
  }
  EXPECT_NE(parse_seeds("1,3-2").error().text.find("\"3-2\" is neither"), std::string::npos);
}

Row a_row(std::uint32_t ranks, esp_variant variant, std::vector<std::uint64_t> times) {
  Row row;
  row.scenario.ranks = ranks;
  row.scenario.options.variant = variant;
  for (const std::uint64_t time : times) {
    Run run;
    run.seed = row.runs.size();
    run.makespan_ns = time;
    row.runs.push_back(run);
  }
  return row;
}

TEST(EspSimReport, MedianIsTheMiddle) {
  EXPECT_EQ(summary(a_row(2, ESP_VARIANT_EVENT, {5, 1, 9})).median_ns, 5u);
  EXPECT_EQ(summary(a_row(2, ESP_VARIANT_EVENT, {8, 2, 4, 100})).median_ns, 6u);
  EXPECT_EQ(summary(a_row(2, ESP_VARIANT_EVENT, {8, 2, 4, 100})).max_ns, 100u);
  EXPECT_EQ(summary(a_row(2, ESP_VARIANT_EVENT, {8, 2, 4, 100})).min_ns, 2u);
}

TEST(EspSimReport, OnlyWhatVariesIsAColumn) {
  const std::vector<Row> rows = {a_row(32, ESP_VARIANT_EVENT, {10}),
                                 a_row(64, ESP_VARIANT_EVENT, {20})};
  const std::string table = to_table(rows);
  EXPECT_EQ(table.find("simulated: "), 0u) << table;
  EXPECT_NE(table.find("\nranks  median"), std::string::npos) << table;
  EXPECT_NE(table.find("event"), std::string::npos) << "in the line above: " << table;
}

TEST(EspSimReport, AChartHasALinePerVariant) {
  const std::vector<Row> rows = {a_row(32, ESP_VARIANT_EVENT, {1000000, 3000000, 2000000}),
                                 a_row(32, ESP_VARIANT_WAITALL, {4000000}),
                                 a_row(16, ESP_VARIANT_EVENT, {5000000}),
                                 a_row(16, ESP_VARIANT_WAITALL, {6000000})};
  const Chart chart = to_chart(rows);
  ASSERT_EQ(chart.series.size(), 2u);
  EXPECT_EQ(chart.series[0].name, "event");
  ASSERT_EQ(chart.series[0].points.size(), 2u);
  EXPECT_EQ(chart.series[0].points[0].x, 16);
  EXPECT_EQ(chart.series[0].points[1].y, 2);
  EXPECT_EQ(chart.series[0].points[1].low, 1);
  EXPECT_EQ(chart.series[0].points[1].high, 3);
  EXPECT_EQ(chart.x.scale, Scale::kSize);
  EXPECT_NE(chart.title.find("simulated"), std::string::npos);
}

}  // namespace
}  // namespace esp_sim
