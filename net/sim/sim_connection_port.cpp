#include "net/sim/sim_connection_port.hpp"

#include <cerrno>
#include <cstring>

#include "net/sim/connection_parts.hpp"

namespace espalier::sim {
namespace {

struct WireAddress {
  std::uint64_t magic = 0, number = 0;
  Rank rank = kNoRank;
  std::uint32_t zero = 0;
};
static_assert(sizeof(WireAddress) <= sizeof(rdma::ConnectionAddress));
constexpr std::uint64_t kMagic = 0x73696d7175657565ULL;

// Keys look like those of adapters: local and remote ones differ, none is small.
constexpr std::uint32_t local_key(std::uint64_t region) noexcept {
  return static_cast<std::uint32_t>(region << 9 | 0x10);
}
constexpr std::uint32_t remote_key(std::uint64_t region) noexcept {
  return static_cast<std::uint32_t>(region << 9 | 0x11);
}

}  // namespace

SimConnectionPort::SimConnectionPort(ConnectionNet& net, Rank rank)
    : net_(net),
      rank_(rank),
      memory_(std::size_t{net.limits().packet_bytes} * net.limits().receive_depth),
      packets_(net.limits().receive_depth) {
  for (std::size_t i = 0; i < packets_.size(); ++i) {
    packets_[i].data = memory_.data() + i * net.limits().packet_bytes;
    packets_[i].capacity = net.limits().packet_bytes;
  }
  net_.attach(rank, this);
}

SimConnectionPort::~SimConnectionPort() {
  for (ConnectionNet::End* end : ends_) {
    if (end == nullptr) continue;
    net_.end(*end, rdma::Fault::kFlushed, false);
    end->state = ConnectionNet::End::State::kGone;
  }
  net_.detach(rank_);
}

std::size_t SimConnectionPort::connections() const noexcept {
  std::size_t count = 0;
  for (const ConnectionNet::End* end : ends_) count += end != nullptr ? 1 : 0;
  return count;
}

ConnectionNet::End& SimConnectionPort::end(rdma::ConnectionId which) const noexcept {
  const auto index = static_cast<std::size_t>(which);
  ESP_ASSERT(index < ends_.size() && ends_[index] != nullptr);
  return *ends_[index];
}

Result<rdma::ConnectionId> SimConnectionPort::create() {
  if (!fault_.ok()) return error(fault_.code(), "the simulated adapter has failed", rank_);
  std::size_t index = 0;
  while (index < ends_.size() && ends_[index] != nullptr) ++index;
  const std::uint64_t crowded_ns = net_.crowded_ns_[static_cast<std::size_t>(rank_)];
  if (index == net_.limits().connections || net_.world().now_ns() < crowded_ns) {
    return error(ESP_ERR_NO_MEMORY, "the simulated adapter has no connection left", rank_);
  }
  if (index == ends_.size()) ends_.push_back(nullptr);
  const auto id = static_cast<rdma::ConnectionId>(index);
  ends_[index] = &net_.make_end(rank_, id);
  return id;
}

rdma::ConnectionAddress SimConnectionPort::address(rdma::ConnectionId which) const noexcept {
  WireAddress address;
  address.magic = kMagic;
  address.number = end(which).number;
  address.rank = rank_;
  rdma::ConnectionAddress made;
  std::memcpy(made.bytes.data(), &address, sizeof address);
  return made;
}

Outcome SimConnectionPort::connect(rdma::ConnectionId which, const rdma::ConnectionAddress& to) {
  ConnectionNet::End& mine = end(which);
  ESP_ASSERT(mine.state == ConnectionNet::End::State::kFresh);
  WireAddress address;
  std::memcpy(&address, to.bytes.data(), sizeof address);
  const bool rank_fits =
      address.rank >= 0 && static_cast<std::uint32_t>(address.rank) < net_.world().ranks();
  if (address.magic != kMagic || !rank_fits) {
    return error(ESP_ERR_ARGUMENT, "this is not the address of a simulated connection");
  }
  std::uint32_t& refusals = net_.refusals_[static_cast<std::size_t>(rank_)];
  if (refusals > 0) {
    --refusals;
    return error(ESP_ERR_NETWORK, "the simulated adapter cannot connect now", rank_, EAGAIN);
  }
  mine.peer_rank = address.rank;
  mine.peer_number = address.number;
  mine.state = ConnectionNet::End::State::kReady;
  return Unit{};
}

void SimConnectionPort::stop(rdma::ConnectionId which) noexcept {
  net_.end(end(which), rdma::Fault::kFlushed, false);
}

void SimConnectionPort::destroy(rdma::ConnectionId which) noexcept {
  ConnectionNet::End& mine = end(which);
  ESP_ASSERT(mine.state != ConnectionNet::End::State::kReady);
  std::erase_if(queue_, [&](const Completion& entry) {
    if (entry.end != &mine) return false;
    if (entry.packet != nullptr) repost(*entry.packet);
    return true;
  });
  mine.state = ConnectionNet::End::State::kGone;
  ends_[static_cast<std::size_t>(which)] = nullptr;
}

Result<rdma::Region> SimConnectionPort::enroll(const void* begin, std::uint64_t bytes) {
  ESP_ASSERT(begin != nullptr && bytes > 0);
  if (net_.world().lacks_memory(rank_)) {
    return error(ESP_ERR_NO_MEMORY, "the simulated adapter refuses to enroll memory", rank_);
  }
  rdma::Region region;
  region.begin = static_cast<const std::byte*>(begin);
  region.bytes = bytes;
  region.handle = next_region_++;
  region.local_key = local_key(region.handle);
  region.remote_key = remote_key(region.handle);
  regions_[region.handle] = region;
  return region;
}

void SimConnectionPort::withdraw(const rdma::Region& region) noexcept {
  const std::size_t erased = regions_.erase(region.handle);
  ESP_ASSERT(erased == 1);
}

bool SimConnectionPort::covers(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                               bool remote) const noexcept {
  if (bytes == 0) return true;
  const auto found = regions_.find(key >> 9);
  if (found == regions_.end()) return false;
  const rdma::Region& region = found->second;
  const auto begin = reinterpret_cast<std::uint64_t>(region.begin);
  return key == (remote ? region.remote_key : region.local_key) && address >= begin &&
         bytes <= region.bytes && address - begin <= region.bytes - bytes;
}

// What all operations have in common. False: no room. `made` stays nullptr for one that fails at
// once: on an end that is broken, or that names memory wrongly.
bool SimConnectionPort::post(rdma::ConnectionId on, const rdma::Transfer& what,
                             ConnectionNet::Operation*& made) {
  ConnectionNet::End& mine = end(on);
  ESP_ASSERT(mine.state != ConnectionNet::End::State::kFresh);
  if (mine.slots == net_.limits().send_depth) return false;
  if (mine.state != ConnectionNet::End::State::kReady) {
    Completion failed;
    failed.kind = Completion::Kind::kFailed;
    failed.why = rdma::Fault::kFlushed;
    failed.end = &mine;
    failed.cookie = what.cookie;
    push(failed);
    return true;
  }
  ++mine.slots;
  ConnectionNet::Operation& op = net_.take();
  op.source = &mine;
  op.what = what;
  mine.posted.push_back(&op);
  const bool is_inline = what.region == nullptr;
  const bool fits = is_inline
                        ? what.bytes <= inline_bytes()
                        : covers(what.region->local_key,
                                 reinterpret_cast<std::uint64_t>(what.local), what.bytes, false);
  if (!fits) {
    net_.end(mine, rdma::Fault::kLocal, true);
    return true;
  }
  if (is_inline) {
    const auto* bytes = static_cast<const std::byte*>(what.local);
    op.bytes.assign(bytes, bytes + what.bytes);
    op.copied = true;
  }
  if (!what.more) ++net_.counts_.doorbells;
  made = &op;
  return true;
}

bool SimConnectionPort::send(rdma::ConnectionId on, const rdma::Transfer& what) noexcept {
  ConnectionNet::Operation* op = nullptr;
  if (!post(on, what, op)) return false;
  if (op == nullptr) return true;
  op->verb = ConnectionNet::Verb::kSend;
  net_.launch(*op);
  return true;
}

bool SimConnectionPort::send_immediate(rdma::ConnectionId on, const rdma::Transfer& what,
                                       std::uint32_t immediate) noexcept {
  ConnectionNet::Operation* op = nullptr;
  if (!post(on, what, op)) return false;
  if (op == nullptr) return true;
  op->verb = ConnectionNet::Verb::kSend;
  op->with_immediate = true;
  op->immediate = immediate;
  net_.launch(*op);
  return true;
}

bool SimConnectionPort::write(rdma::ConnectionId on, const rdma::Transfer& what,
                              rdma::RemoteMemory to, bool with_immediate,
                              std::uint32_t immediate) noexcept {
  ConnectionNet::Operation* op = nullptr;
  if (!post(on, what, op)) return false;
  if (op == nullptr) return true;
  op->verb = ConnectionNet::Verb::kWrite;
  op->remote = to;
  op->with_immediate = with_immediate;
  op->immediate = immediate;
  net_.launch(*op);
  return true;
}

bool SimConnectionPort::read(rdma::ConnectionId on, const rdma::Transfer& what,
                             rdma::RemoteMemory from) noexcept {
  ConnectionNet::Operation* op = nullptr;
  if (!post(on, what, op)) return false;
  if (op == nullptr) return true;
  op->verb = ConnectionNet::Verb::kRead;
  op->remote = from;
  net_.launch(*op);
  return true;
}

bool SimConnectionPort::atomic(rdma::ConnectionId on, const rdma::Transfer& result,
                               rdma::RemoteMemory at, rdma::Atomic kind, std::uint64_t operand,
                               std::uint64_t compare) noexcept {
  ESP_ASSERT(result.bytes == sizeof operand);
  ConnectionNet::Operation* op = nullptr;
  if (!post(on, result, op)) return false;
  if (op == nullptr) return true;
  op->verb = ConnectionNet::Verb::kAtomic;
  op->remote = at;
  op->atomic = kind;
  op->operand = operand;
  op->compare = compare;
  net_.launch(*op);
  return true;
}

void SimConnectionPort::repost(rdma::Packet& packet) noexcept {
  idle_packets_.push_back(&packet);
}

void SimConnectionPort::provide(std::uint32_t packets) noexcept {
  while (provided_ < std::min<std::size_t>(packets + lost_, packets_.size())) {
    idle_packets_.push_back(&packets_[provided_++]);
  }
}

// An end that takes none along, or has found none, leaves `takers` as it is.
void SimConnectionPort::lose_packet(std::uint32_t& takers) noexcept {
  if (takers == 0 || idle_packets_.empty()) return;
  --takers;
  ++lost_;
  idle_packets_.pop_back();
}

void SimConnectionPort::push(const Completion& completion) noexcept {
  if (queue_.size() == net_.limits().completion_depth) return fail(ESP_ERR_NETWORK);
  queue_.push_back(completion);
  // Not at once: the net is in the middle of something.
  net_.world().wake_at(rank_, net_.world().now_ns());
}

// As adapters do when a completion queue overruns: nothing works any more.
void SimConnectionPort::fail(Status status) noexcept {
  if (!fault_.ok()) return;
  fault_ = Status(status.code(), rank_);
  queue_.clear();
  for (ConnectionNet::End* end : ends_) {
    if (end != nullptr) net_.end(*end, rdma::Fault::kFlushed, false);
  }
  queue_.clear();
  net_.world().wake_at(rank_, net_.world().now_ns());
}

int SimConnectionPort::poll(rdma::ConnectionSink& sink, int budget) noexcept {
  if (!fault_.ok()) return -1;
  int events = 0;
  while (events < budget && !queue_.empty()) {
    const Completion completion = queue_.front();
    queue_.pop_front();
    ++events;
    hand_over(completion, sink);
  }
  return events;
}

void SimConnectionPort::hand_over(const Completion& completion,
                                  rdma::ConnectionSink& sink) noexcept {
  using Kind = Completion::Kind;
  ConnectionNet::End& mine = *completion.end;
  const rdma::ConnectionId id = mine.id;
  mine.slots -= completion.slots;
  if (completion.packet != nullptr) {
    const World::Price price = net_.world().price(mine.peer_rank, rank_);
    (void)net_.world().charge(rank_, price.overhead_recv_ns);
  }
  switch (completion.kind) {
    case Kind::kReceived:
      return sink.received(id, *completion.packet);
    case Kind::kReceivedImmediate:
      return sink.received_immediate(id, *completion.packet, completion.immediate);
    case Kind::kPlaced:
      sink.placed(id, completion.immediate, completion.bytes);
      return repost(*completion.packet);
    case Kind::kCompleted:
      return sink.completed(id, completion.cookie);
    case Kind::kBroken:
      return sink.broken(id, completion.why);
    case Kind::kFailed:
      return sink.failed(id, completion.cookie, completion.why);
  }
}

}  // namespace espalier::sim
