// CRC32C (Castagnoli): the checksum of iSCSI and SCTP, polynomial 0x1EDC6F41, reflected.
//
// By the processor's instruction where it has one, else by tables of eight; both give the same
// number. Detects every error of up to three bits in a packet of at most 8 KiB, every burst of up
// to 32 bits, and all but 2^-32 of the rest (Koopman, 2002). Threads: any. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace espalier {

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

// The two ways, for tests. The second answers the first's number where the processor has no such
// instruction.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes) noexcept;
std::uint32_t crc32c_hardware(std::span<const std::byte> bytes) noexcept;

}  // namespace espalier
