// From the threads of libpmix to the node daemon: what the PMIx server wants from its host.
//
// libpmix calls its host on a thread of its own. Those calls do nothing but put a message here, so
// that everything else in a node daemon happens on its main thread.
#pragma once

#include <pmix_server.h>

#include <mutex>
#include <vector>

#include "core/descriptor.hpp"
#include "frame.hpp"

namespace esp_run {

struct Upcall {
  Frame frame{};
  // How libpmix wants to be answered, for kFence and kLookup.
  pmix_modex_cbfunc_t answer = nullptr;
  void* context = nullptr;
};

class Mailbox {
 public:
  Mailbox();

  int fd() const { return event_.fd(); }  // Readable while there is mail.
  void put(Upcall upcall);
  std::vector<Upcall> take();

 private:
  espalier::Descriptor event_;
  std::mutex mutex_;
  std::vector<Upcall> waiting_;  // Guarded by mutex_.
};

}  // namespace esp_run
