#include "tools/esp-noise/injector.hpp"

#include <fmt/format.h>

#include <iterator>

#include "core/clock.hpp"

namespace esp_noise {

using espalier::sim::Detour;

std::uint64_t Record::taken_ns() const {
  std::uint64_t taken = 0;
  for (const Done& done : detours) taken += done.actual.length_ns;
  return taken;
}

End inject(Child& child, espalier::sim::Noise& noise, std::uint64_t period_ns, Record& record) {
  record.epoch_ns = monotonic_ns();
  const std::uint64_t late = period_ns != 0 ? record.epoch_ns % period_ns : 0;
  const auto ended = [&record](End end) {
    record.run_ns = monotonic_ns() - record.epoch_ns;
    return end;
  };
  while (true) {
    Detour detour = noise.next();
    const bool is_last = detour.begin_ns == espalier::kNever;
    if (detour.begin_ns < late) continue;
    if (!is_last) detour.begin_ns -= late;
    const std::uint64_t begin = is_last ? espalier::kNever : record.epoch_ns + detour.begin_ns;
    if (const auto end = child.await(begin)) return ended(*end);
    if (const auto end = child.stop()) return ended(*end);
    // The length is kept where the begin was late: the share of the processor is what counts.
    const std::uint64_t stopped = monotonic_ns();
    const auto end = child.await(stopped + detour.length_ns);
    record.detours.push_back({detour, {stopped - record.epoch_ns, monotonic_ns() - stopped}});
    if (end) return ended(*end);  // killed while it stood
    child.resume();
  }
}

std::string trace_text(const Record& record, const std::string& comment) {
  const auto us = [](std::uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); };
  std::string text = fmt::format("# {}\n# epoch_ns {}\nperiod_us {}\n", comment, record.epoch_ns,
                                 us(record.run_ns));
  for (const auto& [planned, actual] : record.detours) {
    fmt::format_to(std::back_inserter(text), "{} {}  # planned {} {}\n", us(actual.begin_ns),
                   us(actual.length_ns), us(planned.begin_ns), us(planned.length_ns));
  }
  return text;
}

}  // namespace esp_noise
