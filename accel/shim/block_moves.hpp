// Calls of collectives that move blocks of any lengths. Where a member knows its own alone, all
// sizes of messages share one choice. path: data
#pragma once

#include "accel/shim/calls.hpp"

namespace espalier::accel {

// Sums over the members; false: a count is negative, or there is no such type.
inline bool are_sound(const int* counts, int members, MPI_Datatype type) {
  Extent extent;
  if (counts == nullptr || !extent_of(type, extent)) return false;
  for (int r = 0; r < members; ++r) {
    if (counts[r] < 0) return false;
  }
  return true;
}

// One block on one side, blocks of all members on the other.
struct BlocksMove : CallBase {
  void* block;
  int count;
  MPI_Datatype type;
  Blocks all;
  int root = -1;
  void* our_block = nullptr;
  std::size_t our_bytes = 0;
  ByteBlocks our_all = {};

 protected:
  bool is_block_sound() const {
    Extent extent;
    return is_in_place(block) || (count >= 0 && extent_of(type, extent));
  }
  void arrange_block(Stage& stage, bool reads) {
    our_block = is_in_place(block) ? const_cast<void*>(ESP_IN_PLACE)
                                   : stage.elements({block, count, type}, reads, !reads);
    our_bytes = is_in_place(block) ? 0 : bytes_of(count, type);
  }
  void set_block_apart(Stage& stage, const Communicator& c) {
    our_block = const_cast<void*>(
        stage.apart(our_block, our_bytes, our_all.base, Stage::bytes_from_base(our_all, c.size)));
  }
  Reason fits_rooted(const Communicator& c) const {
    if (root < 0 || root >= c.size) return Reason::kArguments;
    const bool at_root = c.rank == root;
    const bool sound = (at_root || !is_in_place(block)) && is_block_sound() &&
                       (!at_root || are_sound(all.counts, c.size, all.type));
    return sound ? Reason::kNone : Reason::kArguments;
  }
};

struct AllgathervCall : BlocksMove {
  static constexpr Operation kOperation = Operation::kAllgatherv;
  Reason fits(const Communicator& c) const {
    const bool sound = is_block_sound() && are_sound(all.counts, c.size, all.type);
    return sound ? Reason::kNone : Reason::kArguments;
  }
  std::uint64_t bytes(const Communicator& c) const {
    std::int64_t sum = 0;
    for (int r = 0; r < c.size; ++r) sum += all.counts[r];
    return bytes_of(sum, all.type) / static_cast<std::uint64_t>(c.size);
  }
  void arrange(Stage& stage, const Communicator& c) {
    arrange_block(stage, true);
    our_all = stage.blocks(all, c.size, is_in_place(block), true);
    set_block_apart(stage, c);
  }
  int mpi() const {
    return PMPI_Allgatherv(block, count, type, all.base, all.counts, all.displs, all.type, comm);
  }
  int mpi_start(MPI_Request* request) const {
    return PMPI_Iallgatherv(block, count, type, all.base, all.counts, all.displs, all.type, comm,
                            request);
  }
  template <typename Info>
  int mpi_init(Info info, MPI_Request* request) const {
    return PMPI_Allgatherv_init(block, count, type, all.base, all.counts, all.displs, all.type,
                                comm, info, request);
  }
  esp_status ours(esp_team* team, Form form) const {
    return ESP_ACCEL_FORMS(allgatherv, team, our_block, our_all.base, our_all.counts,
                           our_all.displs, ESP_BYTE);
  }
};

struct GathervCall : BlocksMove {
  static constexpr Operation kOperation = Operation::kGatherv;
  Reason fits(const Communicator& c) const { return fits_rooted(c); }
  std::uint64_t bytes(const Communicator&) const { return 0; }
  void arrange(Stage& stage, const Communicator& c) {
    arrange_block(stage, true);
    if (c.rank != root) return;
    our_all = stage.blocks(all, c.size, is_in_place(block), true);
    set_block_apart(stage, c);
    if (is_in_place(block)) our_bytes = our_all.counts != nullptr ? our_all.counts[root] : 0;
  }
  int mpi() const {
    return PMPI_Gatherv(block, count, type, all.base, all.counts, all.displs, all.type, root, comm);
  }
  int mpi_start(MPI_Request* request) const {
    return PMPI_Igatherv(block, count, type, all.base, all.counts, all.displs, all.type, root, comm,
                         request);
  }
  template <typename Info>
  int mpi_init(Info info, MPI_Request* request) const {
    return PMPI_Gatherv_init(block, count, type, all.base, all.counts, all.displs, all.type, root,
                             comm, info, request);
  }
  esp_status ours(esp_team* team, Form form) const {
    return ESP_ACCEL_FORMS(gatherv, team, our_block, our_bytes, our_all.base, our_all.counts,
                           our_all.displs, ESP_BYTE, root);
  }
};

struct ScattervCall : BlocksMove {
  static constexpr Operation kOperation = Operation::kScatterv;
  Reason fits(const Communicator& c) const { return fits_rooted(c); }
  std::uint64_t bytes(const Communicator&) const { return 0; }
  void arrange(Stage& stage, const Communicator& c) {
    arrange_block(stage, false);
    if (c.rank != root) return;
    our_all = stage.blocks(all, c.size, true, false);
    our_all.base = const_cast<void*>(
        stage.apart(our_all.base, Stage::bytes_from_base(our_all, c.size), our_block, our_bytes));
    if (is_in_place(block)) our_bytes = our_all.counts != nullptr ? our_all.counts[root] : 0;
  }
  int mpi() const {
    return PMPI_Scatterv(all.base, all.counts, all.displs, all.type, block, count, type, root,
                         comm);
  }
  int mpi_start(MPI_Request* request) const {
    return PMPI_Iscatterv(all.base, all.counts, all.displs, all.type, block, count, type, root,
                          comm, request);
  }
  template <typename Info>
  int mpi_init(Info info, MPI_Request* request) const {
    return PMPI_Scatterv_init(all.base, all.counts, all.displs, all.type, block, count, type, root,
                              comm, info, request);
  }
  esp_status ours(esp_team* team, Form form) const {
    return ESP_ACCEL_FORMS(scatterv, team, our_all.base, our_all.counts, our_all.displs, our_block,
                           our_bytes, ESP_BYTE, root);
  }
};

struct AlltoallvCall : CallBase {
  static constexpr Operation kOperation = Operation::kAlltoallv;
  Blocks in, out;
  ByteBlocks our_in = {}, our_out = {};
  Reason fits(const Communicator& c) const {
    const bool sound = (is_in_place(in.base) || are_sound(in.counts, c.size, in.type)) &&
                       are_sound(out.counts, c.size, out.type);
    return sound ? Reason::kNone : Reason::kArguments;
  }
  std::uint64_t bytes(const Communicator&) const { return 0; }
  void arrange(Stage& stage, const Communicator& c) {
    our_out = stage.blocks(out, c.size, is_in_place(in.base), true);
    if (is_in_place(in.base)) {
      our_in.base = const_cast<void*>(ESP_IN_PLACE);
    } else {
      our_in = stage.blocks(in, c.size, true, false);
      our_in.base =
          const_cast<void*>(stage.apart(our_in.base, Stage::bytes_from_base(our_in, c.size),
                                        our_out.base, Stage::bytes_from_base(our_out, c.size)));
    }
  }
  int mpi() const {
    return PMPI_Alltoallv(in.base, in.counts, in.displs, in.type, out.base, out.counts, out.displs,
                          out.type, comm);
  }
  int mpi_start(MPI_Request* request) const {
    return PMPI_Ialltoallv(in.base, in.counts, in.displs, in.type, out.base, out.counts, out.displs,
                           out.type, comm, request);
  }
  template <typename Info>
  int mpi_init(Info info, MPI_Request* request) const {
    return PMPI_Alltoallv_init(in.base, in.counts, in.displs, in.type, out.base, out.counts,
                               out.displs, out.type, comm, info, request);
  }
  esp_status ours(esp_team* team, Form form) const {
    return ESP_ACCEL_FORMS(alltoallv, team, our_in.base, our_in.counts, our_in.displs, our_out.base,
                           our_out.counts, our_out.displs, ESP_BYTE);
  }
};

}  // namespace espalier::accel
