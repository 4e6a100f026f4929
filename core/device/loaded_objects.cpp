#include "core/device/loaded_objects.hpp"

#include <dlfcn.h>

#include <string>

namespace espalier::device {
namespace {

// The last of the list is the last that this is told of. Its name is empty for the program itself.
int note_name(dl_phdr_info* info, std::size_t, void* name) {
  *static_cast<std::string*>(name) = info->dlpi_name;
  return 0;
}

}  // namespace

LoadedObjects::~LoadedObjects() {
  let_go();
}

void LoadedObjects::let_go() noexcept {
  if (held_ != nullptr) ::dlclose(held_);
  held_ = nullptr;
  last_ = nullptr;
}

void LoadedObjects::catch_up() {
  // Others may load and unload meanwhile; then what is held is not the last, and changed() says so.
  std::string name;
  ::dl_iterate_phdr(&note_name, &name);
  void* held = ::dlopen(name.empty() ? nullptr : name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  let_go();
  held_ = held;
  if (held == nullptr || ::dlinfo(held, RTLD_DI_LINKMAP, &last_) != 0) let_go();
}

}  // namespace espalier::device
