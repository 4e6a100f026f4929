// The C++ layer's persistent requests: every form once, over several rounds.
#include <utility>
#include <vector>

#include "espalier/espalier.hpp"
#include "tests/api/cases.hpp"
#include "tests/support/cpp_check.hpp"

namespace test {
namespace cpp_persistent_cases {
namespace {

static_assert(!std::is_copy_constructible_v<esp::PersistentRequest>);
static_assert(std::is_nothrow_move_constructible_v<esp::PersistentRequest>);

// The buffers of each round hold what `fill` puts there.
template <typename Fill, typename Check>
void rounds(esp::Result<esp::PersistentRequest> made, Fill&& fill, Check&& check) {
  CHECK(made.ok(), "{}", made.ok() ? "" : made.error().text);
  if (!made.ok()) return;
  esp::PersistentRequest request = std::move(made).value();
  for (int round = 0; round < 3; ++round) {
    fill(round);
    CHECK_S(request.start());
    CHECK(request.pending(), "round {}", round);
    CHECK_EQ(request.start().code(), ESP_ERR_STATE, "round {}", round);
    esp::Status ended;
    if (round == 1) {
      do ended = request.test();
      while (ended.in_progress());
    } else {
      ended = request.wait();
    }
    CHECK_S(ended);
    CHECK(!request.pending(), "round {}", round);
    check(round);
  }
}

void forms(esp::TeamRef world) {
  const int size = world.size(), rank = world.rank();
  const auto members = static_cast<std::size_t>(size);
  std::vector<int> in(members), out(members);
  const std::vector<std::size_t> ones(members, 1);
  const esp::Blocks blocks(ones);
  const int ranks = size * (size - 1) / 2;
  const auto fill = [&](int round) {
    in.assign(members, rank + round);
    out.assign(members, rank + round);
  };
  const auto holds = [&](int value, int per_round) {
    return [&, value, per_round](int round) {
      CHECK_EQ(out.back(), value + per_round * round, "round {}", round);
    };
  };
  const auto untold = [](int) {};
  rounds(world.barrier_init(), untold, untold);
  rounds(world.bcast_init(out, 0), fill, holds(0, 1));
  rounds(world.reduce_in_place_init(out, esp::kMax, 0), fill,
         rank == 0 ? holds(size - 1, 1) : holds(rank, 1));
  rounds(world.reduce_init(in, out, esp::kSum, 0), fill,
         rank == 0 ? holds(ranks, size) : holds(rank, 1));
  rounds(world.allreduce_init(in, out, esp::kSum), fill, holds(ranks, size));
  rounds(world.allreduce_in_place_init(out, esp::kSum), fill, holds(ranks, size));
  rounds(world.scan_init(in, out, esp::kMax), fill, holds(rank, 1));
  rounds(world.scan_in_place_init(out, esp::kMax), fill, holds(rank, 1));
  const int before = rank > 0 ? rank - 1 : 0;  // rank 0 keeps what it has
  rounds(world.exscan_init(in, out, esp::kMax), fill, holds(before, 1));
  rounds(world.exscan_in_place_init(out, esp::kMax), fill, holds(before, 1));
  std::vector<int> one(1);
  const auto fill_one = [&](int round) {
    fill(round);
    one[0] = rank + round;
  };
  const int last = size - 1;
  rounds(world.allgather_init(one, out), fill_one, holds(last, 1));
  rounds(world.allgather_in_place_init(out), fill, holds(last, 1));
  rounds(world.allgatherv_init(one, out, blocks), fill_one, holds(last, 1));
  rounds(world.allgatherv_in_place_init(out, blocks), fill, holds(last, 1));
  rounds(world.alltoall_init(in, out), fill, holds(last, 1));
  rounds(world.alltoall_in_place_init(out), fill, holds(last, 1));
  rounds(world.alltoallv_init(in, blocks, out, blocks), fill, holds(last, 1));
  rounds(world.alltoallv_in_place_init(out, blocks), fill, holds(last, 1));
  std::vector<int> longer(members + 1);
  CHECK_EQ(world.allreduce_init(in, longer, esp::kSum).error().code, ESP_ERR_ARGUMENT, "lengths");
}

void messages(esp::TeamRef world) {
  if (world.size() < 2 || world.rank() > 1) return;
  std::vector<int> data(3000);
  const esp::Peer other{1 - world.rank(), 5};
  auto made = world.rank() == 0 ? world.send_init(data, other) : world.recv_init(data, other);
  CHECK(made.ok(), "{}", made.ok() ? "" : made.error().text);
  esp::PersistentRequest request = std::move(made).value();
  for (int round = 0; round < 4; ++round) {
    data.assign(data.size(), world.rank() == 0 ? round : -1);
    CHECK_S(request.start());
    CHECK_S(request.wait());
    CHECK_EQ(data.back(), round, "round {}", round);
  }
}

// What moves away leaves an empty one; what goes while a round is under way waits for it.
void lifetimes(esp::TeamRef world) {
  int x = world.rank();
  {
    esp::PersistentRequest first =
        std::move(world.allreduce_in_place_init(esp::one(x), esp::kMax)).value();
    CHECK_S(first.start());
    esp::PersistentRequest second = std::move(first);
    CHECK(!first.pending() && second.pending(), "moved");
    CHECK_EQ(first.start().code(), ESP_ERR_ARGUMENT, "empty");
    CHECK_S(first.wait());
    first = std::move(second);
    CHECK(first.pending(), "moved back");
  }
  CHECK_EQ(x, world.size() - 1, "the destructor has waited");
  esp::Team team = std::move(world.dup()).value();
  esp::PersistentRequest left = std::move(team.barrier_init()).value();
  CHECK_S(team.free());
  CHECK_EQ(left.start().code(), ESP_ERR_ARGUMENT, "its team has been freed");
}

}  // namespace
}  // namespace cpp_persistent_cases

void cpp_persistent(const Context& context) {
  const esp::TeamRef world(context.world);
  cpp_persistent_cases::forms(world);
  cpp_persistent_cases::messages(world);
  cpp_persistent_cases::lifetimes(world);
}

}  // namespace test
