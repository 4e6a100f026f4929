// The program's view of the library: a team, the few exchanges the program needs besides its
// broadcasts of rows, and failures as exceptions that carry the library's explanation.
//
// Collective functions are called by all ranks in the same order. Single thread. path: setup
#pragma once

#include <espalier/espalier.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace asp {

class TeamError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Borrows the team.
class Team {
 public:
  static constexpr int kRoot = 0;  // The rank that reads, checks and reports.

  explicit Team(esp_team* handle)
      : handle_(handle), rank_(esp_team_rank(handle)), size_(esp_team_size(handle)) {}

  esp_team* handle() const { return handle_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == kRoot; }

  // Throws TeamError, with the library's explanation, unless `status` is ESP_OK.
  void check(esp_status status, const char* what) const {
    if (status == ESP_OK) return;
    const std::string reason = esp_team_error(handle_);
    throw TeamError(std::string(what) + ": " + (reason.empty() ? esp_status_text(status) : reason));
  }

  void barrier() { check(esp_barrier(handle_), "barrier"); }

  // `count` values from the root to all.
  template <typename T>
  void broadcast(T* values, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count == 0) return;
    check(esp_bcast(handle_, values, count * sizeof(T), ESP_BYTE, kRoot), "broadcast");
  }

  // The values of all ranks, in rank order, at the root; the others get an empty list.
  template <typename T>
  std::vector<T> gather(const T& mine) {
    std::vector<T> all(is_root() ? static_cast<std::size_t>(size_) : 0, mine);
    if (!is_root()) send_to_root(&mine, 1);
    for (int rank = 0; is_root() && rank < size_; ++rank) {
      if (rank != kRoot) receive(&all[static_cast<std::size_t>(rank)], 1, rank);
    }
    return all;
  }

  template <typename T>
  void send_to_root(const T* values, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count == 0) return;
    check(esp_send(handle_, values, count * sizeof(T), kRoot, kChannel), "send to rank 0");
  }

  template <typename T>
  void receive(T* values, std::size_t count, int from) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count == 0) return;
    check(esp_recv(handle_, values, count * sizeof(T), from, kChannel), "receive at rank 0");
  }

 private:
  static constexpr unsigned kChannel = 0;

  esp_team* handle_;
  int rank_;
  int size_;
};

}  // namespace asp
