// One wire to every rank, for remote access.
#pragma once

#include <span>

#include "net/remote_access.hpp"

namespace espalier {

class OneRoute final : public net::FrameRoutes {
 public:
  explicit OneRoute(net::FrameWire& wire) noexcept : wire_(&wire) {}
  net::FrameWire* frames_to(Rank) noexcept override { return wire_; }
  std::span<net::FrameWire* const> all_frames() const noexcept override { return {&wire_, 1}; }

 private:
  net::FrameWire* wire_;
};

}  // namespace espalier
