// Postman: carries short letters between ranks before there is a connection; they may be lost,
// repeated or overtaken, but not damaged, and come from whom they say they do.
//
// The making of connections (net/rdma/connection_link.hpp) is written against it; datagrams carry
// the letters. Ownership: letters are copied. Threads: the owner of the worker. path: slow
#pragma once

#include <cstddef>
#include <span>

#include "core/status.hpp"

namespace espalier::rdma {

inline constexpr std::size_t kLetterBytes = 256;

class LetterBox {
 public:
  // Called from progress() of whoever carries the letters; the bytes are valid inside the call.
  virtual void letter(Rank from, std::span<const std::byte> letter) noexcept = 0;

 protected:
  ~LetterBox() = default;
};

class Postman {
 public:
  // At most kLetterBytes. No answer is no promise: whoever needs one asks again.
  virtual void post(Rank to, std::span<const std::byte> letter) noexcept = 0;
  // To whom letters go from now on; nullptr: nobody, they are lost.
  virtual void deliver_to(LetterBox* box) noexcept = 0;

 protected:
  ~Postman() = default;
};

}  // namespace espalier::rdma
