// Reads a text file line by line and field by field; every complaint names file, line and what was
// expected there.
//
// The scanner borrows the text. Single thread. path: setup
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace asp {

// What is wrong with a file, for the user: "roads.gr:17: expected ..., found '...'".
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The whole file. Throws FileError when it cannot be read or exceeds `bytes_max`.
std::string read_text_file(const std::string& path, std::uint64_t bytes_max);

class LineScanner {
 public:
  LineScanner(std::string path, std::string_view text);

  // Moves to the next line that is not blank; false at the end of the text.
  bool next_line();
  std::string_view line() const { return line_; }
  int line_number() const { return line_number_; }

  // Fields of the current line, separated by any of `separators`.
  const std::vector<std::string_view>& split(std::string_view separators = " \t");

  // Whole number in [min, max], or a FileError that calls it `what`.
  std::int64_t integer(std::string_view field, std::string_view what, std::int64_t min,
                       std::int64_t max) const;
  // Finite number.
  double real(std::string_view field, std::string_view what) const;

  [[noreturn]] void fail_expected(std::string_view expected) const;
  [[noreturn]] void fail_expected(std::string_view expected, std::string_view found) const;
  [[noreturn]] void fail(std::string_view message) const;

 private:
  std::string path_;
  std::string_view rest_;
  std::string_view line_;
  int line_number_ = 0;
  std::vector<std::string_view> fields_;
};

}  // namespace asp
