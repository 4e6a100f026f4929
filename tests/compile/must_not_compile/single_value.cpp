// error: UseEspOneForASingleValue
// A buffer is a range; whoever passes a value is told of esp::one.
#include "espalier/espalier.hpp"

esp::Status f(esp::TeamRef team, int answer) {
  return team.bcast(answer, 0);
}
