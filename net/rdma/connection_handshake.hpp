// ConnectionHandshake: how two ranks agree on a connection, over letters that may be lost, repeated
// or overtaken.
//
//   asker                      answerer
//   request(e, end, expected)  ->          makes an end, connects it, may receive
//                        <-  reply(e, end, expected)
//   connects, may send;  ready(e)  ->      may send
//
// Attempts are numbered by epochs; each is the successor of the highest that its asker knows, so
// any letter of an earlier one is told by its number and ignored. Both may ask at once with the
// same number: then the request of the lower rank counts, and the other side answers it. Request
// and reply are repeated until they are answered; a repeated reply is answered by a repeated ready,
// and the asker's first message on the connection is as good as one.
//
// Who has no end to answer with says so (no room), whenever it is asked with that number: the asker
// gives its end back.
//
// Each letter says how many messages its sender has got on all connections before (`expected`: the
// number of the next), which is fixed before the letter is sent because the old end takes nothing
// in any more. So what was under way when a connection broke is sent again from there, once.
//
// This is the state machine and the letters' layout alone; ConnectionLink owns ends and timers.
// Value. Threads: owner. path: slow
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/status.hpp"
#include "net/rdma/connection_port.hpp"

namespace espalier::rdma {

enum class LetterKind : std::uint8_t { kRequest = 1, kReply, kReady, kNoRoom };

struct Letter {
  LetterKind kind = LetterKind::kRequest;
  std::uint32_t epoch = 0;
  std::uint32_t window = 0;    // request, reply: messages that the sender of the letter can take
  std::uint64_t expected = 0;  // request, reply
  ConnectionAddress end;       // request, reply

  static constexpr std::size_t kBytes = 64;
};

std::array<std::byte, Letter::kBytes> letter_bytes(const Letter& letter) noexcept;
// Bytes from elsewhere: an error names what is wrong.
Result<Letter> parse_letter(std::span<const std::byte> bytes) noexcept;

class ConnectionHandshake {
 public:
  enum class State : std::uint8_t {
    kIdle,       // no connection, nobody has asked
    kAsking,     // request sent
    kAnswering,  // reply sent: may receive, not send
    kUp,
    kRefused,  // the peer has asked, and there is no room
  };
  // What a letter asks the owner to do.
  enum class Step : std::uint8_t {
    kNothing,
    kAnswer,        // end what there is, make a new end, connect it to the letter's, reply
    kRepeatAnswer,  // the same reply once more
    kConnect,       // connect the end that was asked with to the letter's, send ready
    kRepeatReady,
    kGo,             // the peer is ready: send
    kRepeatRefusal,  // say once more that there is no room
    kNoRoom,         // the end that was asked with is of no use
  };

  // `precedes`: this side's request counts when both ask at once; true at exactly one of the two.
  explicit ConnectionHandshake(bool precedes) noexcept : precedes_(precedes) {}

  State state() const noexcept { return state_; }
  std::uint32_t epoch() const noexcept { return epoch_; }
  bool up() const noexcept { return state_ == State::kUp; }
  // The present connection, or attempt, is of this side's asking.
  bool asked() const noexcept { return asked_; }

  // The owner has made a new end and sends a request with epoch().
  void ask() noexcept {
    ++epoch_;
    state_ = State::kAsking;
    asked_ = true;
  }
  // The connection is no more, and nobody needs a new one now.
  void rest() noexcept { state_ = State::kIdle; }
  // The owner cannot do what kAnswer says, and says that there is no room.
  void refuse() noexcept { state_ = State::kRefused; }
  Step receive(LetterKind kind, std::uint32_t epoch) noexcept;
  // A message has come on the connection.
  void heard() noexcept {
    if (state_ == State::kAnswering) state_ = State::kUp;
  }

 private:
  Step receive_request(std::uint32_t epoch) noexcept;

  bool precedes_;
  bool asked_ = false;
  State state_ = State::kIdle;
  std::uint32_t epoch_ = 0;
};

}  // namespace espalier::rdma
