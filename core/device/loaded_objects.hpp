// LoadedObjects: whether this process has loaded a library since somebody asked, for the price of
// one read.
//
// The dynamic linker appends what it loads to a list. This object stands at the list's end and
// sees whether anything follows. So that the end is not unloaded under it, it holds a reference to
// the library there, which dlclose() of the program's then leaves loaded until the next look.
// What is unloaded again meanwhile is not seen, and need not be.
//
// Who uses what a library has given has loaded it before, so the read needs no order of its own.
// Ownership: the reference. Threads: owner. path: data (changed), slow (catch_up)
#pragma once

#include <link.h>

namespace espalier::device {

class LoadedObjects {
 public:
  LoadedObjects() = default;
  ~LoadedObjects();
  LoadedObjects(const LoadedObjects&) = delete;
  LoadedObjects& operator=(const LoadedObjects&) = delete;

  // Since the last catch_up(). Always, where the end of the list cannot be held.
  bool changed() const noexcept {
    return last_ == nullptr || __atomic_load_n(&last_->l_next, __ATOMIC_ACQUIRE) != nullptr;
  }
  // A word that is not null from when it has, for who looks at every call; nullptr: there is none.
  link_map* const* sign() const noexcept { return last_ != nullptr ? &last_->l_next : nullptr; }
  // Goes to the end of the list; what is to be found is looked for after this.
  void catch_up();

 private:
  void let_go() noexcept;

  void* held_ = nullptr;
  link_map* last_ = nullptr;
};

}  // namespace espalier::device
