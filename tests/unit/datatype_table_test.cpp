// Names, sizes, and the table of operators and types.
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <set>
#include <string>

#include "core/datatype.hpp"
#include "core/kernels/isa.hpp"
#include "core/reproducible_sum.hpp"
#include "tests/unit/datatype_reference.hpp"

namespace espalier {
namespace {

TEST(Datatype, SizesAreThoseOfTheCTypes) {
  struct FloatInt {
    float value;
    int index;
  };
  struct DoubleInt {
    double value;
    int index;
  };
  struct LongInt {
    long value;
    int index;
  };
  struct TwoInt {
    int value;
    int index;
  };
  struct ShortInt {
    short value;
    int index;
  };
  struct LongDoubleInt {
    long double value;
    int index;
  };
  const std::size_t sizes[] = {1,
                               1,
                               2,
                               4,
                               8,
                               1,
                               2,
                               4,
                               8,
                               2,
                               2,
                               sizeof(float),
                               sizeof(double),
                               sizeof(long double),
                               2 * sizeof(float),
                               2 * sizeof(double),
                               2 * sizeof(long double),
                               sizeof(bool),
                               sizeof(FloatInt),
                               sizeof(DoubleInt),
                               sizeof(LongInt),
                               sizeof(TwoInt),
                               sizeof(ShortInt),
                               sizeof(LongDoubleInt)};
  ASSERT_EQ(std::size(sizes), static_cast<std::size_t>(ESP_TYPE_COUNT));
  for (int type = 0; type < ESP_TYPE_COUNT; ++type) {
    EXPECT_EQ(type_size(static_cast<esp_type>(type)), sizes[type]) << type;
  }
}

TEST(Datatype, NamesAreDifferentAndKnown) {
  std::set<std::string> names;
  for (int type = 0; type < ESP_TYPE_COUNT; ++type) {
    names.insert(type_name(static_cast<esp_type>(type)));
  }
  for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) names.insert(op_name(op));
  EXPECT_EQ(names.size(), std::size_t{ESP_TYPE_COUNT} + std::size_t{ESP_OP_BUILTIN_COUNT});
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_STREQ(type_name(ESP_BYTE), "byte");
  EXPECT_STREQ(type_name(ESP_UINT64), "uint64");
  EXPECT_STREQ(type_name(ESP_BOOL), "bool");
  EXPECT_STREQ(type_name(ESP_LONG_DOUBLE_INT), "long_double_int");
  EXPECT_STREQ(op_name(ESP_SUM), "sum");
  EXPECT_STREQ(op_name(ESP_MAXLOC), "maxloc");
}

TEST(Datatype, UnknownNumbersAreRecognised) {
  // Only values that an enum of this range can hold: others are the caller's undefined behaviour.
  const auto unknown = static_cast<esp_type>(ESP_TYPE_COUNT);
  EXPECT_EQ(type_size(unknown), 0u);
  EXPECT_STREQ(type_name(unknown), "unknown");
  EXPECT_FALSE(op_defined(ESP_SUM, unknown));
  EXPECT_FALSE(op_exact(ESP_SUM, unknown));
  EXPECT_EQ(combine_kernel_for(best_isa(), ESP_SUM, unknown), nullptr);
  EXPECT_STREQ(op_name(ESP_OP_BUILTIN_COUNT), "user");
  EXPECT_STREQ(op_name(-1), "unknown");
  EXPECT_FALSE(op_defined(ESP_OP_BUILTIN_COUNT, ESP_INT32));
  EXPECT_FALSE(op_defined(-1, ESP_INT32));
  EXPECT_EQ(combine_kernel_for(best_isa(), ESP_OP_BUILTIN_COUNT, ESP_INT32), nullptr);
  EXPECT_EQ(combine_kernel_for(best_isa(), -1, ESP_INT32), nullptr);
}

// One line per type; columns: sum prod min max land lor lxor band bor bxor minloc maxloc
// sum_reproducible.
// x: defined, e: defined and exact in any order; f: exact, in another form.
constexpr const char* kValidity[] = {
    ".......eee...",  // byte
    "eeeeeeeeee..e",  // int8
    "eeeeeeeeee..e",  // int16
    "eeeeeeeeee..e",  // int32
    "eeeeeeeeee..e",  // int64
    "eeeeeeeeee..e",  // uint8
    "eeeeeeeeee..e",  // uint16
    "eeeeeeeeee..e",  // uint32
    "eeeeeeeeee..e",  // uint64
    "xxee........f",  // half
    "xxee........f",  // bfloat16
    "xxee........f",  // float
    "xxee........f",  // double
    "xxee........f",  // long double
    "xx..........f",  // complex float
    "xx..........f",  // complex double
    "xx..........f",  // complex long double
    "....eee......",  // bool
    "..........ee.",  // float_int
    "..........ee.",  // double_int
    "..........ee.",  // long_int
    "..........ee.",  // 2int
    "..........ee.",  // short_int
    "..........ee.",  // long_double_int
};

TEST(Datatype, OperatorsAreDefinedAsInMpi) {
  ASSERT_EQ(std::size(kValidity), static_cast<std::size_t>(ESP_TYPE_COUNT));
  for (int number = 0; number < ESP_TYPE_COUNT; ++number) {
    const auto type = static_cast<esp_type>(number);
    for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
      SCOPED_TRACE(std::string(op_name(op)) + " of " + type_name(type));
      char mark = kValidity[type][op];
      if (mark == 'f' && reproducible_form(type) == nullptr) mark = '.';
      EXPECT_EQ(op_defined(op, type), mark != '.');
      EXPECT_EQ(op_exact(op, type), mark == 'e' || mark == 'f');
      for (const Isa isa : kIsas) {
        const bool has_kernel = mark != '.' && mark != 'f';
        EXPECT_EQ(combine_kernel_for(isa, op, type) != nullptr, has_kernel && isa_supported(isa));
      }
    }
  }
}

TEST(Datatype, TheBestInstructionSetIsSupportedAndNoneIsBetter) {
  EXPECT_TRUE(isa_supported(best_isa()));
  for (const Isa isa : kIsas) EXPECT_TRUE(!isa_supported(isa) || isa <= best_isa());
  EXPECT_FALSE(isa_supported(Isa::kAuto));
  EXPECT_NE(supported_isas_text().find(isa_name(best_isa())), std::string::npos);
}

}  // namespace
}  // namespace espalier
