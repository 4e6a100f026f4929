// Options by which people know other launchers, so that mpirun and mpiexec can be links to esp-run.
//
// Those that mean what one of ours means are read as it, with one dash or two. Those that ask for
// what happens anyway are read and forgotten. All others are unknown options, as ever.
#pragma once

#include <string>

#include "options.hpp"

namespace CLI {
class App;
}

namespace esp_run {

// "-np" becomes "--ranks", "-bind-to=core" "--bind=core"; what is not among them stays.
void read_as_ours(std::string& option);

// Declares what has no name of ours. --help does not show it.
void declare_usual_of_program(CLI::App& app, Program& program);
void declare_usual_of_job(CLI::App& app, Program& all_programs);

}  // namespace esp_run
