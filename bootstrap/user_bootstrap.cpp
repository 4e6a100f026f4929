#include "bootstrap/user_bootstrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bootstrap/abort_process.hpp"
#include "bootstrap/random_id.hpp"

namespace espalier {
namespace {

Outcome check(const esp_bootstrap& callbacks) {
  if (callbacks.allgather == nullptr) {
    return error(ESP_ERR_ARGUMENT, "esp_bootstrap: allgather must not be NULL");
  }
  if (callbacks.size < 1 || callbacks.rank < 0 || callbacks.rank >= callbacks.size) {
    return error(ESP_ERR_ARGUMENT,
                 fmt::format("esp_bootstrap: rank {} of a job of {} ranks does not exist",
                             callbacks.rank, callbacks.size));
  }
  return Unit{};
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> UserBootstrap::create(const esp_bootstrap& callbacks) {
  if (Outcome checked = check(callbacks); !checked) return checked.error();
  std::unique_ptr<UserBootstrap> bootstrap(new UserBootstrap(callbacks));
  if (Outcome agreed = bootstrap->agree_on_job_id(); !agreed) return agreed.error();
  return std::unique_ptr<Bootstrap>(std::move(bootstrap));
}

Outcome UserBootstrap::agree_on_job_id() {
  const Result<RandomId> mine = draw_random_id();
  if (!mine) return mine.error();
  Result<std::vector<std::byte>> all = allgather(mine.value());
  if (!all) return all.error();
  RandomId of_rank_0;
  std::copy_n(all->begin(), of_rank_0.size(), of_rank_0.begin());
  job_id_ = random_id_text("user", of_rank_0);
  return Unit{};
}

Result<std::vector<std::byte>> UserBootstrap::allgather(std::span<const std::byte> mine) {
  std::vector<std::byte> all(mine.size() * static_cast<std::size_t>(size()));
  const int code = callbacks_.allgather(callbacks_.context, mine.data(), mine.size(), all.data());
  if (code != 0) {
    return error(ESP_ERR_BOOTSTRAP,
                 fmt::format("allgather of the user's bootstrap returned {}", code));
  }
  const std::byte* own = all.data() + mine.size() * static_cast<std::size_t>(rank());
  if (!std::equal(mine.begin(), mine.end(), own)) {
    return error(
        ESP_ERR_BOOTSTRAP,
        fmt::format("allgather of the user's bootstrap did not put the block of rank {} in "
                    "its place",
                    rank()));
  }
  return all;
}

Result<std::vector<std::vector<std::byte>>> UserBootstrap::exchange(
    std::span<const std::byte> card) {
  // Sizes first, then blocks padded to the largest: the callback gathers equal blocks only.
  const std::uint64_t card_bytes = card.size();
  Result<std::vector<std::byte>> gathered = allgather(bytes_of(card_bytes));
  if (!gathered) return gathered.error();
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size()));
  std::memcpy(sizes.data(), gathered->data(), gathered->size());
  const std::uint64_t block_bytes = *std::max_element(sizes.begin(), sizes.end());

  std::vector<std::vector<std::byte>> cards(sizes.size());
  if (block_bytes == 0) return cards;
  std::vector<std::byte> block(card.begin(), card.end());
  block.resize(block_bytes);
  Result<std::vector<std::byte>> blocks = allgather(block);
  if (!blocks) return blocks.error();
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const std::byte* start = blocks->data() + rank * block_bytes;
    cards[rank].assign(start, start + sizes[rank]);
  }
  return cards;
}

Outcome UserBootstrap::barrier() {
  const std::uint8_t here = 1;
  const Result<std::vector<std::byte>> all = allgather(bytes_of(here));
  if (!all) return all.error();
  return Unit{};
}

void UserBootstrap::abort(int exit_code, std::string_view message) {
  if (callbacks_.abort != nullptr) {
    callbacks_.abort(callbacks_.context, clamp_exit_code(exit_code), std::string(message).c_str());
  } else {
    print_abort_message(rank(), message);
  }
  abort_process(exit_code);
}

}  // namespace espalier
