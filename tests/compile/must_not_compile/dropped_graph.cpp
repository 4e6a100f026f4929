// error: nodiscard|unused-result|unused-value
// Making a graph is collective: who forgets it has made it for nothing.
#include "espalier/espalier.hpp"

void f(esp::TeamRef team) {
  const int neighbor[] = {0};
  team.graph(neighbor, neighbor);
}
