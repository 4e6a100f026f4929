// StagedAccesses: one-sided operations whose buffer is memory of a device. It passes through memory
// of the mover's, in pieces, a few of which are under way at a time:
//
//   put:               device --copy--> staging --put--> the target's part
//   get, atomics:      the target's part --get--> staging --copy--> device
//
// An operation ends when all of its pieces have; a driver that fails ends that operation alone.
//
// Ownership: a job's Devices; borrows the copies. Threads: owner. path: data
#pragma once

#include "api/one_sided.hpp"
#include "coll/device/staged_copies.hpp"
#include "core/pool.hpp"

struct esp_job;

namespace espalier {

class StagedAccesses {
 public:
  struct Access {
    const char* caller;
    RemoteCall call;  // its memory is the device's
    std::byte* near;  // the target's part, of this node; nullptr: it is on another
  };

  StagedAccesses(esp_job& job, StagedCopies& copies) noexcept : job_(job), copies_(copies) {}

  Engine::Started start(const Access& access, const Finish& finish) noexcept;

 private:
  static constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
  static constexpr std::uint32_t kAhead = 4;

  struct Operation {
    Operation(StagedAccesses& accesses, const Access& what, const Finish& end) noexcept
        : owner(accesses), access(what), finish(end) {}
    StagedAccesses& owner;
    const Access access;
    const Finish finish;
    std::uint64_t begun = 0;  // bytes
    std::uint32_t under_way = 0;
    Status status;  // of the first piece that failed
  };
  struct Piece {
    Piece(Operation& of, const RemoteCall& part, std::byte* there) noexcept
        : operation(of), call(part), on_device(there) {}
    Operation& operation;
    RemoteCall call;  // its memory is the mover's
    std::byte* on_device;
    std::uint32_t steps_left = 2;

    bool puts() const noexcept { return call.kind == net::RemoteKind::kPut; }
  };

  bool advance(Operation& operation) noexcept;
  Status begin_piece(Operation& operation) noexcept;
  Engine::Started go_on(Piece& piece) noexcept;
  Engine::Started copy(Piece& piece) noexcept;
  Engine::Started access(Piece& piece) noexcept;
  static void on_step(void* context, Status status) noexcept;
  void settle(Piece& piece, Status status) noexcept;
  void fail(Operation& operation, Status status) noexcept;

  esp_job& job_;
  StagedCopies& copies_;
  Pool<Operation> operations_;
  Pool<Piece> pieces_;
};

}  // namespace espalier
