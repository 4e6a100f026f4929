// A runtime's own bootstrap: the callbacks of esp_bootstrap behind the Bootstrap interface.
//
// Needs an allgather of equal blocks, nothing else; no PMIx is called. The context
// pointer belongs to the runtime and must stay valid until close(). Path: setup.
#pragma once

#include "bootstrap/bootstrap.hpp"

namespace espalier {

class UserBootstrap final : public Bootstrap {
 public:
  // Collective: agrees on the job's identifier.
  static Result<std::unique_ptr<Bootstrap>> create(const esp_bootstrap& callbacks);

  int rank() const noexcept override { return callbacks_.rank; }
  int size() const noexcept override { return callbacks_.size; }
  std::string_view name() const noexcept override { return "user"; }
  std::string job_id() const override { return job_id_; }
  Result<std::vector<std::vector<std::byte>>> exchange(std::span<const std::byte> card) override;
  Outcome barrier() override;
  [[noreturn]] void abort(int exit_code, std::string_view message) override;
  Outcome close() override { return Unit{}; }

 private:
  explicit UserBootstrap(const esp_bootstrap& callbacks) : callbacks_(callbacks) {}

  Outcome agree_on_job_id();
  // `mine` of every rank, in rank order; all ranks pass the same number of bytes.
  Result<std::vector<std::byte>> allgather(std::span<const std::byte> mine);

  const esp_bootstrap callbacks_;
  std::string job_id_;
};

}  // namespace espalier
