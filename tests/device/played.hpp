// Tests with the played driver: a program that has loaded it, and the library's view of it.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/config.hpp"
#include "core/device/drivers.hpp"
#include "core/device/pointer_kinds.hpp"
#include "tests/played_cuda/control.hpp"

namespace espalier::device::test {

inline std::byte* bytes_at(std::uintptr_t at) {
  return reinterpret_cast<std::byte*>(at);
}

// The library as a program loads it; the environment is read then.
class Played {
 public:
  // "PLAYED_CUDA_SEED=3 PLAYED_CUDA_DEVICES=2"
  explicit Played(const char* environment = "") {
    std::vector<std::string> names;
    std::istringstream words(environment);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      names.push_back(word.substr(0, equals));
      ::setenv(names.back().c_str(), word.c_str() + equals + 1, 1);
    }
    library_ = ::dlopen(ESPALIER_PLAYED_CUDA, RTLD_NOW | RTLD_LOCAL);
    for (const std::string& name : names) ::unsetenv(name.c_str());
    if (library_ == nullptr) {
      ADD_FAILURE() << ::dlerror();
      std::abort();
    }
    control_ = static_cast<const played::Control*>(find(played::kControlSymbol));
#define PLAYED_FIND(member, name, parameters) \
  program.member = reinterpret_cast<decltype(program.member)>(find(#name));
    PLAYED_PROGRAM_FUNCTIONS(PLAYED_FIND)
#undef PLAYED_FIND
#define PLAYED_FIND(member, name, parameters) \
  driver.member = reinterpret_cast<decltype(driver.member)>(find(#name));
    ESP_CUDA_FUNCTIONS(PLAYED_FIND)
#undef PLAYED_FIND
  }
  Played(const Played&) = delete;
  Played& operator=(const Played&) = delete;
  ~Played() { ::dlclose(library_); }

  void fail(const char* calls) const { control_->fail(calls); }
  void hold(bool hold) const { control_->hold(hold ? 1 : 0); }
  std::uint64_t count(const char* name) const { return control_->count(name); }

  // As the program's.
  cuda::Context make_context(int device = 0) {
    EXPECT_EQ(driver.init(0), cuda::kSuccess);
    cuda::Context context = nullptr;
    EXPECT_EQ(program.ctx_create(&context, 0, device), cuda::kSuccess);
    return context;
  }
  std::byte* allocate(std::size_t bytes) {
    cuda::Address address = 0;
    EXPECT_EQ(driver.mem_alloc(&address, bytes), cuda::kSuccess);
    return static_cast<std::byte*>(cuda::pointer_of(address));
  }
  void free(void* at) { EXPECT_EQ(driver.mem_free(cuda::address_of(at)), cuda::kSuccess); }
  void put(void* device, const void* from, std::size_t bytes) {
    EXPECT_EQ(program.memcpy_to_device(cuda::address_of(device), from, bytes), cuda::kSuccess);
  }
  void get(void* to, const void* device, std::size_t bytes) {
    EXPECT_EQ(program.memcpy_to_host(to, cuda::address_of(device), bytes), cuda::kSuccess);
  }
  cuda::Context current() {
    cuda::Context context = nullptr;
    EXPECT_EQ(program.ctx_get_current(&context), cuda::kSuccess);
    return context;
  }

  played::ProgramFunctions program;
  cuda::Functions driver;

 private:
  void* find(const char* name) const {
    void* const found = ::dlsym(library_, name);
    EXPECT_NE(found, nullptr) << name;
    return found;
  }

  void* library_ = nullptr;
  const played::Control* control_ = nullptr;
};

inline Config played_config() {
  Config config;
  config.cuda_driver = ESPALIER_PLAYED_CUDA;
  return config;
}

template <typename T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().text;
    std::abort();
  }
  return std::move(result.value());
}

// A program with a context and the library in it.
class Bed {
 public:
  explicit Bed(const char* environment = "")
      : played(environment), context(played.make_context()), drivers(played_config()) {
    driver = drivers.loaded();
    if (driver == nullptr) std::abort();
    home = {.device = 0, .context = reinterpret_cast<std::uintptr_t>(context)};
  }

  // Polls, for a minute at most.
  void await(const Event& event) {
    for (int i = 0; i < 600000; ++i) {
      if (must(driver->query(event)) == EventState::kDone) return;
      ::usleep(100);
    }
    FAIL() << "the event never came";
  }
  void finish(const Stream& stream) {
    const Event event = must(driver->make_event(stream.home()));
    must(driver->record(event, stream));
    await(event);
  }

  Played played;
  cuda::Context context;
  Drivers drivers;
  Driver* driver = nullptr;
  Home home;
};

}  // namespace espalier::device::test
