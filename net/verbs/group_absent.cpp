// net/verbs/group_membership.hpp in a build without librdmacm.
#include "net/verbs/group_membership.hpp"

namespace espalier::verbs {

std::string why_no_groups() {
  return "this build has no librdmacm";
}

Result<std::unique_ptr<GroupMembership>> join_group(VerbsAdapter&, const multicast::GroupAddress&,
                                                    ibv_qp*) {
  return error(ESP_ERR_UNSUPPORTED, why_no_groups());
}

}  // namespace espalier::verbs
