// Senders without a job: what receivers are told, through an adaptor as a user would write it.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "espalier/espalier.hpp"

namespace {

// Writes down what it is told.
struct Recorder {
  std::string* told;
  void set_value() && noexcept { *told += "value"; }
  void set_value(int n) && noexcept { *told += "value " + std::to_string(n); }
  void set_error(esp::Status status) && noexcept { *told += status.text(); }
  void set_stopped() && noexcept { *told += "stopped"; }
};
struct OnlyValues {
  void set_value() && noexcept {}
};
static_assert(esp::execution::Receiver<Recorder> && !esp::execution::Receiver<OnlyValues>);

// A sender of what f makes of another's value.
template <typename S, typename F>
struct Then {
  using sender_concept = esp::execution::sender_tag;
  S before;
  F f;

  template <typename R>
  struct Receiver {
    F f;
    R receiver;
    void set_value() && noexcept { std::move(receiver).set_value(f()); }
    void set_error(esp::Status status) && noexcept { std::move(receiver).set_error(status); }
    void set_stopped() && noexcept { std::move(receiver).set_stopped(); }
  };
  template <typename R>
  auto connect(R receiver) && {
    return std::move(before).connect(Receiver<R>{std::move(f), std::move(receiver)});
  }
};
template <typename S, typename F>
Then(S, F) -> Then<S, F>;

struct Operations {
  esp_notify notify{};
  int started = 0;
  auto sender(esp_status answer = ESP_OK) {
    return esp::sender(esp::TeamRef(nullptr), [this, answer](esp::Notify told) {
      ++started;
      notify = *told.get();
      if (answer == ESP_OK) told.release();
      return esp::Status(answer);
    });
  }
  void end(esp_status status) const { notify.callback(notify.context, status); }
};

void told_once() {
  const std::pair<esp_status, std::string> ends[] = {
      {ESP_OK, "value"},
      {ESP_ERR_CANCELED, "stopped"},
      {ESP_ERR_NETWORK, esp_status_text(ESP_ERR_NETWORK)}};
  for (const auto& [status, expected] : ends) {
    Operations operations;
    std::string told;
    const auto sender = operations.sender();
    auto state = sender.connect(Recorder{&told});
    EXPECT_EQ(operations.started, 0) << "it is lazy";
    static_assert(noexcept(state.start()));
    state.start();
    EXPECT_EQ(told, "");
    operations.end(status);
    EXPECT_EQ(told, expected);
    auto again = sender.connect(Recorder{&told});
    again.start();
    operations.end(status);
    EXPECT_EQ(told, expected + expected);
  }
}

void cannot_be_started() {
  Operations operations;
  std::string told;
  auto state = operations.sender(ESP_ERR_ARGUMENT).connect(Recorder{&told});
  state.start();
  EXPECT_EQ(told, esp_status_text(ESP_ERR_ARGUMENT));
}

void adaptors() {
  for (const esp_status status : {ESP_OK, ESP_ERR_CANCELED}) {
    Operations operations;
    std::string told;
    auto state = Then{operations.sender(), [] { return 7; }}.connect(Recorder{&told});
    state.start();
    operations.end(status);
    EXPECT_EQ(told, status == ESP_OK ? "value 7" : "stopped");
  }
}

TEST(Sender, ReceiversAreToldOnceHowItEnded) {
  told_once();
  cannot_be_started();
  adaptors();
}

}  // namespace
