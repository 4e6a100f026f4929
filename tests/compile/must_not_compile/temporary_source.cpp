// error: borrowed_range
// What is sent later must outlive the call.
#include <espalier/espalier.hpp>
#include <vector>

void send(esp::TeamRef team) {
  auto started = team.send_start(std::vector<int>(100, 7), {.rank = 1});
  (void)started;
}
