#include "bootstrap/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "core/host.hpp"
#include "core/topology.hpp"
#include "net/verbs/verbs.hpp"

namespace espalier {
namespace {

// Without addresses: the rank has none.
Result<net::TcpContact> tcp_contact(const Directory& directory, Rank rank) {
  const auto bytes = directory.address(rank, WireKind::kTcp);
  return bytes ? net::parse_contact(*bytes, rank) : net::TcpContact();
}

}  // namespace

Network::~Network() = default;

Result<std::unique_ptr<Network>> Network::open(const Config& config,
                                               const std::vector<WireKind>& allowed,
                                               const Identity& identity, Clock& clock,
                                               Counters& counters, const Log& log) {
  std::unique_ptr<Network> network(new Network(identity, log));
  if (auto done = network->open_rdma(config, allowed); !done) return done.error();
  if (allows(allowed, WireKind::kTcp)) {
    if (auto done = network->open_tcp(config, clock, counters); !done) return done.error();
  }
  network->multicast_ = config.multicast;
  if (config.multicast == MulticastMode::kOff) {
    // Nobody has any: all ranks have the same setting.
  } else if (network->rdma_ != nullptr) {
    network->groups_ = JobGroups::by_rdma(*network->rdma_);
  } else if (network->tcp_ != nullptr && config.multicast == MulticastMode::kOn) {
    network->groups_ = JobGroups::by_udp(network->tcp_->interfaces(), log);
  }
  for (const ClosedWire& wire : network->closed_) {
    log.debug("{} is not used: {}", wire_name(wire.kind), wire.why);
  }
  return network;
}

Outcome Network::open_tcp(const Config& config, Clock& clock, Counters& counters) {
  net::TcpOptions options;
  options.rank = identity_.rank;
  options.job_size = identity_.job_size;
  options.interface = config.tcp_interface;
  options.interface_setting = config.written_name("TCP_INTERFACE");
  auto link = net::TcpLink::create(options, clock, counters, log_);
  if (!link) return link.error();
  tcp_ = std::move(*link);
  return Unit{};
}

// No device is no error: others of WIRES may do, and if none does choose_wires() says so.
Outcome Network::open_rdma(const Config& config, const std::vector<WireKind>& allowed) {
  const bool datagrams = allows(allowed, WireKind::kUd);
  if (!datagrams && !allows(allowed, WireKind::kRc)) return Unit{};
  const auto ranks = static_cast<std::uint32_t>(identity_.job_size);
  connections_max_ = ranks;
  if (datagrams) connections_max_ = static_cast<std::uint32_t>(config.rdma_connections);
  const bool connections = wants_connections(allowed);
  // As many again may be made by others.
  auto stack = RdmaStack::open(config, connections ? std::min(2 * connections_max_, ranks) : 0,
                               identity_.node_rank, log_);
  if (!stack) {
    if (stack.error().status.code() == ESP_ERR_CONFIG) return stack.error();
    for (const WireKind kind : {WireKind::kRc, WireKind::kUd}) {
      if (allows(allowed, kind)) closed_.push_back({kind, stack.error().text});
    }
    // Who chooses a device or an address of it wants it.
    if (!config.device.empty() || config.gid_index >= 0) {
      log_.warn("RDMA cannot be used: {}", stack.error().text);
    }
    return Unit{};
  }
  rdma_ = std::move(*stack);
  if (connections && !rdma_->why_no_connections().empty()) {
    closed_.push_back({WireKind::kRc, rdma_->why_no_connections()});
  }
  return Unit{};
}

std::vector<CardAddress> Network::addresses() const {
  std::vector<CardAddress> all;
  if (rdma_ != nullptr) all = rdma_->addresses();
  if (tcp_ != nullptr) all.push_back({WireKind::kTcp, net::contact_bytes(tcp_->contact())});
  return all;
}

std::string Network::device() const {
  if (rdma_ != nullptr) return "class/infiniband/" + rdma_->device();
  return tcp_ != nullptr ? "class/net/" + tcp_->interface() : "";
}

std::uint32_t Network::port_mbits() const {
  return rdma_ != nullptr ? rdma_->port_mbits() : interface_mbits(device());
}

GroupTerms Network::group_terms() const {
  return groups_ != nullptr ? groups_->terms() : GroupTerms();
}

std::uint64_t Network::group_adapter() const {
  const bool has = groups_ != nullptr && groups_->terms().carrier != GroupCarrier::kNone;
  return has ? hash_text(groups_->adapter()) : 0;
}

Outcome Network::connect(const Config& config, const Directory& directory,
                         const std::vector<WireKind>& wires, Clock& clock, Counters& counters) {
  directory_ = &directory;
  wires_ = &wires;
  const auto is_tcp = [](WireKind kind) { return kind == WireKind::kTcp; };
  if (std::ranges::none_of(wires, is_rdma)) rdma_.reset();
  if (std::ranges::none_of(wires, is_tcp)) tcp_.reset();
  net::ControlHandler& handler = *this;
  const auto add_way = [&](net::Link& link, std::initializer_list<WireKind> kinds) {
    ways_.push_back(std::make_unique<Way>(link, counters, handler));
    frames_.push_back(&ways_.back()->wire);
    for (const WireKind kind : kinds) way_by_[static_cast<std::size_t>(kind)] = ways_.back().get();
  };
  if (rdma_ != nullptr) {
    auto done = rdma_->connect(config, directory, identity_.rank, wires, connections_max_, clock,
                               counters, log_);
    if (!done) return done;
    add_way(rdma_->link(), {WireKind::kRc, WireKind::kUd});
  }
  if (tcp_ != nullptr) {
    if (auto done = connect_tcp(); !done) return done;
    add_way(*tcp_, {WireKind::kTcp});
  }
  connect_groups(config, wires, clock);
  return Unit{};
}

// All ranks have one way to all others, or none is in a group: by what is equal on all of them.
void Network::connect_groups(const Config& config, const std::vector<WireKind>& wires,
                             Clock& clock) {
  const GroupTerms& terms = directory_->head().groups;
  if (terms.carrier == GroupCarrier::kNone) return;
  const bool by_rdma = terms.carrier == GroupCarrier::kRdma;
  const bool one_way = std::ranges::all_of(
      wires, [&](WireKind kind) { return kind == WireKind::kShm || is_rdma(kind) == by_rdma; });
  if (!one_way) return;
  groups_way_ = way_by_[static_cast<std::size_t>(by_rdma ? WireKind::kUd : WireKind::kTcp)];
  if (groups_way_ == nullptr) return;
  groups_->use(directory_->head().epoch, terms);
  net::FrameGroupsOptions options;
  options.ports = groups_.get();
  options.epoch = directory_->head().epoch;
  options.ranks = static_cast<std::uint32_t>(directory_->size());
  options.rank = identity_.rank;
  options.packet_bytes = terms.packet_bytes;
  options.receive_depth = terms.receive_depth;
  options.groups_max = static_cast<std::uint32_t>(config.multicast_groups);
  options.place_from_bytes = config.multicast_place_bytes;
  options.lane_places = verbs::PlacingOptions().places;
  groups_way_->wire.use_groups(clock, options);
}

std::uint32_t Network::group_payload_bytes() const noexcept {
  if (groups_way_ == nullptr) return 0;
  return directory_->head().groups.packet_bytes -
         static_cast<std::uint32_t>(multicast::kHeaderBytes);
}

void Network::leave_groups() noexcept {
  if (groups_way_ != nullptr) groups_way_->wire.groups()->forget_all();
}

void Network::abandon_group(std::uint32_t team) noexcept {
  if (groups_way_ != nullptr) groups_way_->wire.groups()->abandon(team);
}

std::string Network::describe_groups() const {
  const GroupTerms& terms = directory_->head().groups;
  if (groups_way_ != nullptr) {
    const bool by_rdma = terms.carrier == GroupCarrier::kRdma;
    return fmt::format("by {}, packets of {} bytes, {} for arrivals", by_rdma ? "RDMA" : "UDP",
                       terms.packet_bytes, terms.receive_depth);
  }
  if (groups_ != nullptr && !groups_->why_none().empty()) return "no: " + groups_->why_none();
  if (multicast_ == MulticastMode::kOff) return "no: MULTICAST=off";
  if (groups_ == nullptr) return "no: over UDP only if MULTICAST=on";
  return "no: not all ranks have it by one network";
}

std::vector<std::string> Network::describe_teams() const {
  if (groups_way_ == nullptr) return {};
  return groups_way_->wire.groups()->describe([this](const std::vector<Rank>& members) {
    std::set<std::int32_t> nodes;
    for (const Rank rank : members) nodes.insert(directory_->node_of(rank));
    if (nodes.size() == members.size()) return std::string();
    return fmt::format("; {} leaders of {} nodes", members.size(), nodes.size());
  });
}

// All are read once, so that one which makes no sense is found before anything is sent.
Outcome Network::connect_tcp() {
  for (Rank rank = 0; rank < directory_->size(); ++rank) {
    if ((*wires_)[static_cast<std::size_t>(rank)] != WireKind::kTcp) continue;
    const auto contact = tcp_contact(*directory_, rank);
    if (!contact) return contact.error();
  }
  tcp_->ask_for_contacts(*this);
  return Unit{};
}

net::TcpContact Network::contact_of(Rank rank) const {
  auto contact = tcp_contact(*directory_, rank);
  return contact ? std::move(*contact) : net::TcpContact();
}

void Network::attach_to(Worker& worker) {
  for (const auto& way : ways_) {
    worker.attach(static_cast<Wire&>(way->wire));
    worker.attach(static_cast<WakeSource&>(*way));
  }
  if (groups_way_ != nullptr) {
    worker.attach(static_cast<WakeSource&>(*groups_way_->wire.groups()));
  }
}

WireCaps Network::common_caps() const noexcept {
  WireCaps least = ways_.front()->wire.caps(identity_.rank);
  for (const auto& way : ways_) {
    const WireCaps caps = way->wire.caps(identity_.rank);
    least.segment_bytes = std::min(least.segment_bytes, caps.segment_bytes);
    least.inline_bytes = std::min(least.inline_bytes, caps.inline_bytes);
  }
  return least;
}

void Network::idle() noexcept {
  for (const auto& way : ways_) way->wire.idle();
}

void Network::set_away(AwayMemory* away) noexcept {
  for (const auto& way : ways_) way->wire.set_away(away);
}

std::string Network::describe_away() noexcept {
  if (rdma_ == nullptr) return "by the host: there is no RDMA";
  const std::string why = rdma_->link().why_not_away();
  return why.empty() ? "by adapters" : "by the host: " + why;
}

void Network::tell(Rank to, std::span<const std::byte> message) noexcept {
  way(to).wire.send_control(to, message);
}

bool Network::all_posted() const noexcept {
  const bool left = groups_way_ == nullptr || groups_way_->wire.groups()->all_left();
  return left && std::all_of(ways_.begin(), ways_.end(),
                             [](const auto& way) { return way->wire.all_posted(); });
}

void Network::lose(Rank rank) noexcept {
  Way* const by = link_way(rank);
  if (by == nullptr) return;
  by->link.lose(rank, error(ESP_ERR_PEER_DIED, "it is dead, as others have told", rank));
}

void Network::forget_team(std::uint32_t team) {
  for (const auto& way : ways_) way->wire.forget_team(team);
}

void Network::say_goodbye() noexcept {
  for (const auto& way : ways_) way->link.say_goodbye_to_all();
}

bool Network::drained() const noexcept {
  return std::all_of(ways_.begin(), ways_.end(),
                     [](const auto& way) { return way->link.drained(); });
}

std::string Network::describe(Rank rank) const {
  const net::Link& link = way(rank).link;
  if (rdma_ != nullptr && &link == &rdma_->link()) return rdma_->describe(rank);
  return "tcp, " + link.describe(rank);
}

const char* Network::why_datagrams(Rank rank) const noexcept {
  const Way* way = way_of(rank);
  const bool by_rdma = rdma_ != nullptr && way != nullptr && &way->link == &rdma_->link();
  return by_rdma ? rdma_->why_datagrams(rank) : nullptr;
}

std::string Network::tcp_text() const {
  return tcp_ != nullptr ? "listens on " + tcp_->listeners_text()
                         : "no: not needed, or excluded by WIRES";
}

std::string Network::rdma_text() const {
  if (rdma_ != nullptr) return rdma_->describe();
  for (const ClosedWire& wire : closed_) {
    if (is_rdma(wire.kind)) return "no: " + wire.why;
  }
  return "no: not needed, or excluded by WIRES";
}

void Network::hold(const void* memory, std::uint64_t bytes) noexcept {
  if (rdma_ != nullptr) rdma_->hold(memory, bytes);
}

void Network::let_go(const void* memory) noexcept {
  if (rdma_ != nullptr) rdma_->let_go(memory);
}

void Network::control(Rank from, std::span<const std::byte> message) noexcept {
  if (message.empty()) return;
  const auto kind = static_cast<std::size_t>(message.front());
  if (kind < handlers_.size() && handlers_[kind] != nullptr) handlers_[kind]->heard(from, message);
}

void Network::lost(Rank peer, const Status& why) noexcept {
  Way* const by = link_way(peer);
  const bool left = why.code() == ESP_ERR_PEER_DIED && by != nullptr && by->link.has_left(peer);
  const bool is_of_this_node = way_of(peer) == nullptr;
  if (is_of_this_node && left) return;  // Shared memory says it, when it has left that, too.
  if (lost_) lost_(peer, left, why);
}

}  // namespace espalier
