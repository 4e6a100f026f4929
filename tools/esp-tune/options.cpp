#include "tools/esp-tune/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "core/config_value.hpp"

namespace esp_tune {
namespace {

using espalier::Collective;

constexpr std::uint64_t kBytesMax = 64 << 20;
constexpr const char* kMore = "Run with --help for all options.";

// The others have got the same options, and leave without haste: a launcher ends a job at once when
// a rank fails, and the first must have said why.
[[noreturn]] void leave(int code, bool speaks) {
  std::exit(speaks ? code : 0);
}

[[noreturn]] void refuse(const std::string& text, bool speaks) {
  if (speaks) fmt::print(stderr, "esp-tune: {}\n{}\n", text, kMore);
  leave(2, speaks);
}

template <typename Value>
void sort_once(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// "bcast, reduce or barrier"
std::string operation_names() {
  std::vector<std::string_view> names;
  for (const Collective one : tunable_operations()) names.emplace_back(collective_name(one));
  return espalier::join_or(names);
}

std::vector<Collective> operations_of(const std::vector<std::string>& names, bool speaks) {
  if (names.empty()) return tunable_operations();
  std::vector<Collective> operations;
  for (const std::string& name : names) {
    const auto& all = tunable_operations();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](Collective one) { return name == collective_name(one); });
    if (found == all.end()) {
      refuse(fmt::format("--ops: \"{}\" is not among {}", name, operation_names()), speaks);
    }
    operations.push_back(*found);
  }
  sort_once(operations);
  return operations;
}

std::vector<std::uint64_t> bytes_of(const std::vector<std::string>& texts, bool speaks) {
  std::vector<std::uint64_t> bytes;
  for (const std::string& text : texts) {
    const auto value = espalier::parse_size(text);
    if (!value || *value == 0 || *value > kBytesMax || *value % sizeof(float) != 0) {
      refuse(fmt::format("--bytes: \"{}\" is no multiple of 4 from 4 to 64M", text), speaks);
    }
    bytes.push_back(*value);
  }
  sort_once(bytes);
  return bytes;
}

}  // namespace

const std::vector<Collective>& tunable_operations() {
  static const std::vector<Collective> operations = {Collective::kBarrier,
                                                     Collective::kBcast,
                                                     Collective::kReduce,
                                                     Collective::kAllreduce,
                                                     Collective::kAllgather,
                                                     Collective::kAlltoall,
                                                     Collective::kScan,
                                                     Collective::kExscan,
                                                     Collective::kGather,
                                                     Collective::kScatter,
                                                     Collective::kReduceScatterBlock};
  return operations;
}

Options parse_options(int argc, const char* const* argv, bool speaks) {
  Options options;
  std::vector<std::string> operations, bytes;
  CLI::App app{
      "Measures which algorithm, shape and segments are the fastest here, and writes a profile "
      "that\n"
      "jobs choose by. Under a launcher, as the jobs will be: esp-run -n 8 esp-tune. A second run\n"
      "goes on where the first ended.",
      "esp-tune"};
  app.add_option("--ops", operations, "Operations, if not all: " + operation_names())
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--ranks", options.ranks, "Sizes of teams, if not 2, 4, 8... and the whole job")
      ->delimiter(',')
      ->type_name("LIST")
      ->check(CLI::Range(2, 1 << 24));
  app.add_option("--bytes", bytes,
                 "Sizes of messages, or blocks, if not 8 to 4M, finer where the choice changes")
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--minutes", options.minutes, "About how long it may take; more is more certain")
      ->type_name("M")
      ->check(CLI::Range(0.01, 10000.0))
      ->capture_default_str();
  app.add_option("--output", options.output, "The profile, if not ~/.config/espalier/profile")
      ->type_name("FILE");
  app.add_flag("--again", options.again, "Measures anew what the profile has already");
  app.set_version_flag("--version", fmt::format("espalier {}.{}.{}", ESP_VERSION_MAJOR,
                                                ESP_VERSION_MINOR, ESP_VERSION_PATCH));
  app.failure_message([](const CLI::App*, const CLI::Error& wrong) {
    return fmt::format("esp-tune: {}\n{}\n", wrong.what(), kMore);
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parse_error) {
    leave(speaks && app.exit(parse_error) != 0 ? 2 : 0, speaks);  // 0: --help and --version
  }
  sort_once(options.ranks);
  options.operations = operations_of(operations, speaks);
  options.bytes = bytes_of(bytes, speaks);
  return options;
}

}  // namespace esp_tune
