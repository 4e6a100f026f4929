// What the files of messages matched by tag share: their arguments, checked.
#pragma once

#include "api/api.hpp"

namespace espalier::api {

// `peer`: who it goes to, or comes from. Small enough to be handed over.
struct TagCall {
  esp_team* team = nullptr;
  void* buffer = nullptr;
  std::size_t count = 0;
  esp_type type = ESP_BYTE;
  int peer = 0;
  std::uint64_t tag = 0, mask = ESP_TAG_EXACT;
  esp_tag_info* info = nullptr;
  bool aside = false;  // TagSending::aside
  bool on_device = false;
};

// What does not depend on the owner: team, buffer and peer; and where the buffer is. ESP_ANY_SOURCE
// is one for receives.
esp_status check_tag_call(const char* caller, TagCall& call, bool receives);
// On the owner: where the elements lie. An error: there is no such type, or it cannot be received.
Result<TagBlock> tag_block(esp_job& job, const TagCall& call, bool receives);

// Blocking; of a message of the library's own.
esp_status send_aside(const char* caller, const TagCall& call);
esp_status receive_aside(const char* caller, const TagCall& call);

// How a blocking call ends whose operation has: of a team that has failed with that one's text.
inline esp_status tag_ended(esp_team& team, esp_status status) {
  return status != ESP_OK && team.team.failed_for_all() ? fail_team(team, Status(status)) : status;
}

inline TagReceiving tag_receiving(const TagCall& call, const TagBlock& block) noexcept {
  return {call.team->team, call.peer, call.tag, call.mask, block, call.info, call.aside};
}

}  // namespace espalier::api
