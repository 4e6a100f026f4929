// Meeting: the sum of those who are listed goes up and down a binomial tree over the list, whose
// first is the root. Who finds that there will be none tells those above and below it by a message
// of one word, the reason; others are longer. path: setup
#include "api/meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "api/tag.hpp"

namespace espalier::api {
namespace {

constexpr const char* kCaller = "esp_team_create";

esp_status send_words(const Meeting& meeting, std::vector<std::uint64_t>& words, std::size_t to) {
  return send_aside(kCaller, {&meeting.parent, words.data(), words.size(), ESP_UINT64,
                              meeting.member(to), meeting.tag});
}

// Another length is of a call with another list.
esp_status receive_words(const Meeting& meeting, std::vector<std::uint64_t>& words,
                         std::size_t from) {
  esp_job& job = *meeting.parent.job;
  const int member = meeting.member(from);
  esp_tag_info info = {};
  const esp_status status =
      receive_aside(kCaller, {&meeting.parent, words.data(), words.size(), ESP_UINT64, member,
                              meeting.tag, ESP_TAG_EXACT, &info});
  if (status == ESP_OK && info.bytes == words.size() * sizeof(std::uint64_t)) return ESP_OK;
  if (status != ESP_OK && status != ESP_ERR_TRUNCATED) return status;
  if (info.bytes == sizeof(std::uint64_t) && words[0] < ESP_STATUS_COUNT) {
    const auto why = static_cast<esp_status>(words[0]);
    return fail(job, why,
                fmt::format("{}: rank {} could not go on with tag {}: {}", kCaller, member,
                            meeting.tag, esp_status_text(why)));
  }
  return fail(job, ESP_ERR_MISMATCH,
              fmt::format("{}: rank {} names another number of members for tag {}", kCaller, member,
                          meeting.tag));
}

// Calls `go(child)` for those below the i-th: of the nearest first, or last. Ends at an error.
template <typename Go>
esp_status each_child(const Meeting& meeting, bool nearest_first, Go&& go) {
  const std::size_t me = meeting.place();
  std::vector<std::size_t> children;
  for (std::size_t d = 1; d < meeting.size() && (me & d) == 0; d *= 2) {
    if (me + d < meeting.size()) children.push_back(me + d);
  }
  if (!nearest_first) std::reverse(children.begin(), children.end());
  for (const std::size_t child : children) {
    const esp_status status = go(child);
    if (status != ESP_OK) return status;
  }
  return ESP_OK;
}

std::size_t above(std::size_t place) noexcept {
  return place & (place - 1);
}

}  // namespace

std::size_t Meeting::place() const noexcept {
  if (listed.empty()) return static_cast<std::size_t>(parent.team.rank);
  const auto found = std::find(listed.begin(), listed.end(), parent.team.rank);
  return static_cast<std::size_t>(found - listed.begin());
}

esp_status Meeting::sum(std::vector<std::uint64_t>& words) const {
  if (listed.empty()) return sum_words(parent, words, purpose);
  const std::size_t me = place();
  words.push_back(0);  // so that there are two at least
  std::vector<std::uint64_t> theirs(words.size());
  esp_status status = each_child(*this, true, [&](std::size_t child) {
    const esp_status come = receive_words(*this, theirs, child);
    if (come == ESP_OK) {
      std::transform(words.begin(), words.end(), theirs.begin(), words.begin(), std::plus<>());
    }
    return come;
  });
  std::vector<std::uint64_t> why = {static_cast<std::uint64_t>(status)};
  if (me != 0) {
    const esp_status sent = send_words(*this, status == ESP_OK ? words : why, above(me));
    if (status == ESP_OK) status = sent;
  }
  if (me != 0 && status == ESP_OK) status = receive_words(*this, words, above(me));
  why.front() = static_cast<std::uint64_t>(status);
  const esp_status told = each_child(*this, false, [&](std::size_t child) {
    return send_words(*this, status == ESP_OK ? words : why, child);
  });
  words.pop_back();
  return status == ESP_OK ? told : status;
}

}  // namespace espalier::api
