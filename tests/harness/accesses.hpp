// Accesses: puts and gets between the ranks of a LinkJob, beside its frames. Each
// rank has a place in the memory of each other. What has been put is looked at there and
// overwritten at once, as its target might; the get that follows must find that.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/prng.hpp"
#include "net/rdma/connection_link.hpp"

namespace espalier::test {

class Accesses {
 public:
  // `count` of each rank to each other, of which a share of `whims` is taken back.
  Accesses(std::uint32_t ranks, std::uint32_t count, double whims, std::uint64_t seed);
  ~Accesses();
  // The links live as long as something may be under way.
  void expose(const std::vector<rdma::ConnectionLink*>& links);

  // Starts the next, or takes back what is under way. kRefused: the link does not do it (now).
  enum class Turn { kDone, kNothing, kRefused };
  Turn turn(Rank from, Rank to);
  // The target is lost: no more is started.
  void end(Rank from, Rank to);
  bool done(Rank from, Rank to) const;
  // Is one of `from` under way?
  bool open(Rank from) const;
  // Pieces of memory of `rank` that are registered for all this time.
  std::size_t registered(Rank rank) const noexcept {
    return registered_[static_cast<std::size_t>(rank)];
  }
  // The first thing that was wrong.
  const std::string& failure() const noexcept { return failure_; }

 private:
  struct Lane;
  static void on_end(Completion& completion, Status status) noexcept;
  void check(Lane& lane);
  Lane& lane(Rank from, Rank to) const {
    return *lanes_[static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to)];
  }

  const std::uint32_t ranks_;
  const double whims_;
  Prng prng_;
  std::vector<rdma::ConnectionLink*> links_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by origin and target
  std::vector<std::size_t> registered_;       // by rank
  std::string failure_;
};

}  // namespace espalier::test
