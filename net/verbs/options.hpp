// Options of the verbs transport, as the settings of core/config.hpp give them (docs/verbs.md).
// Values. path: setup
#pragma once

#include <cstdint>
#include <string>

#include "core/config.hpp"

namespace espalier::verbs {

struct Options {
  std::string device;           // "name[:port],...": those, in this order; empty: the nearest
  int gid_index = -1;           // RoCE; -1: chosen (choice.hpp)
  std::uint32_t mtu_bytes = 0;  // largest packet; 0: what the port has
  int service_level = 0;
  int traffic_class = 0;  // RoCE v2: DSCP in the upper 6 bits
  // Of connections. A lost packet is sent again after 4.096 us * 2^ack_timeout (adapters take up
  // to four times that); after `retries` times without an answer the connection breaks. 0: as the
  // device needs it (adapter.cpp).
  int ack_timeout = 0;
  int retries = 6;            // at most 6: adapters take 7 for "for ever"
  int not_ready_retries = 6;  // when the receiver has no packet posted; the same limit
};

inline Options options_from(const Config& config) {
  return {.device = config.device,
          .gid_index = config.gid_index,
          .mtu_bytes = static_cast<std::uint32_t>(config.rdma_mtu_bytes),
          .service_level = config.service_level,
          .traffic_class = config.traffic_class,
          .ack_timeout = config.rdma_ack_timeout,
          .retries = config.rdma_retries,
          .not_ready_retries = config.rdma_not_ready_retries};
}

}  // namespace espalier::verbs
