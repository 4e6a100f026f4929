#include "net/rdma/rdma_link.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/plant.hpp"

namespace espalier::rdma {

RdmaLink::RdmaLink(DatagramLink& datagrams, ConnectionLink* connections, std::uint32_t ranks,
                   std::uint32_t connections_max, int descriptor, const Log& log)
    : datagrams_(datagrams),
      connections_(connections),
      connections_left_(connections != nullptr ? connections_max : 0),
      kept_for_trees_(connections_max < ranks ? connections_max / 2 : 0),
      descriptor_(connections != nullptr ? descriptor : datagrams.descriptor()),
      log_(log) {}

// There is one left for a frame like this.
bool RdmaLink::is_worth_a_connection(const net::FrameHeader& header) const noexcept {
  using Kind = net::FrameKind;
  if (!ESP_PLANT(74, connections_left_ > 0, true)) return false;
  switch (header.kind) {
    case Kind::kRelayed:
      return true;
    case Kind::kSegment:
    case Kind::kAway:
    case Kind::kInstead:
      return FlowId::channel_of(header.flow) < FlowId::kPointToPoint ||
             connections_left_ > kept_for_trees_;
    case Kind::kMessage:
    case Kind::kPut:
    case Kind::kGet:
    case Kind::kAtomic:
      return connections_left_ > kept_for_trees_;
    case Kind::kGrant:
    case Kind::kTaken:
    case Kind::kDeclined:
    case Kind::kGone:
    case Kind::kControl:
    case Kind::kGoodbye:
    case Kind::kRefused:
    case Kind::kPlaced:
    case Kind::kAnswer:
    case Kind::kGroup:
      return false;
  }
  return false;
}

// Where the next frame to this peer goes.
net::Link& RdmaLink::choose(Rank peer, const net::FrameHeader& header) noexcept {
  Route& to = route(peer);
  if (to.way == Way::kConnection) return *connections_;
  if (to.way == Way::kOpen && !to.wanted && is_worth_a_connection(header)) {
    to.wanted = true;
    --connections_left_;
    connections_->reach(peer);
  }
  if (!to.wanted || !connections_->up(peer)) return datagrams_;
  to.way = Way::kConnection;
  if (!ESP_PLANT(71, datagrams_.delivered(peer), true)) {
    connections_->hold(peer);
    held_.push_back(peer);
  }
  return *connections_;
}

RdmaLink::Route RdmaLink::seen(Rank peer) const noexcept {
  if (const Route* known = routes_.find(peer)) return *known;
  Route fresh;
  if (!datagrams_.book().has_connections(peer)) fresh.way = Way::kDatagrams;
  return fresh;
}

RdmaLink::Route& RdmaLink::meet(Rank peer) noexcept {
  return routes_.meet(peer, std::make_unique<Route>(seen(peer)));
}

// Of the two, as far as can be said.
const net::Link& RdmaLink::likely(Rank peer) const noexcept {
  return connects(peer) ? static_cast<const net::Link&>(*connections_) : datagrams_;
}

const char* RdmaLink::why_datagrams(Rank peer) const noexcept {
  const Route to = seen(peer);
  if (connections_ == nullptr) return "this rank has no connections";
  if (to.way == Way::kDatagrams) return "one of the two has no connections";
  if (to.wanted) return connections_->turned_down(peer) ? "no queue pair left" : nullptr;
  return connections_left_ > 0 ? nullptr : "others have this rank's connections";
}

void RdmaLink::reach(Rank peer) noexcept {
  if (route(peer).lost) return;
  datagrams_.reach(peer);
}

Posted RdmaLink::post(Rank peer, const net::FrameHeader& header, const void* payload,
                      Completion& completion) noexcept {
  if (route(peer).lost) return Posted::kDone;
  return choose(peer, header).post(peer, header, payload, completion);
}

bool RdmaLink::goes_directly(Rank peer, net::FrameKind kind) noexcept {
  net::FrameHeader header;
  header.kind = kind;
  return !route(peer).lost && &choose(peer, header) == connections_;
}

bool RdmaLink::put(Rank peer, const std::byte* from, std::uint64_t bytes, net::RemoteMemory to,
                   Completion& completion) noexcept {
  return goes_directly(peer, net::FrameKind::kPut) &&
         connections_->put(peer, from, bytes, to, completion);
}

bool RdmaLink::get(Rank peer, std::byte* to, std::uint64_t bytes, net::RemoteMemory from,
                   Completion& completion) noexcept {
  return goes_directly(peer, net::FrameKind::kGet) &&
         connections_->get(peer, to, bytes, from, completion);
}

// The peer decides how it sends; a frame that comes as datagrams ends the announcement.
bool RdmaLink::announce(Rank from, const net::FrameHeader& expected, std::byte* memory) noexcept {
  return connections_ != nullptr && !route(from).lost &&
         connections_->announce(from, expected, memory);
}

void RdmaLink::retract(Rank from, const net::FrameHeader& expected) noexcept {
  if (connections_ != nullptr) connections_->retract(from, expected);
}

void RdmaLink::withdraw(Rank peer, Completion& completion) noexcept {
  datagrams_.withdraw(peer, completion);
  if (connections_ != nullptr) connections_->withdraw(peer, completion);
}

void RdmaLink::redirect(Rank from, std::byte* payload) noexcept {
  const bool connection = route(from).arriving == Way::kConnection;
  (connection ? static_cast<net::Link&>(*connections_) : datagrams_).redirect(from, payload);
}

// `given_up`: by this side, and it may live.
void RdmaLink::note_loss(Rank peer, const std::string& why, bool given_up) noexcept {
  if (std::exchange(route(peer).noted, true)) return;
  if (given_up) {
    log_.warn("rank {} is lost: {}", peer, why);
  } else {
    log_.info("rank {} is lost: {}", peer, why);
  }
}

void RdmaLink::lose(Rank peer, Error why) noexcept {
  note_loss(peer, why.text, false);
  if (connections_ != nullptr) connections_->lose(peer, why);
  datagrams_.lose(peer, std::move(why));
}

// Connections carry most, and what they have brought is not made to wait for a look at the
// datagrams; those have their turn when there was nothing, and when their last was long ago.
int RdmaLink::progress(net::FrameSink& sink) noexcept {
  Tap datagrams(*this, Way::kDatagrams, sink);
  if (connections_ == nullptr) return datagrams_.progress(datagrams);
  Tap connections(*this, Way::kConnection, sink);
  int events = connections_->progress(connections);
  const std::uint64_t looked_ns = connections_->looked_ns();
  const bool lately = looked_ns - datagrams_.looked_ns() < kDatagramsNs;
  if (events > 0 && lately && held_.empty()) return events;
  // One question to the clock is enough for a look that has found nothing.
  events +=
      events > 0 ? datagrams_.progress(datagrams) : datagrams_.progress_at(looked_ns, datagrams);
  if (!held_.empty()) release_held();
  return events;
}

void RdmaLink::release_held() noexcept {
  std::erase_if(held_, [&](Rank peer) {
    const bool arrived = datagrams_.delivered(peer);
    if (arrived) connections_->release(peer);
    return arrived;
  });
}

bool RdmaLink::arm() noexcept {
  const bool quiet = datagrams_.arm();
  return (connections_ == nullptr || connections_->arm()) && quiet;
}

std::uint64_t RdmaLink::deadline_ns() const noexcept {
  const std::uint64_t one = datagrams_.deadline_ns();
  const std::uint64_t other = connections_ != nullptr ? connections_->deadline_ns() : 0;
  if (one == 0 || other == 0) return one + other;
  return std::min(one, other);
}

void RdmaLink::say_goodbye(Rank peer) noexcept {
  if (connections_ != nullptr) connections_->say_goodbye(peer);
  datagrams_.say_goodbye(peer);
}

void RdmaLink::say_goodbye_to_all() noexcept {
  if (connections_ != nullptr) connections_->say_goodbye_to_all();
  datagrams_.say_goodbye_to_all();
}

bool RdmaLink::drained() const noexcept {
  return datagrams_.drained() && (connections_ == nullptr || connections_->drained());
}

std::byte* RdmaLink::Tap::begin(Rank from, const net::FrameHeader& header) noexcept {
  Route& route = link_.route(from);
  // Each path brings whole frames one after another, and the two take turns at frames' ends.
  if (route.inside && route.arriving != way_) {
    link_.lose(from, error(ESP_ERR_NETWORK, "a frame inside one of the other path", from));
    return nullptr;
  }
  route.arriving = way_;
  route.inside = true;
  if (ESP_PLANT(72, way_ == Way::kDatagrams && link_.connections_ != nullptr, false)) {
    link_.connections_->came_otherwise(from, header);
  }
  return sink_.begin(from, header);
}

void RdmaLink::Tap::end(Rank from, const net::FrameHeader& header, std::byte* payload) noexcept {
  link_.route(from).inside = false;
  sink_.end(from, header, payload);
}

void RdmaLink::Tap::lost(Rank peer, const Status& why) noexcept {
  if (std::exchange(link_.route(peer).lost, true)) return;
  const bool connection = way_ == Way::kConnection;
  const net::Link& by =
      connection ? static_cast<net::Link&>(*link_.connections_) : link_.datagrams_;
  link_.note_loss(peer, by.describe(peer), !connection && why.code() == ESP_ERR_PEER_DIED);
  // First: who is told gives memory back that a connection may still write to.
  if (!ESP_PLANT(73, false, true)) {
    link_.lose(peer, error(why.code(), "lost by the other path of this adapter", peer));
  }
  sink_.lost(peer, why);
}

}  // namespace espalier::rdma
