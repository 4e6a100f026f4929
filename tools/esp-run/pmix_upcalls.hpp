// The functions that libpmix calls on its host, each of which becomes a message in the mailbox.
#pragma once

#include <pmix_server.h>

#include "mailbox.hpp"

namespace esp_run {

// The mailbox must outlive the use of libpmix. One per process: libpmix hands no context to most of
// these functions.
pmix_server_module_t pmix_upcalls(Mailbox& mailbox);

}  // namespace esp_run
