#include "tests/harness/accesses.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tests/harness/payload.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kBytesMax = 20'000;

}  // namespace

struct Accesses::Lane : Completion {
  Lane() : Completion(on_end) {}

  Accesses* all = nullptr;
  Rank from = kNoRank, to = kNoRank;
  std::vector<std::byte> local, place;  // at the origin, at the target
  net::RemoteMemory there;
  std::uint32_t left = 0;
  bool pending = false, gets = false, whim = false;
  std::uint64_t bytes = 0, seed = 0;
};

Accesses::Accesses(std::uint32_t ranks, std::uint32_t count, double whims, std::uint64_t seed)
    : ranks_(ranks), whims_(whims), prng_(seed), registered_(ranks) {
  if (count == 0) return;
  for (std::uint32_t i = 0; i < ranks * ranks; ++i) {
    lanes_.push_back(std::make_unique<Lane>());
    Lane& lane = *lanes_.back();
    lane.all = this;
    lane.from = static_cast<Rank>(i / ranks);
    lane.to = static_cast<Rank>(i % ranks);
    if (lane.from == lane.to) continue;
    lane.left = count;
    lane.local.resize(kBytesMax);
    lane.place.resize(kBytesMax);
  }
}

Accesses::~Accesses() = default;

void Accesses::expose(const std::vector<rdma::ConnectionLink*>& links) {
  links_ = links;
  for (const auto& one : lanes_) {
    Lane& lane = *one;
    if (lane.left == 0) continue;
    rdma::ConnectionLink& target = *links[static_cast<std::size_t>(lane.to)];
    for (int tries = 0; tries < 100 && lane.there.address == 0; ++tries) {  // memory may be short
      lane.there = target.expose(lane.place.data(), kBytesMax);
    }
    ESP_ASSERT(lane.there.address != 0);
    ++registered_[static_cast<std::size_t>(lane.to)];
    // Where it cannot be registered it is copied.
    rdma::ConnectionLink& origin = *links[static_cast<std::size_t>(lane.from)];
    const bool adds = prng_.chance(0.5) && origin.memory().add(lane.local.data(), kBytesMax).ok();
    registered_[static_cast<std::size_t>(lane.from)] += adds ? 1 : 0;
  }
}

Accesses::Turn Accesses::turn(Rank from, Rank to) {
  Lane& l = lane(from, to);
  rdma::ConnectionLink& link = *links_[static_cast<std::size_t>(from)];
  if (l.pending) {
    if (!l.whim || !prng_.chance(0.3)) return Turn::kNothing;
    link.withdraw(to, l);
    l.pending = l.gets = l.whim = false;
    fill(l.local.data(), kBytesMax, prng_.next());  // The user has it back.
    return Turn::kDone;
  }
  if (l.left == 0) return Turn::kNothing;
  if (!l.gets) {
    l.bytes = 1 + prng_.below(prng_.chance(0.5) ? 200 : kBytesMax);
    l.seed = prng_.next();
    fill(l.local.data(), l.bytes, l.seed);
  }
  const bool taken = l.gets ? link.get(to, l.local.data(), l.bytes, l.there, l)
                            : link.put(to, l.local.data(), l.bytes, l.there, l);
  if (!taken) return Turn::kRefused;
  --l.left;
  l.pending = true;
  l.whim = prng_.chance(whims_);
  return Turn::kDone;
}

void Accesses::end(Rank from, Rank to) {
  lane(from, to).left = 0;
}

bool Accesses::done(Rank from, Rank to) const {
  return lanes_.empty() || (lane(from, to).left == 0 && !lane(from, to).pending);
}

bool Accesses::open(Rank from) const {
  for (std::uint32_t to = 0; to < ranks_ && !lanes_.empty(); ++to) {
    if (lane(from, static_cast<Rank>(to)).pending) return true;
  }
  return false;
}

void Accesses::on_end(Completion& completion, Status status) noexcept {
  auto& l = static_cast<Lane&>(completion);
  if (!l.pending) l.all->failure_ = "an access ends that must not";
  l.pending = l.whim = false;
  if (!status.ok()) {
    l.gets = false;
    if (status.rank() != l.to) l.all->failure_ = "an access fails for somebody else";
    return;
  }
  l.all->check(l);
}

void Accesses::check(Lane& l) {
  const char* wrong = nullptr;
  if (!holds(l.place.data(), l.bytes, l.seed)) wrong = l.gets ? "put again" : "not what was put";
  if (l.gets && !holds(l.local.data(), l.bytes, l.seed)) wrong = "not what was got";
  if (wrong != nullptr) {
    failure_ = fmt::format("rank {} at rank {}, {} bytes: {}", l.from, l.to, l.bytes, wrong);
  }
  if (!l.gets) fill(l.place.data(), l.bytes, l.seed = prng_.next());
  l.gets = !l.gets;
}

}  // namespace espalier::test
