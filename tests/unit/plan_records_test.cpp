// Plans of equal requests do what they did: actions, peers, segments, edges and order of
// combination of every index, compared with recorded ones. A change on purpose is recorded by
// `PLAN_RECORDS=tests/unit/plan_records.txt unit_tests --gtest_filter=PlanRecords.*`.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "coll/algorithms/trees.hpp"
#include "tests/unit/plan_makers.hpp"

namespace espalier::plan_check {
namespace {

// FNV-1a over numbers.
class Digest {
 public:
  template <typename... Numbers>
  void add(Numbers... numbers) {
    (add_one(static_cast<std::uint64_t>(numbers)), ...);
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_one(std::uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) {
      value_ = (value_ ^ (number >> 8 * byte & 0xff)) * 0x100000001b3ULL;
    }
  }
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

void add_index(Digest& digest, const Plan& plan, const Vertex& v, std::uint32_t i) {
  digest.add(i, plan.offset_bytes(v, i, Place::kOutput), plan.length_elements(v, i));
  const FlowPosition position = plan.position(v, i);
  if (v.action != Action::kCombine) digest.add(position.ordinal, position.total);
  if (v.action != Action::kCombine && v.action != Action::kPublish) digest.add(plan.peer(v, i));
  for (const Dependency& need : v.needs) {
    const std::int64_t needed = i - need.distance(v.indices.inner);
    const bool exists = 0 <= needed && needed < plan.vertices[need.vertex].indices.count;
    digest.add(need.vertex, exists ? needed : -1);
  }
}

void add_plan(Digest& digest, const Plan& plan) {
  const std::uint32_t slots = plan.layouts.size() > 2 ? plan.layout(Place::kScratch).blocks : 0;
  digest.add(plan.rank, plan.size, slots, plan.vertices.size());
  for (const Vertex& v : plan.vertices) {
    digest.add(v.action, v.src, v.dst, v.channel, v.synchronous, v.window, v.indices.count);
    if (v.transfer.path == Path::kMulticast) digest.add(v.transfer.path);
    for (const std::int32_t peer : v.peers) digest.add(peer);
    for (const Operand& operand : v.operands) digest.add(operand.place, operand.vertex);
    for (const std::uint16_t fed : v.feeds) digest.add(fed);
    for (std::uint32_t i = 0; i < v.indices.count; ++i) add_index(digest, plan, v, i);
  }
}

// Of blocks: where they stand in the buffer whose they are, and where they are read.
void add_places(Digest& digest, const Plan& plan) {
  for (const Vertex& v : plan.vertices) {
    for (std::uint32_t i = 0; i < v.indices.count; ++i) {
      digest.add(v.shape, plan.offset_bytes(v, i, v.shape));
      for (const Operand& operand : v.operands) {
        if (v.elsewhere) digest.add(plan.source_bytes(v, i, operand.place));
      }
    }
  }
}

// Over sizes, roots and numbers of segments; requests that are refused are left out.
void add_requests(Digest& digest, PlanRequest request) {
  for (const std::int32_t size : {1, 2, 3, 5, 8, 13}) {
    for (const std::uint64_t segments : {1, 2, 7, 70}) {
      request.size = size;
      request.elements = segments * 4 - 1;
      for (request.root = 0; request.root < size; request.root += 3) {
        if (!make_plan(request)) continue;
        for (const Plan& plan : make_plans(request)) add_plan(digest, plan);
      }
    }
  }
}

void add_node_requests(Digest& digest, PlanRequest request, std::int32_t nodes) {
  for (const std::int32_t size : {nodes, nodes + 1, 3 * nodes}) {
    std::vector<std::int32_t> node_of(static_cast<std::size_t>(size));
    for (std::int32_t m = 0; m < size; ++m) node_of[static_cast<std::size_t>(m)] = m % nodes;
    const TeamNodes placed = TeamNodes::of(node_of);
    request.size = size;
    request.nodes.nodes = &placed;
    for (const std::uint64_t segments : {1, 7, 70}) {
      request.elements = segments * 4 - 1;
      for (const Plan& plan : make_plans(request)) add_plan(digest, plan);
    }
  }
}

std::map<std::string, std::uint64_t> record() {
  std::map<std::string, std::uint64_t> records;
  for (const Collective collective :
       {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
    for (int algorithm = ESP_ALGORITHM_TREE; algorithm <= ESP_ALGORITHM_SPREAD; ++algorithm) {
      for (const ShapeCase& shape : shape_cases()) {
        for (int variant = 0; variant < ESP_VARIANT_COUNT; ++variant) {
          PlanRequest request = call(collective, 1, 1);
          request.algorithm = static_cast<esp_algorithm>(algorithm);
          request.shape = shape.shape;
          request.radix = shape.radix;
          request.variant = static_cast<esp_variant>(variant);
          if (algorithm != ESP_ALGORITHM_TREE && (shape.shape != ESP_SHAPE_FLAT || variant != 0)) {
            continue;
          }
          Digest digest;
          add_requests(digest, request);
          request.commutative = false;
          add_requests(digest, request);
          records[fmt::format("{} {} {}-{} {}", collective_name(collective), algorithm,
                              shape_name(shape.shape), shape.radix, variant)] = digest.value();
        }
      }
    }
    for (int how = 0; how < 3; ++how) {
      for (const std::int32_t nodes : {2, 3, 5}) {
        PlanRequest request = call(collective, 1, 1);
        request.shape = ESP_SHAPE_BINOMIAL;
        request.nodes.follow = true;
        request.nodes.exchange_radix = how == 1 ? 2 : 0;
        request.nodes.spread = how == 2;
        Digest digest;
        add_node_requests(digest, request, nodes);
        records[fmt::format("{} over {} nodes {}", collective_name(collective), nodes, how)] =
            digest.value();
      }
    }
  }
  for (const MadeRequest& made : made_requests()) {
    Digest digest;
    for (const Plan& plan : make_plans(made.request)) {
      add_plan(digest, plan);
      add_places(digest, plan);
    }
    records[made.name] = digest.value();
  }
  return records;
}

TEST(PlanRecords, PlansDoWhatTheyDid) {
  const std::map<std::string, std::uint64_t> made = record();
  if (const char* path = std::getenv("PLAN_RECORDS")) {
    std::ofstream out(path);
    for (const auto& [name, digest] : made) out << fmt::format("{:016x} {}\n", digest, name);
    return;
  }
  std::ifstream in(ESPALIER_SOURCE_DIR "/tests/unit/plan_records.txt");
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const std::string name = line.substr(17);
    const auto found = made.find(name);
    ASSERT_NE(found, made.end()) << name;
    EXPECT_EQ(fmt::format("{:016x}", found->second), line.substr(0, 16)) << name;
  }
  EXPECT_EQ(lines, made.size());
}

}  // namespace
}  // namespace espalier::plan_check
