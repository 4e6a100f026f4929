#include "tests/vm/verbs_world.hpp"

#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "net/rdma/connection_link.hpp"

namespace espalier::test {
namespace {

template <typename T>
T must(Result<T> made) {
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().text.c_str());
    std::abort();
  }
  return std::move(*made);
}

// Connections, and the datagrams that carry their letters and nothing else.
class LetteredLink final : public net::Link {
 public:
  LetteredLink(std::unique_ptr<rdma::DatagramLink> letters, rdma::ConnectionPort& port,
               Clock& clock, Rank rank, int ranks)
      : letters_(std::move(letters)),
        link_(must(rdma::ConnectionLink::create(port, *letters_, clock, rank,
                                                static_cast<std::uint32_t>(ranks)))) {}

  net::LinkCaps caps(Rank peer) const noexcept override { return link_->caps(peer); }
  Posted post(Rank peer, const net::FrameHeader& header, const void* payload,
              Completion& completion) noexcept override {
    return link_->post(peer, header, payload, completion);
  }
  bool announce(Rank from, const net::FrameHeader& expected, std::byte* memory) noexcept override {
    return link_->announce(from, expected, memory);
  }
  void retract(Rank from, const net::FrameHeader& expected) noexcept override {
    link_->retract(from, expected);
  }
  void withdraw(Rank peer, Completion& completion) noexcept override {
    link_->withdraw(peer, completion);
  }
  void redirect(Rank from, std::byte* payload) noexcept override { link_->redirect(from, payload); }
  void reach(Rank peer) noexcept override { link_->reach(peer); }
  void lose(Rank peer, Error why) noexcept override { link_->lose(peer, std::move(why)); }
  int progress(net::FrameSink& sink) noexcept override {
    return letters_->progress(nobody_) + link_->progress(sink);
  }
  int descriptor() const noexcept override { return link_->descriptor(); }
  bool arm() noexcept override { return letters_->arm() && link_->arm(); }
  std::uint64_t deadline_ns() const noexcept override { return link_->deadline_ns(); }
  void say_goodbye(Rank peer) noexcept override { link_->say_goodbye(peer); }
  bool drained() const noexcept override { return link_->drained(); }
  std::string describe(Rank peer) const override { return link_->describe(peer); }

 private:
  struct Nobody final : net::FrameSink {
    std::byte* begin(Rank, const net::FrameHeader&) noexcept override { std::abort(); }
    void end(Rank, const net::FrameHeader&, std::byte*) noexcept override { std::abort(); }
    void lost(Rank, const Status&) noexcept override {}
  };

  std::unique_ptr<rdma::DatagramLink> letters_;
  std::unique_ptr<rdma::ConnectionLink> link_;
  Nobody nobody_;
};

}  // namespace

VerbsWorld::VerbsWorld(int ranks, Over over, const std::string& netem) : ranks_(ranks) {
  for (int node = 0; node < 2 && !netem.empty(); ++node) {
    faults_.push_back(std::make_unique<verbs::Netem>(node, netem));
  }
  verbs::Options options;
  options.ack_timeout = 10;  // What netem loses is soon sent again.
  std::vector<verbs::PortInfo> usable;
  for (const verbs::PortInfo& info : verbs::list_ports(options)) {
    if (info.why_not.empty()) usable.push_back(info);
  }
  for (const verbs::PortInfo& info : usable) {
    adapters_.push_back(must(verbs::open_adapter(info, options)));
  }
  for (Rank r = 0; r < ranks; ++r) {
    verbs::Adapter& adapter = *adapters_[static_cast<std::size_t>(r) % adapters_.size()];
    Ports ports{must(adapter.open_datagrams({})), nullptr};
    if (over == Over::kConnections) ports.connections = must(adapter.open_connections({}));
    ports_.push_back(std::move(ports));
  }
  for (Rank r = 0; r < ranks; ++r) {
    add(std::make_unique<Counters>(), make_link(r, over), ranks);
  }
}

VerbsWorld::~VerbsWorld() {
  for (Rank r = 0; r < size(); ++r) {
    if (is_open(r)) close(r);
  }
}

std::unique_ptr<net::Link> VerbsWorld::make_link(Rank rank, Over over) {
  Ports& ports = ports_[static_cast<std::size_t>(rank)];
  const rdma::AddressBook& book = *this;
  rdma::DatagramLinkOptions options;
  options.me = {1, rank, static_cast<std::uint32_t>(ranks_)};
  auto datagrams = std::make_unique<rdma::DatagramLink>(*ports.datagrams, clock_, book, options);
  if (over == Over::kDatagrams) return datagrams;
  return std::make_unique<LetteredLink>(std::move(datagrams), *ports.connections, clock_, rank,
                                        ranks_);
}

void VerbsWorld::close(Rank r) noexcept {
  FrameWorld::close(r);
  Ports& ports = ports_[static_cast<std::size_t>(r)];
  ports.connections.reset();
  // The datagram port stays: others may still ask for its address.
}

// Gives the network time while something is under way, and ranks theirs when a timer is due.
void VerbsWorld::rest() noexcept {
  bool under_way = false;
  for (Rank r = 0; r < size(); ++r) under_way = under_way || (is_open(r) && !link(r).drained());
  if (under_way) (void)::poll(nullptr, 0, 1);
}

}  // namespace espalier::test
