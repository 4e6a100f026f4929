#include "bootstrap/network.hpp"

#include <utility>

namespace espalier {

Network::Network(std::unique_ptr<net::TcpLink> link, Rank me, int job_size) noexcept
    : link_(std::move(link)), me_(me), job_size_(job_size) {}

Network::~Network() = default;

Result<std::unique_ptr<Network>> Network::open(const Config& config, const Identity& identity,
                                               Clock& clock, Counters& counters, const Log& log) {
  net::TcpOptions options;
  options.rank = identity.rank;
  options.job_size = identity.job_size;
  options.interface = config.tcp_interface;
  auto link = net::TcpLink::create(options, clock, counters, log);
  if (!link) return link.error();
  return std::unique_ptr<Network>(new Network(std::move(*link), identity.rank, identity.job_size));
}

CardAddress Network::address() const {
  return {WireKind::kTcp, net::contact_bytes(link_->contact())};
}

Outcome Network::connect(const std::vector<Card>& cards, Counters& counters) {
  for (std::size_t r = 0; r < cards.size(); ++r) {
    const auto rank = static_cast<Rank>(r);
    if (rank == me_) continue;
    for (const CardAddress& address : cards[r].addresses) {
      if (address.kind != WireKind::kTcp) continue;
      auto contact = net::parse_contact(address.bytes, rank);
      if (!contact) return contact.error();
      link_->set_contact(rank, std::move(*contact));
    }
  }
  net::ControlHandler* handler = this;
  wire_ = std::make_unique<net::FrameWire>(*link_, job_size_, net::FrameWireOptions{}, counters,
                                           handler);
  return Unit{};
}

bool Network::tell(Rank to, std::span<const std::byte> message) noexcept {
  return wire_->send_control(to, message);
}

void Network::reach(Rank rank) noexcept {
  link_->reach(rank);
}

int Network::descriptor() const noexcept {
  return link_->descriptor();
}

bool Network::arm() noexcept {
  return link_->arm();
}

std::uint64_t Network::deadline_ns() const noexcept {
  return link_->deadline_ns();
}

void Network::say_goodbye() noexcept {
  for (Rank rank = 0; rank < job_size_; ++rank) {
    if (rank != me_) link_->say_goodbye(rank);
  }
}

bool Network::drained() const noexcept {
  return link_->drained();
}

std::string Network::describe(Rank rank) const {
  return link_->describe(rank);
}

void Network::control(Rank from, std::span<const std::byte> message) noexcept {
  if (message.empty()) return;
  const auto kind = static_cast<std::size_t>(message.front());
  if (kind < handlers_.size() && handlers_[kind] != nullptr) handlers_[kind]->heard(from, message);
}

void Network::lost(Rank peer, const Status& why) noexcept {
  if (lost_) lost_(peer, why);
}

}  // namespace espalier
