// For as long as the library has no jobs.
#include "tools/esp-info/commands.hpp"

namespace esp_info {

int show_job(bool) {
  return fail("this build has no jobs yet; see esp-info --help");
}

}  // namespace esp_info
