// Every rank says hello; rank 0 broadcasts a table and everybody adds up the ranks, both at once.
// Run: esp-run -n 4 hello_cpp
#include <espalier/espalier.hpp>
#include <iostream>
#include <vector>

int main() {
  auto job = esp::Job::init();
  if (!job.ok()) return std::cerr << job.error().text << '\n', 1;
  const esp::TeamRef world = job->world();

  std::vector<double> table(1000, world.rank() == 0 ? 42.0 : 0.0);
  int sum = world.rank();
  auto filled = world.bcast_start(table, 0);
  auto summed = world.allreduce_in_place_start(esp::one(sum), esp::kSum);
  for (auto* started : {&filled, &summed}) {
    if (!started->ok()) return std::cerr << started->error().text << '\n', 1;
    if (esp::Status s = (*started)->wait(); !s) return std::cerr << s.text() << '\n', 1;
  }
  std::cout << "hello from rank " + std::to_string(world.rank()) + " of " +
                   std::to_string(world.size()) + ": answer " + std::to_string(table.back()) +
                   ", sum of ranks " + std::to_string(sum) + "\n";
}
