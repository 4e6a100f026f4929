#include "core/device/device.hpp"

namespace espalier::device {

const char* memory_kind_name(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::kHost:
      return "host";
    case MemoryKind::kRegistered:
      return "registered host";
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kManaged:
      return "managed";
  }
  return "unknown";
}

}  // namespace espalier::device
