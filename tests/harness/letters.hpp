// Letters: a Postman between the ranks of a simulated World that loses, repeats and delays letters
// as the world's faults say (loss, duplicate, delay, partitions; a crashed rank gets none).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/prng.hpp"
#include "net/rdma/postman.hpp"
#include "net/sim/world.hpp"

namespace espalier::test {

class Letters {
 public:
  explicit Letters(sim::World& world);

  rdma::Postman& postman(Rank rank) noexcept { return *ends_[static_cast<std::size_t>(rank)]; }
  std::uint64_t posted() const noexcept { return posted_; }

 private:
  struct End final : rdma::Postman {
    End(Letters& letters_, Rank rank_) noexcept : letters(letters_), rank(rank_) {}
    void post(Rank to, std::span<const std::byte> letter) noexcept override {
      letters.post(rank, to, letter);
    }
    void deliver_to(rdma::LetterBox* to) noexcept override { box = to; }
    Letters& letters;
    const Rank rank;
    rdma::LetterBox* box = nullptr;
  };
  struct Letter final : sim::Happening {
    void happen() noexcept override { letters->arrive(*this); }
    std::uint64_t mark() const noexcept override { return number; }
    Letters* letters = nullptr;
    std::uint64_t number = 0;
    Rank from = kNoRank, to = kNoRank;
    std::vector<std::byte> bytes;
  };

  void post(Rank from, Rank to, std::span<const std::byte> letter);
  void launch(Rank from, Rank to, std::span<const std::byte> letter);
  void arrive(Letter& letter);

  sim::World& world_;
  Prng prng_;
  std::vector<std::unique_ptr<End>> ends_;
  std::vector<std::unique_ptr<Letter>> all_;
  std::uint64_t posted_ = 0;
};

}  // namespace espalier::test
