#include "verbs/end.hpp"

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace espalier::bench {
namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr std::uint64_t kCacheBytes = std::uint64_t{1} << 30;

}  // namespace

End::End(const EndOptions& options) : options_(options) {
  verbs::Options chosen;
  chosen.device = options.device;
  const auto ports =
      must(verbs::choose_ports(verbs::list_ports(chosen), chosen, Machine{}, verbs::Asker{}));
  if (ports.empty()) throw std::runtime_error("no RDMA device: " + verbs::why_no_device());
  adapter_ = must(verbs::open_adapter(ports.front(), chosen));
  datagram_port_ = must(adapter_->open_datagrams({}));
  if (options.over == Over::kConnections) connection_port_ = must(adapter_->open_connections({}));
  exchange_addresses();

  constexpr std::uint32_t kRanks = 2;
  rdma::DatagramLinkOptions datagrams;
  datagrams.me = {1, options.rank, kRanks};
  const rdma::AddressBook& book = *this;
  datagrams_ = std::make_unique<rdma::DatagramLink>(*datagram_port_, clock_, book, datagrams);
  if (connection_port_ != nullptr) {
    rdma::ConnectionOptions connections;
    if (options.cache) {
      watch_ = must(MemoryWatch::create());
      connections.memory = {.watch = watch_.get(), .cache_bytes = kCacheBytes};
    }
    if (!options.read) connections.pull_from_bytes = kNever;
    connections_ = must(rdma::ConnectionLink::create(*connection_port_, *datagrams_, clock_,
                                                     options.rank, kRanks, connections));
  }
  link_ = std::make_unique<rdma::RdmaLink>(*datagrams_, connections_.get(), kRanks, kRanks);
  wire_ = std::make_unique<net::FrameWire>(*link_, net::FrameWireOptions{}, counters_);
  // The first message is timed, so both must be there.
  std::ofstream(file("ready.", rank())) << "ready\n";
  wait_for(file("ready.", peer()));
  if (rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

End::~End() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  link_->say_goodbye(peer());
  while (!link_->drained() && std::chrono::steady_clock::now() < end) (void)wire_->progress();
  wire_.reset();
  link_.reset();
  connections_.reset();
  datagrams_.reset();
}

std::filesystem::path End::file(const char* name, Rank rank) const {
  return options_.exchange / (name + std::to_string(rank));
}

void End::wait_for(const std::filesystem::path& file) const {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!std::filesystem::exists(file)) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("the other did not come");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void End::exchange_addresses() {
  addresses_[rank()] = datagram_port_->address();
  const auto unfinished = file("unfinished.", rank());
  {
    std::ofstream out(unfinished, std::ios::binary);
    out.write(reinterpret_cast<const char*>(addresses_[rank()].bytes.data()),
              static_cast<std::streamsize>(addresses_[rank()].bytes.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + unfinished.string());
  }
  std::filesystem::rename(unfinished, file("address.", rank()));
  wait_for(file("address.", peer()));
  std::ifstream in(file("address.", peer()), std::ios::binary);
  in.read(reinterpret_cast<char*>(addresses_[peer()].bytes.data()),
          static_cast<std::streamsize>(addresses_[peer()].bytes.size()));
  if (!in) throw std::runtime_error("cannot read the other's address");
}

Tally End::tally() const noexcept {
  Tally all;
  if (connections_ != nullptr) {
    const rdma::ConnectionStatistics& of = connections_->statistics();
    all.port = connection_port_->counts();
    all.packets_sent = of.messages + of.placed;
    all.answers = of.credit_messages + of.announced + of.retired + of.probes;
    all.repeated = of.repeated;
    all.copied_bytes = of.copied_bytes + of.copied_out_bytes;
    all.registrations = connections_->registrations();
    all.placed = of.placed;
  } else {
    const rdma::DatagramLinkCounts& of = datagrams_->counts();
    all.port = datagram_port_->counts();
    all.packets_sent = of.packets_sent;
    all.answers = of.answers_sent + of.probes_sent;
    all.repeated = of.data_again;
    all.copied_bytes = of.copied_bytes + of.copied_out_bytes;
  }
  return all;
}

}  // namespace espalier::bench
