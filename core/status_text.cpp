// What a status code says. Here and not with the rest of the C API, because everybody's messages
// use it, those of a simulated job too.
#include <iterator>

#include "core/status.hpp"

extern "C" {

const char* esp_status_text(esp_status status) {
  static constexpr const char* kTexts[] = {
      "success",
      "in progress",
      "invalid argument",
      "unknown type, or operator not defined for the type",
      "not allowed in this state",
      "members of the team made different calls",
      "a member of the team died",
      "a member of the team did not arrive in time",
      "out of memory or of another limited resource",
      "not supported here",
      "bad configuration",
      "the bootstrap failed",
      "a system call failed",
      "canceled",
      "internal error",
      "the connection to a member broke",
      "the message is longer than its receive",
      "a device (GPU) or its driver failed",
  };
  static_assert(std::size(kTexts) == ESP_STATUS_COUNT);
  return status >= 0 && status < ESP_STATUS_COUNT ? kTexts[status] : "unknown status";
}

}  // extern "C"
