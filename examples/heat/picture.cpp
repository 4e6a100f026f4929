#include "picture.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>

namespace heat {
namespace {

constexpr std::size_t kMostPixels = 2048;  // in a row or column

void put_number(std::string& out, std::uint32_t value) {  // the highest byte first
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

std::uint32_t adler32(std::string_view bytes) {
  constexpr std::uint32_t kPrime = 65521;
  std::uint32_t a = 1, b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<unsigned char>(byte)) % kPrime;
    b = (b + a) % kPrime;
  }
  return b << 16 | a;
}

void put_chunk(std::string& out, const std::string& type, const std::string& data) {
  put_number(out, static_cast<std::uint32_t>(data.size()));
  out += type + data;
  put_number(out, crc32(type + data));
}

// In zlib's format, but not compressed.
std::string stored(const std::string& bytes) {
  constexpr std::size_t kBlock = 65535;
  std::string out("\x78\x01", 2);
  for (std::size_t begin = 0; begin == 0 || begin < bytes.size(); begin += kBlock) {
    const std::string part = bytes.substr(begin, kBlock);
    const std::size_t length = part.size();
    out += static_cast<char>(begin + length >= bytes.size() ? 1 : 0);  // the last one?
    for (const std::size_t number : {length, ~length}) {
      out += static_cast<char>(number & 0xff);
      out += static_cast<char>(number >> 8 & 0xff);
    }
    out += part;
  }
  put_number(out, adler32(bytes));
  return out;
}

std::string palette() {
  std::string colors;
  const auto ramp = [](int level, int from) {  // from 0 to 255 within a third of the levels
    return static_cast<char>(std::clamp((level - from) * 3, 0, 255));
  };
  for (int level = 0; level < 256; ++level) {
    colors += ramp(level, 0);
    colors += ramp(level, 85);
    colors += ramp(level, 170);
  }
  return colors;
}

// A warm border is seen, too: colors go by the square root.
char color_of(double temperature) {
  const double part = std::clamp(temperature / Plate::kHottest, 0.0, 1.0);
  return static_cast<char>(static_cast<int>(255 * std::sqrt(part)));
}

}  // namespace

std::string png_of(const Plate& plate, std::span<const double> cells) {
  const std::size_t step = 1 + (std::max(plate.rows, plate.columns) - 1) / kMostPixels;
  const auto pixels = [step](std::size_t count) {
    return static_cast<std::uint32_t>((count + step - 1) / step);
  };
  std::string rows;
  for (std::size_t r = 0; r < plate.rows; r += step) {
    rows += '\0';  // no filter
    for (std::size_t c = 0; c < plate.columns; c += step) {
      rows += color_of(cells[r * plate.columns + c]);
    }
  }
  std::string header;
  put_number(header, pixels(plate.columns));
  put_number(header, pixels(plate.rows));
  header += std::string("\x08\x03\x00\x00\x00", 5);  // 8 bits, by a palette

  std::string out("\x89PNG\r\n\x1a\n", 8);
  put_chunk(out, "IHDR", header);
  put_chunk(out, "PLTE", palette());
  put_chunk(out, "IDAT", stored(rows));
  put_chunk(out, "IEND", "");
  return out;
}

std::string write_picture(const std::string& path, const Plate& plate,
                          std::span<const double> cells) {
  std::ofstream file(path, std::ios::binary);
  if (!file) return path + ": " + std::strerror(errno);
  const std::string bytes = png_of(plate, cells);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file ? "" : path + ": cannot be written completely";
}

}  // namespace heat
