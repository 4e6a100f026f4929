#include "api/node_memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "api/setting_warnings.hpp"
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

// What all ranks of the node share, in one file.
struct NodeFile {
  shm::Layout layout;
  // Behind it the directory, which is mapped for itself; 0 bytes: nobody to share it with.
  std::uint64_t directory_at = 0;
  std::uint64_t directory_bytes = 0;
  std::uint64_t bytes() const noexcept { return directory_at + directory_bytes; }
};

NodeFile node_file(const esp_job& job) {
  NodeFile made;
  made.layout = shm::Layout(static_cast<std::uint32_t>(job.nodes.locals.size()),
                            job.config.shm_arena_bytes, job.config.heap_bytes);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  made.directory_at = (made.layout.total() + page - 1) / page * page;
  if (job.nodes.locals.size() > 1) made.directory_bytes = job.directory.block().size();
  return made;
}

Result<std::unique_ptr<shm::Segment>> make_segment(esp_job& job, const NodeFile& node) {
  const shm::Key nonce = job.nodes.card(job.rank).meeting.secret;
  auto file = shm::MemoryFile::create(node.bytes(), nonce);
  if (!file) return file.error();
  const auto directory = job.directory.block().first(node.directory_bytes);
  if (auto done = file->write(node.directory_at, directory); !done) return done.error();
  auto segment = shm::Segment::map(std::move(*file), node.layout, job.nodes.local_index);
  if (segment) note_warnings(job, (*segment)->header());
  if (!segment || !job.meeting_point) return segment;
  std::vector<shm::Guest> guests;
  for (const Rank rank : job.nodes.locals) {
    if (rank != job.rank) guests.push_back({rank, job.nodes.card(rank).meeting});
  }
  const int fd = (*segment)->fd();
  auto done = job.meeting_point->hand_out(fd, guests, {job.clock, kHandoverNs});
  if (!done) return done.error();
  return segment;
}

Result<std::unique_ptr<shm::Segment>> take_segment(esp_job& job, const NodeFile& node) {
  const Rank leader = job.nodes.locals.front();
  const shm::MeetingAddress& at = job.nodes.card(leader).meeting;
  auto taken = shm::MeetingPoint::fetch(at, leader, job.rank, {job.clock, kHandoverNs});
  if (!taken) return taken.error();
  auto file = shm::MemoryFile::adopt(std::move(*taken), node.bytes(), at.secret);
  if (!file) return file.error();
  return shm::Segment::map(std::move(*file), node.layout, job.nodes.local_index);
}

// From here on the node's copy is read, and the own one given up; without room for the mapping it
// is kept.
Outcome share_directory(esp_job& job, const NodeFile& node) {
  if (node.directory_bytes == 0) return Unit{};
  auto view = shm::FileView::map(job.segment->fd(), node.directory_at, node.directory_bytes);
  if (!view) {
    job.log.debug("this rank keeps a directory of its own: {}", view.error().text);
    return Unit{};
  }
  if (!std::ranges::equal(view->bytes(), job.directory.block())) {
    const Rank leader = job.nodes.locals.front();
    return error(ESP_ERR_BOOTSTRAP,
                 fmt::format("rank {} got other cards from the bootstrap than this rank", leader),
                 leader);
  }
  job.directory.move_to(view->bytes().data());
  job.directory_view.emplace(std::move(*view));
  return Unit{};
}

Outcome map_segment(esp_job& job) {
  job.config.heap_bytes = (job.config.heap_bytes + 4095) / 4096 * 4096;
  // The largest segment depends on it, and all members of a team must cut alike.
  job.config.shm_arena_bytes = arena_bytes(job.config.shm_arena_bytes, job.nodes.largest);
  const NodeFile node = node_file(job);
  const bool leads = job.nodes.locals.front() == job.rank;
  auto segment = leads ? make_segment(job, node) : take_segment(job, node);
  if (!segment) return segment.error();
  job.segment = std::move(*segment);
  job.heap.emplace(job.segment->heap(job.nodes.local_index), job.config.heap_bytes);
  const bool asymmetric =
      std::ranges::all_of(job.nodes.cards, [](const Card& c) { return c.asymmetric_fence != 0; });
  job.doorbell.emplace(job.segment->rank_block(job.nodes.local_index).bell,
                       job.segment->header().sleepers, asymmetric);
  prepare_to_ring();
  return share_directory(job, node);
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
  job.processes.emplace(job.nodes, job.rank);
  return map_segment(job);
}

}  // namespace espalier
