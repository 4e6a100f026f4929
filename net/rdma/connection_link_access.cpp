// ConnectionLink: puts and gets as writes and reads of the adapter.
//
// The last write of a put carries an immediate, takes a packet of the peer and is counted like a
// placement: after a break both sides know whether it has happened, and one that has is not done
// again. Reads are not counted; those that were not reported are made again. Parts between are
// neither told to the peer nor counted: the operation begins anew with them.
//
// They have no order with frames. Where both wait they take turns.
// path: data
#include <algorithm>
#include <utility>

#include "core/copy.hpp"
#include "core/plant.hpp"
#include "net/rdma/connection_peer.hpp"

namespace espalier::rdma {

net::RemoteMemory ConnectionLink::expose(const std::byte* memory, std::uint64_t bytes) noexcept {
  if (bytes == 0 || !memory_.add(memory, bytes)) return {};
  return {reinterpret_cast<std::uint64_t>(memory), memory_.find(memory, bytes)->remote_key};
}

// Peers that still access it lose the connection by that, and are told why.
void ConnectionLink::conceal(const std::byte* memory) noexcept {
  const Region* region = memory_.find(memory, 1);
  if (region == nullptr || region->begin != memory) return;
  memory_.remove(memory);
  concealed_ = true;
}

void ConnectionLink::set_away(AwayMemory* away) noexcept {
  away_sources_.set(away);
  away_places_.set(away);
}

net::RemoteMemory ConnectionLink::hold_away(const std::byte* memory, std::uint64_t bytes,
                                            net::AwayUse use) noexcept {
  const Region* region = away(use).hold(memory, bytes);
  if (region == nullptr) return {};
  return {reinterpret_cast<std::uint64_t>(memory), region->remote_key};
}

void ConnectionLink::drop_away(const std::byte* memory, net::AwayUse use) noexcept {
  away(use).drop(memory);
}

void ConnectionLink::revoke_away(const std::byte* memory) noexcept {
  away_sources_.revoke(memory);
  concealed_ = true;
}

bool ConnectionLink::put(Rank rank, const std::byte* from, std::uint64_t bytes,
                         net::RemoteMemory to, Completion& completion) noexcept {
  // It is only read.
  auto* local = const_cast<std::byte*>(from);
  return begin(rank, false, to, local, bytes, completion);
}

bool ConnectionLink::get(Rank rank, std::byte* to, std::uint64_t bytes, net::RemoteMemory from,
                         Completion& completion) noexcept {
  return begin(rank, true, from, to, bytes, completion);
}

bool ConnectionLink::begin(Rank rank, bool gets, RemoteMemory remote, std::byte* local,
                           std::uint64_t bytes, Completion& completion) noexcept {
  ESP_ASSERT(bytes > 0);
  Peer* to = known(rank);
  const bool reachable = to != nullptr && to->met && to->life.takes_posts() && !to->life.has_left();
  if (!reachable) return false;
  Access* access = accesses_.allocate(*to, gets, remote, local, bytes, completion);
  if (access == nullptr) return false;
  if (const Region* place = away_places_.find(local, bytes)) {
    access->lease = {.region = *place};
  } else if (bytes >= options_.place_from_bytes) {
    access->lease = memory_.lease(local, bytes, gets ? Use::kWrite : Use::kRead);
  }
  to->accesses.push_back(*access);
  reach(rank);
  pump_soon(*to);
  return true;
}

// The next bytes: in place, inline, or in a packet. False: there is none.
bool ConnectionLink::load(Peer& peer, const Access& access, Record& record,
                          Transfer& what) noexcept {
  const std::uint64_t rest = access.bytes - access.asked;
  what.local = access.local + access.asked;
  what.bytes = std::min(rest, peer.part.bytes());
  if (!access.gets && rest <= inline_bytes_) return true;
  what.region = access.lease ? &access.lease.region : memory_.find(access.local, access.bytes);
  if (what.region != nullptr) return true;
  record.packet = take_packet(peer);
  if (record.packet == nullptr) return false;
  what.bytes = std::min<std::uint64_t>(rest, record.packet->capacity);
  if (!access.gets) {
    copy_bytes(record.packet->data, what.local, what.bytes);
    copied_in(what.bytes);
  }
  what.local = record.packet->data;
  what.region = &packets_->region();
  return true;
}

// One operation more for the first that waits. False: it is not its turn, or something is missing.
bool ConnectionLink::reach_over(Peer& peer, Batch& batch) noexcept {
  Access& access = *peer.accesses.front();
  const bool frames = !peer.posts.empty() || !peer.resend.empty();
  const bool alone = !frames || !peer.credits.may_send();
  if (!alone && !std::exchange(peer.access_next, !peer.access_next)) return false;
  if (!access.gets && !peer.credits.may_send()) return false;
  Record record;
  record.what = access.gets ? Record::What::kGet : Record::What::kPut;
  record.access = &access;
  Transfer what;
  if (!load(peer, access, record, what)) return false;
  const RemoteMemory there = {access.remote.address + access.asked, access.remote.key};
  record.bytes = static_cast<std::uint32_t>(what.bytes);
  access.asked += what.bytes;
  const bool last = access.asked == access.bytes;
  if (last && !access.gets) record.number = peer.next++;
  track(peer, record, last, what);
  ++access.open;
  ++peer.accessing;
  if (last) {
    access.unlink();
    peer.asked.push_back(access);
  }
  if (access.gets) {
    batch.read(what, there);
  } else if (!last) {
    batch.write(what, there);
  } else {
    peer.credits.spend();
    const Placement end(Placement::kPutSlot, record.number, false, peer.credits.take_owed());
    batch.write_immediate(what, there, end.immediate());
  }
  return true;
}

// One of its operations is complete, and so are those before it.
void ConnectionLink::complete_access(Record& record) noexcept {
  Access& access = *record.access;
  if (access.gets && access.completion != nullptr) {
    if (record.packet != nullptr) {
      copy_bytes(access.local + access.come, record.packet->data, record.bytes);
      copied_out(record.bytes);
    }
    access.come += record.bytes;
  }
  const bool all = access.gets ? ESP_PLANT(79, access.come == access.bytes, access.come > 0)
                               : record.number != 0;
  const bool ends = all && access.completion != nullptr;
  drop_access(record);
  if (!ends) return;
  ++(access.gets ? statistics_.gets : statistics_.puts);
  tell(&Counters::adapter_accesses);
  finish(access, {});
}

// One of its operations is no more.
void ConnectionLink::drop_access(Record& record) noexcept {
  Access& access = *record.access;
  --access.peer.accessing;
  const bool last = --access.open == 0;
  if (last && access.completion == nullptr) release(access);
}

void ConnectionLink::release(Access& access) noexcept {
  memory_.end(access.lease);
  accesses_.release(&access);
}

void ConnectionLink::finish(Access& access, Status status) noexcept {
  ESP_ASSERT(access.open == 0);
  finished_.emplace_back(access.completion, status);
  access.unlink();
  release(access);
}

// Where the adapter still reads or writes its memory the connection is stopped.
bool ConnectionLink::withdraw_access(Peer& peer, Completion& completion) noexcept {
  Access* found = nullptr;
  for (auto* list : {&peer.accesses, &peer.asked}) {
    for (Access* a = list->front(); a != nullptr; a = list->after(*a)) {
      if (a->completion == &completion) found = a;
    }
  }
  if (found == nullptr) return false;
  found->unlink();
  found->completion = nullptr;
  if (found->open == 0) {
    release(*found);
    return true;
  }
  const bool is_inline = !found->gets && found->bytes <= inline_bytes_;
  const bool known_memory = found->lease || memory_.find(found->local, found->bytes) != nullptr;
  const bool direct = !is_inline && known_memory;
  if (direct && peer.may_post()) {
    stop(peer);
    trouble(peer);
  }
  return true;
}

// An adapter has refused an access. Is that no bug of one side? Here what it was for may have been
// taken back, there, too.
bool ConnectionLink::allows_renewal(Peer& peer) noexcept {
  if (peer.why == Fault::kLocal) return false;
  peer.turned_away = peer.accessing > 0;
  return peer.turned_away || concealed_;
}

// The operations of the last connection are no more. What was not complete begins anew, but what
// the peer's adapter may have refused.
void ConnectionLink::rewind_accesses(Peer& peer) noexcept {
  while (Access* access = peer.asked.back()) {
    access->unlink();
    peer.accesses.push_front(*access);
  }
  const bool ends = std::exchange(peer.turned_away, false);
  for (Access* access = peer.accesses.front(); access != nullptr;) {
    Access* next = peer.accesses.after(*access);
    if (ends && access->asked > 0) {
      ++statistics_.turned_away;
      finish(*access, Status(ESP_ERR_STATE, peer.rank));
    } else {
      access->asked = ESP_PLANT(78, access->come, access->gets ? access->come : access->asked);
    }
    access = next;
  }
}

void ConnectionLink::abandon_accesses(Peer& peer, Status status) noexcept {
  for (auto* list : {&peer.asked, &peer.accesses}) {
    while (Access* access = list->front()) finish(*access, status);
  }
}

}  // namespace espalier::rdma
