#include "bootstrap/card.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <type_traits>

#include "core/asymmetric_fence.hpp"
#include "core/host.hpp"
#include "core/process_state.hpp"

namespace espalier {
namespace {

static_assert(std::is_trivially_copyable_v<Card>);

}  // namespace

Card make_card(const Config& config, const std::uint64_t& nonce, int memory_file) {
  Card card;
  card.bytes = sizeof(Card);
  (void)::gethostname(card.host, sizeof card.host - 1);
  const HostIdentity host = host_identity(card.host);
  card.machine = host.boot_hash;
  card.pid_namespace = host.pid_namespace;
  card.pid = ::getpid();
  card.pid_start = process_state(card.pid).start;
  card.memory_file = memory_file;
  card.progress_thread = config.progress_thread ? 1 : 0;
  card.asymmetric_fence = asymmetric_fence_register() ? 1 : 0;
  card.nonce_address = reinterpret_cast<std::uint64_t>(&nonce);
  card.nonce = nonce;
  card.arena_bytes = config.shm_arena_bytes;
  card.heap_bytes = config.heap_bytes;
  card.short_bytes = config.short_bytes;
  card.segment_bytes = config.segment_bytes;
  card.algorithm = static_cast<std::uint64_t>(config.algorithm);
  card.shape = static_cast<std::uint64_t>(config.shape);
  card.variant = static_cast<std::uint64_t>(config.variant);
  card.radix = static_cast<std::uint64_t>(config.radix);
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
  static constexpr struct {
    const char* knob;
    std::uint64_t Card::*value;
  } kCommon[] = {
      {"SHM_ARENA_BYTES", &Card::arena_bytes},
      {"HEAP_BYTES", &Card::heap_bytes},
      {"SHORT_BYTES", &Card::short_bytes},
      {"SEGMENT_BYTES", &Card::segment_bytes},
      {"ALGORITHM", &Card::algorithm},
      {"SHAPE", &Card::shape},
      {"VARIANT", &Card::variant},
      {"RADIX", &Card::radix},
  };
  const Card& mine = cards[static_cast<std::size_t>(me)];
  for (std::size_t r = 0; r < cards.size(); ++r) {
    for (const auto& [knob, value] : kCommon) {
      if (cards[r].*value == mine.*value) continue;
      return error(ESP_ERR_CONFIG,
                   fmt::format("ESPALIER_{} differs between rank {} and rank {}", knob, me, r));
    }
  }
  return Unit{};
}

}  // namespace espalier
