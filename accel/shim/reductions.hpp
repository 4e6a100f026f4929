// Calls of collectives that combine: barrier among them, of nothing. path: data
#pragma once

#include "accel/shim/calls.hpp"

namespace espalier::accel {

struct BarrierCall : CallBase {
  static constexpr Operation kOperation = Operation::kBarrier;
  Reason fits(const Communicator&) const { return Reason::kNone; }
  std::uint64_t bytes(const Communicator&) const { return 0; }
  void arrange(Stage&, const Communicator&) {}
  int mpi() const { return PMPI_Barrier(comm); }
  int mpi_start(MPI_Request* request) const { return PMPI_Ibarrier(comm, request); }
  template <typename Info>
  int mpi_init(Info info, MPI_Request* request) const {
    return PMPI_Barrier_init(comm, info, request);
  }
  esp_status ours(esp_team* team, Form form) const { return ESP_ACCEL_FORMS(barrier, team); }
};

// What these have in common: `count` elements of each member's, or each block's.
struct Reduction : CallBase {
  const void* in;
  void* out;
  int count;
  MPI_Datatype type;
  MPI_Op op;
  const void* our_in = nullptr;
  esp_type our_type = ESP_BYTE;
  esp_op our_op = ESP_SUM;

  Reason fits(const Communicator&) {
    if (count < 0) return Reason::kArguments;
    const auto known_type = reducible(type);
    if (!known_type) return Reason::kType;
    const auto known_op = predefined(op);
    if (!known_op || esp_op_defined(*known_op, *known_type) == 0) return Reason::kOperator;
    our_type = *known_type;
    our_op = *known_op;
    return Reason::kNone;
  }
  std::uint64_t bytes(const Communicator&) const { return elements() * esp_type_size(our_type); }
  std::size_t elements() const { return static_cast<std::size_t>(count); }

 protected:
  void set_apart(Stage& stage, std::size_t in_elements, std::size_t out_elements) {
    const std::size_t bytes = esp_type_size(our_type);
    our_in = stage.apart(input_of(in), in_elements * bytes, out, out_elements * bytes);
  }
};

// `blocks`: of `count` elements each, that a member gives.
#define ESP_ACCEL_REDUCTION(Name, mpi_name, ours_name, blocks)                            \
  struct Name##Call : Reduction {                                                         \
    static constexpr Operation kOperation = Operation::k##Name;                           \
    void arrange(Stage& stage, [[maybe_unused]] const Communicator& c) {                  \
      set_apart(stage, elements() * static_cast<std::size_t>(blocks), elements());        \
    }                                                                                     \
    int mpi() const {                                                                     \
      return PMPI_##mpi_name(in, out, count, type, op, comm);                             \
    }                                                                                     \
    int mpi_start(MPI_Request* request) const {                                           \
      return PMPI_I##ours_name(in, out, count, type, op, comm, request);                  \
    }                                                                                     \
    template <typename Info>                                                              \
    int mpi_init(Info info, MPI_Request* request) const {                                 \
      return PMPI_##mpi_name##_init(in, out, count, type, op, comm, info, request);       \
    }                                                                                     \
    esp_status ours(esp_team* team, Form form) const {                                    \
      return ESP_ACCEL_FORMS(ours_name, team, our_in, out, elements(), our_type, our_op); \
    }                                                                                     \
  }

ESP_ACCEL_REDUCTION(Allreduce, Allreduce, allreduce, 1);
ESP_ACCEL_REDUCTION(Scan, Scan, scan, 1);
ESP_ACCEL_REDUCTION(Exscan, Exscan, exscan, 1);
ESP_ACCEL_REDUCTION(ReduceScatterBlock, Reduce_scatter_block, reduce_scatter_block, c.size);
#undef ESP_ACCEL_REDUCTION

struct ReduceCall : Reduction {
  static constexpr Operation kOperation = Operation::kReduce;
  int root;
  Reason fits(const Communicator& c) {
    return root < 0 || root >= c.size ? Reason::kArguments : Reduction::fits(c);
  }
  void arrange(Stage& stage, const Communicator& c) {
    set_apart(stage, elements(), c.rank == root ? elements() : 0);
  }
  int mpi() const { return PMPI_Reduce(in, out, count, type, op, root, comm); }
  int mpi_start(MPI_Request* request) const {
    return PMPI_Ireduce(in, out, count, type, op, root, comm, request);
  }
  template <typename Info>
  int mpi_init(Info info, MPI_Request* request) const {
    return PMPI_Reduce_init(in, out, count, type, op, root, comm, info, request);
  }
  esp_status ours(esp_team* team, Form form) const {
    return ESP_ACCEL_FORMS(reduce, team, our_in, out, elements(), our_type, our_op, root);
  }
};

// `count` is not used.
struct ReduceScatterCall : Reduction {
  static constexpr Operation kOperation = Operation::kReduceScatter;
  const int* counts;
  const std::size_t* our_counts = nullptr;
  Reason fits(const Communicator& c) {
    if (counts == nullptr) return Reason::kArguments;
    for (int r = 0; r < c.size; ++r) {
      if (counts[r] < 0) return Reason::kArguments;
    }
    return Reduction::fits(c);
  }
  std::uint64_t bytes(const Communicator& c) const {
    std::uint64_t sum = 0;
    for (int r = 0; r < c.size; ++r) sum += static_cast<std::uint64_t>(counts[r]);
    return sum * esp_type_size(our_type) / static_cast<std::uint64_t>(c.size);
  }
  void arrange(Stage& stage, const Communicator& c) {
    auto& numbers = stage.numbers(static_cast<std::size_t>(c.size));
    std::size_t all = 0;
    for (std::size_t r = 0; r < numbers.size(); ++r) {
      all += numbers[r] = static_cast<std::size_t>(counts[r]);
    }
    our_counts = numbers.data();
    set_apart(stage, all, numbers[static_cast<std::size_t>(c.rank)]);
  }
  int mpi() const { return PMPI_Reduce_scatter(in, out, counts, type, op, comm); }
  int mpi_start(MPI_Request* request) const {
    return PMPI_Ireduce_scatter(in, out, counts, type, op, comm, request);
  }
  template <typename Info>
  int mpi_init(Info info, MPI_Request* request) const {
    return PMPI_Reduce_scatter_init(in, out, counts, type, op, comm, info, request);
  }
  esp_status ours(esp_team* team, Form form) const {
    return ESP_ACCEL_FORMS(reduce_scatter, team, our_in, out, our_counts, our_type, our_op);
  }
};

}  // namespace espalier::accel
