#include "bootstrap/find_profile.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "bootstrap/config_from_env.hpp"
#include "core/config_value.hpp"

namespace espalier {

std::vector<std::string> profile_places() {
  std::vector<std::string> places;
  const auto configured = environment_value("XDG_CONFIG_HOME");
  const auto home = environment_value("HOME");
  if (configured && configured->starts_with('/')) {
    places.push_back(*configured + "/espalier/profile");
  } else if (home && home->starts_with('/')) {
    places.push_back(*home + "/.config/espalier/profile");
  }
  places.emplace_back("/etc/espalier/profile");
  return places;
}

Result<std::shared_ptr<const Profile>> find_profile(Config& config) {
  constexpr std::string_view kOff[] = {"off", "no", "0", "false"};
  if (parse_name(config.tuning, kOff)) return std::shared_ptr<const Profile>();
  if (!config.tuning.empty()) {
    auto profile = Profile::read(config.tuning);
    if (profile.ok()) return std::make_shared<const Profile>(std::move(*profile));
    return error(ESP_ERR_CONFIG,
                 fmt::format("{}: {}", config.written_name("TUNING"), profile.error().text));
  }
  for (const std::string& place : profile_places()) {
    if (::access(place.c_str(), F_OK) != 0) continue;
    auto profile = Profile::read(place);
    if (profile.ok()) return std::make_shared<const Profile>(std::move(*profile));
    config.warnings.push_back(fmt::format("no profile is used: {}", profile.error().text));
    break;  // What lies behind it was not meant.
  }
  return std::shared_ptr<const Profile>();
}

}  // namespace espalier
