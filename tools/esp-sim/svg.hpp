// A line chart as SVG text: axes with round ticks, a legend, error bars. Nothing else.
//
// Values; equal charts give equal text, so a plot under version control changes only with its data.
// path: setup
#pragma once

#include <string>
#include <vector>

namespace esp_sim {

struct Point {
  double x = 0, y = 0;
  double low = 0, high = 0;  // error bar; none where both are y
};

struct Series {
  std::string name;
  std::vector<Point> points;  // in order of x
};

// kSize: powers of two, written 4K, 1M.
enum class Scale { kLinear, kLog, kSize };

struct Axis {
  std::string label;
  Scale scale = Scale::kLinear;
  bool from_zero = false;  // kLinear: the axis begins at 0
};

struct Chart {
  std::string title, subtitle;
  Axis x, y;
  std::vector<Series> series;
};

std::string to_svg(const Chart& chart);

// Where the ticks of an axis over [low, high] stand, and what is written at them; they enclose the
// range. For tests.
struct Tick {
  double value = 0;
  std::string text;
};
std::vector<Tick> ticks(const Axis& axis, double low, double high);

}  // namespace esp_sim
