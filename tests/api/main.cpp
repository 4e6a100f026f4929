// api_tests CASE...: conformance of the public API, as one rank of a job.
#include "tests/api/cases.hpp"

int main(int argc, char** argv) {
  const std::vector<test::Case> cases = {
      {"bcast", test::bcast},
      {"types", test::types},
      {"sizes", test::sizes},
      {"huge", test::huge},
      {"options", test::options},
      {"operators", test::operators},
      {"nonblocking", test::nonblocking},
      {"persistent", test::persistent},
      {"cpp_persistent", test::cpp_persistent},
      {"teams", test::teams},
      {"flows", test::flows},
      {"regions", test::regions},
      {"completions", test::completions},
      {"messages", test::messages},
      {"events", test::events},
      {"allgather", test::allgather},
      {"alltoall", test::alltoall},
      {"scan", test::scan},
      {"gathers", test::gathers},
      {"arguments", test::arguments},
      {"gather_arguments", test::gather_arguments},
      {"mismatch", test::mismatch},
      {"unsent", test::unsent},
      {"unsent_by_leaver", test::unsent_by_leaver},
      {"cpp", test::cpp},
      {"cpp_gathers", test::cpp_gathers},
  };
  return test::run_cases(cases, argc, argv);
}
