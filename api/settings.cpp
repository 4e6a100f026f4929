// C API: what settings there are. Contracts in settings.h.
#include "espalier/settings.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "api/handles.hpp"
#include "bootstrap/config_from_env.hpp"
#include "core/config.hpp"

namespace {

// Of literals, which end with a null character.
const char* c_text(std::string_view text) {
  return text.empty() ? "" : text.data();
}

}  // namespace

size_t esp_settings(esp_setting* settings, size_t capacity) {
  const auto table = espalier::knobs();
  for (size_t i = 0; settings != nullptr && i < std::min(capacity, table.size()); ++i) {
    settings[i] = {c_text(table[i].name), c_text(table[i].unit), c_text(table[i].doc)};
  }
  return table.size();
}

size_t esp_setting_value(const esp_job* job, size_t setting, char* text, size_t bytes) {
  const auto table = espalier::knobs();
  if (setting >= table.size()) return 0;
  std::string value;
  if (job != nullptr) {
    value = table[setting].print(job->config);
  } else {
    const auto config = espalier::config_from_env(nullptr);
    value = table[setting].print(config.ok() ? config.value() : espalier::Config{});
  }
  if (text != nullptr && bytes > 0) {
    const size_t n = std::min(value.size(), bytes - 1);
    std::memcpy(text, value.data(), n);
    text[n] = '\0';
  }
  return value.size() + 1;
}
