// InlineSends: whether the adapter still is asked to take small payloads along inline, out of
// memory that it does not know.
//
// How much a queue pair takes is agreed when it is made. A device that refuses it all the same,
// when a send is posted or when it completes, gets what it refused from registered memory, and is
// not asked again by any port of the adapter.
//
// Threads: owner. path: data (wanted, post), slow (the rest)
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <utility>

#include "core/log.hpp"

namespace espalier::verbs {

class InlineSends {
 public:
  InlineSends(std::string device, const Log& log) : device_(std::move(device)), log_(log) {}

  bool wanted() const noexcept { return wanted_; }

  // As ibv_post_send(). What is refused inline is posted once more, after `copy(request)` has made
  // it one that takes its payload from registered memory; requests before it have been taken.
  template <typename Copy>
  int post(ibv_qp* queue_pair, ibv_send_wr* first, Copy&& copy) noexcept {
    ibv_send_wr* refused = nullptr;
    const int failure = ibv_post_send(queue_pair, first, &refused);
    if (failure == 0 || refused == nullptr) return failure;
    if ((refused->send_flags & IBV_SEND_INLINE) == 0) return failure;
    first = refused;
    for (ibv_send_wr* request = first; request != nullptr; request = request->next) {
      if ((request->send_flags & IBV_SEND_INLINE) == 0) continue;
      request->send_flags &= ~unsigned{IBV_SEND_INLINE};
      copy(*request);
    }
    const int again = ibv_post_send(queue_pair, first, &refused);
    if (again == 0) refused_at_post(failure);
    return again;
  }

  // A send whose payload was inline has completed with this error. True: it is taken for a refusal,
  // because it is an error of this side and the link is not known to be down.
  bool refused(ibv_wc_status status, bool link_up) noexcept;

 private:
  void refused_at_post(int failure) noexcept;
  void give_way(const char* what, const char* why) noexcept;

  const std::string device_;
  const Log log_;
  bool wanted_ = true;
};

}  // namespace espalier::verbs
