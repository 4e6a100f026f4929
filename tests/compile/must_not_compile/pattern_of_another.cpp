// error: same_as
// A pattern of doubles lies in memory of doubles.
#include "espalier/espalier.hpp"

esp::Status f(esp::TeamRef team, const esp::Pattern<double>& column, std::span<float> matrix) {
  return team.bcast(column.in(matrix), 0);
}
