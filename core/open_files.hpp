// The limit of open files, for messages. Threads: any. path: slow
#pragma once

#include <string>

namespace espalier {

// " (the limit of open files, ulimit -n, is 32)"; for other errors than EMFILE nothing.
std::string open_files_hint(int error_number);

}  // namespace espalier
