#include "coll/team/news_format.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace espalier {

static_assert(std::is_trivially_copyable_v<News>);

std::span<const std::byte> news_bytes(const News& news) noexcept {
  return std::as_bytes(std::span(&news, 1));
}

std::optional<News> parse_news(std::span<const std::byte> bytes, int job_size) noexcept {
  News news;
  if (bytes.size() != sizeof news) return std::nullopt;
  std::memcpy(static_cast<void*>(&news), bytes.data(), sizeof news);
  const auto is_rank = [&](Rank rank) { return kNoRank <= rank && rank < job_size; };
  const bool known = news.kind == MessageKind::kNews &&
                     (news.flags & ~(News::kQuestion | News::kLeaving | News::kFreed)) == 0 &&
                     news.fault_code < ESP_STATUS_COUNT && news.fault_code != ESP_IN_PROGRESS;
  const bool rings = std::all_of(news.rings.begin(), news.rings.end(), [&](const CallRing& ring) {
    return is_rank(ring.rank) && ring.count <= ring.calls.size() && ring.count <= ring.last;
  });
  if (!known || !rings || !is_rank(news.fault_rank) || !is_rank(news.fault_by) ||
      !is_rank(news.waits_for)) {
    return std::nullopt;
  }
  return news;
}

}  // namespace espalier
