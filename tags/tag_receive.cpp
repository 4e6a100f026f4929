// TagMessages, the receiver's half. path: data
#include <fmt/format.h>

#include <new>

#include "core/plant.hpp"
#include "tags/tag_state.hpp"

namespace espalier {

// How a receive ends that has got what fits of so many bytes.
Status TagMessages::ending(const TagBlock& block, const TagKey& key, std::uint64_t bytes) noexcept {
  if (bytes <= block.bytes) [[likely]]
    return {};
  if (note_ != nullptr) {
    note_(note_context_, fmt::format("a message of {} bytes from rank {} with tag {} on team {} is "
                                     "longer than its receive of {} bytes",
                                     bytes, key.source, key.tag, key.team & ~kAside, block.bytes));
  }
  return Status(ESP_ERR_TRUNCATED, key.source);
}

TagPattern TagMessages::pattern_of(const TagReceiving& receiving) const noexcept {
  const Team& team = receiving.team;
  const bool any = receiving.source == ESP_ANY_SOURCE;
  return {tag_team(team, receiving.aside),
          any ? kNoRank : team.members[static_cast<std::size_t>(receiving.source)],
          receiving.tag & receiving.mask, receiving.mask};
}

// Looks at all members once for each that it is asked about: teams whose ranks are those of the job
// answer at once.
int TagMessages::member(Team& team, Rank rank) noexcept {
  const auto at = static_cast<std::size_t>(rank);
  if (at < team.members.size() && ESP_PLANT(90, team.members[at] == rank, true)) [[likely]]
    return rank;
  const auto known = team.tag_sources.find(rank);
  if (known != team.tag_sources.end()) return known->second;
  const int found = team.member_of(rank);
  team.tag_sources.emplace(rank, found);
  return found;
}

TagMessages::Receive* TagMessages::make_receive(const TagReceiving& receiving,
                                                const Finish& finish) noexcept {
  Receive* made = receives_.allocate(*this, receiving, pattern_of(receiving), finish);
  if (made != nullptr) add(*made);
  return made;
}

Result<TagMessages::Started> TagMessages::receive(const TagReceiving& receiving,
                                                  const Finish& finish, Receive*& posted) {
  posted = nullptr;
  if (closed_) return error(ESP_ERR_CANCELED, "the job is being finalized");
  if (!lost_.ok()) {
    return error(lost_.code(), "a message was lost for want of memory", lost_.rank());
  }
  const TagPattern pattern = pattern_of(receiving);
  if (UnexpectedMessage* found = matching_.find(pattern)) {
    auto& message = static_cast<TagArrival&>(*found);
    claim(message);
    return receive(message, receiving, finish);
  }
  Receive* made = make_receive(receiving, finish);
  if (made != nullptr && matching_.post(*made)) [[likely]] {
    posted = made;
    return Started{};
  }
  if (made != nullptr) (void)finish_receive(*made, ESP_ERR_NO_MEMORY);
  return error(ESP_ERR_NO_MEMORY, "no memory for a receive");
}

Result<TagMessages::Started> TagMessages::receive(TagArrival& claimed,
                                                  const TagReceiving& receiving,
                                                  const Finish& finish) {
  const TagKey key = claimed.key;
  const std::uint64_t bytes = claimed.bytes;
  if (!claimed.announced && receiving.block.device == nullptr) {
    if (receiving.info != nullptr) {
      *receiving.info = {member(receiving.team, key.source), key.tag, bytes};
    }
    tag_unpack(receiving.block, claimed.payload(), std::min(bytes, receiving.block.bytes));
    drop(claimed);
    return Started{true, ending(receiving.block, key, bytes)};
  }
  Receive* made = make_receive(receiving, finish);
  if (made == nullptr) {
    if (claimed.announced) tell_ready(key.source, 0, claimed.name);
    drop(claimed);
    return error(ESP_ERR_NO_MEMORY, "no memory for a receive");
  }
  const Started started = claimed.announced ? begin_move(*made, key, bytes, claimed.name)
                                            : land(*made, key, {claimed.payload(), bytes});
  drop(claimed);
  if (!started.done) return started;
  return Started{true, finish_receive(*made, started.status)};
}

bool TagMessages::accept(const TagReceiving& receiving, Rank from, const ActiveMessage& message,
                         Status& status) noexcept {
  const Team& team = receiving.team;
  if (message.id != (receiving.aside ? kAsideEager : kTagEager) || message.context != team.id ||
      ((message.argument ^ receiving.tag) & receiving.mask) != 0) {
    return false;
  }
  if (receiving.info != nullptr) {
    *receiving.info = {receiving.source, message.argument, message.bytes};
  }
  tag_unpack(receiving.block, message.payload, std::min(message.bytes, receiving.block.bytes));
  status = ending(receiving.block, {team.id, from, message.argument}, message.bytes);
  count_taken(from, message.bytes);
  return true;
}

// ---- what comes ----

bool TagMessages::take(Rank from, const ActiveMessage& message) noexcept {
  const std::uint64_t name =
      std::uint64_t{message.context} << kNameUseBits | message.argument >> kTagBytesBits;
  switch (message.id) {
    case kTagEager:
    case kTagAnnounced:
    case kAsideEager:
    case kAsideAnnounced:
      arrive(from, message);
      break;
    case kTagReady:
      go(from, message.argument & kTagBytesMax, name);
      break;
    case kTagTaken: {
      Peer& p = peer(from);
      p.untaken -= std::min(p.untaken, message.argument);
      break;
    }
    default:
      parts_.log.debug("rank {} sent a message of id {}", from, message.id);
  }
  return true;
}

void TagMessages::arrive(Rank from, const ActiveMessage& message) noexcept {
  if (closed_) {
    ++late_;
    return;
  }
  const std::uint32_t aside = message.id >= kAsideEager ? kAside : 0;
  const TagKey key = {message.context | aside, from, message.argument};
  TagAnnouncement announced = {message.bytes, 0};
  if (is_announced(message)) {
    if (message.bytes != sizeof announced) {
      parts_.log.error("rank {} announced a message by {} bytes", from, message.bytes);
      return;
    }
    std::memcpy(&announced, message.payload, sizeof announced);
    announced.bytes = std::min(announced.bytes, kTagBytesMax);
  }
  PostedReceive* met = matching_.take_receive(key);
  if (met == nullptr) return keep(key, message, announced.bytes, announced.name);
  auto& receive = static_cast<Receive&>(*met);
  if (is_announced(message)) {
    const Started started = begin_move(receive, key, announced.bytes, announced.name);
    if (started.done) end(receive, started.status);
    return;
  }
  if (receive.block.device != nullptr) [[unlikely]] {
    const auto* payload = static_cast<const std::byte*>(message.payload);
    const Started started = land(receive, key, {payload, message.bytes});
    count_taken(from, message.bytes);
    if (started.done) end(receive, started.status);
    return;
  }
  receive.rank = from;
  receive.tag = key.tag;
  receive.bytes = message.bytes;
  tag_unpack(receive.block, message.payload, std::min(message.bytes, receive.block.bytes));
  count_taken(from, message.bytes);
  end(receive, {});
}

// What cannot be kept is lost, and no receive of this rank succeeds after that.
void TagMessages::keep(const TagKey& key, const ActiveMessage& message, std::uint64_t bytes,
                       std::uint64_t name) noexcept {
  ++parts_.counters.tags_unexpected;
  const bool announced = is_announced(message);
  const std::uint64_t here = announced ? 0 : bytes;
  void* room = std::malloc(sizeof(TagArrival) + here);
  TagArrival* made = room != nullptr ? ::new (room) TagArrival(key, bytes) : nullptr;
  if (made == nullptr || !matching_.keep(*made)) {
    std::free(room);
    lost_ = Status(ESP_ERR_NO_MEMORY, key.source);
    parts_.log.error("a message of {} bytes of rank {} is lost for want of memory", bytes,
                     key.source);
    return;
  }
  made->announced = announced;
  made->name = name;
  if (here > 0) copy_bytes(made->payload(), message.payload, here);
  if (!announced) unexpected_bytes_ += bytes + kTagOverhead;
  if (!probes_.empty()) answer_probes(*made);
}

// Of one that was claimed: it has been received.
void TagMessages::drop(TagArrival& message) noexcept {
  static_cast<ByTeam&>(message).unlink();
  const Rank from = message.key.source;
  const std::uint64_t bytes = message.bytes;
  const bool announced = message.announced;
  message.~TagArrival();
  std::free(&message);
  if (announced) return;
  const bool too_much = unexpected_bytes_ > parts_.limits.unexpected_bytes;
  unexpected_bytes_ -= bytes + kTagOverhead;
  count_taken(from, bytes);
  // Those that were not told meanwhile may have no window left for a message that would tell them.
  if (ESP_PLANT(95, !too_much, true) || unexpected_bytes_ > parts_.limits.unexpected_bytes) return;
  peers_.for_each([this](Rank rank, Peer& p) { tell_taken(rank, p); });
}

void TagMessages::count_taken(Rank from, std::uint64_t bytes) noexcept {
  Peer& p = peer(from);
  p.taken += bytes + kTagOverhead;
  tell_taken(from, p);
}

void TagMessages::tell_taken(Rank from, Peer& p) noexcept {
  if (ESP_PLANT(86, closed_, true) || p.taken < parts_.limits.window_bytes / 2 ||
      unexpected_bytes_ > parts_.limits.unexpected_bytes) [[likely]] {
    return;
  }
  (void)parts_.sender.send_own(from, {kTagTaken, std::exchange(p.taken, 0)},
                               {&tag_ignore, nullptr});
}

// ---- what was announced ----

void TagMessages::tell_ready(Rank to, std::uint64_t bytes, std::uint64_t name) noexcept {
  ActiveMessage ready{kTagReady, bytes | name << kTagBytesBits};
  ready.context = static_cast<std::uint32_t>(name >> kNameUseBits) & kContextMax;
  (void)parts_.sender.send_own(to, ready, {&tag_ignore, nullptr});
}

// Started::status: without what does not fit.
TagMessages::Started TagMessages::begin_move(Receive& receive, const TagKey& key,
                                             std::uint64_t bytes, std::uint64_t name) noexcept {
  Team& team = receive.team;
  receive.rank = key.source;
  receive.tag = key.tag;
  receive.bytes = bytes;
  receive.moves = true;
  const std::uint64_t fits = std::min(bytes, receive.block.bytes);
  if (key.source == parts_.me) return move_to_self(receive, fits, name);
  Status failure = team.failed() ? team.fault : Status();
  std::byte* memory = fits > 0 ? tag_packed(receive.block, fits, receive.packed) : nullptr;
  if (fits > 0 && memory == nullptr) failure = Status(ESP_ERR_NO_MEMORY);
  if (fits == 0 || !failure.ok()) {
    tell_ready(key.source, 0, ESP_PLANT(91, name, 0));
    return {true, failure};
  }
  auto started = parts_.engine.start_flow(
      team,
      tag_flow(Engine::Direction::kReceive, receive.block, memory, fits, member(team, key.source)),
      {&on_received, &receive});
  tell_ready(key.source, started ? fits : 0, name);
  return started ? *started : Started{true, started.error().status};
}

// Both ends are this rank's: that of the send is told from progress().
TagMessages::Started TagMessages::move_to_self(Receive& receive, std::uint64_t bytes,
                                               std::uint64_t name) noexcept {
  Send* send = named(name);
  if (send == nullptr) {
    return {true, receive.team.failed() ? receive.team.fault : Status(ESP_ERR_CANCELED)};
  }
  const bool on_device = send->block.device != nullptr || receive.block.device != nullptr;
  if (bytes > 0 && on_device) return carry_to_self(receive, *send, bytes);
  const auto* from = static_cast<const std::byte*>(send->block.memory);
  Status status;
  if (bytes > 0 && send->block.pattern != nullptr) {
    std::byte* packed = tag_packed(send->block, bytes, send->packed);
    if (packed == nullptr) {
      status = Status(ESP_ERR_NO_MEMORY);
    } else {
      send->block.pattern->pack(packed, from, 0, bytes);
    }
    from = packed;
  }
  if (status.ok()) tag_unpack(receive.block, from, bytes);
  set_ended(*send, status);
  return {true, status};
}

void TagMessages::on_received(void* context, Status status) noexcept {
  auto& receive = *static_cast<Receive*>(context);
  receive.owner.end(receive, status);
}

// Writes what has come, and gives the receive back. How it ends.
Status TagMessages::finish_receive(Receive& receive, Status status) noexcept {
  const std::uint64_t fits = std::min(receive.bytes, receive.block.bytes);
  if (status.ok() && receive.packed != nullptr) tag_unpack(receive.block, receive.packed, fits);
  if (status.ok()) {
    const TagKey key = {receive.team.id, receive.rank, receive.tag};
    status = ending(receive.block, key, receive.bytes);
  }
  if (receive.info != nullptr && receive.rank != kNoRank) {
    *receive.info = {member(receive.team, receive.rank), receive.tag, receive.bytes};
  }
  if (receive.is_posted()) matching_.withdraw(receive);
  --receive.team.tagged;
  static_cast<Operation&>(receive).unlink();
  receives_.release(&receive);
  return status;
}

void TagMessages::end(Receive& receive, Status status) noexcept {
  const Finish finish = receive.finish;
  finish.function(finish.context, finish_receive(receive, status));
}

// ---- probes ----

Result<TagMessages::Started> TagMessages::probe(const TagReceiving& asked, const Finish& finish) {
  if (closed_) return error(ESP_ERR_CANCELED, "the job is being finalized");
  if (matching_.find(pattern_of(asked)) != nullptr) return Started{true, {}};
  Receive* made = make_receive(asked, finish);
  if (made == nullptr) return error(ESP_ERR_NO_MEMORY, "no memory for a probe");
  auto& operation = static_cast<Operation&>(*made);
  operation.unlink();
  probes_.push_back(operation);
  return Started{};
}

// All whom it fits: who comes first takes it, or leaves it to the others.
void TagMessages::answer_probes(const TagArrival& message) noexcept {
  for (Operation* o = probes_.front(); o != nullptr;) {
    Operation* next = probes_.after(*o);
    if (ESP_PLANT(94, static_cast<Receive*>(o)->pattern.fits(message.key), false)) {
      set_ended(*o, {});
    }
    o = next;
  }
}

TagArrival* TagMessages::find(const TagReceiving& asked, esp_tag_info& info) noexcept {
  UnexpectedMessage* found = matching_.find(pattern_of(asked));
  if (found == nullptr) return nullptr;
  auto& message = static_cast<TagArrival&>(*found);
  info = {member(asked.team, message.key.source), message.key.tag, message.bytes};
  return &message;
}

void TagMessages::claim(TagArrival& message) noexcept {
  matching_.take(message);
  claimed_.push_back(message);
}

}  // namespace espalier
