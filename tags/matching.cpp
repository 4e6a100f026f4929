#include "tags/matching.hpp"

#include "core/plant.hpp"

namespace espalier {
namespace {

TagKey key_of(const TagPattern& pattern) noexcept {
  if (pattern.is_exact()) return {pattern.team, pattern.source, pattern.tag};
  return {pattern.team, kNoRank, 0};
}

PostedReceive* receive_of(KeyedQueues::Node* node) noexcept {
  return static_cast<PostedReceive*>(node);
}
UnexpectedMessage* message_by_key(KeyedQueues::Node* node) noexcept {
  return node != nullptr ? static_cast<UnexpectedMessage*>(static_cast<ByKey*>(node)) : nullptr;
}
UnexpectedMessage* message_by_team(KeyedQueues::Node* node) noexcept {
  return node != nullptr ? static_cast<UnexpectedMessage*>(static_cast<ByTeam*>(node)) : nullptr;
}

}  // namespace

bool Matching::post(PostedReceive& receive) noexcept {
  receive.number = ++numbers_;
  if (!posted_.push_back(key_of(receive.pattern), receive)) return false;
  if (!receive.pattern.is_exact()) ++wildcards_;
  return true;
}

void Matching::withdraw(PostedReceive& receive) noexcept {
  if (!receive.pattern.is_exact()) --wildcards_;
  posted_.remove(receive);
}

PostedReceive* Matching::take_receive(const TagKey& key) noexcept {
  PostedReceive* found = receive_of(posted_.front(key));
  if (wildcards_ > 0) {
    PostedReceive* wild = receive_of(posted_.front({key.team, kNoRank, 0}));
    const std::uint64_t before =
        ESP_PLANT(85, found != nullptr, false) ? found->number : ~std::uint64_t{0};
    while (wild != nullptr && wild->number < before && !wild->pattern.fits(key)) {
      wild = receive_of(posted_.after(*wild));
    }
    if (wild != nullptr && wild->number < before) found = wild;
  }
  if (found != nullptr) withdraw(*found);
  return found;
}

bool Matching::keep(UnexpectedMessage& message) noexcept {
  if (!messages_.push_back(message.key, static_cast<ByKey&>(message))) return false;
  if (teams_.push_back({message.key.team, kNoRank, 0}, static_cast<ByTeam&>(message))) return true;
  messages_.remove(static_cast<ByKey&>(message));
  return false;
}

void Matching::take(UnexpectedMessage& message) noexcept {
  messages_.remove(static_cast<ByKey&>(message));
  teams_.remove(static_cast<ByTeam&>(message));
}

UnexpectedMessage* Matching::find(const TagPattern& pattern) const noexcept {
  if (messages_.empty()) return nullptr;
  if (pattern.is_exact()) return message_by_key(messages_.front(key_of(pattern)));
  KeyedQueues::Node* node = teams_.front({pattern.team, kNoRank, 0});
  while (node != nullptr && !pattern.fits(message_by_team(node)->key)) node = teams_.after(*node);
  return message_by_team(node);
}

UnexpectedMessage* Matching::any_of(std::uint32_t team) const noexcept {
  return message_by_team(teams_.front({team, kNoRank, 0}));
}

UnexpectedMessage* Matching::any() const noexcept {
  return message_by_key(messages_.any());
}

}  // namespace espalier
