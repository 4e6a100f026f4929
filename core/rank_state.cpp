#include "core/rank_state.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace espalier {
namespace {

Error not_ours(const char* why) {
  return error(ESP_ERR_SYSTEM, std::string("the launcher's file of states: ") + why);
}

// Nothing is mapped writable before the file is proven to be the launcher's: a memory file that
// nobody can resize, and whose nonce is what the launcher has told.
bool is_sealed(int descriptor) noexcept {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

bool matches(const RankStateHeader& header, const RankStatePlace& place,
             std::uint64_t file_bytes) noexcept {
  const auto own_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return header.magic == RankStateHeader::kMagic && header.nonce == place.nonce &&
         header.page_bytes % own_page == 0 && place.index < header.ranks &&
         header.page_bytes * (header.ranks + 1) == file_bytes;
}

// Of a process that has left or died, the next one takes it: a script may run several.
bool take(RankStatePage& page) noexcept {
  std::int32_t owner = page.process.load(std::memory_order_relaxed);
  const auto phase = static_cast<RankPhase>(page.phase.load(std::memory_order_relaxed));
  const bool is_gone =
      owner == 0 || phase == RankPhase::kLeft || (::kill(owner, 0) != 0 && errno == ESRCH);
  return is_gone &&
         page.process.compare_exchange_strong(owner, ::getpid(), std::memory_order_relaxed);
}

}  // namespace

Result<std::unique_ptr<RankState>> RankState::open(const RankStatePlace& place) {
  struct stat file {};
  if (!is_sealed(place.descriptor) || ::fstat(place.descriptor, &file) != 0) {
    return not_ours("the descriptor is not one");
  }
  const auto bytes = static_cast<std::uint64_t>(file.st_size);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes < page) return not_ours("it is too small");
  void* header = ::mmap(nullptr, page, PROT_READ, MAP_SHARED, place.descriptor, 0);
  if (header == MAP_FAILED) return not_ours(std::strerror(errno));
  const auto& head = *static_cast<const RankStateHeader*>(header);
  void* own = MAP_FAILED;
  if (matches(head, place, bytes)) {
    own = ::mmap(nullptr, sizeof(RankStatePage), PROT_READ | PROT_WRITE, MAP_SHARED,
                 place.descriptor, static_cast<off_t>(head.page_bytes * (place.index + 1)));
    ::close(place.descriptor);
  }
  const bool taken = own != MAP_FAILED && take(*static_cast<RankStatePage*>(own));
  if (!taken) {
    if (own != MAP_FAILED) ::munmap(own, sizeof(RankStatePage));
    ::munmap(header, page);
    return not_ours(own == MAP_FAILED ? "it is of another job" : "another process has the page");
  }
  return std::unique_ptr<RankState>(new RankState(&head, static_cast<RankStatePage*>(own)));
}

RankState::~RankState() {
  enter(RankPhase::kLeft);
  ::munmap(page_, sizeof(RankStatePage));
  ::munmap(const_cast<RankStateHeader*>(header_),
           static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
}

void RankState::stamp() noexcept {
  page_->since_ns.store(clock_.now_ns(), std::memory_order_relaxed);
}

void RankState::enter(RankPhase phase) noexcept {
  page_->phase.store(static_cast<std::uint32_t>(phase), std::memory_order_relaxed);
  stamp();
}

void RankState::begin_wait() noexcept {
  page_->waits.fetch_add(1, std::memory_order_relaxed);
  stamp();
}

void RankState::end_wait() noexcept {
  page_->waits.fetch_sub(1, std::memory_order_relaxed);
  stamp();
}

bool RankState::look() noexcept {
  page_->looked_ns.store(clock_.now_ns(), std::memory_order_relaxed);
  return header_->question.load(std::memory_order_relaxed) !=
         page_->answered.load(std::memory_order_relaxed);
}

void RankState::answer(std::string_view text) noexcept {
  const std::uint32_t question = header_->question.load(std::memory_order_relaxed);
  const std::size_t bytes = std::min(text.size(), RankStatePage::kTextBytes);
  std::memcpy(page_->text.data(), text.data(), bytes);
  page_->text_bytes.store(static_cast<std::uint32_t>(bytes), std::memory_order_relaxed);
  page_->answered.store(question, std::memory_order_release);
}

}  // namespace espalier
