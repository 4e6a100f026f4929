// Charts: ticks, and that the text is well-formed and repeatable.
#include "tools/esp-sim/svg.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace esp_sim {
namespace {

std::vector<std::string> texts(const Axis& axis, double low, double high) {
  std::vector<std::string> list;
  for (const Tick& tick : ticks(axis, low, high)) list.push_back(tick.text);
  return list;
}
using Texts = std::vector<std::string>;

TEST(SvgTicks, AreRound) {
  EXPECT_EQ(texts({"", Scale::kLinear, true}, 3, 9.5), (Texts{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(texts({"", Scale::kLinear, false}, 0.1, 0.4),
            (Texts{"0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4"}));
  EXPECT_EQ(texts({"", Scale::kLog, false}, 3, 900), (Texts{"1", "10", "100", "1000"}));
  EXPECT_EQ(texts({"", Scale::kSize, false}, 512, 4096), (Texts{"512", "1K", "2K", "4K"}));
  EXPECT_EQ(texts({"", Scale::kSize, false}, 1 << 20, 1 << 21), (Texts{"1M", "2M"}));
}

TEST(SvgTicks, EncloseTheRangeWhateverItIs) {
  for (const Scale scale : {Scale::kLinear, Scale::kLog, Scale::kSize}) {
    for (const double low : {1e-6, 0.7, 1.0, 3.0, 1024.0, 1e12}) {
      for (const double factor : {1.0, 1.001, 2.0, 37.0, 1e6}) {
        const auto list = ticks({"", scale, false}, low, low * factor);
        ASSERT_GE(list.size(), 2u);
        EXPECT_LE(list.size(), 14u);
        EXPECT_LE(list.front().value, low * (1 + 1e-6));
        EXPECT_GE(list.back().value, low * factor * (1 - 1e-6));
      }
    }
  }
}

Chart a_chart() {
  return {"a < b & c",
          "simulated",
          {"ranks", Scale::kSize, false},
          {"time (ms)", Scale::kLinear, true},
          {{"event", {{32, 1.5, 1.0, 2.0}, {64, 2.5, 2.5, 2.5}}},
           {"waitall", {{32, 3, 3, 3}, {64, 5, 4, 6}}},
           {"one point", {{64, 1, 1, 1}}}}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(Svg, HasEverySeriesPointAndErrorBar) {
  const std::string text = to_svg(a_chart());
  EXPECT_EQ(count(text, "<circle"), 5u + 3u) << "points and legend";
  EXPECT_EQ(count(text, "m-4 0h8"), 2u) << "error bars where the ends differ";
  for (const char* part : {"<title>a &lt; b &amp; c</title>", ">a &lt; b &amp; c</text>",
                           ">ranks</text>", ">time (ms)</text>", ">event<", ">waitall<", ">64<"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("inf"), std::string::npos);
  EXPECT_EQ(count(text, "<g "), count(text, "</g>"));
  EXPECT_EQ(text, to_svg(a_chart()));
}

TEST(Svg, OnePointAndZeroDoNotBreakTheScale) {
  Chart chart = a_chart();
  chart.series = {{"flat", {{0, 0, 0, 0}}}};
  chart.x.scale = Scale::kLinear;
  const std::string text = to_svg(chart);
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace esp_sim
