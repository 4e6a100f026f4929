// A program that makes a page of docs/results:
//
//   PROGRAM [--markdown FILE | --check FILE] | --quick
//
// --check ends with 1 if the file is not what --markdown would write. --quick runs less, and ends
// with 1 where what the page says does not hold. path: setup
#pragma once

#include <string>

namespace espalier::experiments {

struct PageProgram {
  const char* name;
  const char* about;
  std::string (*page)();
  int (*quick)() = nullptr;  // nullptr: there is none
  const char* quick_about = "";
};

// The exit status.
int run_page_program(int argc, char** argv, const PageProgram& program);

}  // namespace espalier::experiments
