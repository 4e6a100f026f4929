#include "bootstrap/node_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bootstrap/random_id.hpp"

namespace espalier {
namespace {

// All have their cards when this begins, so what is waited for is a process that gets no core.
constexpr std::uint64_t kHandoverNs = 60 * kNanosecondsPerSecond;

// All arenas together should stay well below the last cache, each hold a message or two of a MiB.
std::uint64_t arena_bytes(std::uint64_t configured, std::size_t ranks) noexcept {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  if (configured == 0) return std::clamp<std::uint64_t>(32 * kMiB / ranks, 2 * kMiB, 4 * kMiB);
  return std::max<std::uint64_t>((configured + 4095) / 4096 * 4096, Config::kArenaBytesMin);
}

const Card& card_of(const esp_job& job, Rank rank) noexcept {
  return job.cards[static_cast<std::size_t>(rank)];
}

Result<std::unique_ptr<shm::Segment>> make_segment(esp_job& job, const shm::Layout& layout) {
  const shm::Key nonce = card_of(job, job.rank).meeting.secret;
  auto file = shm::MemoryFile::create(layout.total(), nonce);
  if (!file) return file.error();
  auto segment = shm::Segment::map(std::move(*file), layout, job.nodes.local_index);
  if (!segment || !job.meeting_point) return segment;
  std::vector<shm::Guest> guests;
  for (const Rank rank : job.nodes.locals) {
    if (rank != job.rank) guests.push_back({rank, card_of(job, rank).meeting});
  }
  const int fd = (*segment)->fd();
  auto done = job.meeting_point->hand_out(fd, guests, {job.clock, kHandoverNs});
  if (!done) return done.error();
  return segment;
}

Result<std::unique_ptr<shm::Segment>> take_segment(esp_job& job, const shm::Layout& layout) {
  const Rank leader = job.nodes.locals.front();
  const shm::MeetingAddress& at = card_of(job, leader).meeting;
  auto taken = shm::MeetingPoint::fetch(at, leader, job.rank, {job.clock, kHandoverNs});
  if (!taken) return taken.error();
  auto file = shm::MemoryFile::adopt(std::move(*taken), layout.total(), at.secret);
  if (!file) return file.error();
  return shm::Segment::map(std::move(*file), layout, job.nodes.local_index);
}

Outcome map_segment(esp_job& job) {
  job.config.heap_bytes = (job.config.heap_bytes + 4095) / 4096 * 4096;
  // The largest segment depends on it, and all members of a team must cut alike.
  job.config.shm_arena_bytes = arena_bytes(job.config.shm_arena_bytes, job.nodes.largest);
  const shm::Layout layout(static_cast<std::uint32_t>(job.nodes.locals.size()),
                           job.config.shm_arena_bytes, job.config.heap_bytes);
  const bool leads = job.nodes.locals.front() == job.rank;
  auto segment = leads ? make_segment(job, layout) : take_segment(job, layout);
  if (!segment) return segment.error();
  job.segment = std::move(*segment);
  job.heap.emplace(job.segment->heap(job.nodes.local_index), job.config.heap_bytes);
  const bool asymmetric =
      std::all_of(job.nodes.locals.begin(), job.nodes.locals.end(),
                  [&](Rank rank) { return card_of(job, rank).asymmetric_fence != 0; });
  job.doorbell.emplace(job.segment->rank_block(job.nodes.local_index).bell,
                       job.segment->header().sleepers, asymmetric);
  prepare_to_ring();
  return Unit{};
}

}  // namespace

Outcome open_meeting_point(esp_job& job) {
  const auto name = draw_random_id();
  if (!name) return name.error();
  const auto secret = draw_random_id();
  if (!secret) return secret.error();
  auto opened = shm::MeetingPoint::open({name.value(), secret.value()});
  if (opened) {
    job.meeting_point.emplace(std::move(*opened));
    return Unit{};
  }
  if (opened.error().status.code() == ESP_ERR_NO_MEMORY) return opened.error();
  job.log.warn("this rank shares memory with no other: {}", opened.error().text);
  return Unit{};
}

Outcome share_memory(esp_job& job) {
  job.processes.emplace(job.cards, job.rank);
  return map_segment(job);
}

}  // namespace espalier
