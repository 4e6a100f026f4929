// Where the node daemons meet the root: a TCP port on loopback that asks for the job's secret.
//
// The secret is drawn by the root and known to its forks only. Anybody on the machine can connect
// to the port; whoever does not begin with the secret is cut off, and so is whoever says nothing
// when more strangers come. The port closes as soon as all nodes have joined.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/descriptor.hpp"
#include "frame.hpp"

namespace esp_run {

class Rendezvous {
 public:
  struct Joined {
    int node;
    FrameStream stream;
  };

  explicit Rendezvous(int nodes);

  std::uint16_t port() const { return port_; }
  const std::string& secret() const { return secret_; }
  bool is_complete() const { return joined_count_ == static_cast<int>(has_joined_.size()); }
  // Descriptors to poll for reading; then progress(). A stream it returns may hold further frames.
  std::vector<int> fds() const;
  std::vector<Joined> progress();
  // For a fork that is no root.
  void close();

 private:
  void accept_all();
  // True: the stream was a node's and is now in `joined`.
  bool try_to_join(FrameStream& stream, std::vector<Joined>& joined);

  espalier::Descriptor listener_;
  std::uint16_t port_ = 0;
  std::string secret_;
  std::deque<FrameStream> strangers_;
  std::vector<bool> has_joined_;
  int joined_count_ = 0;
};

// The node's side: connects and says hello.
FrameStream join(std::uint16_t port, const std::string& secret, int node);

}  // namespace esp_run
