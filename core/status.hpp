// Status and Result: operating errors are values.
//
// Status (8 bytes) is what anything that posts, polls or progresses returns: a code of the public
// API, the rank it speaks of (-1: none) and, for kSystem, the errno. Result<T> is for control
// paths: a T or an Error, which is a Status plus a text. The first detector writes the text; others
// propagate it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "core/assert.hpp"
#include "espalier/espalier.h"

namespace espalier {

// A rank of the job, unless the name says otherwise (team_rank).
using Rank = std::int32_t;
inline constexpr Rank kNoRank = -1;

class [[nodiscard]] Status {
 public:
  constexpr Status() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `return ESP_OK;` is meant to work.
  constexpr Status(esp_status code, Rank rank = kNoRank, int error_number = 0) noexcept
      : code_(static_cast<std::uint16_t>(code)),
        errno_(static_cast<std::uint16_t>(error_number)),
        rank_(rank) {}

  constexpr bool ok() const noexcept { return code_ == ESP_OK; }
  constexpr esp_status code() const noexcept { return static_cast<esp_status>(code_); }
  constexpr Rank rank() const noexcept { return rank_; }
  constexpr int error_number() const noexcept { return errno_; }
  friend constexpr bool operator==(const Status&, const Status&) noexcept = default;

 private:
  std::uint16_t code_ = ESP_OK;
  std::uint16_t errno_ = 0;
  Rank rank_ = kNoRank;
};
static_assert(sizeof(Status) == 8);

struct Error {
  Status status;
  std::string text;
};

// Makes an Error from a printf-less list: callers format with fmt first.
inline Error error(esp_status code, std::string text, Rank rank = kNoRank, int error_number = 0) {
  return Error{Status(code, rank, error_number), std::move(text)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` is meant to work.
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): `return error(...);` is meant to work.
  Result(Error failure) : content_(std::in_place_index<1>, std::move(failure)) {
    ESP_ASSERT(!std::get<1>(content_).status.ok());
  }

  bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  T& value() noexcept {
    ESP_ASSERT(ok());
    return *std::get_if<0>(&content_);
  }
  const T& value() const noexcept {
    ESP_ASSERT(ok());
    return *std::get_if<0>(&content_);
  }
  T& operator*() noexcept { return value(); }
  T* operator->() noexcept { return &value(); }
  const Error& error() const noexcept {
    ESP_ASSERT(!ok());
    return *std::get_if<1>(&content_);
  }

 private:
  std::variant<T, Error> content_;
};

struct Unit {};
// A control-path operation without a value.
using Outcome = Result<Unit>;

}  // namespace espalier
