// DatagramLink: peers that go, in order or not.
// path: slow
#include <algorithm>
#include <utility>

#include "net/rdma/datagram_link.hpp"

namespace espalier::rdma {

void DatagramLink::say_goodbye(Rank rank) noexcept {
  Peer* peer = known(rank);
  if (peer == nullptr) return parted_.push_back(rank);
  peer->life.part();
  if (!peer->life.lost()) make_ready(*peer);
}

void DatagramLink::say_goodbye_to_all() noexcept {
  parts_ = true;
  peers_.for_each([&](Rank rank, Peer&) { say_goodbye(rank); });
}

bool DatagramLink::drained() const noexcept {
  return peers_.all_of([](const Peer& peer) { return peer.settled(); });
}

// No path is looked for: who is told to be dead answers nobody, and to find that out takes a second
// per rank.
void DatagramLink::lose(Rank rank, Error why) noexcept {
  Peer* met = known(rank);
  Peer& peer = met != nullptr ? *met : add(rank);
  peer.refuse = true;
  give_up(peer, std::move(why));
}

// A lost peer speaks: it does not know yet, and would wait.
void DatagramLink::refuse(Peer& peer) noexcept {
  if (!peer.tried) {
    const auto path = path_to(peer);
    peer.reachable = path.ok();
    if (path) peer.path = path.value();
  }
  if (!peer.reachable) return;
  peer.refuse = true;
  make_ready(peer);
}

Error DatagramLink::adapter_failed() const {
  return error(ESP_ERR_NETWORK, "the adapter has failed", kNoRank, port_fault_.error_number());
}

// The rest follows at the end of progress(), outside of whatever is looking at the peer now.
void DatagramLink::give_up(Peer& peer, Error why) noexcept {
  if (!peer.life.lose(peer.rank, std::move(why), peer.owes_nothing())) return;
  peer.reader.stop();
  timers_.cancel(peer.alarm);
  if (peer.answer.linked()) peer.answer.unlink();
  if (peer.linked()) peer.unlink();
  dying_.push_back(peer);
}

// Somebody needs a peer that went quietly.
void DatagramLink::miss(Peer& peer) noexcept {
  if (!peer.life.miss()) return;
  if (peer.linked()) peer.unlink();
  dying_.push_back(peer);
}

void DatagramLink::give_up_all() noexcept {
  peers_.for_each([&](Rank, Peer& peer) { give_up(peer, adapter_failed()); });
}

void DatagramLink::bury(net::FrameSink& sink) noexcept {
  while (Peer* peer = dying_.pop_front()) {
    ++events_;
    while (FramePost* post = peer->posts) {
      peer->posts = post->next;
      Completion* waiting = post->completion;
      posts_.release(post);
      if (waiting != nullptr) waiting->complete(peer->life.why());
    }
    drop_contents(*peer);
    if (peer->life.take_news()) sink.lost(peer->rank, peer->life.why());
    peer->refuse = peer->refuse && peer->reachable && port_fault_.ok();
    if (peer->refuse) make_ready(*peer);
  }
}

void DatagramLink::drop_contents(Peer& peer) noexcept {
  if (std::exchange(peer.buried, true)) return;
  release(peer.send.drop());
  while (Packet* held = peer.receive.drop_held()) port_.give(*held);
  if (peer.filling != nullptr) port_.give(*std::exchange(peer.filling, nullptr));
  budget_.remove_peer(peer.receive.outstanding());
}

}  // namespace espalier::rdma
