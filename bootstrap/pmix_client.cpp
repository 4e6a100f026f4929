#include "bootstrap/pmix_client.hpp"

#include <fmt/format.h>

#include <memory>

namespace espalier::pmix {
namespace {

// A directive of a call: a key that is true by being there.
class Directive {
 public:
  explicit Directive(const char* key) {
    const bool on = true;
    PMIX_INFO_CONSTRUCT(&info_);
    PMIX_INFO_LOAD(&info_, key, &on, PMIX_BOOL);
  }
  ~Directive() { PMIX_INFO_DESTRUCT(&info_); }
  Directive(const Directive&) = delete;
  Directive& operator=(const Directive&) = delete;
  const pmix_info_t* get() const { return &info_; }

 private:
  pmix_info_t info_;
};

struct ReleaseValue {
  void operator()(pmix_value_t* value) const { PMIX_VALUE_RELEASE(value); }
};
using Value = std::unique_ptr<pmix_value_t, ReleaseValue>;

struct Found {
  pmix_status_t code;
  Value value;
};

Found get(const pmix_proc_t& of, const char* key, const char* directive) {
  const Directive how(directive);
  pmix_value_t* value = nullptr;
  const pmix_status_t code = PMIx_Get(&of, key, how.get(), 1, &value);
  return {code, Value(code == PMIX_SUCCESS ? value : nullptr)};
}

}  // namespace

Error failure(std::string_view call, pmix_status_t code) {
  return error(ESP_ERR_BOOTSTRAP, fmt::format("{}: {} ({})", call, PMIx_Error_string(code), code));
}

pmix_proc_t process(const pmix_proc_t& self, Rank rank) {
  pmix_proc_t result = self;
  result.rank = static_cast<pmix_rank_t>(rank);
  return result;
}

pmix_proc_t whole_job(const pmix_proc_t& self) {
  pmix_proc_t result = self;
  result.rank = PMIX_RANK_WILDCARD;
  return result;
}

std::optional<std::uint32_t> launcher_number(const pmix_proc_t& of, const char* key) {
  const Found found = get(of, key, PMIX_OPTIONAL);
  if (!found.value) return std::nullopt;
  std::uint32_t number = 0;
  pmix_status_t code = PMIX_SUCCESS;
  PMIX_VALUE_GET_NUMBER(code, found.value.get(), number, std::uint32_t);
  if (code != PMIX_SUCCESS) return std::nullopt;
  return number;
}

std::optional<std::string> launcher_text(const pmix_proc_t& of, const char* key) {
  const Found found = get(of, key, PMIX_OPTIONAL);
  // Open MPI's mpirun stores some keys as a NULL string.
  if (!found.value || found.value->type != PMIX_STRING) return std::nullopt;
  if (found.value->data.string == nullptr) return std::nullopt;
  return std::string(found.value->data.string);
}

Outcome publish(const std::string& key, std::span<const std::byte> bytes) {
  // PMIx copies the bytes; it only lacks a const in its type.
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data()));
  value.data.bo.size = bytes.size();
  pmix_status_t code = PMIx_Put(PMIX_GLOBAL, key.c_str(), &value);
  if (code != PMIX_SUCCESS) return failure("PMIx_Put", code);
  code = PMIx_Commit();
  if (code != PMIX_SUCCESS) return failure("PMIx_Commit", code);
  return Unit{};
}

Result<std::optional<std::vector<std::byte>>> fetch(const pmix_proc_t& of, const std::string& key) {
  const Found found = get(of, key.c_str(), PMIX_IMMEDIATE);
  if (found.code == PMIX_ERR_NOT_FOUND) return std::optional<std::vector<std::byte>>();
  if (!found.value) return failure(fmt::format("PMIx_Get of rank {}", of.rank), found.code);
  if (found.value->type != PMIX_BYTE_OBJECT) {
    return error(ESP_ERR_BOOTSTRAP, fmt::format("the card of rank {} is not binary", of.rank));
  }
  const pmix_byte_object_t& object = found.value->data.bo;
  const auto* bytes = reinterpret_cast<const std::byte*>(object.bytes);
  return std::optional(std::vector<std::byte>(bytes, bytes + object.size));
}

bool has_published(const pmix_proc_t& self, const std::string& key) {
  return get(self, key.c_str(), PMIX_OPTIONAL).code == PMIX_SUCCESS;
}

Result<FenceEnd> fence(const pmix_proc_t& self, Fence kind) {
  const pmix_proc_t everyone = whole_job(self);
  pmix_status_t code = PMIX_SUCCESS;
  if (kind == Fence::kCollect) {
    const Directive collect(PMIX_COLLECT_DATA);
    code = PMIx_Fence(&everyone, 1, collect.get(), 1);
  } else {
    code = PMIx_Fence(&everyone, 1, nullptr, 0);
  }
  if (code == PMIX_SUCCESS) return FenceEnd::kComplete;
  if (code == PMIX_ERR_PARTIAL_SUCCESS) return FenceEnd::kWithoutSome;
  return failure("PMIx_Fence", code);
}

}  // namespace espalier::pmix
