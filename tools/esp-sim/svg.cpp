#include "tools/esp-sim/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace esp_sim {
namespace {

constexpr double kWidth = 780, kHeight = 460;
constexpr double kLeft = 78, kTop = 64, kBottom = 58, kRight = 20;
constexpr double kLegendRow = 20;
// Colours that people who do not see all colours tell apart (Okabe and Ito), and darkest first.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#444444", "#a08000"};

std::string escape(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

// 1, 2 or 5 times a power of ten, so that about `count` steps cover the range.
double round_step(double range, double count) {
  const double raw = range / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  }
  return 10.0 * power;
}

std::string size_text(double bytes) {
  static constexpr const char* kUnits[] = {"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024.0;
    ++unit;
  }
  return fmt::format("{:g}{}", bytes, kUnits[unit]);
}

std::vector<Tick> linear_ticks(double low, double high) {
  if (high <= low) high = low + (low != 0.0 ? std::abs(low) : 1.0);
  const double step = round_step(high - low, 6.0);
  std::vector<Tick> list;
  for (double i = std::floor(low / step + 1e-9);; i += 1.0) {
    // i * step and not a sum, which would drift; 0 has no sign.
    list.push_back({i * step, fmt::format("{:.6g}", i * step + 0.0)});
    if (i * step >= high - 1e-9 * step) return list;
  }
}

std::vector<Tick> power_ticks(double base, double low, double high) {
  const double first = std::floor(std::log(low) / std::log(base) + 1e-9);
  const double last = std::max(std::ceil(std::log(high) / std::log(base) - 1e-9), first + 1.0);
  const double stride = std::max(1.0, std::ceil((last - first) / 10.0));
  std::vector<Tick> list;
  for (double power = first;; power += stride) {
    const double value = std::pow(base, power);
    list.push_back({value, base == 2.0 ? size_text(value) : fmt::format("{:g}", value)});
    if (power >= last) return list;
  }
}

double on_scale(Scale scale, double value) {
  return scale == Scale::kLinear ? value : std::log(value);
}

// An axis on the page: pixels of values.
class Ruler {
 public:
  Ruler(const Axis& axis, std::vector<Tick> ticks, double begin, double end)
      : scale_(axis.scale),
        ticks_(std::move(ticks)),
        low_(on_scale(scale_, ticks_.front().value)),
        high_(on_scale(scale_, ticks_.back().value)),
        begin_(begin),
        end_(end) {}

  const std::vector<Tick>& marks() const { return ticks_; }
  double at(double value) const {
    return begin_ + (on_scale(scale_, value) - low_) / (high_ - low_) * (end_ - begin_);
  }

 private:
  Scale scale_;
  std::vector<Tick> ticks_;
  double low_, high_, begin_, end_;
};

class Page {
 public:
  explicit Page(const Chart& chart) : chart_(chart), x_(ruler_x()), y_(ruler_y()) {}

  std::string draw() {
    add(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}" )"
        R"(font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#333">)",
        kWidth, height(), kWidth, height());
    add("<title>{}</title>", escape(chart_.title));
    add(R"(<rect width="100%" height="100%" fill="#fff"/>)");
    add(R"(<text x="{}" y="26" font-size="16" font-weight="bold">{}</text>)", kLeft,
        escape(chart_.title));
    add(R"(<text x="{}" y="46" fill="#666">{}</text>)", kLeft, escape(chart_.subtitle));
    draw_axes();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) draw_series(i);
    text_ += "</svg>\n";
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  // The legend stands below the plot, two entries a row.
  double height() const {
    return kHeight + kLegendRow * static_cast<double>((chart_.series.size() + 1) / 2);
  }
  Ruler ruler_x() const {
    double low = 1e300, high = -1e300;
    for (const Series& series : chart_.series) {
      for (const Point& point : series.points) {
        low = std::min(low, point.x);
        high = std::max(high, point.x);
      }
    }
    return {chart_.x, ticks(chart_.x, low, high), kLeft, kWidth - kRight};
  }
  Ruler ruler_y() const {
    double low = 1e300, high = -1e300;
    for (const Series& series : chart_.series) {
      for (const Point& point : series.points) {
        low = std::min({low, point.y, point.low});
        high = std::max({high, point.y, point.high});
      }
    }
    return {chart_.y, ticks(chart_.y, low, high), kHeight - kBottom, kTop};
  }

  void draw_axes() {
    const double bottom = kHeight - kBottom, right = kWidth - kRight;
    for (const Tick& tick : y_.marks()) {
      const double y = y_.at(tick.value);
      add(R"(<path d="M{:.1f} {:.1f}H{:.1f}" stroke="#e4e4e4"/>)", kLeft, y, right);
      add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 8, y + 4,
          tick.text);
    }
    for (const Tick& tick : x_.marks()) {
      const double x = x_.at(tick.value);
      add(R"(<path d="M{:.1f} {:.1f}v5" stroke="#888"/>)", x, bottom);
      add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x, bottom + 20,
          tick.text);
    }
    add(R"(<path d="M{:.1f} {:.1f}H{:.1f}" stroke="#888"/>)", kLeft, bottom, right);
    add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", (kLeft + right) / 2,
        bottom + 42, escape(chart_.x.label));
    const double middle = (kTop + bottom) / 2;
    add(R"svg(<text transform="translate(20 {:.1f}) rotate(-90)" )svg"
        R"svg(text-anchor="middle">{}</text>)svg",
        middle, escape(chart_.y.label));
  }

  void draw_series(std::size_t number) {
    const Series& series = chart_.series[number];
    const char* colour = kColours[number % std::size(kColours)];
    // Past the last colour lines are dashed.
    const char* dash = number < std::size(kColours) ? "" : R"( stroke-dasharray="5 4")";
    add(R"(<g stroke="{}" fill="{}">)", colour, colour);
    std::string path;
    for (const Point& point : series.points) {
      path +=
          fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x_.at(point.x), y_.at(point.y));
    }
    add(R"(<path d="{}" fill="none" stroke-width="2"{}/>)", path, dash);
    for (const Point& point : series.points) {
      const double x = x_.at(point.x);
      if (point.low < point.high) {
        add(R"(<path d="M{:.1f} {:.1f}h8m-4 0V{:.1f}m-4 0h8" fill="none"/>)", x - 4,
            y_.at(point.low), y_.at(point.high));
      }
      add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" stroke="#fff"/>)", x, y_.at(point.y));
    }
    const double x = kLeft + static_cast<double>(number % 2) * (kWidth - kLeft - kRight) / 2;
    const double y = kHeight + kLegendRow * static_cast<double>(number / 2);
    add(R"(<path d="M{:.1f} {:.1f}h24" stroke-width="2"{}/>)", x, y, dash);
    add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" stroke="#fff"/>)", x + 12, y);
    text_ += "</g>\n";
    add(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + 32, y + 4, escape(series.name));
  }

  const Chart& chart_;
  std::string text_;
  Ruler x_, y_;
};

}  // namespace

std::vector<Tick> ticks(const Axis& axis, double low, double high) {
  switch (axis.scale) {
    case Scale::kLog:
      return power_ticks(10.0, low, high);
    case Scale::kSize:
      return power_ticks(2.0, low, high);
    case Scale::kLinear:
      break;
  }
  return linear_ticks(axis.from_zero ? std::min(0.0, low) : low, high);
}

std::string to_svg(const Chart& chart) {
  return Page(chart).draw();
}

}  // namespace esp_sim
