#include "tests/swarm/tag_mail.hpp"

#include <algorithm>
#include <utility>

namespace espalier::swarm {

PlayedPost::PlayedPost(std::uint32_t ranks, std::uint64_t seed)
    : ranks_(ranks), prng_(seed), boxes_(ranks * ranks) {
  capacity_ = prng_.chance(0.5) ? 1 + prng_.below(4) : 100;
  delay_ = prng_.chance(0.3) ? 1 : 1 + prng_.below(60);
}

void PlayedPost::put(Rank from, Rank to, TagLetter letter) {
  letter.there_at = now + prng_.below(delay_);
  box(from, to).push_back(std::move(letter));
}

const TagLetter* PlayedPost::front(Rank from, Rank to) const noexcept {
  const Box& letters = box(from, to);
  return letters.empty() || letters.front().there_at > now ? nullptr : &letters.front();
}

TagLetter PlayedPost::take(Rank from, Rank to) {
  Box& letters = box(from, to);
  TagLetter letter = std::move(letters.front());
  letters.pop_front();
  letter.message.payload = letter.payload.data();
  return letter;
}

TagLetter PlayedMail::letter_of(const ActiveMessage& message, const void* payload) {
  TagLetter letter{message, {}, 0};
  const auto* bytes = static_cast<const std::byte*>(payload);
  letter.payload.assign(bytes, bytes + message.bytes);
  return letter;
}

Result<bool> PlayedMail::send_own(Rank to, const ActiveMessage& message, const Finish& finish) {
  if (post_.refuses_the_dead && post_.dead == to) {
    return error(ESP_ERR_PEER_DIED, "it is dead", to);
  }
  if (send_own_now(to, message)) return true;
  Waiting waiting{{message, {}, 0}, message.payload, finish};
  if (message.bytes <= kCopiedBytes) {
    waiting.letter = letter_of(message, message.payload);
    waiting.lent = nullptr;
  }
  waiting_[static_cast<std::size_t>(to)].push_back(std::move(waiting));
  return false;
}

bool PlayedMail::send_own_now(Rank to, const ActiveMessage& message) noexcept {
  if (to == me_ || !waiting_[static_cast<std::size_t>(to)].empty()) return false;
  if (!post_.has_room(me_, to)) return false;
  post_.put(me_, to, letter_of(message, message.payload));
  return true;
}

int PlayedMail::flush(Rank to) {
  std::deque<Waiting>& queue = waiting_[static_cast<std::size_t>(to)];
  int events = 0;
  for (std::size_t left = queue.size(); left > 0; --left, ++events) {
    const bool lost = post_.dead == to;
    if (!lost && !post_.has_room(me_, to)) break;
    Waiting waiting = std::move(queue.front());
    queue.pop_front();
    if (waiting.lent != nullptr) waiting.letter = letter_of(waiting.letter.message, waiting.lent);
    if (!lost) post_.put(me_, to, std::move(waiting.letter));
    waiting.finish.function(waiting.finish.context,
                            lost ? Status(ESP_ERR_PEER_DIED, to) : Status());
  }
  return events;
}

int PlayedMail::progress() {
  int events = 0;
  for (std::uint32_t to = 0; to < post_.ranks(); ++to) events += flush(static_cast<Rank>(to));
  return events;
}

bool PlayedMail::idle() const noexcept {
  return std::all_of(waiting_.begin(), waiting_.end(),
                     [](const auto& queue) { return queue.empty(); });
}

void PlayedMail::close(Status status) {
  for (std::deque<Waiting>& queue : waiting_) {
    for (const Waiting& waiting : std::exchange(queue, {})) {
      waiting.finish.function(waiting.finish.context, status);
    }
  }
}

}  // namespace espalier::swarm
