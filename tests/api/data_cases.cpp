// Every type, operator, count and root through the blocking calls.
#include "tests/api/cases.hpp"
#include "tests/support/collectives.hpp"

namespace test {
namespace {

constexpr std::size_t kCounts[] = {0, 1, 7, 64, 1000};

esp_type type_at(int i) {
  return static_cast<esp_type>(i);
}

}  // namespace

void bcast(const Context& context) {
  for (int t = 0; t < ESP_TYPE_COUNT; ++t) {
    for (const std::size_t count : kCounts) {
      for (int root = 0; root < context.size; ++root) {
        check_bcast(context.world, {.type = type_at(t), .count = count, .root = root});
      }
    }
  }
}

void types(const Context& context) {
  int defined = 0;
  for (int t = 0; t < ESP_TYPE_COUNT; ++t) {
    for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
      if (esp_op_defined(op, type_at(t)) == 0) continue;
      ++defined;
      for (const std::size_t count : kCounts) {
        Shape s{.type = type_at(t), .count = count, .op = op};
        s.root = static_cast<int>(count + static_cast<std::size_t>(defined)) % context.size;
        for (const bool in_place : {false, true}) {
          s.in_place = in_place;
          check_allreduce(context.world, s);
          check_reduce(context.world, s);
        }
      }
    }
  }
  // 8 integers x 10, 5 floats x 4, 3 complex x 2, 6 pairs x 2, bytes x 3, bool x 3: at least.
  CHECK(defined >= 80 + 20 + 6 + 12 + 3 + 3, "{} pairs of operator and type", defined);
}

void sizes(const Context& context) {
  constexpr std::size_t kOver16MiB = (std::size_t{17} << 20) / sizeof(double) + 3;
  for (const std::size_t count : {std::size_t{4097}, std::size_t{100'000}, kOver16MiB}) {
    const int last = context.size - 1;
    // The largest is there to cross the limits of rings and windows, once per operation.
    const bool large = count == kOver16MiB;
    if (large && context.size > 8) continue;
    for (const int root : {0, last}) {
      if (large && root != last) continue;
      check_bcast(context.world, {.type = ESP_DOUBLE, .count = count, .root = root});
      check_reduce(context.world, {.type = ESP_DOUBLE, .count = count, .root = root});
      check_reduce(
          context.world,
          {.type = ESP_INT32, .count = count, .op = ESP_MAX, .root = root, .in_place = true});
    }
    check_allreduce(context.world, {.type = ESP_DOUBLE, .count = count});
    check_allreduce(context.world,
                    {.type = ESP_LONG_DOUBLE_INT, .count = count / 4, .op = ESP_MINLOC});
    check_allreduce(context.world,
                    {.type = ESP_UINT8, .count = count, .op = ESP_BXOR, .in_place = true});
  }
}

namespace {

// The last rank's block alone is as large; to the first and back.
void huge_block(const Context& context, std::size_t count) {
  const bool is_last = context.rank == context.size - 1, is_first = context.rank == 0;
  std::vector<std::size_t> counts(static_cast<std::size_t>(context.size), 3);
  counts.back() = count;
  const std::size_t mine = counts[static_cast<std::size_t>(context.rank)],
                    before = 3 * counts.size() - 3;
  std::vector<unsigned char> own(mine), all(is_first ? before + count : 0);
  const auto value = [](std::size_t i) { return static_cast<unsigned char>(i * 7 + i / 4093); };
  for (std::size_t i = 0; i < mine; ++i) own[i] = value(i);
  const auto check = [&](const unsigned char* block, const char* what) {
    std::size_t i = 0;
    while (i < count && block[i] == value(i)) ++i;
    CHECK_EQ(i, count, "first wrong byte of a {}", what);
  };
  CHECK_OK(esp_gatherv(context.world, own.data(), mine, all.data(), counts.data(), nullptr,
                       ESP_UINT8, 0),
           context.world, "gatherv");
  if (is_first) check(all.data() + before, "gatherv");
  own.assign(mine, 0);
  CHECK_OK(esp_scatterv(context.world, all.data(), counts.data(), nullptr, own.data(), mine,
                        ESP_UINT8, 0),
           context.world, "scatterv");
  if (is_last) check(own.data(), "scatterv");
}

}  // namespace

void huge(const Context& context) {
  const std::size_t count = (std::size_t{2} << 30) + 12345;  // Bytes and elements above 2^31.
  check_bcast(context.world, {.type = ESP_UINT8, .count = count, .root = context.size - 1});
  check_allreduce(context.world,
                  {.type = ESP_UINT8, .count = count, .op = ESP_SUM, .in_place = true});
  huge_block(context, count);
}

}  // namespace test
