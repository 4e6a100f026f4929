#include "core/device/pointer_kinds.hpp"

namespace espalier::device {

Result<Place> PointerKinds::ask(Driver& driver, const void* at) {
  const Result<Tag> tag = driver.tag(at);
  if (!tag) return tag.error();
  if (!tag.value().known) return Place{};
  const std::uint64_t allocation = tag.value().allocation;
  Place& remembered = places_[allocation % kPlaces];
  // Parts of reserved addresses may share a number, so the range counts, too.
  if (allocation != 0 && remembered.allocation == allocation && remembered.holds(at, 1)) {
    return remembered;
  }
  Result<Place> place = driver.place(at);
  if (place.ok()) remembered = place.value();
  return place;
}

}  // namespace espalier::device
