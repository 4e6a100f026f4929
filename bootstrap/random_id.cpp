#include "bootstrap/random_id.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

namespace espalier {

Result<RandomId> draw_random_id() {
  RandomId id;
  ssize_t drawn = 0;
  do {
    drawn = getrandom(id.data(), id.size(), 0);
  } while (drawn < 0 && errno == EINTR);
  if (drawn != static_cast<ssize_t>(id.size())) {
    const int failure = errno;
    return error(ESP_ERR_SYSTEM, fmt::format("getrandom: {}", std::strerror(failure)), kNoRank,
                 failure);
  }
  return id;
}

std::string random_id_text(const char* prefix, const RandomId& id) {
  std::string text = fmt::format("{}-", prefix);
  for (const std::byte byte : id) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

}  // namespace espalier
