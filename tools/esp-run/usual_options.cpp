#include "usual_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

namespace esp_run {
namespace {

struct Spelling {
  std::string_view theirs, ours;
};

// Without dashes on the left.
constexpr std::array kSpellings = {
    Spelling{"np", "--ranks"},
    Spelling{"wd", "--wdir"},
    Spelling{"bind-to", "--bind"},
    Spelling{"tag-output", "--tag"},
    Spelling{"prepend-rank", "--tag"},
    Spelling{"env", "--env"},
    Spelling{"genv", "--genv"},
    Spelling{"envall", "--envall"},
    Spelling{"genvall", "--genvall"},
    Spelling{"oversubscribe", "--oversubscribe"},
    Spelling{"allow-run-as-root", "--allow-run-as-root"},
};

constexpr const char* kHidden = "";

void declare_unneeded(CLI::App& app, const std::string& name) {
  app.add_flag(name)->group(kHidden);
}

// NAME VALUE, as two arguments.
void declare_variable(CLI::App& app, const std::string& name, Program& program) {
  app.add_option_function<std::vector<std::string>>(
         name,
         [&program](const std::vector<std::string>& words) {
           for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
             add_variable(program, fmt::format("{}={}", words[i], words[i + 1]));
           }
         })
      ->type_size(2)
      ->allow_extra_args(false)
      ->type_name("values of " + name)  // CLI11 names no hidden option in its errors.
      ->group(kHidden);
}

}  // namespace

void read_as_ours(std::string& option) {
  const std::size_t begin = option.find_first_not_of('-');
  if (begin == std::string::npos || begin > 2) return;
  const std::size_t end = std::min(option.find('='), option.size());
  const std::string_view name = std::string_view(option).substr(begin, end - begin);
  for (const Spelling& spelling : kSpellings) {
    if (name != spelling.theirs) continue;
    option = std::string(spelling.ours) + option.substr(end);
    return;
  }
}

void declare_usual_of_program(CLI::App& app, Program& program) {
  declare_variable(app, "--env", program);
  declare_unneeded(app, "--envall");
}

void declare_usual_of_job(CLI::App& app, Program& all_programs) {
  declare_variable(app, "--genv", all_programs);
  declare_unneeded(app, "--genvall");
  declare_unneeded(app, "--oversubscribe");
  declare_unneeded(app, "--allow-run-as-root");
}

}  // namespace esp_run
