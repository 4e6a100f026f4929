// error: SizesThatOutliveTheCall
// Arrays of counts are read until the operation has ended.
#include <espalier/espalier.hpp>
#include <vector>

void gather(esp::TeamRef team, const std::vector<int>& mine, std::vector<int>& all) {
  const esp::Blocks blocks(std::vector<std::size_t>(4, mine.size()));
  team.allgatherv_start(mine, all, blocks).value().wait().check();
}
