// Files of keys: 8 bytes each, in the byte order of the machine; every rank has its part of one
// file that all of them see. path: setup
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "keys.hpp"

namespace sorting {

// Says which file, and what is wrong with it.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// How many whole keys there are; up to 7 bytes at the end make none.
std::uint64_t keys_in_file(const std::string& path);
std::vector<Key> read_keys(const std::string& path, Type type, std::uint64_t first,
                           std::uint64_t count);
// Makes an empty file of so many keys, or empties the one that is there.
void make_file(const std::string& path, std::uint64_t count);
void write_keys(const std::string& path, Type type, std::uint64_t first, std::span<const Key> keys);

}  // namespace sorting
