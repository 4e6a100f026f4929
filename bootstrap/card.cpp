#include "bootstrap/card.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "core/asymmetric_fence.hpp"

namespace espalier {
namespace {

static_assert(std::is_trivially_copyable_v<Card>);

std::uint64_t hash_text(std::span<const char> text) noexcept {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

// At most `room` bytes of a small file; "" when it cannot be read.
std::size_t read_small(const char* path, char* to, std::size_t room) noexcept {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = ::read(fd, to, room);
  ::close(fd);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

}  // namespace

ProcessState process_state(std::int64_t pid) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%lld/stat", static_cast<long long>(pid));
  char text[1024];
  const std::size_t got = read_small(path, text, sizeof text - 1);
  text[got] = 0;
  // The command name, in parentheses, may hold anything: begin after the last ')'.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return {};
  ProcessState state;
  state.letter = at[2];
  int field = 3;
  for (at += 2; *at != 0 && field < 22; ++at) {
    if (*at == ' ') ++field;
  }
  state.start = std::strtoull(at, nullptr, 10);
  return state;
}

Card make_card(const Config& config, const std::uint64_t& nonce, int memory_file) {
  Card card;
  card.bytes = sizeof(Card);
  (void)::gethostname(card.host, sizeof card.host - 1);
  char boot_id[64];
  card.machine =
      hash_text({boot_id, read_small("/proc/sys/kernel/random/boot_id", boot_id, sizeof boot_id)});
  card.pid = ::getpid();
  card.pid_start = process_state(card.pid).start;
  struct stat info {};
  if (::stat("/proc/self/ns/pid", &info) == 0) card.pid_namespace = info.st_ino;
  card.memory_file = memory_file;
  card.progress_thread = config.progress_thread ? 1 : 0;
  card.asymmetric_fence = asymmetric_fence_register() ? 1 : 0;
  card.nonce_address = reinterpret_cast<std::uint64_t>(&nonce);
  card.nonce = nonce;
  card.arena_bytes = config.shm_arena_bytes;
  card.heap_bytes = config.heap_bytes;
  card.short_bytes = config.short_bytes;
  CPU_ZERO(&card.cpus);
  (void)::sched_getaffinity(0, sizeof card.cpus, &card.cpus);
  return card;
}

std::span<const std::byte> card_bytes(const Card& card) noexcept {
  return std::as_bytes(std::span(&card, 1));
}

Result<Card> parse_card(std::span<const std::byte> bytes, Rank rank) {
  Card card;
  if (bytes.size() < offsetof(Card, host)) {
    return error(ESP_ERR_BOOTSTRAP,
                 fmt::format("the card of rank {} is too short ({} bytes)", rank, bytes.size()));
  }
  std::memcpy(&card, bytes.data(), std::min(bytes.size(), sizeof card));
  if (card.magic != Card::kMagic) {
    return error(ESP_ERR_BOOTSTRAP,
                 fmt::format("the card of rank {} is not one of this library", rank));
  }
  if (card.version != Card::kVersion || card.bytes != sizeof(Card) ||
      bytes.size() != sizeof(Card)) {
    return error(
        ESP_ERR_BOOTSTRAP,
        fmt::format("rank {} uses another version of the library (card version {}, here {})", rank,
                    card.version, Card::kVersion));
  }
  card.host[sizeof card.host - 1] = 0;
  if (card.pid <= 0 || card.memory_file < 0) {
    return error(ESP_ERR_BOOTSTRAP, fmt::format("the card of rank {} makes no sense", rank));
  }
  return card;
}

Outcome check_agreement(const std::vector<Card>& cards, Rank me) {
  const Card& mine = cards[static_cast<std::size_t>(me)];
  for (std::size_t r = 0; r < cards.size(); ++r) {
    const Card& card = cards[r];
    const char* knob = card.arena_bytes != mine.arena_bytes   ? "SHM_ARENA_BYTES"
                       : card.heap_bytes != mine.heap_bytes   ? "HEAP_BYTES"
                       : card.short_bytes != mine.short_bytes ? "SHORT_BYTES"
                                                              : nullptr;
    if (knob != nullptr) {
      return error(ESP_ERR_CONFIG,
                   fmt::format("ESPALIER_{} differs between rank {} and rank {}", knob, me, r));
    }
  }
  return Unit{};
}

}  // namespace espalier
