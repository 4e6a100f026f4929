// Counters: what one worker has done so far, for people and for tests that count instead of time.
//
// One set per worker. Writer: the worker's owner thread only. Readers: any thread, at any time; a
// reader sees each counter at some recent value, and no relation between two counters. Therefore an
// increment is a relaxed load, an add and a relaxed store: no locked instruction, no data race.
// path: short
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

namespace espalier {

class Counter {
 public:
  void operator+=(std::uint64_t by) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  void operator++() noexcept { *this += 1; }
  // For the few counters that threads beside the owner write: never mixed with the others.
  void add_from_any(std::uint64_t by) noexcept { value_.fetch_add(by, std::memory_order_relaxed); }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  // Writer: the owner thread, or any (add_from_any). Readers: any. Publishes nothing but itself.
  std::atomic<std::uint64_t> value_{0};
};

// Names and explanations: counter_table(), in counters.cpp. A new counter is a member here and a
// line there (forgetting the line does not compile).
struct Counters {
  Counter operations;
  Counter short_operations;
  Counter plans_built;
  Counter plans_reused;
  Counter callbacks;
  Counter segments_sent;
  Counter segments_received;
  Counter bytes_sent;
  Counter bytes_received;
  Counter inline_sends;
  Counter copy_in_bytes;
  Counter copy_out_bytes;
  Counter direct_bytes;
  Counter cma_calls;
  Counter cma_bytes;
  Counter publishes;
  Counter combines;
  Counter combine_bytes;
  Counter past_cache_bytes;
  Counter device_copies;
  Counter device_copy_bytes;
  Counter device_shared_bytes;
  Counter device_direct_bytes;
  Counter device_reductions;
  Counter device_reduction_bytes;
  Counter portions_delivered;
  Counter grants;
  Counter retries;
  Counter unexpected;
  Counter evacuations;
  Counter puts;
  Counter gets;
  Counter atomics;
  Counter region_bytes;
  Counter remote_bytes_sent;
  Counter remote_bytes_received;
  Counter messages_sent;
  Counter messages_received;
  Counter messages_refused;
  Counter tags_eager;
  Counter tags_announced;
  Counter tags_unexpected;
  Counter tags_window_full;
  Counter connections;
  Counter queue_pairs;
  Counter registrations;
  Counter segments_placed;
  Counter segments_read;
  Counter adapter_accesses;
  Counter packet_bytes;
  Counter frames_sent;
  Counter group_packets;
  Counter group_placed;
  Counter group_relays;
  Counter group_losses;
  Counter group_repairs;
  Counter socket_calls;
  Counter strangers;
  Counter yields;
  Counter naps;
  Counter parks;
  Counter submissions;
  Counter submissions_full;
  Counter wakeups_sent;
  Counter timers_fired;
};

struct CounterInfo {
  const char* name;
  const char* doc;
  Counter Counters::*member;
};

// All counters, in declaration order. Static storage.
std::span<const CounterInfo> counter_table() noexcept;

}  // namespace espalier
