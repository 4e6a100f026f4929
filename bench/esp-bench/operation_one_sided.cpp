// Operation: puts, gets, fetch-adds and active messages, all by rank 0 on rank 1.
//
// What rank 0 does is what is timed. Rank 1 meanwhile drives progress, as a target on another node
// must, until the last message of the batch has come: it is sent when the clock has been read. Of a
// stream of messages the time ends where rank 1 has handled the last one, so there it is sent
// before.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "esp-bench/operation.hpp"

namespace espalier::bench {
namespace {

constexpr std::uint64_t kLast = ~std::uint64_t{0};  // argument of the last message of a batch
constexpr std::size_t kPutWindow = 64;              // started at a time, as messages are

}  // namespace

// The region has the layout of a ring; the word to be counted in lies behind it.
void Operation::open_one_sided(std::size_t ring) {
  remote_ = OneSided::open(backend_, ring + sizeof(std::uint64_t));
  if (remote_ == nullptr) throw std::runtime_error("this library has no one-sided operations");
  if (is_message(kind_) && bytes_ > remote_->message_bytes_max()) {
    refusal_ = "messages have at most " + std::to_string(remote_->message_bytes_max()) + " bytes";
  }
  counter_offset_ = ring;
  old_.resize(slots_);
  remote_->on_message(&Operation::on_message, this);
}

// Argument: the slot, or kLast. Rank 1 answers each message of a ping-pong.
void Operation::on_message(void* self, std::uint64_t argument, const void* payload,
                           std::size_t bytes) {
  auto& here = *static_cast<Operation*>(self);
  ++here.heard_;
  if (argument == kLast) {
    here.is_over_ = true;
    return;
  }
  std::memcpy(here.output(argument), payload, bytes);
  if (here.kind_ == OpKind::kMessageLatency && here.backend_.rank() == 1) {
    here.remote_->start_message(here.input(argument), bytes, 0, argument);
  }
}

void Operation::run_one_sided(std::size_t calls) {
  if (backend_.rank() > 1) return;
  if (backend_.rank() == 1) {
    while (!is_over_) remote_->progress();
    is_over_ = false;
    remote_->wait_all();
    return;
  }
  heard_ = 0;
  for (std::size_t done = 0; done < calls; done += kPutWindow) {
    const std::size_t end = std::min(calls, done + kPutWindow);
    for (std::size_t slot = done; slot < end; ++slot) call_one_sided(slot);
    remote_->wait_all();
  }
  if (kind_ == OpKind::kMessageRate) remote_->message(nullptr, 0, 1, kLast);
}

void Operation::call_one_sided(std::size_t slot) {
  const std::size_t offset = slot * strides_[0];
  switch (kind_) {
    case OpKind::kPutLatency:
      return remote_->put(input(slot), bytes_, 1, offset);
    case OpKind::kPutBandwidth:
      return remote_->start_put(input(slot), bytes_, 1, offset);
    case OpKind::kGetLatency:
      return remote_->get(output(slot), bytes_, 1, offset);
    case OpKind::kGetBandwidth:
      return remote_->start_get(output(slot), bytes_, 1, offset);
    case OpKind::kFetchAddLatency:
      old_[slot] = remote_->fetch_add(1, counter_offset_, 1);
      return;
    case OpKind::kFetchAddRate:
      return remote_->start_fetch_add(1, counter_offset_, 1, &old_[slot]);
    case OpKind::kMessageLatency: {
      const std::size_t before = heard_;
      remote_->message(input(slot), bytes_, 1, slot);
      while (heard_ == before) remote_->progress();
      return;
    }
    default:
      return remote_->start_message(input(slot), bytes_, 1, slot);
  }
}

// Not timed: the clock has been read.
void Operation::end_batch() {
  if (remote_ == nullptr || kind_ == OpKind::kMessageRate) return;
  if (backend_.rank() == 0) remote_->message(nullptr, 0, 1, kLast);
}

// A get reads what rank 1 has in its memory.
void Operation::rewrite_one_sided(std::size_t slot, unsigned round) {
  const bool is_get = kind_ == OpKind::kGetLatency || kind_ == OpKind::kGetBandwidth;
  if (is_get && backend_.rank() == 1) {
    fill_slot(reinterpret_cast<float*>(remote_->memory() + slot * strides_[0]), bytes_, 1, slot,
              round);
  } else if (!is_get && backend_.rank() < 2) {
    fill_slot(input(slot), bytes_, backend_.rank(), slot, round);
  }
}

// Rank 0 alone counts there, so each finds another of the numbers in a row; those that were started
// together in any order.
bool Operation::verify_fetch_adds(std::size_t calls) const {
  if (!is_fetch_add(kind_) || backend_.rank() != 0) return true;
  std::vector<std::uint64_t> found(old_.begin(), old_.begin() + static_cast<std::ptrdiff_t>(calls));
  std::sort(found.begin(), found.end());
  for (std::size_t i = 1; i < calls; ++i) {
    if (found[i] != found[i - 1] + 1) return false;
  }
  return true;
}

bool Operation::verify_one_sided(std::size_t slot) const {
  const int rank = backend_.rank();
  switch (kind_) {
    case OpKind::kPutLatency:
    case OpKind::kPutBandwidth:
      return rank != 1 || is_slot(reinterpret_cast<float*>(remote_->memory() + slot * strides_[0]),
                                  bytes_, 0, slot);
    case OpKind::kGetLatency:
    case OpKind::kGetBandwidth:
      return rank != 0 || is_slot(output(slot), bytes_, 1, slot);
    case OpKind::kFetchAddLatency:
    case OpKind::kFetchAddRate:
      return true;  // All together: see below.
    case OpKind::kMessageLatency:
      return rank > 1 || is_slot(output(slot), bytes_, 1 - rank, slot);
    default:
      return rank != 1 || is_slot(output(slot), bytes_, 0, slot);
  }
}

}  // namespace espalier::bench
