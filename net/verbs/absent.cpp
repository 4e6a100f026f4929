// net/verbs/verbs.hpp in a build without libibverbs.
#include "net/verbs/verbs.hpp"

namespace espalier::verbs {
namespace {

constexpr const char* kAbsent = "this build has no libibverbs (ESPALIER_VERBS)";

}  // namespace

bool built() noexcept {
  return false;
}

std::vector<PortInfo> list_ports(const Options&) {
  return {};
}

std::string why_no_device() {
  return kAbsent;
}

std::string why_no_groups() {
  return kAbsent;
}

Result<std::unique_ptr<Adapter>> open_adapter(const PortInfo&, const Options&, const Log&) {
  return error(ESP_ERR_UNSUPPORTED, kAbsent);
}

}  // namespace espalier::verbs
