// CMA: reading another process's memory with process_vm_readv(2).
//
// There is no kernel object behind it: any mapped address of a process of the same user may be
// read, so the library only reads what a descriptor in a cell names, while its owner waits for the
// acknowledgement. Whether the system call is allowed is found out by reading a nonce whose value
// the owner told through the bootstrap. Threads: owner. path: data (pull), setup (probe)
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/status.hpp"

namespace espalier::shm {

enum class PullAccess : std::uint8_t { kUnknown = 0, kYes = 1, kNo = 2 };

struct ProbeResult {
  PullAccess access = PullAccess::kUnknown;
  int error_number = 0;  // why not: errno, or 0 when the bytes read were not the nonce
};

// Reads 8 bytes at `address` of process `pid` and compares them with `nonce`.
ProbeResult probe_pull(pid_t pid, std::uint64_t address, std::uint64_t nonce) noexcept;

// Why reading is denied and what would help, for people.
std::string explain_denied(int error_number);

// Copies `bytes` bytes. Short counts are continued. ESP_ERR_PEER_DIED when the process is gone,
// ESP_ERR_SYSTEM with errno otherwise. `calls` is increased by the number of system calls.
Status pull(pid_t pid, std::uint64_t remote, void* local, std::uint64_t bytes,
            std::uint64_t& calls) noexcept;

}  // namespace espalier::shm
