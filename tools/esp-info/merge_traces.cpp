// esp-info --merge-traces.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/esp-info/commands.hpp"

namespace esp_info {

// A trace is a list of events that carry their rank, so joining files is joining lists.
int merge_traces(const std::string& output, const std::vector<std::string>& inputs) {
  nlohmann::json merged = {{"traceEvents", nlohmann::json::array()}, {"displayTimeUnit", "ns"}};
  std::uint64_t dropped = 0;
  for (const std::string& path : inputs) {
    std::ifstream file(path);
    if (!file) return fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    const auto trace = nlohmann::json::parse(file, nullptr, false);
    const bool is_trace =
        trace.is_object() && trace.contains("traceEvents") && trace["traceEvents"].is_array();
    if (!is_trace) return fail(fmt::format("{} is not a trace (JSON with traceEvents)", path));
    auto& events = merged["traceEvents"];
    events.insert(events.end(), trace["traceEvents"].begin(), trace["traceEvents"].end());
    const auto count = trace.value("/otherData/dropped_events"_json_pointer, nlohmann::json(0));
    if (count.is_number_unsigned()) dropped += count.get<std::uint64_t>();
  }
  merged["otherData"] = {{"dropped_events", dropped}};
  std::ofstream file(output);
  file << merged.dump() << '\n';
  file.close();
  if (!file) return fail(fmt::format("cannot write {}: {}", output, std::strerror(errno)));
  fmt::print("{}: {} events of {} files\n", output, merged["traceEvents"].size(), inputs.size());
  return 0;
}

}  // namespace esp_info
