#include "bootstrap/rdma_stack.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/topology.hpp"
#include "net/rdma/credit_account.hpp"
#include "net/verbs/address.hpp"
#include "net/verbs/verbs.hpp"

namespace espalier {
namespace {

// A rank that computes answers nobody, and waits end by TIMEOUT: silence means more after that.
constexpr std::uint64_t kSilenceNs = 120 * kNanosecondsPerSecond;

std::uint64_t silence_ns(const Config& config) noexcept {
  const auto to_ns = [](double s) { return static_cast<std::uint64_t>(s * 1e9); };
  if (config.rdma_silence > 0) return to_ns(config.rdma_silence);
  // About a century: timers add to it.
  if (config.timeout <= 0) return std::uint64_t{1} << 61;
  return std::max(kSilenceNs, to_ns(config.timeout));
}

std::string why_none_usable(const std::vector<verbs::PortInfo>& all) {
  if (all.empty()) return "no RDMA device: " + verbs::why_no_device();
  std::string why;
  for (const verbs::PortInfo& port : all) {
    why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", port.name(), port.why_not);
  }
  return why;
}

// The best first; at least one.
Result<std::vector<verbs::PortInfo>> choose_ports(const Config& config,
                                                  const verbs::Options& options, int node_rank) {
  const std::vector<verbs::PortInfo> all = verbs::list_ports(options);
  Machine machine;  // Reading it takes milliseconds: where there is something to choose.
  if (all.size() > 1 && config.device.empty()) {
    if (auto loaded = load_machine(config.topology)) machine = std::move(*loaded);
  }
  auto chosen =
      verbs::choose_ports(all, options, machine, {locality_of_rank(machine, node_rank), node_rank});
  if (!chosen) return chosen.error();
  if (chosen->empty()) return error(ESP_ERR_UNSUPPORTED, why_none_usable(all));
  return chosen;
}

}  // namespace

RdmaStack::~RdmaStack() = default;

Result<std::unique_ptr<RdmaStack>> RdmaStack::open(const Config& config, std::uint32_t connections,
                                                   int node_rank, const Log& log) {
  const verbs::Options options = verbs::options_from(config);
  const auto ports = choose_ports(config, options, node_rank);
  if (!ports) return ports.error();
  Error failure;  // The first one's status, and what all of them said.
  for (const verbs::PortInfo& port : ports.value()) {
    std::unique_ptr<RdmaStack> stack(new RdmaStack);
    auto done = stack->open_ports(port, options, connections, log);
    if (done) {
      if (!failure.text.empty()) log.warn("{} instead of: {}", port.name(), failure.text);
      stack->watch_memory(config, log);
      return stack;
    }
    if (failure.text.empty()) {
      failure = done.error();
    } else {
      failure.text += "; " + done.error().text;
    }
  }
  return failure;
}

void RdmaStack::watch_memory(const Config& config, const Log& log) {
  if (config.rdma_cache_bytes == 0) return;
  if (connection_port_ == nullptr) {
    if (!why_no_connections_.empty()) {
      log.warn("{} has no effect: {}", config.written_name("RDMA_CACHE_BYTES"),
               why_no_connections_);
    }
    return;
  }
  auto watch = MemoryWatch::create();
  if (watch) {
    watch_ = std::move(*watch);
  } else {
    log.warn("{} has no effect: {}", config.written_name("RDMA_CACHE_BYTES"), watch.error().text);
  }
}

Outcome RdmaStack::open_ports(const verbs::PortInfo& port, const verbs::Options& options,
                              std::uint32_t connections, const Log& log) {
  auto adapter = verbs::open_adapter(port, options, log);
  if (!adapter) return adapter.error();
  adapter_ = std::move(*adapter);
  auto datagrams = adapter_->open_datagrams({});
  if (!datagrams) return datagrams.error();
  datagram_port_ = std::move(*datagrams);
  // Others check it, too, and then nobody could talk to anybody.
  if (const auto own = verbs::parse_address(datagram_port_->address()); !own) {
    return error(ESP_ERR_NETWORK,
                 fmt::format("{}: it would have {}", port.name(), own.error().text));
  }
  if (connections == 0) return Unit{};
  if (auto opened = open_connections(connections); !opened) {
    why_no_connections_ = opened.error().text;
    descriptors_.reset();
    packets_.reset();
    connection_port_.reset();
  }
  return Unit{};
}

// All that this machine, or a limit of this process, may refuse to them: the card promises them,
// and who has them in its card cannot do without.
Outcome RdmaStack::open_connections(std::uint32_t connections) {
  verbs::ConnectionOptions wanted;
  wanted.connections = connections;
  wanted.packets_each = rdma::CreditAccount::kWindowMin;
  auto port = adapter_->open_connections(wanted);
  if (!port) return port.error();
  connection_port_ = std::move(*port);
  auto packets = rdma::ConnectionLink::prepare(*connection_port_);
  if (!packets) return packets.error();
  packets_ = std::move(*packets);
  auto set = DescriptorSet::create();
  if (!set) return set.error();
  descriptors_ = std::move(*set);
  if (auto done = descriptors_->add(datagram_port_->descriptor()); !done) return done;
  return descriptors_->add(connection_port_->descriptor());
}

std::string RdmaStack::device() const {
  return adapter_->info().device;
}

std::string RdmaStack::port_name() const {
  return adapter_->info().name();
}

std::uint32_t RdmaStack::port_mbits() const {
  return static_cast<std::uint32_t>(adapter_->info().gbits * 1000);
}

// What keeps ranks from reaching each other by RDMA (wire_choice.cpp) is in the network's number.
GroupTerms RdmaStack::group_terms() const {
  if (!why_no_groups().empty()) return {};
  const verbs::PortInfo& info = adapter_->info();
  const std::uint32_t network = info.mtu_bytes << 16 | info.partition_key;
  return {GroupCarrier::kRdma, info.mtu_bytes, verbs::DatagramOptions().receive_packets, network};
}

std::string RdmaStack::why_no_groups() const {
  const verbs::PortInfo& info = adapter_->info();
  const bool limited = (info.partition_key & 0x8000) == 0;
  if (limited) return fmt::format("a limited member of partition {:#06x}", info.partition_key);
  return verbs::why_no_groups(info);
}

Result<std::unique_ptr<multicast::GroupPort>> RdmaStack::open_group(
    const multicast::GroupAddress& group) {
  return adapter_->open_group(group, {});
}

Result<std::unique_ptr<multicast::PlacingPort>> RdmaStack::open_lane(
    const multicast::GroupAddress& group) {
  return adapter_->open_lane(group, {});
}

std::vector<CardAddress> RdmaStack::addresses() const {
  const rdma::PortAddress own = datagram_port_->address();
  std::vector<CardAddress> all = {{WireKind::kUd, {own.bytes.begin(), own.bytes.end()}}};
  if (connection_port_ != nullptr) all.push_back({WireKind::kRc, {}});
  return all;
}

Outcome RdmaStack::connect(const Config& config, const Directory& directory, Rank me,
                           const std::vector<WireKind>& wires, std::uint32_t connections_max,
                           Clock& clock, Counters& counters, const Log& log) {
  const auto ranks = static_cast<std::uint32_t>(directory.size());
  directory_ = &directory;
  wires_ = &wires;
  rdma::DatagramLinkOptions options;
  options.me = {directory.head().epoch, me, ranks};
  options.give_up_ns = silence_ns(config);
  // Who is not to be silent for long is asked as soon.
  options.keepalive_ns = std::min(options.keepalive_ns, options.give_up_ns);
  options.counters = &counters;
  const rdma::AddressBook& book = *this;
  datagrams_ = std::make_unique<rdma::DatagramLink>(*datagram_port_, clock, book, options);
  int descriptor = datagrams_->descriptor();
  if (connection_port_ != nullptr) {
    if (auto done = make_connections(config, log, me, ranks, clock, counters); !done) return done;
    descriptor = descriptors_->fd();
  }
  link_ = std::make_unique<rdma::RdmaLink>(*datagrams_, connections_.get(), ranks, connections_max,
                                           descriptor, log);
  return Unit{};
}

Outcome RdmaStack::make_connections(const Config& config, const Log& log, Rank me,
                                    std::uint32_t ranks, Clock& clock, Counters& counters) {
  rdma::ConnectionOptions options;
  options.counters = &counters;
  options.memory.registrations = &counters.registrations;
  options.memory.log = log;
  options.no_room_ns = silence_ns(config);
  options.memory.watch = watch_.get();
  options.memory.cache_bytes = config.rdma_cache_bytes;
  options.pull_from_bytes = config.rdma_pull_bytes > 0 ? config.rdma_pull_bytes : kNever;
  auto made = rdma::ConnectionLink::create(*connection_port_, *datagrams_, clock, me, ranks,
                                           options, std::move(packets_));
  if (!made) return made.error();
  connections_ = std::move(*made);
  return Unit{};
}

std::string RdmaStack::describe(Rank rank) const {
  return fmt::format("{} by {}, {}",
                     wire_name(link_->connects(rank) ? WireKind::kRc : WireKind::kUd),
                     adapter_->info().name(), link_->describe(rank));
}

std::string RdmaStack::describe() const {
  std::string device = verbs::describe(adapter_->info());
  if (connection_port_ != nullptr) return device;
  return fmt::format("{}; no connections{}{}", device, why_no_connections_.empty() ? "" : ": ",
                     why_no_connections_);
}

void RdmaStack::hold(const void* memory, std::uint64_t bytes) noexcept {
  // Smaller frames travel in packets anyhow.
  if (connections_ == nullptr || bytes < rdma::ConnectionOptions{}.place_from_bytes) return;
  (void)connections_->memory().add(memory, bytes);
}

void RdmaStack::let_go(const void* memory) noexcept {
  if (connections_ == nullptr) return;
  const rdma::Region* region = connections_->memory().find(memory, 1);
  if (region != nullptr && region->begin == memory) connections_->memory().remove(memory);
}

rdma::Lease RdmaStack::lease(const void* memory, std::uint64_t bytes, rdma::Use use) noexcept {
  return connections_ != nullptr ? connections_->memory().lease(memory, bytes, use) : rdma::Lease();
}

void RdmaStack::end(rdma::Lease& lease) noexcept {
  if (lease) connections_->memory().end(lease);
}

const rdma::Region* RdmaStack::hold_away(const std::byte* memory, std::uint64_t bytes) noexcept {
  return connections_ != nullptr ? connections_->hold_place(memory, bytes) : nullptr;
}

void RdmaStack::drop_away(const std::byte* memory) noexcept {
  connections_->drop_away(memory, net::AwayUse::kWrite);
}

Result<rdma::PortAddress> RdmaStack::address_of(Rank rank) const {
  const auto address = rdma_address(*directory_, rank);
  if (!address) return address.error();
  return address.value().value_or(rdma::PortAddress());  // zeros: it has none
}

bool RdmaStack::has_connections(Rank rank) const {
  const WireKind wire = (*wires_)[static_cast<std::size_t>(rank)];
  // Of this node it is a member of the same group, and has what its card says.
  if (wire == WireKind::kShm) return directory_->has(rank, WireKind::kRc);
  return wire != WireKind::kUd;
}

}  // namespace espalier
