#include "net/verbs/inline_sends.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace espalier::verbs {

bool InlineSends::refused(ibv_wc_status status, bool link_up) noexcept {
  switch (status) {
    case IBV_WC_LOC_QP_OP_ERR:  // Soft-RoCE says so while its network device is down.
      if (!link_up) return false;
      break;
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_GENERAL_ERR:
      break;
    default:
      return false;
  }
  give_way("a send with inline data failed", ibv_wc_status_str(status));
  return true;
}

// Some drivers give the number of the error, some its negative.
void InlineSends::refused_at_post(int failure) noexcept {
  give_way("a send with inline data was refused, though it was allowed at first",
           std::strerror(std::abs(failure)));
}

void InlineSends::give_way(const char* what, const char* why) noexcept {
  if (!std::exchange(wanted_, false)) return;
  log_.warn("{}: {} ({}): small messages are copied into registered memory from now on", device_,
            what, why);
}

}  // namespace espalier::verbs
