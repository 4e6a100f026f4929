// A list of PMIx attributes that frees itself.
#pragma once

#include <pmix.h>

#include <cstdint>
#include <string>
#include <vector>

namespace esp_run {

class InfoList {
 public:
  InfoList() = default;
  InfoList(const InfoList&) = delete;
  InfoList& operator=(const InfoList&) = delete;
  ~InfoList() {
    for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
  }

  pmix_info_t* data() { return infos_.data(); }
  std::size_t size() const { return infos_.size(); }

  void add_text(const char* key, const std::string& text) { load(key, text.c_str(), PMIX_STRING); }
  void add_number(const char* key, std::uint32_t number) { load(key, &number, PMIX_UINT32); }
  void add_short_number(const char* key, std::uint16_t number) { load(key, &number, PMIX_UINT16); }
  void add_rank(const char* key, pmix_rank_t rank) { load(key, &rank, PMIX_PROC_RANK); }
  // Copies it.
  void add_list(const char* key, InfoList& nested) {
    const pmix_data_array_t array{PMIX_INFO, nested.size(), nested.data()};
    load(key, &array, PMIX_DATA_ARRAY);
  }
  void add_regex(const char* key, const char* regex) { load(key, regex, PMIX_REGEX); }
  void add_process(const char* key, const pmix_proc_t& process) { load(key, &process, PMIX_PROC); }
  // Not copied: it must outlive the use of libpmix, which keeps the pointer inside.
  void add_topology(pmix_topology_t& topology) {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_LOAD_KEY(info.key, PMIX_TOPOLOGY2);
    info.value.type = PMIX_TOPO;
    info.value.data.topo = &topology;
    borrowed_ = infos_.size();
    infos_.push_back(info);
  }
  // Before the destructor runs, gives up what add_topology() borrowed.
  void release_topology() { infos_[borrowed_].value.type = PMIX_UNDEF; }

 private:
  void load(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
    infos_.push_back(info);
  }

  std::vector<pmix_info_t> infos_;
  std::size_t borrowed_ = 0;
};

}  // namespace esp_run
