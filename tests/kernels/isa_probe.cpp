// One rank of a job that reduces pseudo-random data in many types with every operator, by both
// paths of an allreduce. Rank 0 prints a hash of all results: equal for equal bits.
#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "core/prng.hpp"
#include "tests/support/rank_check.hpp"

namespace {

// Types without padding. `real_bytes`: of the floating-point numbers an element consists of.
struct TypeCase {
  esp_type type;
  std::size_t bytes;
  std::size_t real_bytes = 0;
};
constexpr TypeCase kTypes[] = {{ESP_BYTE, 1},
                               {ESP_INT8, 1},
                               {ESP_INT16, 2},
                               {ESP_INT32, 4},
                               {ESP_INT64, 8},
                               {ESP_UINT8, 1},
                               {ESP_UINT16, 2},
                               {ESP_UINT32, 4},
                               {ESP_UINT64, 8},
                               {ESP_HALF, 2, 2},
                               {ESP_BFLOAT16, 2, 2},
                               {ESP_FLOAT, 4, 4},
                               {ESP_DOUBLE, 8, 8},
                               {ESP_COMPLEX_FLOAT, 8, 4},
                               {ESP_COMPLEX_DOUBLE, 16, 8},
                               {ESP_FLOAT_INT, 8, 4},
                               {ESP_2INT, 8}};
// The first goes over the board, the second over the engine.
constexpr std::size_t kCounts[] = {37, 20'000};

// Numbers of magnitude below 2, so that no sum or product of a few is infinite or no number: the
// highest bit of each exponent is 0.
std::vector<std::uint8_t> make_input(const TypeCase& c, std::size_t count, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes(count * c.bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(espalier::splitmix64(seed));
    if (c.real_bytes != 0 && i % c.real_bytes == c.real_bytes - 1) bytes[i] &= 0xbf;
  }
  return bytes;
}

void hash_into(std::uint64_t& hash, const std::vector<std::uint8_t>& bytes) {
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
}

}  // namespace

int main() {
  const test::Opened opened = test::open_job();
  if (opened.status != ESP_OK) {
    fmt::print(stderr, "esp_job_init: {}\n", opened.text);
    return 1;
  }
  esp_job* job = opened.job;
  esp_team* world = esp_job_world(job);
  std::uint64_t hash = 0xcbf29ce484222325u;
  int reductions = 0;
  for (const TypeCase& c : kTypes) {
    for (const std::size_t count : kCounts) {
      const auto seed = static_cast<std::uint64_t>(esp_job_rank(job)) << 32 | count;
      const auto input = make_input(c, count, seed);
      for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
        std::vector<std::uint8_t> result(input.size());
        const esp_status status =
            esp_allreduce(world, input.data(), result.data(), count, c.type, op);
        if (status == ESP_ERR_TYPE) continue;  // Not defined.
        if (status != ESP_OK) {
          fmt::print(stderr, "type {} op {}: {}\n", static_cast<int>(c.type), op,
                     esp_team_error(world));
          return 1;
        }
        hash_into(hash, result);
        ++reductions;
      }
    }
  }
  if (esp_job_rank(job) == 0) fmt::print("{} reductions, hash {:016x}\n", reductions, hash);
  return esp_job_finalize(job) == ESP_OK ? 0 : 1;
}
