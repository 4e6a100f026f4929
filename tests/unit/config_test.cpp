#include "core/config.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "bootstrap/config_from_env.hpp"
#include "core/config_value.hpp"

namespace espalier {
namespace {

using Strings = std::vector<std::string>;

const Knob& knob_named(std::string_view name) {
  for (const Knob& knob : knobs()) {
    if (knob.name == name) return knob;
  }
  ADD_FAILURE() << "no knob " << name;
  return knobs().front();
}

std::string error_of(const Strings& environment, const Strings& settings = {}) {
  const auto config = Config::load(environment, settings);
  if (config.ok()) return "no error";
  EXPECT_EQ(config.error().status.code(), ESP_ERR_CONFIG);
  return config.error().text;
}

TEST(ConfigValue, Sizes) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("64K"), 65536u);
  EXPECT_EQ(parse_size("64kb"), 65536u);
  EXPECT_EQ(parse_size("4MiB"), 4u << 20);
  EXPECT_EQ(parse_size("7B"), 7u);
  EXPECT_EQ(parse_size("2T"), std::uint64_t{2} << 40);
  EXPECT_EQ(parse_size("16777215T"), std::uint64_t{16777215} << 40);
  for (const char* bad : {"", "K", "-1", "1.5K", "64Q", "64 K", "64Kx", "64iB", "16777216T",
                          "18446744073709551616", "+1"}) {
    EXPECT_FALSE(parse_size(bad).has_value()) << bad;
  }
}

TEST(ConfigValue, SizesPrintAsTheyParse) {
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{1024},
        std::uint64_t{1025} << 20, std::uint64_t{1} << 50, ~std::uint64_t{0}}) {
    EXPECT_EQ(parse_size(format_size(bytes)), bytes) << format_size(bytes);
  }
  EXPECT_EQ(format_size(512 << 10), "512K");
}

TEST(ConfigValue, BoolsNumbersAndNames) {
  EXPECT_EQ(parse_bool("ON"), true);
  EXPECT_EQ(parse_bool("0"), false);
  EXPECT_FALSE(parse_bool("2").has_value());
  EXPECT_EQ(parse_number("2.5"), 2.5);
  EXPECT_FALSE(parse_number("nan").has_value());
  EXPECT_FALSE(parse_number("inf").has_value());
  EXPECT_FALSE(parse_number("1e999").has_value());
  EXPECT_FALSE(parse_number("3s").has_value());
  EXPECT_EQ(parse_integer("-7"), -7);
  EXPECT_FALSE(parse_integer("7.0").has_value());
  EXPECT_FALSE(parse_integer("").has_value());
}

TEST(ConfigValue, NextFieldTakesTheSeparatorWithIt) {
  std::string_view text = "a:bc::d";
  for (const char* field : {"a", "bc", "", "d"}) EXPECT_EQ(next_field(text, ':'), field);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(next_field(text, ':'), "");
  std::string_view ends = "a:";
  EXPECT_EQ(next_field(ends, ':'), "a");
  EXPECT_TRUE(ends.empty());
}

TEST(ConfigValue, EditDistance) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("CMA", "cma"), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
}

TEST(Config, DefaultsAreInsideTheirOwnLimits) {
  const Config defaults;
  for (const Knob& knob : knobs()) {
    Config parsed;
    EXPECT_TRUE(knob.parse(knob, knob.print(defaults), parsed)) << knob.name;
    EXPECT_EQ(knob.print(parsed), knob.print(defaults)) << knob.name;
  }
}

TEST(Config, NamesAreUniqueAndDocumented) {
  std::set<std::string_view> names;
  for (const Knob& knob : knobs()) {
    EXPECT_TRUE(names.insert(knob.name).second) << knob.name;
    EXPECT_GT(knob.doc.size(), 10u) << knob.name;
    EXPECT_EQ(knob.doc.find('|'), std::string_view::npos) << "would break the markdown table";
  }
}

TEST(Config, EveryTypeIsRead) {
  const auto config = Config::load(Strings{"LOG_LEVEL=Debug", "CMA=off", "SHM_ARENA_BYTES=8M",
                                           "SHAPE=two-tree", "RADIX=4", "TIMEOUT=0.5", "TRACE=yes",
                                           "TOPOLOGY=pack:2 core:2 pu:1", "VARIANT=blocking"});
  ASSERT_TRUE(config.ok()) << config.error().text;
  EXPECT_EQ(config.value().log_level, LogLevel::kDebug);
  EXPECT_EQ(config.value().cma, CmaMode::kOff);
  EXPECT_EQ(config.value().shm_arena_bytes, 8u << 20);
  EXPECT_EQ(config.value().shape, ESP_SHAPE_TWO_TREE);
  EXPECT_EQ(config.value().radix, 4);
  EXPECT_EQ(config.value().timeout, 0.5);
  EXPECT_TRUE(config.value().trace);
  EXPECT_EQ(config.value().topology, "pack:2 core:2 pu:1");
  EXPECT_EQ(config.value().variant, ESP_VARIANT_BLOCKING);
  EXPECT_TRUE(config.value().warnings.empty());
}

// The list of values is in the order of the enumerators.
TEST(Config, InstructionSetsGoByTheirNames) {
  EXPECT_EQ(Config().isa, Isa::kAuto);
  for (const Isa isa : kIsas) {
    const auto config = Config::load(Strings{std::string("ISA=") + isa_name(isa)});
    ASSERT_TRUE(config.ok()) << config.error().text;
    EXPECT_EQ(config.value().isa, isa);
  }
  EXPECT_EQ(error_of({"ISA=mmx"}),
            "environment ESPALIER_ISA: \"mmx\" is not allowed; allowed is auto, generic, sse2, "
            "neon, avx2 or avx512");
}

TEST(Config, SettingsWinAndSourcesAreRemembered) {
  auto config = Config::load(Strings{"RADIX=2", "CMA=on"}, Strings{"RADIX=8"});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->radix, 8);
  const auto source = [&](std::string_view name) {
    return config->sources[static_cast<std::size_t>(&knob_named(name) - knobs().data())];
  };
  EXPECT_EQ(source("RADIX"), ConfigSource::kSetting);
  EXPECT_EQ(source("CMA"), ConfigSource::kEnvironment);
  EXPECT_EQ(source("SHAPE"), ConfigSource::kDefault);
}

TEST(Config, BadValuesNameKnobValueAndWhatIsAllowed) {
  EXPECT_EQ(error_of({"CMA=maybe"}),
            "environment ESPALIER_CMA: \"maybe\" is not allowed; allowed is auto, on or off");
  EXPECT_EQ(error_of({}, {"WINDOW_SEND=65"}),
            "setting WINDOW_SEND: \"65\" is not allowed; allowed is an integer from 0 to 64");
  EXPECT_EQ(error_of({"CMA_QUANTUM_BYTES=1"}),
            "environment ESPALIER_CMA_QUANTUM_BYTES: \"1\" is not allowed; allowed is a size such "
            "as 4096, 64K or 4MiB, from 4K to 1T");
  EXPECT_EQ(error_of({}, {"TRACE"}), "setting \"TRACE\" is not of the form NAME=value");
  EXPECT_EQ(error_of({}, {"=3"}), "setting \"=3\" is not of the form NAME=value");
  EXPECT_NE(error_of({"TIMEOUT=-1"}), "no error");
  EXPECT_NE(error_of({"RADIX="}), "no error");
  EXPECT_NE(error_of({"TRACE="}), "no error");
  EXPECT_NE(error_of({"RADIX=99999999999999999999"}), "no error");
}

TEST(Config, SizesThatAreRaisedAreSaid) {
  const auto config = Config::load(Strings{"SHM_ARENA_BYTES=1K"});
  ASSERT_TRUE(config.ok());
  ASSERT_EQ(config.value().warnings.size(), 1u);
  EXPECT_EQ(config.value().warnings[0],
            "ESPALIER_SHM_ARENA_BYTES=1024 is less than the least, 64K, which is used");
  EXPECT_TRUE(Config::load(Strings{"SHM_ARENA_BYTES=64K"}).value().warnings.empty());
}

TEST(Config, UnknownNamesWarnWithTheNearest) {
  const auto config = Config::load(Strings{"WINDOW_SENT=3"}, Strings{"SHAP=chain"});
  ASSERT_TRUE(config.ok());
  ASSERT_EQ(config.value().warnings.size(), 2u);
  EXPECT_EQ(config.value().warnings[0],
            "unknown environment variable ESPALIER_WINDOW_SENT is ignored; the nearest known name "
            "is ESPALIER_WINDOW_SEND (list: esp-info --config)");
  EXPECT_NE(config.value().warnings[1].find("setting SHAP "), std::string::npos);
  EXPECT_NE(config.value().warnings[1].find("nearest known name is SHAPE"), std::string::npos);
}

TEST(Config, UnknownNamesThatAreLikeNoneHaveAnotherHint) {
  const auto config = Config::load({}, Strings{"ESPALIER_TIMEOUT=3", "FOO=1"});
  ASSERT_TRUE(config.ok());
  ASSERT_EQ(config.value().warnings.size(), 2u);
  EXPECT_EQ(config.value().warnings[0],
            "unknown setting ESPALIER_TIMEOUT is ignored; settings are written without ESPALIER_ "
            "(list: esp-info --config)");
  EXPECT_EQ(config.value().warnings[1], "unknown setting FOO is ignored (list: esp-info --config)");
}

TEST(Config, TextShowsEveryKnobWithItsSource) {
  const auto config = Config::load(Strings{"RADIX=3"});
  ASSERT_TRUE(config.ok());
  const std::string text = config_text(config.value());
  for (const Knob& knob : knobs()) EXPECT_NE(text.find(knob.name), std::string::npos) << knob.name;
  const std::string line = text.substr(text.find("RADIX"));
  EXPECT_NE(line.substr(0, line.find('\n')).find("environment"), std::string::npos);
}

TEST(Config, DocumentIsUpToDate) {
  std::ifstream file(ESPALIER_SOURCE_DIR "/docs/configuration.md");
  ASSERT_TRUE(file.is_open());
  std::stringstream content;
  content << file.rdbuf();
  EXPECT_EQ(content.str(), config_markdown())
      << "run: build/bin/esp-info --config --markdown > docs/configuration.md";
}

TEST(ConfigFromEnv, TakesOnlyOurVariables) {
  const Strings environment = {"HOME=/root", "ESPALIER_CMA=off", "XESPALIER_CMA=on", "ESPALIER"};
  EXPECT_EQ(espalier_assignments(environment), Strings{"CMA=off"});
}

TEST(ConfigFromEnv, ReadsTheEnvironmentAndSettingsOverrideIt) {
  ASSERT_EQ(setenv("ESPALIER_RADIX", "5", 1), 0);
  ASSERT_EQ(setenv("ESPALIER_CMA", "off", 1), 0);
  const char* const settings[] = {"RADIX=6", nullptr};
  const auto config = config_from_env(settings);
  const auto plain = config_from_env(nullptr);
  unsetenv("ESPALIER_RADIX");
  unsetenv("ESPALIER_CMA");
  ASSERT_TRUE(config.ok() && plain.ok());
  EXPECT_EQ(config.value().radix, 6);
  EXPECT_EQ(config.value().cma, CmaMode::kOff);
  EXPECT_EQ(plain.value().radix, 5);
  EXPECT_FALSE(environment_value("ESPALIER_RADIX").has_value());
}

}  // namespace
}  // namespace espalier
