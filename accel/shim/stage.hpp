// Stage: what the library reads and writes in place of buffers whose elements do not lie as bytes
// do, and its arrays of counts. Elements are packed by the MPI itself, so types may differ between
// the members of a call as the standard allows. Lives as long as the operation. path: data
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "accel/shim/types.hpp"

namespace espalier::accel {

// `count` elements from `base`.
struct Elements {
  void* base = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// Blocks of several members: counts and displacements in elements, as MPI has them.
struct Blocks {
  void* base = nullptr;
  const int* counts = nullptr;
  const int* displs = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// The same as bytes, for the library.
struct ByteBlocks {
  void* base = nullptr;
  const std::size_t* counts = nullptr;
  const std::size_t* displs = nullptr;
};

class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // What stands for the elements. Memory that is missing shows in ok(). `reads`: the operation
  // reads it (packed by begin()); `writes`: it fills it (unpacked by end()).
  void* elements(const Elements& what, bool reads, bool writes);
  ByteBlocks blocks(const Blocks& what, int members, bool reads, bool writes);
  // Input that overlaps the output, which MPI forbids and some MPIs take: a copy of it.
  // ESP_IN_PLACE stays on either side.
  const void* apart(const void* in, std::size_t in_bytes, const void* out, std::size_t out_bytes);
  static std::size_t bytes_from_base(const ByteBlocks& blocks, int members) noexcept;
  std::vector<std::size_t>& numbers(std::size_t count);

  bool ok() const noexcept { return ok_; }
  // Before each run; false: the MPI does not take elements of such a type, as it is not committed.
  bool begin() const;
  // After it.
  void end() const;

 private:
  struct Piece {
    Elements elements;
    unsigned char* packed;
    std::size_t bytes;
    bool reads, writes;
  };
  struct Release {
    void operator()(unsigned char* memory) const noexcept { std::free(memory); }
  };
  unsigned char* room(std::size_t bytes);

  bool ok_ = true;
  std::vector<Piece> pieces_;
  std::vector<std::unique_ptr<unsigned char, Release>> memory_;
  std::vector<std::unique_ptr<std::vector<std::size_t>>> numbers_;
};

}  // namespace espalier::accel
