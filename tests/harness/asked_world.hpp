// AskedWorld: another world, in which every send and receive asks for one Transfer.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tests/harness/world.hpp"

namespace espalier::test {

class AskedWire final : public Wire {
 public:
  AskedWire(Wire& wire, const Transfer& transfer) : wire_(wire), transfer_(transfer) {}

  WireCaps caps(Rank peer) const noexcept override { return wire_.caps(peer); }
  Posted send(const Send& send, SendOp& op) noexcept override {
    return wire_.send(asked(send), op);
  }
  std::unique_ptr<Group> open_group(std::span<const Rank> readers) override {
    return wire_.open_group(readers);
  }
  void join_group(std::uint32_t team, std::shared_ptr<const std::vector<Rank>> members) override {
    wire_.join_group(team, std::move(members));
  }
  Posted publish(const Send& send, const Group& group, SendOp& op) noexcept override {
    return wire_.publish(asked(send), group, op);
  }
  Posted recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept override {
    op.transfer = transfer_;
    return wire_.recv(segment, window, op);
  }
  Posted take(const SegmentId& segment, RecvOp& op) noexcept override {
    op.transfer = transfer_;
    return wire_.take(segment, op);
  }
  void release(RecvOp& op) noexcept override { wire_.release(op); }
  void cancel(RecvOp& op) noexcept override { wire_.cancel(op); }
  void cancel(SendOp& op) noexcept override { wire_.cancel(op); }
  int progress() noexcept override { return wire_.progress(); }
  bool flush() noexcept override { return wire_.flush(); }
  void idle() noexcept override { wire_.idle(); }

 private:
  Send asked(Send send) const noexcept {
    send.transfer = transfer_;
    return send;
  }

  Wire& wire_;
  const Transfer transfer_;
};

class AskedWorld final : public World {
 public:
  AskedWorld(std::unique_ptr<World> inner, const Transfer& transfer)
      : inner_(std::move(inner)), bounded_(transfer.readers_at_once > 0) {
    for (Rank r = 0; r < inner_->size(); ++r) {
      wires_.push_back(std::make_unique<AskedWire>(inner_->wire(r), transfer));
    }
  }

  int size() const noexcept override { return inner_->size(); }
  Wire& wire(Rank r) noexcept override { return *wires_[static_cast<std::size_t>(r)]; }
  std::byte* shared(Rank r, std::uint64_t bytes) override { return inner_->shared(r, bytes); }
  void close(Rank r) noexcept override {
    wires_[static_cast<std::size_t>(r)].reset();
    inner_->close(r);
  }
  void rest() noexcept override { inner_->rest(); }
  bool gives_buffers_back() const noexcept override { return inner_->gives_buffers_back(); }
  // Of a bounded publication some readers have not been told yet.
  bool loses_what_is_taken_back() const noexcept override {
    return bounded_ || inner_->loses_what_is_taken_back();
  }

 private:
  std::unique_ptr<World> inner_;
  const bool bounded_;
  std::vector<std::unique_ptr<AskedWire>> wires_;
};

}  // namespace espalier::test
