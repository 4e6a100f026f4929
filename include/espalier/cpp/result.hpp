// Status, Error and Result: how calls answer.
//
// Status borrows its text from the team or job it speaks of: read it before the next call there, or
// make an Error of it, which owns a copy. value() and check() are for programs that have no better
// answer to a failure than to say so and stop. path: short
#ifndef ESPALIER_CPP_RESULT_HPP
#define ESPALIER_CPP_RESULT_HPP

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

#include "espalier/espalier.h"

namespace esp {

class [[nodiscard]] Status {
 public:
  constexpr Status() noexcept = default;
  // `detail`: a text of the team or job, nullptr or "" when there is none.
  constexpr explicit Status(esp_status code, const char* detail = nullptr) noexcept
      : code_(code), detail_(detail) {}

  constexpr esp_status code() const noexcept { return code_; }
  constexpr bool ok() const noexcept { return code_ == ESP_OK; }
  constexpr explicit operator bool() const noexcept { return ok(); }
  constexpr bool in_progress() const noexcept { return code_ == ESP_IN_PROGRESS; }
  // Never null; names the rank and the cause where the library knows them.
  const char* text() const noexcept {
    return detail_ != nullptr && detail_[0] != '\0' ? detail_ : esp_status_text(code_);
  }
  // Ends the process with the text unless ok().
  void check() const noexcept {
    if (ok()) return;
    std::fprintf(stderr, "espalier: %s\n", text());
    std::abort();
  }
  friend constexpr bool operator==(Status a, Status b) noexcept { return a.code_ == b.code_; }

 private:
  esp_status code_ = ESP_OK;
  const char* detail_ = nullptr;
};

namespace detail {
// The text for a call on a team: a team that failed explains everything that follows, otherwise the
// job knows why the latest call was refused.
inline Status explain(const esp_team* team, esp_status status) noexcept {
  if (status == ESP_OK || team == nullptr) return Status(status);
  const char* text = esp_team_error(team);
  return Status(status, text[0] != '\0' ? text : esp_job_error(esp_team_job(team)));
}
}  // namespace detail

// A failure with its explanation, owned.
struct Error {
  esp_status code;
  std::string text;

  explicit Error(Status status) : code(status.code()), text(status.text()) {}
};

// A T or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}
  explicit Result(Status failure) : Result(Error(failure)) {}

  bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  esp_status code() const noexcept { return ok() ? ESP_OK : std::get_if<1>(&content_)->code; }

  // These end the process with the text when there is no value.
  T& value() & noexcept { return checked(*this); }
  const T& value() const& noexcept { return checked(*this); }
  T value() && noexcept { return std::move(checked(*this)); }
  T& operator*() & noexcept { return checked(*this); }
  const T& operator*() const& noexcept { return checked(*this); }
  T* operator->() noexcept { return &checked(*this); }
  const T* operator->() const noexcept { return &checked(*this); }
  // Must not be called on a value.
  const Error& error() const noexcept {
    if (ok()) std::abort();
    return *std::get_if<1>(&content_);
  }

 private:
  // `self` is const or not, and so is the answer.
  static auto& checked(auto& self) noexcept {
    if (!self.ok()) Status(self.code(), self.error().text.c_str()).check();
    return *std::get_if<0>(&self.content_);
  }

  std::variant<T, Error> content_;
};

}  // namespace esp

#endif  // ESPALIER_CPP_RESULT_HPP
