// Calls of collectives that move elements, of one length for all members. path: data
#pragma once

#include "accel/shim/calls.hpp"

namespace espalier::accel {

// Buffers on both sides; `count` elements a block. What is staged goes to our_in and our_out.
struct Move : CallBase {
  const void* in;
  int in_count;
  MPI_Datatype in_type;
  void* out;
  int out_count;
  MPI_Datatype out_type;
  const void* our_in = nullptr;
  void* our_out = nullptr;

 protected:
  static bool is_sound(int count, MPI_Datatype type) {
    Extent extent;
    return count >= 0 && extent_of(type, extent);
  }
  std::uint64_t in_bytes() const { return bytes_of(in_count, in_type); }
  std::uint64_t out_bytes() const { return bytes_of(out_count, out_type); }
  void arrange_in(Stage& stage, int blocks) {
    our_in = is_in_place(in)
                 ? ESP_IN_PLACE
                 : stage.elements({const_cast<void*>(in), std::int64_t{in_count} * blocks, in_type},
                                  true, false);
  }
  // `reads`: what is there counts, too.
  void arrange_out(Stage& stage, int blocks, bool reads) {
    our_out = is_in_place(out)
                  ? const_cast<void*>(ESP_IN_PLACE)
                  : stage.elements({out, std::int64_t{out_count} * blocks, out_type}, reads, true);
  }
  void set_apart(Stage& stage, int in_blocks, int out_blocks) {
    our_in = stage.apart(our_in, in_bytes() * static_cast<std::size_t>(in_blocks), our_out,
                         out_bytes() * static_cast<std::size_t>(out_blocks));
  }
};

struct BcastCall : CallBase {
  static constexpr Operation kOperation = Operation::kBcast;
  void* buffer;
  int count;
  MPI_Datatype type;
  int root;
  void* our_buffer = nullptr;
  Reason fits(const Communicator& c) const {
    Extent extent;
    const bool sound = count >= 0 && extent_of(type, extent) && root >= 0 && root < c.size;
    return sound ? Reason::kNone : Reason::kArguments;
  }
  std::uint64_t bytes(const Communicator&) const { return bytes_of(count, type); }
  void arrange(Stage& stage, const Communicator& c) {
    our_buffer = stage.elements({buffer, count, type}, c.rank == root, c.rank != root);
  }
  int mpi() const { return PMPI_Bcast(buffer, count, type, root, comm); }
  int mpi_start(MPI_Request* request) const {
    return PMPI_Ibcast(buffer, count, type, root, comm, request);
  }
  template <typename Info>
  int mpi_init(Info info, MPI_Request* request) const {
    return PMPI_Bcast_init(buffer, count, type, root, comm, info, request);
  }
  esp_status ours(esp_team* team, Form form) const {
    return ESP_ACCEL_FORMS(bcast, team, our_buffer, bytes_of(count, type), ESP_BYTE, root);
  }
};

// Where everybody sends and receives.
#define ESP_ACCEL_EXCHANGE(Name, ours_name, in_blocks)                                          \
  struct Name##Call : Move {                                                                    \
    static constexpr Operation kOperation = Operation::k##Name;                                 \
    Reason fits(const Communicator&) const {                                                    \
      const bool sound =                                                                        \
          (is_in_place(in) || is_sound(in_count, in_type)) && is_sound(out_count, out_type);    \
      return sound ? Reason::kNone : Reason::kArguments;                                        \
    }                                                                                           \
    std::uint64_t bytes(const Communicator&) const {                                            \
      return out_bytes();                                                                       \
    }                                                                                           \
    void arrange(Stage& stage, const Communicator& c) {                                         \
      arrange_in(stage, in_blocks);                                                             \
      arrange_out(stage, c.size, is_in_place(in));                                              \
      set_apart(stage, in_blocks, c.size);                                                      \
    }                                                                                           \
    int mpi() const {                                                                           \
      return PMPI_##Name(in, in_count, in_type, out, out_count, out_type, comm);                \
    }                                                                                           \
    int mpi_start(MPI_Request* request) const {                                                 \
      return PMPI_I##ours_name(in, in_count, in_type, out, out_count, out_type, comm, request); \
    }                                                                                           \
    template <typename Info>                                                                    \
    int mpi_init(Info info, MPI_Request* request) const {                                       \
      return PMPI_##Name##_init(in, in_count, in_type, out, out_count, out_type, comm, info,    \
                                request);                                                       \
    }                                                                                           \
    esp_status ours(esp_team* team, Form form) const {                                          \
      return ESP_ACCEL_FORMS(ours_name, team, our_in, our_out, out_bytes(), ESP_BYTE);          \
    }                                                                                           \
  }

ESP_ACCEL_EXCHANGE(Allgather, allgather, 1);
ESP_ACCEL_EXCHANGE(Alltoall, alltoall, c.size);
#undef ESP_ACCEL_EXCHANGE

// Where one has the blocks of all: `all_in` says that this is the input.
struct Rooted : Move {
  int root;

 protected:
  // The root's own block may stay where it is: then this side of it says nothing.
  Reason fits_rooted(const Communicator& c, bool all_in) const {
    if (root < 0 || root >= c.size) return Reason::kArguments;
    const bool at_root = c.rank == root;
    const bool in_counts = all_in ? at_root : !(at_root && is_in_place(in));
    const bool out_counts = all_in ? !(at_root && is_in_place(out)) : at_root;
    const bool sound = (!in_counts || is_sound(in_count, in_type)) &&
                       (!out_counts || is_sound(out_count, out_type));
    return sound ? Reason::kNone : Reason::kArguments;
  }
};

struct GatherCall : Rooted {
  static constexpr Operation kOperation = Operation::kGather;
  Reason fits(const Communicator& c) const { return fits_rooted(c, false); }
  std::uint64_t bytes(const Communicator& c) const {
    return c.rank == root ? out_bytes() : in_bytes();
  }
  void arrange(Stage& stage, const Communicator& c) {
    arrange_in(stage, 1);
    if (c.rank == root) {
      arrange_out(stage, c.size, is_in_place(in));
      set_apart(stage, 1, c.size);
    }
    our_bytes = bytes(c);
  }
  int mpi() const {
    return PMPI_Gather(in, in_count, in_type, out, out_count, out_type, root, comm);
  }
  int mpi_start(MPI_Request* request) const {
    return PMPI_Igather(in, in_count, in_type, out, out_count, out_type, root, comm, request);
  }
  template <typename Info>
  int mpi_init(Info info, MPI_Request* request) const {
    return PMPI_Gather_init(in, in_count, in_type, out, out_count, out_type, root, comm, info,
                            request);
  }
  esp_status ours(esp_team* team, Form form) const {
    return ESP_ACCEL_FORMS(gather, team, our_in, our_out, our_bytes, ESP_BYTE, root);
  }
  std::size_t our_bytes = 0;
};

struct ScatterCall : Rooted {
  static constexpr Operation kOperation = Operation::kScatter;
  Reason fits(const Communicator& c) const { return fits_rooted(c, true); }
  std::uint64_t bytes(const Communicator& c) const {
    return c.rank == root ? in_bytes() : out_bytes();
  }
  void arrange(Stage& stage, const Communicator& c) {
    if (c.rank == root) arrange_in(stage, c.size);
    arrange_out(stage, 1, false);
    if (c.rank == root) set_apart(stage, c.size, 1);
    our_bytes = bytes(c);
  }
  int mpi() const {
    return PMPI_Scatter(in, in_count, in_type, out, out_count, out_type, root, comm);
  }
  int mpi_start(MPI_Request* request) const {
    return PMPI_Iscatter(in, in_count, in_type, out, out_count, out_type, root, comm, request);
  }
  template <typename Info>
  int mpi_init(Info info, MPI_Request* request) const {
    return PMPI_Scatter_init(in, in_count, in_type, out, out_count, out_type, root, comm, info,
                             request);
  }
  esp_status ours(esp_team* team, Form form) const {
    return ESP_ACCEL_FORMS(scatter, team, our_in, our_out, our_bytes, ESP_BYTE, root);
  }
  std::size_t our_bytes = 0;
};

}  // namespace espalier::accel
