#include "bootstrap/card.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "core/asymmetric_fence.hpp"
#include "core/host.hpp"
#include "core/process_state.hpp"
#include "core/topology.hpp"

namespace espalier {
namespace {

static_assert(std::is_trivially_copyable_v<CardFields>);

// Before each address.
struct AddressHead {
  std::uint16_t kind;
  std::uint16_t bytes;
};

Error senseless(Rank rank, std::string_view what) {
  return error(ESP_ERR_BOOTSTRAP,
               fmt::format("the card of rank {} makes no sense: {}", rank, what));
}

void append(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(from);
  to.insert(to.end(), begin, begin + bytes);
}

Outcome parse_addresses(std::span<const std::byte> bytes, Rank rank, Card& card) {
  while (!bytes.empty()) {
    AddressHead head;
    if (bytes.size() < sizeof head) return senseless(rank, "half an address");
    std::memcpy(&head, bytes.data(), sizeof head);
    bytes = bytes.subspan(sizeof head);
    if (head.bytes > bytes.size() || head.bytes > Card::kAddressBytesMax) {
      return senseless(rank, "an address longer than the card");
    }
    if (card.addresses.size() == Card::kAddressesMax) return senseless(rank, "too many addresses");
    const auto content = bytes.first(head.bytes);
    card.addresses.push_back({static_cast<WireKind>(head.kind), {content.begin(), content.end()}});
    bytes = bytes.subspan(head.bytes);
  }
  return Unit{};
}

// A rank that may run on all CPUs is bound to nothing: known without reading about each of them.
void note_place(Card& card) {
  if (CPU_COUNT(&card.cpus) >= ::sysconf(_SC_NPROCESSORS_ONLN)) return;
  card.locality = member_locality(current_locality());
}

// A name that is too long ends in a hash of the whole, so that different ones stay different.
std::string fitting_name(std::string_view name) {
  constexpr std::size_t kCharsMax = sizeof(CardFields::node) - 1;
  if (name.size() <= kCharsMax) return std::string(name);
  const std::string hash = fmt::format("~{:016x}", hash_text(name));
  return std::string(name.substr(0, kCharsMax - hash.size())) + hash;
}

}  // namespace

Card make_card(const Config& config, const std::uint64_t& nonce, const shm::MeetingAddress* meeting,
               std::string_view node_name) {
  Card card;
  card.bytes = sizeof(CardFields);
  if (!config.node_name.empty()) node_name = config.node_name;
  // By the machine alone: ranks without a name for their node.
  if (config.nodes == NodeRule::kMachine) node_name = {};
  std::ranges::copy(fitting_name(node_name), card.node);
  (void)::gethostname(card.host, sizeof card.host - 1);
  const HostIdentity host = host_identity(card.host);
  card.machine = host.boot_hash;
  card.pid_namespace = host.pid_namespace;
  card.pid = ::getpid();
  card.pid_start = process_state(VisiblePid::self()).value_or(ProcessState()).start;
  if (meeting != nullptr) {
    card.net_namespace = net_namespace();
    card.meeting = *meeting;
  }
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
  card.reproducible = config.reproducible ? 1 : 0;
  card.node_rule = static_cast<std::uint64_t>(config.nodes);
  card.topology = hash_description(config.topology);
  card.levels = static_cast<std::uint64_t>(config.levels);
  card.level_shapes = hash_text(config.level_shapes);
  card.adapter_numa = static_cast<std::uint64_t>(config.adapter_numa + 1);
  card.multicast = static_cast<std::uint64_t>(config.multicast);
  card.multicast_groups = static_cast<std::uint64_t>(config.multicast_groups);
  card.multicast_leaders = static_cast<std::uint64_t>(config.multicast_leaders);
  card.multicast_place_bytes = config.multicast_place_bytes;
  card.wires = hash_text(config.wires);
  CPU_ZERO(&card.cpus);
  (void)::sched_getaffinity(0, sizeof card.cpus, &card.cpus);
  if (config.needs_localities()) note_place(card);
  return card;
}

std::vector<std::byte> address_bytes(const Card& card) {
  std::vector<std::byte> bytes;
  for (const CardAddress& address : card.addresses) {
    ESP_ASSERT(address.bytes.size() <= Card::kAddressBytesMax);
    const AddressHead head = {static_cast<std::uint16_t>(address.kind),
                              static_cast<std::uint16_t>(address.bytes.size())};
    append(bytes, &head, sizeof head);
    append(bytes, address.bytes.data(), address.bytes.size());
  }
  return bytes;
}

std::vector<std::byte> card_bytes(const Card& card) {
  std::vector<std::byte> bytes;
  append(bytes, static_cast<const CardFields*>(&card), sizeof(CardFields));
  const std::vector<std::byte> addresses = address_bytes(card);
  append(bytes, addresses.data(), addresses.size());
  return bytes;
}

std::optional<std::span<const std::byte>> find_address(std::span<const std::byte> addresses,
                                                       WireKind kind) noexcept {
  while (addresses.size() >= sizeof(AddressHead)) {
    AddressHead head;
    std::memcpy(&head, addresses.data(), sizeof head);
    addresses = addresses.subspan(sizeof head);
    if (head.bytes > addresses.size()) break;
    if (head.kind == static_cast<std::uint16_t>(kind)) return addresses.first(head.bytes);
    addresses = addresses.subspan(head.bytes);
  }
  return std::nullopt;
}

Result<Card> parse_card(std::span<const std::byte> bytes, Rank rank) {
  Card card;
  if (bytes.size() < offsetof(CardFields, host)) {
    return error(ESP_ERR_BOOTSTRAP,
                 fmt::format("the card of rank {} is too short ({} bytes)", rank, bytes.size()));
  }
  std::memcpy(static_cast<CardFields*>(&card), bytes.data(),
              std::min(bytes.size(), sizeof(CardFields)));
  if (card.magic != Card::kMagic) {
    return error(ESP_ERR_BOOTSTRAP,
                 fmt::format("the card of rank {} is not one of this library", rank));
  }
  if (card.version != Card::kVersion || card.bytes != sizeof(CardFields) ||
      bytes.size() < sizeof(CardFields)) {
    return error(
        ESP_ERR_BOOTSTRAP,
        fmt::format("rank {} uses another version of the library (card version {}, here {})", rank,
                    card.version, Card::kVersion));
  }
  card.host[sizeof card.host - 1] = 0;
  card.node[sizeof card.node - 1] = 0;
  if (card.pid <= 0) return senseless(rank, "no process");
  const auto addresses = bytes.subspan(sizeof(CardFields));
  if (auto done = parse_addresses(addresses, rank, card); !done) return done.error();
  return card;
}

Outcome check_agreement(const Card& mine, Rank me, const Card& theirs, Rank rank) {
  enum class Kind : std::uint8_t { kValue, kAutomaticNumber, kHash };
  static constexpr struct {
    const char* knob;
    std::uint64_t CardFields::*value;
    Kind kind = Kind::kValue;
  } kCommon[] = {
      {"SHM_ARENA_BYTES", &Card::arena_bytes, Kind::kAutomaticNumber},
      {"HEAP_BYTES", &Card::heap_bytes},
      {"SHORT_BYTES", &Card::short_bytes},
      {"SEGMENT_BYTES", &Card::segment_bytes, Kind::kAutomaticNumber},
      {"ALGORITHM", &Card::algorithm},
      {"SHAPE", &Card::shape},
      {"VARIANT", &Card::variant},
      {"RADIX", &Card::radix, Kind::kAutomaticNumber},
      {"REPRODUCIBLE", &Card::reproducible},
      {"NODES", &Card::node_rule},
      {"TOPOLOGY", &Card::topology, Kind::kHash},
      {"LEVELS", &Card::levels},
      {"LEVEL_SHAPES", &Card::level_shapes, Kind::kHash},
      {"SWITCHES", &Card::switches, Kind::kHash},
      {"ADAPTER_NUMA", &Card::adapter_numa, Kind::kHash},
      {"MULTICAST", &Card::multicast},
      {"MULTICAST_GROUPS", &Card::multicast_groups},
      {"MULTICAST_LEADERS", &Card::multicast_leaders},
      {"MULTICAST_PLACE_BYTES", &Card::multicast_place_bytes},
      {"WIRES", &Card::wires, Kind::kHash},
  };
  for (const auto& [knob, value, kind] : kCommon) {
    if (theirs.*value == mine.*value) continue;
    std::string text =
        fmt::format("ESPALIER_{} differs between rank {} and rank {}", knob, me, rank);
    const auto shown = [knob = knob, kind = kind](std::uint64_t number) {
      const bool automatic = number == 0 && kind == Kind::kAutomaticNumber;
      return automatic ? "automatic" : value_text(knob, number);
    };
    if (kind != Kind::kHash) {
      text += fmt::format(": {} and {}", shown(mine.*value), shown(theirs.*value));
    }
    return error(ESP_ERR_CONFIG, std::move(text));
  }
  return Unit{};
}

}  // namespace espalier
