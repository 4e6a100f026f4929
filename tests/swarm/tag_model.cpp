#include "tests/swarm/tag_model.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::swarm {
namespace {

constexpr std::byte kUntouched{0xee};

std::vector<std::byte> content_of(std::uint64_t message, std::uint64_t bytes) {
  std::vector<std::byte> content(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    content[i] = static_cast<std::byte>((message * 0x9e3779b97f4a7c15ULL + i * 167) >> 5);
  }
  return content;
}

}  // namespace

void TagMemory::create(const Pattern* pattern, std::uint64_t elements) {
  pattern_ = pattern;
  bytes_ = elements * (pattern != nullptr ? pattern->packed_bytes() : 1);
  memory_.assign(elements * (pattern != nullptr ? pattern->extent_bytes() : 1) + 16, kUntouched);
}

TagBlock TagMemory::block() noexcept {
  return {bytes_ > 0 ? memory_.data() : nullptr, bytes_, pattern_};
}

void TagMemory::fill(std::uint64_t message) {
  const std::vector<std::byte> content = content_of(message, bytes_);
  if (pattern_ == nullptr) {
    std::copy(content.begin(), content.end(), memory_.begin());
  } else {
    pattern_->unpack(memory_.data(), content.data(), 0, bytes_);
  }
}

void TagMemory::spoil() {
  std::fill(memory_.begin(), memory_.end(), std::byte{0x55});
}

bool TagMemory::holds(std::uint64_t message, std::uint64_t bytes) const {
  std::vector<std::byte> expected(memory_.size(), kUntouched);
  const std::vector<std::byte> content = content_of(message, bytes);
  if (pattern_ == nullptr) {
    std::copy(content.begin(), content.end(), expected.begin());
  } else {
    pattern_->unpack(expected.data(), content.data(), 0, bytes);
  }
  return expected == memory_;
}

void TagModel::meet(TagOp& receive, TagOp& send) {
  receive.met = &send;
  send.met = &receive;
}

std::string TagModel::arrive(Rank from, const ActiveMessage& message) {
  std::deque<TagOp*>& queue = under_way[from];
  if (queue.empty()) return fmt::format("a message of rank {} that was not sent", from);
  TagOp& send = *queue.front();
  queue.pop_front();
  send.over = true;
  send.announced = message.id == kTagAnnounced;
  const std::uint64_t bytes = send.memory.bytes();
  if (message.context != send.team->id || message.argument != send.tag) {
    return fmt::format("message {} comes with team {} and tag {}", send.number, message.context,
                       message.argument);
  }
  if (!send.announced && message.bytes != bytes) {
    return fmt::format("message {} comes with {} bytes", send.number, message.bytes);
  }
  const auto met = std::find_if(posted_.begin(), posted_.end(), [&](const TagOp* receive) {
    return receive->fits(send.team->id, from, send.tag);
  });
  if (met != posted_.end()) {
    meet(**met, send);
    posted_.erase(met);
    return {};
  }
  waiting_.push_back(&send);
  if (!send.announced) kept_[from] += bytes + kOverhead;
  for (TagOp* probe : probes_) {
    probe->due = probe->due || probe->fits(send.team->id, from, send.tag);
  }
  return {};
}

TagOp* TagModel::first_for(const TagOp& asked) const {
  const auto first = std::find_if(waiting_.begin(), waiting_.end(), [&](const TagOp* send) {
    return asked.fits(send->team->id, send->source(), send->tag);
  });
  return first == waiting_.end() ? nullptr : *first;
}

TagOp* TagModel::post(TagOp& receive) {
  TagOp* send = first_for(receive);
  if (send == nullptr) {
    posted_.push_back(&receive);
    return nullptr;
  }
  claim(*send);
  meet(receive, *send);
  forget_bytes(*send);
  return send;
}

void TagModel::forget_bytes(const TagOp& send) {
  if (!send.announced) kept_[send.source()] -= send.memory.bytes() + kOverhead;
}

std::uint64_t TagModel::kept(Rank from) const {
  const auto found = kept_.find(from);
  return found == kept_.end() ? 0 : found->second;
}

bool TagModel::settled() const {
  return waiting_.empty() && posted_.empty() &&
         std::all_of(under_way.begin(), under_way.end(),
                     [](const auto& pair) { return pair.second.empty(); });
}

}  // namespace espalier::swarm
