#include "bootstrap/singleton_bootstrap.hpp"

#include "bootstrap/abort_process.hpp"
#include "bootstrap/random_id.hpp"

namespace espalier {

Result<std::unique_ptr<Bootstrap>> SingletonBootstrap::create() {
  Result<RandomId> id = draw_random_id();
  if (!id) return id.error();
  return std::unique_ptr<Bootstrap>(new SingletonBootstrap(random_id_text("singleton", *id)));
}

Result<std::vector<std::vector<std::byte>>> SingletonBootstrap::exchange(
    std::span<const std::byte> card) {
  return std::vector<std::vector<std::byte>>{{card.begin(), card.end()}};
}

void SingletonBootstrap::abort(int exit_code, std::string_view message) {
  print_abort_message(rank(), message);
  abort_process(exit_code);
}

}  // namespace espalier
