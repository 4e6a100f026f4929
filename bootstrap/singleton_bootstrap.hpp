// The bootstrap of a process that nobody launched: a job of one rank. Path: setup.
#pragma once

#include "bootstrap/bootstrap.hpp"

namespace espalier {

class SingletonBootstrap final : public Bootstrap {
 public:
  static Result<std::unique_ptr<Bootstrap>> create();

  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  std::string_view name() const noexcept override { return "singleton"; }
  std::string job_id() const override { return job_id_; }
  Result<std::vector<std::vector<std::byte>>> exchange(std::span<const std::byte> card) override;
  Outcome barrier() override { return Unit{}; }
  [[noreturn]] void abort(int exit_code, std::string_view message) override;
  Outcome close() override { return Unit{}; }

 private:
  explicit SingletonBootstrap(std::string job_id) : job_id_(std::move(job_id)) {}

  const std::string job_id_;
};

}  // namespace espalier
