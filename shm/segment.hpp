// Segment: the mapping of the node's shared memory file, and who of the node is still alive.
//
// The file is a memfd of the lowest local rank, which hands its descriptor to the others
// (handover.hpp), so there is never a name in /dev/shm and nothing survives the last process. It
// has its size, and the seals that keep it, before anybody else sees it. Whoever gets a descriptor
// holds it against what it expects before it maps or writes anything. Liveness: every rank holds a
// POSIX record lock on byte `index` of the file; the kernel drops it with the process, however it
// ends, also across PID namespaces. Ownership: maps at map(), unmaps at destruction. Threads:
// owner. path: setup, slow (alive)
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "core/descriptor.hpp"
#include "core/status.hpp"
#include "shm/layout.hpp"

namespace espalier::shm {

// An anonymous memory file of a fixed size, which says whose it is.
class MemoryFile {
 public:
  static Result<MemoryFile> create(std::uint64_t bytes, const Key& nonce);
  // Of a descriptor that came from elsewhere: only if it is what create() with these makes.
  static Result<MemoryFile> adopt(Descriptor file, std::uint64_t bytes, const Key& nonce);
  // By whoever has created it, before anybody else has it.
  Outcome write(std::uint64_t at, std::span<const std::byte> bytes);
  int fd() const noexcept { return file_.fd(); }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  MemoryFile(Descriptor file, std::uint64_t bytes) noexcept
      : file_(std::move(file)), bytes_(bytes) {}
  Descriptor file_;
  std::uint64_t bytes_;
};

// A part of such a file, to be read.
class FileView {
 public:
  // `at`: a multiple of the size of pages.
  static Result<FileView> map(int fd, std::uint64_t at, std::uint64_t bytes);
  FileView(FileView&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  FileView& operator=(FileView&&) = delete;
  ~FileView();
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit FileView(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

class Segment {
 public:
  // Would the limits of this process let it map a segment of that size? Asked before others rely on
  // it, so that all ranks of a job under the same limits answer alike.
  static Outcome check_limits(const Layout& layout);
  // Takes the file, and maps layout.total() bytes of it. `index`: own local index.
  static Result<std::unique_ptr<Segment>> map(MemoryFile file, const Layout& layout,
                                              std::uint32_t index);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const Layout& layout() const noexcept { return layout_; }
  std::uint32_t index() const noexcept { return index_; }
  int fd() const noexcept { return file_.fd(); }  // of the file
  std::byte* at(std::uint64_t offset) const noexcept { return base_ + offset; }
  Header& header() const noexcept { return *reinterpret_cast<Header*>(base_); }
  RankBlock& rank_block(std::uint32_t r) const noexcept {
    return *reinterpret_cast<RankBlock*>(at(layout_.rank_block(r)));
  }
  // What local rank `reader` has found out about the memory of local rank `owner`.
  PullFlag& may_pull(std::uint32_t reader, std::uint32_t owner) const noexcept {
    return *reinterpret_cast<PullFlag*>(at(layout_.pull_flag(reader, owner)));
  }
  PairBlock& pair(std::uint32_t from, std::uint32_t to) const noexcept {
    return *reinterpret_cast<PairBlock*>(at(layout_.pair(from, to)));
  }
  MailRing& mail_ring(std::uint32_t from, std::uint32_t to) const noexcept {
    return *reinterpret_cast<MailRing*>(at(layout_.mail_ring(from, to)));
  }
  std::byte* arena(std::uint32_t r) const noexcept { return at(layout_.arena(r)); }
  std::byte* heap(std::uint32_t r) const noexcept { return at(layout_.heap(r)); }
  bool in_own_heap(const void* data, std::uint64_t bytes) const noexcept {
    const auto* p = static_cast<const std::byte*>(data);
    const std::byte* begin = heap(index_);
    return p >= begin && p + bytes <= begin + layout_.heap_bytes();
  }
  std::uint64_t offset_of(const void* data) const noexcept {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - base_);
  }

  // Does the process of local rank r still hold its lock? The locks of one's own process are
  // invisible: callers exclude ranks of their own process.
  bool holds_lock(std::uint32_t r) const noexcept;
  // Has it ever? Asked before the lock is looked at: who has joined and holds none has lost it.
  bool has_joined(std::uint32_t r) const noexcept {
    return rank_block(r).flags.joined.load(std::memory_order_acquire) != 0;
  }

 private:
  Segment(MemoryFile file, const Layout& layout, std::uint32_t index, std::byte* base) noexcept
      : file_(std::move(file)), layout_(layout), index_(index), base_(base) {}

  MemoryFile file_;
  Layout layout_;
  std::uint32_t index_;
  std::byte* base_;
};

}  // namespace espalier::shm
