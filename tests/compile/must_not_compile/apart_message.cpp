// error: lie side by side
// A message is bytes from one place: what lies apart goes by a collective.
#include "espalier/espalier.hpp"

esp::Status f(esp::TeamRef team, const esp::Pattern<double>& column, std::span<double> matrix) {
  return team.send(column.in(matrix), {.rank = 1});
}
