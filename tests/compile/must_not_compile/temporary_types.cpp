// error: TypesThatOutliveTheCall
// Arrays of types are read until the operation has ended, as those of counts are.
#include <espalier/espalier.hpp>
#include <vector>

void exchange(esp::TeamRef team, std::span<const std::size_t> sizes, std::vector<int>& all) {
  const esp::TypedBlocks blocks(sizes, sizes, std::vector<esp_type>(4, ESP_INT32));
  team.alltoallw_in_place_start(all, blocks).value().wait().check();
}
