// StingyLink: a link that often has no room, for the layers above it. Everything else is done by
// the link that it wraps.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/prng.hpp"
#include "net/link.hpp"

namespace espalier::test {

class StingyLink final : public net::Link {
 public:
  StingyLink(std::unique_ptr<net::Link> inner, double refuse, std::uint64_t seed)
      : inner_(std::move(inner)), refuse_(refuse), prng_(seed) {}

  Posted post(Rank peer, const net::FrameHeader& header, const void* payload,
              Completion& completion) noexcept override {
    if (prng_.chance(refuse_)) return Posted::kRetry;
    return inner_->post(peer, header, payload, completion);
  }

  net::LinkCaps caps(Rank peer) const noexcept override { return inner_->caps(peer); }
  void withdraw(Rank peer, Completion& completion) noexcept override {
    inner_->withdraw(peer, completion);
  }
  void redirect(Rank from, std::byte* payload) noexcept override {
    inner_->redirect(from, payload);
  }
  void reach(Rank peer) noexcept override { inner_->reach(peer); }
  void lose(Rank peer, Error why) noexcept override { inner_->lose(peer, std::move(why)); }
  int progress(net::FrameSink& sink) noexcept override { return inner_->progress(sink); }
  int descriptor() const noexcept override { return inner_->descriptor(); }
  bool arm() noexcept override { return inner_->arm(); }
  std::uint64_t deadline_ns() const noexcept override { return inner_->deadline_ns(); }
  void say_goodbye(Rank peer) noexcept override { inner_->say_goodbye(peer); }
  void say_goodbye_to_all() noexcept override { inner_->say_goodbye_to_all(); }
  bool drained() const noexcept override { return inner_->drained(); }
  std::string describe(Rank peer) const override { return inner_->describe(peer); }

 private:
  std::unique_ptr<net::Link> inner_;
  double refuse_;
  Prng prng_;
};

}  // namespace espalier::test
