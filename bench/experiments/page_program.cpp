#include "bench/experiments/page_program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/experiments/simulated.hpp"

namespace espalier::experiments {

int run_page_program(int argc, char** argv, const PageProgram& program) {
  CLI::App app(program.about);
  std::string markdown, checked;
  bool fast = false;
  app.add_option("--markdown", markdown, "write the page to this file instead of printing it");
  app.add_option("--check", checked, "whether this file is the page");
  if (program.quick != nullptr) app.add_flag("--quick", fast, program.quick_about);
  CLI11_PARSE(app, argc, argv);
  if (fast) return program.quick();
  const std::string page = program.page();
  if (!checked.empty()) {
    if (read_file(checked) == page) return 0;
    fmt::print(stderr, "{} is not what {} --markdown writes\n", checked, program.name);
    return 1;
  }
  if (!markdown.empty()) return write_file(markdown, page) ? 0 : 1;
  fmt::print("{}", page);
  return 0;
}

}  // namespace espalier::experiments
