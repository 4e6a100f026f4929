// The C++ layer's persistent requests: every form once, over several rounds.
#include <memory>
#include <string_view>
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

constexpr int kRounds = 3;

// The buffers of each round hold what `fill` puts there. `told`: also by a Notify.
template <typename Fill, typename Check>
void rounds(bool told, esp::Result<esp::PersistentRequest> made, Fill&& fill, Check&& check) {
  CHECK(made.ok(), "{}", made.ok() ? "" : made.error().text);
  if (!made.ok()) return;
  esp::PersistentRequest request = std::move(made).value();
  for (int round = 0; round < kRounds; ++round) {
    fill(round);
    CHECK_S(request.start());
    CHECK(request.pending(), "round {}", round);
    if (!told) CHECK_EQ(request.start().code(), ESP_ERR_STATE, "round {}", round);
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

// `notify`: nothing, or what makes a Notify that counts down from 0.
template <typename... Make>
void forms(esp::TeamRef world, Make... notify) {
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
  constexpr bool told = sizeof...(notify) > 0;
  const auto untold = [](int) {};
  rounds(told, world.barrier_init(notify()...), untold, untold);
  rounds(told, world.bcast_init(out, 0, notify()...), fill, holds(0, 1));
  rounds(told, world.reduce_in_place_init(out, esp::kMax, 0, notify()...), fill,
         rank == 0 ? holds(size - 1, 1) : holds(rank, 1));
  rounds(told, world.reduce_init(in, out, esp::kSum, 0, notify()...), fill,
         rank == 0 ? holds(ranks, size) : holds(rank, 1));
  rounds(told, world.allreduce_init(in, out, esp::kSum, notify()...), fill, holds(ranks, size));
  rounds(told, world.allreduce_in_place_init(out, esp::kSum, notify()...), fill,
         holds(ranks, size));
  rounds(told, world.scan_init(in, out, esp::kMax, notify()...), fill, holds(rank, 1));
  rounds(told, world.scan_in_place_init(out, esp::kMax, notify()...), fill, holds(rank, 1));
  const int before = rank > 0 ? rank - 1 : 0;  // rank 0 keeps what it has
  rounds(told, world.exscan_init(in, out, esp::kMax, notify()...), fill, holds(before, 1));
  rounds(told, world.exscan_in_place_init(out, esp::kMax, notify()...), fill, holds(before, 1));
  std::vector<int> one(1);
  const auto fill_one = [&](int round) {
    fill(round);
    one[0] = rank + round;
  };
  const int last = size - 1;
  rounds(told, world.allgather_init(one, out, notify()...), fill_one, holds(last, 1));
  rounds(told, world.allgather_in_place_init(out, notify()...), fill, holds(last, 1));
  rounds(told, world.allgatherv_init(one, out, blocks, notify()...), fill_one, holds(last, 1));
  rounds(told, world.allgatherv_in_place_init(out, blocks, notify()...), fill, holds(last, 1));
  rounds(told, world.alltoall_init(in, out, notify()...), fill, holds(last, 1));
  rounds(told, world.alltoall_in_place_init(out, notify()...), fill, holds(last, 1));
  rounds(told, world.alltoallv_init(in, blocks, out, blocks, notify()...), fill, holds(last, 1));
  rounds(told, world.alltoallv_in_place_init(out, blocks, notify()...), fill, holds(last, 1));
  std::vector<int> longer(members + 1);
  CHECK_EQ(world.allreduce_init(in, longer, esp::kSum).error().code, ESP_ERR_ARGUMENT, "lengths");
}

void messages(esp::TeamRef world, bool told) {
  if (world.size() < 2 || world.rank() > 1) return;
  std::vector<int> data(3000);
  const esp::Peer other{1 - world.rank(), 5};
  std::int64_t left = 4;
  const auto make = [&](auto... notify) {
    return world.rank() == 0 ? world.send_init(data, other, std::move(notify)...)
                             : world.recv_init(data, other, std::move(notify)...);
  };
  auto made = told ? make(esp::Notify::count_down(left)) : make();
  CHECK(made.ok(), "{}", made.ok() ? "" : made.error().text);
  esp::PersistentRequest request = std::move(made).value();
  for (int round = 0; round < 4; ++round) {
    data.assign(data.size(), world.rank() == 0 ? round : -1);
    CHECK_S(request.start());
    CHECK_S(request.wait());
    CHECK_EQ(data.back(), round, "round {}", round);
  }
  CHECK_EQ(left, told ? 0 : 4, "each round has told");
}

// Callables are called once a round, wherever they live, and gone with their request.
void callbacks(esp::TeamRef world, esp_job* job) {
  std::int64_t calls = 0, left = 0;
  int x = 0;
  auto named = [&calls](esp_status status) { calls += status == ESP_OK ? 1 : 100; };
  const auto owned = std::make_shared<int>(0);
  {
    std::vector<esp::PersistentRequest> all;
    all.push_back(world.barrier_init(esp::Notify([&calls](esp_status) { ++calls; })).value());
    all.push_back(world.bcast_init(esp::one(x), 0, esp::Notify(named)).value());
    all.push_back(
        world.barrier_init(esp::Notify([&calls, owned](esp_status) { ++calls; })).value());
    all.push_back(world.barrier_init(esp::Notify::count_down(left)).value());
    for (int round = 0; round < kRounds; ++round) {
      x = world.rank() == 0 ? round : -1;
      left = 1;
      CHECK_S(esp::start_all(all));
      if (round == 1) {  // Nothing is waited for.
        while (calls < 3 * (round + 1) || left > 0) (void)esp_progress(job);
      } else {
        CHECK_S(esp::wait_all(all));
      }
      CHECK_EQ(calls, 3 * (round + 1), "round {}", round);
      CHECK_EQ(left, 0, "round {}", round);
      CHECK_EQ(x, round, "round {}", round);
    }
    CHECK_EQ(owned.use_count(), 2, "the request holds it");
  }
  CHECK_EQ(owned.use_count(), 1, "it is gone with its request");
  (void)world.bcast_init(esp::one(x), world.size(), esp::Notify([owned](esp_status) {}));
  CHECK_EQ(owned.use_count(), 1, "no request was made");
}

// Of several of which one is not to be started, none is.
void together(esp::TeamRef world) {
  int x = world.rank();
  std::vector<esp::PersistentRequest> two(2);
  two[0] = world.allreduce_in_place_init(esp::one(x), esp::kMax).value();
  const esp::Status refused = esp::start_all(two);
  CHECK_EQ(refused.code(), ESP_ERR_ARGUMENT, "an empty one");
  CHECK_EQ(std::string_view(refused.text()), "a request is empty", "text");
  two[1] = world.barrier_init().value();
  CHECK_S(two[1].start());
  CHECK_EQ(esp::start_all(two).code(), ESP_ERR_STATE, "one is under way");
  CHECK(!two[0].pending() && two[1].pending(), "nothing has changed");
  CHECK_S(esp::wait_all(two));
  CHECK_EQ(x, world.rank(), "not started");
  CHECK_S(esp::start_all(two));
  CHECK(two[0].pending() && two[1].pending(), "both");
  CHECK_S(esp::wait_all(two));
  CHECK_EQ(x, world.size() - 1, "started");
  CHECK_S(esp::start_all({}));
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
  std::int64_t left = 0;
  cpp_persistent_cases::forms(world, [&left] { return esp::Notify::count_down(left); });
  CHECK_EQ(left, -18 * cpp_persistent_cases::kRounds, "every round of every form has told");
  cpp_persistent_cases::callbacks(world, context.job);
  cpp_persistent_cases::together(world);
  for (const bool told : {false, true}) cpp_persistent_cases::messages(world, told);
  cpp_persistent_cases::lifetimes(world);
}

}  // namespace test
