// PeerLife: what a link knows of the life of one peer: who has said goodbye, who is sought, whether
// the peer is lost, why, and whether the sink has been told. The rules are the same for all links:
//
//   goodbye   Each side says it once, behind all that it has posted. What is posted after it is
//             done without effect.
//   silence   A peer that has said goodbye may fall silent and go, unless somebody waits for it
//             (seek()) since it was heard last.
//   loss      For good, and the sink is told once. A peer that went after its goodbye, while nobody
//             sought it and nothing was owed to it, went *quietly*: the sink is told when somebody
//             needs it (miss()), and never if this side has said goodbye, too.
//
// How a goodbye travels, what is owed to a peer and when its silence is long enough is the link's.
// Value. Threads: owner. path: data
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/status.hpp"

namespace espalier::net {

class PeerLife {
 public:
  // Nothing more is posted to it.
  void part() noexcept { parts_ = true; }
  // The goodbye is on its way, behind everything else.
  void goodbye_said() noexcept { said_ = true; }
  // A goodbye has come: the peer posts nothing more.
  void leave() noexcept { left_ = true; }
  void heard() noexcept { sought_ = false; }
  // What keeps it from being reached, while it is not lost.
  void note(std::string trouble) noexcept { text_ = std::move(trouble); }
  // Somebody waits for it.
  void seek() noexcept { sought_ = true; }

  bool parts() const noexcept { return parts_; }
  bool has_said_goodbye() const noexcept { return said_; }
  bool goodbye_due() const noexcept { return parts_ && !said_ && !lost(); }
  bool has_left() const noexcept { return left_; }
  bool lost() const noexcept { return end_ != End::kNone; }
  // It has gone, and nobody has needed it since.
  bool went_quietly() const noexcept { return end_ == End::kQuiet; }
  // Otherwise a post is done without effect.
  bool takes_posts() const noexcept { return !parts_ && !lost(); }
  bool silence_is_a_fault() const noexcept { return !left_ || sought_; }
  // It is lost: the status that what was posted ends with.
  const Status& why() const noexcept { return why_; }
  // For people: why it is lost, or what note() has said.
  const std::string& text() const noexcept { return text_; }

  // The link loses it; `owes_nothing`: to it, but perhaps this side's goodbye. False: it was lost.
  bool lose(Rank rank, Error why, bool owes_nothing) noexcept {
    if (lost()) return false;
    why_ = Status(why.status.code(), rank, why.status.error_number());
    text_ = std::move(why.text);
    const bool may_go = !silence_is_a_fault() && owes_nothing;
    end_ = may_go && why_.code() == ESP_ERR_PEER_DIED ? End::kQuiet : End::kUntold;
    return true;
  }
  // Somebody needs it. True: it has gone quietly, and the sink is to be told now.
  bool miss() noexcept {
    if (parts_ || end_ != End::kQuiet) return false;
    end_ = End::kUntold;
    return true;
  }
  // True, once: the sink is to be told, by the caller.
  bool take_news() noexcept {
    if (end_ != End::kUntold) return false;
    end_ = End::kTold;
    return true;
  }

 private:
  enum class End : std::uint8_t { kNone, kUntold, kTold, kQuiet };

  bool parts_ = false, said_ = false;
  bool left_ = false, sought_ = false;
  End end_ = End::kNone;
  Status why_;
  std::string text_;
};

}  // namespace espalier::net
