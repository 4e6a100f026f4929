#include "tests/harness/letters.hpp"

namespace espalier::test {

Letters::Letters(sim::World& world)
    : world_(world), prng_(world.options().seed ^ 0x6c6574746572ULL) {
  for (std::uint32_t r = 0; r < world.ranks(); ++r) {
    ends_.push_back(std::make_unique<End>(*this, static_cast<Rank>(r)));
  }
}

void Letters::post(Rank from, Rank to, std::span<const std::byte> letter) {
  ESP_ASSERT(letter.size() <= rdma::kLetterBytes);
  ++posted_;
  const bool faulty = world_.faults_on();
  if (world_.parted(from, to) || (faulty && prng_.chance(world_.faults().loss))) return;
  launch(from, to, letter);
  if (faulty && prng_.chance(world_.faults().duplicate)) launch(from, to, letter);
}

void Letters::launch(Rank from, Rank to, std::span<const std::byte> letter) {
  all_.push_back(std::make_unique<Letter>());
  Letter& made = *all_.back();
  made.letters = this;
  made.number = all_.size();
  made.from = from;
  made.to = to;
  made.bytes.assign(letter.begin(), letter.end());
  std::uint64_t time = world_.depart(from, to, letter.size()).there_ns + world_.draw_delay();
  // Some are late by much: they belong to a handshake that is over.
  if (world_.faults_on() && prng_.chance(world_.faults().reorder)) {
    time += prng_.below(prng_.chance(0.2) ? 20'000'000 : 20'000);
  }
  world_.schedule(made, to, std::max(time, world_.clogged_until(from, to)));
}

void Letters::arrive(Letter& letter) {
  End& end = *ends_[static_cast<std::size_t>(letter.to)];
  if (end.box == nullptr || world_.crashed(letter.to)) return;
  end.box->letter(letter.from, letter.bytes);
  world_.wake(letter.to);
}

}  // namespace espalier::test
