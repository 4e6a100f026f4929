// Kernels of the played driver: the text of a module says which it has and what their parameters
// are, as PTX; what they do is a function of the host by the same name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/played_cuda/control.hpp"

namespace played {

// What a kernel of the host is given.
class Launch {
 public:
  virtual ~Launch() = default;
  // Parameter `index`, as it was when launched.
  template <typename T>
  const T& parameter(std::size_t index) const {
    return *static_cast<const T*>(at(index));
  }
  // Where an address of a device, or of registered memory, can be touched. For all bytes that the
  // kernel reads or writes there: the driver checks that they are of one allocation, and that
  // nothing else uses them at the same time.
  virtual const std::byte* read(cuda::Address at, std::size_t bytes) const = 0;
  virtual std::byte* write(cuda::Address at, std::size_t bytes) const = 0;
  std::string name;
  unsigned blocks = 1, threads = 1;  // of each block

 private:
  virtual const void* at(std::size_t index) const = 0;
};

using KernelOfHost = void (*)(const Launch& launch);
// nullptr: there is none. In kernels.cpp.
KernelOfHost kernel_of_host(const std::string& name);
KernelOfHost kernel_of_library(const std::string& name);  // In library_kernels.cpp.

struct Entry {
  std::string name;
  std::vector<std::size_t> parameter_bytes;
};
// What a text of PTX has as ".visible .entry"; false: it is none.
bool parse_ptx(const std::string& text, std::vector<Entry>& entries);

struct Context;
struct LoadedModule {
  Context* context = nullptr;
  std::vector<Entry> entries;
  bool unloaded = false;
};
struct LoadedFunction {
  LoadedModule* module = nullptr;
  Entry entry;
  KernelOfHost run = nullptr;
};
// What is unloaded stays, so that its use is found.
struct Modules {
  std::vector<std::unique_ptr<LoadedModule>> modules;
  std::vector<std::unique_ptr<LoadedFunction>> functions;
};

}  // namespace played
