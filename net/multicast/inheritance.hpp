// Inheritance: what the successor of a dead source learns of its packets: who holds which, where
// they end, and who has still to be told.
//
// Every member reports what it holds, together with what it knows of deaths (its view), and takes
// nothing of the dead source from the network after that. When all reports carry the successor's
// view, the packets end at the first that no living member holds: it cannot appear any more. After
// another death all report again.
//
// Values; made at a death, or by the first report. Threads: owner. path: slow
#pragma once

#include <vector>

#include "net/multicast/dead_members.hpp"
#include "net/multicast/packet.hpp"

namespace espalier::multicast {

class Inheritance {
 public:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  explicit Inheritance(std::uint32_t members) : reports_(members), owed_(members) {}

  // Bit i of `early`: it holds packet expected + 1 + i.
  void report(std::uint32_t member, std::uint64_t view, Sequence expected,
              const rdma::ArrivalBits& early) {
    reports_[member] = {true, view, expected, early};
  }
  // All living members have reported with this view.
  bool complete(std::uint64_t view, const DeadMembers& dead) const noexcept;
  // The first packet that nobody holds. All have reported.
  Sequence end(const DeadMembers& dead) const noexcept;
  // kNobody: no living member but `me` holds it.
  std::uint32_t holder(Sequence sequence, std::uint32_t me, const DeadMembers& dead) const noexcept;

  // All living members but `me` are to be told.
  void owe_all(std::uint32_t me, const DeadMembers& dead);
  // Who is to be told next; kNobody: nobody.
  std::uint32_t next_owed() noexcept;
  void told(std::uint32_t member) noexcept { owed_[member] = false; }
  void owe_nobody() noexcept { owed_.assign(owed_.size(), false); }

 private:
  struct Report {
    bool known = false;
    std::uint64_t view = 0;
    Sequence expected;
    rdma::ArrivalBits early;
    bool holds(Sequence sequence) const noexcept;
  };

  std::vector<Report> reports_;
  std::vector<bool> owed_;
};

}  // namespace espalier::multicast
