// VisiblePid: the number of a process in the PID namespace of this one, or none.
//
// A number that another process tells of itself means another process here, or nobody, when the two
// are in different PID namespaces (containers). So whatever names a process to the kernel takes
// this type, which is made where that is known: of the own number, of a child's, of one told by a
// process of the same namespace, or of the credentials that the kernel gives with a connection.
// Values. path: data
#pragma once

#include <sys/types.h>
#include <unistd.h>

namespace espalier {

class VisiblePid {
 public:
  constexpr VisiblePid() noexcept = default;  // none: it cannot be seen from here
  constexpr explicit VisiblePid(pid_t number) noexcept : number_(number > 0 ? number : 0) {}
  static VisiblePid self() noexcept { return VisiblePid(::getpid()); }

  constexpr bool known() const noexcept { return number_ != 0; }
  // 0: none, and the kernel's calls find nobody.
  constexpr pid_t number() const noexcept { return number_; }
  friend constexpr bool operator==(const VisiblePid&, const VisiblePid&) noexcept = default;

 private:
  pid_t number_ = 0;
};

}  // namespace espalier
