// Types whose elements lie apart as a test knows them, memory in which every byte is checked, and a
// collective in any form. path: setup
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "tests/support/blocks.hpp"
#include "tests/support/forms.hpp"

namespace test {

// A type and where the built-in elements of one lie.
struct Typed {
  esp_type type = ESP_INT32, base = ESP_INT32;
  std::vector<std::size_t> offsets = {0};
  std::size_t extent = 1;

  std::size_t element() const { return esp_type_size(base); }
  // Of so many: bytes that move, and up to the end of the last one.
  std::size_t moved(std::size_t count) const { return count * offsets.size() * element(); }
  std::size_t reach(std::size_t count) const {
    if (count == 0 || offsets.empty()) return 0;
    const std::size_t last = *std::max_element(offsets.begin(), offsets.end()) + 1;
    return ((count - 1) * extent + last) * element();
  }
  std::size_t stride() const { return extent * element(); }
};

inline Typed builtin(esp_type type) {
  return {type, type, {0}, 1};
}
inline Typed strided(esp_job* job, esp_type base, std::size_t blocks, std::size_t length,
                     std::size_t stride, std::size_t extent = 0) {
  Typed made{base, base, {}, extent != 0 ? extent : (blocks - 1) * stride + length};
  CHECK_EQ(esp_type_strided(job, base, blocks, length, stride, extent, &made.type), ESP_OK, "{}",
           esp_job_error(job));
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t i = 0; i < length; ++i) made.offsets.push_back(b * stride + i);
  }
  return made;
}
inline Typed in_blocks(esp_job* job, esp_type base, const std::vector<std::size_t>& lengths,
                       const std::vector<std::size_t>& displs, std::size_t extent = 0) {
  Typed made{base, base, {}, extent};
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (std::size_t i = 0; i < lengths[b]; ++i) made.offsets.push_back(displs[b] + i);
    if (extent == 0 && lengths[b] > 0) made.extent = std::max(made.extent, displs[b] + lengths[b]);
  }
  CHECK_EQ(
      esp_type_blocks(job, base, lengths.size(), lengths.data(), displs.data(), extent, &made.type),
      ESP_OK, "{}", esp_job_error(job));
  return made;
}

// Bytes between guards, and what they have to be in the end; nothing else is to be written.
class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : now_(bytes + 2 * kGuard, kFill), initial_(now_), expected_(now_) {}

  void* data() { return now_.data() + kGuard; }
  // What stands there at first, and unless something else is expected, in the end: `packed` data of
  // `count` elements from byte `at` on.
  void put(std::size_t at, const Typed& type, std::size_t count,
           const std::vector<unsigned char>& packed) {
    spread(now_, at, type, count, packed);
    spread(initial_, at, type, count, packed);
    expect(at, type, count, packed);
  }
  void expect(std::size_t at, const Typed& type, std::size_t count,
              const std::vector<unsigned char>& packed) {
    spread(expected_, at, type, count, packed);
  }
  // Bytes that the library may use as it likes.
  void ignore(std::size_t at, std::size_t bytes) { ignored_.emplace_back(at + kGuard, bytes); }
  // Another round: with nothing, with the same.
  void blank() { std::fill(now_.begin() + kGuard, now_.end() - kGuard, 0); }
  void restore() { now_ = initial_; }

  void check(const std::string& what) {
    for (const auto& [at, bytes] : ignored_) std::copy_n(&now_[at], bytes, &expected_[at]);
    const auto wrong = std::mismatch(now_.begin(), now_.end(), expected_.begin()).first;
    CHECK(wrong == now_.end(), "{}: byte {} of {} is wrong", what,
          wrong - now_.begin() - static_cast<std::ptrdiff_t>(kGuard), now_.size() - 2 * kGuard);
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr unsigned char kFill = 0xA5;

  static void spread(std::vector<unsigned char>& bytes, std::size_t at, const Typed& type,
                     std::size_t count, const std::vector<unsigned char>& packed) {
    const std::size_t element = type.element();
    std::size_t from = 0;
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::size_t offset : type.offsets) {
        const std::size_t to = kGuard + at + (i * type.extent + offset) * element;
        std::memcpy(bytes.data() + to, packed.data() + from, element);
        from += element;
      }
    }
  }

  std::vector<unsigned char> now_, initial_, expected_;
  std::vector<std::pair<std::size_t, std::size_t>> ignored_;
};

// All ways to call a collective; persistent ones run a round on zeros before the one that counts.
inline constexpr Form kAllForms[] = {Form::kBlocking, Form::kRequest, Form::kCallback,
                                     Form::kCounter, Form::kPersistent};

// `apply(function, how...)` calls one of the three functions, with how it reports.
template <typename Apply, typename Now, typename Later>
esp_status run(esp_team* team, const Way& way, std::initializer_list<Memory*> memories,
               Apply&& apply, Now* now, Later* start, Later* init) {
  if (way.form != Form::kPersistent) {
    return call(
        team, way, [&] { return apply(now); },
        [&](const esp_coll_options* o, const esp_notify* n, esp_request** r) {
          return apply(start, o, n, r);
        });
  }
  esp_request* request = nullptr;
  esp_status status = apply(init, &way.options, static_cast<const esp_notify*>(nullptr), &request);
  for (int round = 0; round < 3 && status == ESP_OK; ++round) {
    for (Memory* memory : memories) round == 0 ? memory->blank() : memory->restore();
    status = esp_request_start(request);
    if (status == ESP_OK) status = esp_request_wait(&request);
  }
  if (request != nullptr) CHECK_OK(esp_request_free(&request), team, "free");
  return status;
}

}  // namespace test
