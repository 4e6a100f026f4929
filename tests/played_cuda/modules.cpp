#include "tests/played_cuda/modules.hpp"

#include <cstdlib>
#include <sstream>

namespace played {
namespace {

// Of ".u64", ".f32", ".b8".
std::size_t type_bytes(const std::string& type) {
  std::size_t digits = type.size();
  while (digits > 0 && type[digits - 1] >= '0' && type[digits - 1] <= '9') --digits;
  return static_cast<std::size_t>(std::atoi(type.c_str() + digits)) / 8;
}

// ".param .u64 name", ".param .align 8 .b8 name[48]", ".param .u64 .ptr .global .align 4 name".
std::size_t parameter_bytes(const std::string& text) {
  std::istringstream words(text);
  std::size_t bytes = 0;
  for (std::string word; words >> word;) {
    if (word == ".align") {
      words >> word;
    } else if (bytes == 0 && word != ".param" && word[0] == '.') {
      bytes = type_bytes(word);
    } else if (const std::size_t open = word.find('['); open != std::string::npos) {
      bytes *= static_cast<std::size_t>(std::atoi(word.c_str() + open + 1));
    }
  }
  return bytes;
}

}  // namespace

bool parse_ptx(const std::string& text, std::vector<Entry>& entries) {
  if (text.find(".version") == std::string::npos || text.find(".target") == std::string::npos) {
    return false;
  }
  const std::string kEntry = ".entry";
  for (std::size_t at = text.find(kEntry); at != std::string::npos;
       at = text.find(kEntry, at + 1)) {
    const std::size_t open = text.find('(', at);
    const std::size_t close = text.find(')', at);
    if (open == std::string::npos || close == std::string::npos || close < open) return false;
    Entry entry;
    std::istringstream(text.substr(at + kEntry.size(), open - at - kEntry.size())) >> entry.name;
    std::istringstream parameters(text.substr(open + 1, close - open - 1));
    for (std::string one; std::getline(parameters, one, ',');) {
      if (one.find(".param") != std::string::npos) {
        entry.parameter_bytes.push_back(parameter_bytes(one));
      }
    }
    entries.push_back(std::move(entry));
  }
  return true;
}

}  // namespace played
