// error: BufferOfTheRegionsElements
// A region's positions count its elements: those of another size would reach elsewhere.
#include "espalier/espalier.hpp"

esp::Status f(esp::Region<double>& table, std::span<float> floats) {
  return table.get({0, 0}, floats);
}
