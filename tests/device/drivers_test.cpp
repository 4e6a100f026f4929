// Drivers: found where the program has loaded it, absent, too old, off; and what it costs.
#include "core/device/drivers.hpp"

#include <gmock/gmock.h>

#include "played.hpp"

namespace espalier::device::test {
namespace {

using testing::HasSubstr;

bool in_process() {
  void* const found = ::dlopen(ESPALIER_PLAYED_CUDA, RTLD_LAZY | RTLD_NOLOAD);
  if (found != nullptr) ::dlclose(found);
  return found != nullptr;
}

TEST(Drivers, AreNotLoadedForAProgramWithoutDevices) {
  Drivers drivers(played_config());
  PointerKinds kinds(drivers);
  int here = 0;
  EXPECT_EQ(drivers.loaded(), nullptr);
  EXPECT_EQ(must(kinds.of(&here)).kind, MemoryKind::kHost);
  EXPECT_FALSE(in_process());
  EXPECT_EQ(drivers.why_not(), "");
}

TEST(Drivers, AreFoundWhenTheProgramLoadsOneLater) {
  Drivers drivers(played_config());
  EXPECT_EQ(drivers.loaded(), nullptr);
  const Played played;
  EXPECT_NE(drivers.loaded(), nullptr);
  EXPECT_EQ(played.count("cuInit"), 0u);
}

TEST(Drivers, AreFoundByTheUsualName) {
  const Played played;
  Drivers drivers{Config()};
  EXPECT_NE(drivers.loaded(), nullptr);
}

TEST(Drivers, ThatAreNotInitialisedHaveNoMemory) {
  const Played played;
  Drivers drivers(played_config());
  PointerKinds kinds(drivers);
  int here = 0;
  EXPECT_EQ(must(kinds.of(&here)).kind, MemoryKind::kHost);
  EXPECT_EQ(must(drivers.loaded()->place(&here)).kind, MemoryKind::kHost);
  EXPECT_EQ(played.count("cuInit"), 0u);
}

TEST(Drivers, OffMeansThatNobodyAsks) {
  Config config = played_config();
  config.devices = DevicesMode::kOff;
  const Played played;
  Drivers drivers(config);
  EXPECT_EQ(drivers.loaded(), nullptr);
  EXPECT_EQ(played.count("cuDriverGetVersion"), 0u);
  const auto opened = drivers.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().text, "off by DEVICES");
}

// What drivers warn of.
struct Warnings {
  static void keep(void* self, LogLevel, Rank, std::string_view text) noexcept {
    static_cast<Warnings*>(self)->texts.emplace_back(text);
  }
  std::vector<std::string> texts;
  Log log{LogLevel::kWarn, 0, {keep, this}};
};

Config config_of(const char* library) {
  Config config;
  config.cuda_driver = library;
  return config;
}

TEST(Drivers, ASettingThatNamesNoFileIsSaidOnce) {
  Warnings said;
  Drivers drivers(config_of("/nonexistent/libcuda.so.1"), &said.log);
  EXPECT_TRUE(said.texts.empty()) << "nobody has asked";
  EXPECT_EQ(drivers.loaded(), nullptr);
  ASSERT_EQ(said.texts.size(), 1u);
  EXPECT_EQ(said.texts[0],
            "CUDA_DRIVER is /nonexistent/libcuda.so.1: No such file or directory; no memory is "
            "taken for a device's");
  const Played played;
  EXPECT_EQ(drivers.loaded(), nullptr);
  EXPECT_EQ(said.texts.size(), 1u);
}

TEST(Drivers, ASettingThatNamesAnotherLibraryThanTheProgramIsSaidOnce) {
  Warnings said;
  Drivers drivers(config_of("libnothing.so.1"), &said.log);
  EXPECT_EQ(drivers.loaded(), nullptr);
  EXPECT_TRUE(said.texts.empty()) << "the program may load it yet";
  const Played played;
  EXPECT_EQ(drivers.loaded(), nullptr);
  EXPECT_EQ(drivers.loaded(), nullptr);
  ASSERT_EQ(said.texts.size(), 1u);
  EXPECT_EQ(said.texts[0],
            "CUDA_DRIVER is libnothing.so.1, and the program has loaded libcuda.so.1: memory of "
            "devices is not seen");
}

TEST(Drivers, ASettingThatIsRightIsNotDoubted) {
  Warnings said;
  Drivers usual{Config(), &said.log}, named(played_config(), &said.log);
  EXPECT_EQ(usual.loaded(), nullptr);
  EXPECT_EQ(named.loaded(), nullptr);
  const Played played;
  EXPECT_NE(usual.loaded(), nullptr);
  EXPECT_NE(named.loaded(), nullptr);
  EXPECT_TRUE(said.texts.empty());
}

TEST(Drivers, AbsentSaysWhatTheLinkerSays) {
  Config config;
  config.cuda_driver = "/nonexistent/libcuda.so.1";
  Drivers drivers(config);
  EXPECT_EQ(drivers.loaded(), nullptr);
  const auto opened = drivers.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().status.code(), ESP_ERR_UNSUPPORTED);
  EXPECT_THAT(opened.error().text, HasSubstr("/nonexistent/libcuda.so.1: cannot open"));
}

TEST(Drivers, TooOldIsSaid) {
  const Played played("PLAYED_CUDA_VERSION=11040");
  Drivers drivers(played_config());
  EXPECT_EQ(drivers.loaded(), nullptr);
  EXPECT_THAT(drivers.why_not(),
              HasSubstr("the driver is too old: it is of CUDA 11.4, 11.7 is needed"));
  const auto opened = drivers.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().text, drivers.why_not());
}

TEST(Drivers, AnotherLibraryIsNone) {
  Config config;
  config.cuda_driver = "libc.so.6";
  Drivers drivers(config);
  EXPECT_EQ(drivers.loaded(), nullptr);
  EXPECT_THAT(drivers.why_not(), HasSubstr("libc.so.6: the library is no driver of CUDA's"));
}

TEST(Drivers, AreLoadedToBeShown) {
  ::setenv("PLAYED_CUDA_DEVICES", "2", 1);
  Drivers drivers(played_config());
  Driver* const driver = must(drivers.open());
  ::unsetenv("PLAYED_CUDA_DEVICES");
  const DriverInfo info = must(driver->describe());
  EXPECT_EQ(info.name, "CUDA");
  EXPECT_EQ(info.version, "12.4");
  EXPECT_TRUE(info.played);
  ASSERT_EQ(info.devices.size(), 2u);
  EXPECT_EQ(info.devices[0].name, "Played device, no GPU");
  EXPECT_EQ(info.devices[1].bus_address, "0000:02:00.0");
  EXPECT_EQ(info.devices[0].memory_bytes, 256u << 20);
  EXPECT_EQ(info.devices[0].major, 9);
  EXPECT_TRUE(info.devices[0].dma_buf);
  EXPECT_EQ(drivers.loaded(), driver);
}

TEST(Drivers, MayHaveNoDevice) {
  const Played played("PLAYED_CUDA_DEVICES=0");
  Drivers drivers(played_config());
  EXPECT_TRUE(must(drivers.loaded()->describe()).devices.empty());
}

TEST(LoadedObjects, SeesWhatIsLoadedAndOnlyThat) {
  LoadedObjects objects;
  EXPECT_TRUE(objects.changed());
  objects.catch_up();
  EXPECT_FALSE(objects.changed());
  {
    const Played played;
    EXPECT_TRUE(objects.changed());
    objects.catch_up();
    EXPECT_FALSE(objects.changed());
  }
  EXPECT_FALSE(objects.changed());  // It holds the library.
}

TEST(LoadedObjects, LooksCostNoCalls) {
  Drivers drivers(played_config());
  EXPECT_EQ(drivers.loaded(), nullptr);
  const Played played;
  const Config other = [] {
    Config config;
    config.cuda_driver = "libnothing.so.1";
    return config;
  }();
  Drivers stranger(other);
  EXPECT_EQ(stranger.loaded(), nullptr);  // Looks once, at a name that is not there.
  EXPECT_EQ(stranger.loaded(), nullptr);
  EXPECT_EQ(played.count("cuDriverGetVersion"), 0u);
}

}  // namespace
}  // namespace espalier::device::test
