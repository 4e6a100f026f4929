#include "core/crc32c.hpp"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace espalier {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected

using Table = std::array<std::uint32_t, 256>;

// tables[k][b]: what byte b does to the sum when k bytes follow it in the same step.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables = {};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t sum = b;
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? kPolynomial : 0);
    tables[0][b] = sum;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      const std::uint32_t before = tables[k - 1][b];
      tables[k][b] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
constexpr std::array<Table, 8> kTables = make_tables();

std::uint32_t add_byte(std::uint32_t sum, std::byte byte) noexcept {
  return sum >> 8 ^ kTables[0][(sum ^ static_cast<std::uint32_t>(byte)) & 0xff];
}

std::uint64_t load_little(const std::byte* at) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

#if defined(__x86_64__)

bool has_instruction() noexcept {
  return __builtin_cpu_supports("sse4.2") != 0;
}

[[gnu::target("sse4.2")]] std::uint32_t sum_by_instruction(
    std::span<const std::byte> bytes) noexcept {
  std::uint64_t sum = ~std::uint32_t{0};
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) sum = _mm_crc32_u64(sum, load_little(&bytes[i]));
  auto narrow = static_cast<std::uint32_t>(sum);
  for (; i < bytes.size(); ++i) {
    narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(bytes[i]));
  }
  return ~narrow;
}

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)

bool has_instruction() noexcept {
  return true;
}

std::uint32_t sum_by_instruction(std::span<const std::byte> bytes) noexcept {
  std::uint32_t sum = ~std::uint32_t{0};
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) sum = __crc32cd(sum, load_little(&bytes[i]));
  for (; i < bytes.size(); ++i) sum = __crc32cb(sum, static_cast<std::uint8_t>(bytes[i]));
  return ~sum;
}

#else

bool has_instruction() noexcept {
  return false;
}

std::uint32_t sum_by_instruction(std::span<const std::byte> bytes) noexcept {
  return crc32c_portable(bytes);
}

#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes) noexcept {
  std::uint32_t sum = ~std::uint32_t{0};
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const std::uint64_t word = load_little(&bytes[i]) ^ sum;
    sum = 0;
    for (std::size_t k = 0; k < 8; ++k) sum ^= kTables[7 - k][word >> (8 * k) & 0xff];
  }
  for (; i < bytes.size(); ++i) sum = add_byte(sum, bytes[i]);
  return ~sum;
}

std::uint32_t crc32c_hardware(std::span<const std::byte> bytes) noexcept {
  return has_instruction() ? sum_by_instruction(bytes) : crc32c_portable(bytes);
}

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  return crc32c_hardware(bytes);
}

}  // namespace espalier
