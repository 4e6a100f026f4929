#include "bootstrap/directory_maker.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

namespace espalier {
namespace {

// Bytes of values, one after the other, at a multiple of 8.
template <typename Value>
std::uint64_t append(std::vector<std::byte>& block, const std::vector<Value>& values) {
  block.resize((block.size() + 7) / 8 * 8);
  const std::uint64_t at = block.size();
  const auto* begin = reinterpret_cast<const std::byte*>(values.data());
  block.insert(block.end(), begin, begin + values.size() * sizeof(Value));
  return at;
}

}  // namespace

void DirectoryMaker::MachineShare::add(const Card& card) noexcept {
  ++ranks;
  CPU_OR(&cpus, &cpus, &card.cpus);
}

int DirectoryMaker::MachineShare::usable_cpus() const noexcept {
  return std::max(1, CPU_COUNT(&cpus));
}

DirectoryMaker::DirectoryMaker(const Card& mine, Rank me, const Rules& rules)
    : rules_(rules),
      own_name_(name_of(mine, me)),
      own_machine_(mine.machine),
      own_profile_(mine.profile),
      me_(me) {
  head_.all_have_datagrams = 1;
  head_.same_profile = 1;
}

DirectoryMaker::Name DirectoryMaker::name_of(const Card& card, Rank rank) const {
  const bool shares = rules_.share && can_share_memory(card.machine, card.net_namespace);
  return {card.machine, card.net_namespace, card.node, shares ? kNoRank : rank};
}

std::int32_t DirectoryMaker::node_of(const Card& card, Rank rank) {
  const Name name = name_of(card, rank);
  const auto [at, is_new] = numbers_.emplace(name, nodes_.count());
  if (is_new) {
    nodes_.leaders.push_back(rank);
    members_.push_back(0);
    adapters_.push_back(card.adapter);
    if (rules_.switches != nullptr) switches_.push_back(switches_of(card));
  }
  if (name == own_name_) {
    nodes_.own = at->second;
    if (rank == me_) nodes_.local_index = static_cast<std::uint32_t>(nodes_.locals.size());
    nodes_.locals.push_back(rank);
    nodes_.cards.push_back(card);
    nodes_.cards.back().addresses = {};
  }
  return at->second;
}

SwitchPath DirectoryMaker::switches_of(const Card& card) {
  auto path = rules_.switches->find(card.node);
  if (!path) path = rules_.switches->find(card.host);
  if (path) return *path;
  unnamed_.emplace_back(card.node[0] != 0 ? card.node : card.host);
  return rules_.switches->alone(static_cast<std::int32_t>(unnamed_.size()));
}

std::uint32_t DirectoryMaker::site_of(const Card& card, std::int32_t node) {
  Directory::Site site;
  site.machine = card.machine;
  site.net_namespace = card.net_namespace;
  std::memcpy(site.host, card.host, sizeof site.host);
  std::memcpy(site.node, card.node, sizeof site.node);
  site.network.to_adapter = card.to_adapter;
  site.adapter = card.adapter;
  if (rules_.emulated != nullptr) {
    const Locality place =
        locality_of_rank(*rules_.emulated, members_[static_cast<std::size_t>(node)]);
    site.locality = member_locality(place);
    const bool known = rules_.adapter.numa != kUnknownLocality;
    site.network.to_adapter = known ? distance(place, rules_.adapter) : 0;
  } else if (rules_.localities) {
    site.locality = card.locality;
  }
  if (!switches_.empty()) site.network.switches = switches_[static_cast<std::size_t>(node)];
  if (site.network != NetworkPlace{}) head_.has_network_places = 1;
  const std::string key(reinterpret_cast<const char*>(&site), sizeof site);
  const auto [at, is_new] = known_sites_.emplace(key, static_cast<std::uint32_t>(sites_.size()));
  if (is_new) sites_.push_back(site);
  return at->second;
}

std::uint32_t DirectoryMaker::keep_addresses(std::span<const std::byte> bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  const std::size_t at = addresses_.size();
  addresses_.resize(at + sizeof length + (bytes.size() + 3) / 4 * 4);
  std::memcpy(addresses_.data() + at, &length, sizeof length);
  std::copy(bytes.begin(), bytes.end(), addresses_.begin() + static_cast<long>(at + sizeof length));
  return static_cast<std::uint32_t>(at / 4);
}

void DirectoryMaker::add(const Card& card) {
  const Rank rank = head_.ranks++;
  Directory::Row row;
  row.node = node_of(card, rank);
  row.pid = static_cast<std::int32_t>(card.pid);
  row.site = site_of(card, row.node);
  const std::vector<std::byte> addresses = address_bytes(card);
  row.addresses = keep_addresses(addresses);
  rows_.push_back(row);
  nodes_.largest = std::max<std::size_t>(
      nodes_.largest, static_cast<std::size_t>(++members_[static_cast<std::size_t>(row.node)]));
  head_.epoch = (head_.epoch ^ card.nonce) * 0x9e3779b97f4a7c15ULL;
  head_.groups = rank == 0 ? card.groups : head_.groups.with(card.groups);
  if (card.progress_thread != 0) head_.any_threaded = 1;
  if (card.adapter != adapters_[static_cast<std::size_t>(row.node)]) head_.several_adapters = 1;
  if (card.profile != own_profile_) head_.same_profile = 0;
  if (!find_address(addresses, WireKind::kUd)) head_.all_have_datagrams = 0;
  shares_[card.machine].add(card);
  const bool slower = head_.port_mbits == 0 || card.port_mbits < head_.port_mbits;
  if (card.port_mbits != 0 && slower) head_.port_mbits = card.port_mbits;
}

JobNodes DirectoryMaker::nodes() {
  nodes_.ranks = head_.ranks;
  const MachineShare& own = shares_[own_machine_];
  nodes_.machine_ranks = own.ranks;
  nodes_.usable_cpus = own.usable_cpus();
  return std::move(nodes_);
}

Directory DirectoryMaker::directory() const {
  std::vector<std::byte> block;
  block.reserve(sizeof head_ + rows_.size() * sizeof(Directory::Row) +
                sites_.size() * sizeof(Directory::Site) + addresses_.size() + 24);
  block.resize(sizeof head_);
  (void)append(block, rows_);
  Directory::Head head = head_;
  head.some_crowded = std::ranges::any_of(
      shares_, [](const auto& of) { return of.second.ranks > of.second.usable_cpus(); });
  head.sites = append(block, sites_);
  head.addresses = append(block, addresses_);
  head.bytes = block.size();
  std::memcpy(block.data(), &head, sizeof head);
  return Directory(std::move(block));
}

}  // namespace espalier
