// DirectoryMaker: reads the cards of a job, rank by rank, into its directory and its nodes.
//
// Nothing of a card is kept but what the directory holds, and whole cards of this node's ranks.
// path: setup
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "bootstrap/directory.hpp"
#include "bootstrap/job_nodes.hpp"
#include "core/topology.hpp"

namespace espalier {

class DirectoryMaker {
 public:
  struct Rules {
    bool share = true;       // ranks of a node may use shared memory; without, everybody is a node
    bool localities = true;  // trees are to follow sockets and the like
    // Each node is to be taken for this machine: its k-th rank is on core k, modulo the cores.
    const Machine* emulated = nullptr;
    Locality adapter = {};                // of such a machine
    const SwitchMap* switches = nullptr;  // nullptr: not known
  };

  // `mine`: the card of rank `me`, which is added like the others.
  DirectoryMaker(const Card& mine, Rank me, const Rules& rules);
  // Of the next rank.
  void add(const Card& card);

  // When all have been added.
  JobNodes nodes();
  Directory directory() const;
  // Nodes that the map of switches does not name: each has a switch of its own.
  const std::vector<std::string>& unnamed() const noexcept { return unnamed_; }

 private:
  // What all ranks of a machine have of it.
  struct MachineShare {
    int ranks = 0;
    cpu_set_t cpus = {};

    void add(const Card& card) noexcept;
    int usable_cpus() const noexcept;
  };
  // Machine, network namespace and name; a rank that shares nothing is a node of its own.
  using Name = std::tuple<std::uint64_t, std::uint64_t, std::string, Rank>;

  Name name_of(const Card& card, Rank rank) const;
  std::int32_t node_of(const Card& card, Rank rank);
  std::uint32_t site_of(const Card& card, std::int32_t node);
  SwitchPath switches_of(const Card& card);
  std::uint32_t keep_addresses(std::span<const std::byte> bytes);

  const Rules rules_;
  const Name own_name_;
  const std::uint64_t own_machine_;
  const std::uint64_t own_profile_;
  const Rank me_;
  JobNodes nodes_;
  std::unordered_map<std::uint64_t, MachineShare> shares_;  // by machine
  std::map<Name, std::int32_t> numbers_;
  std::vector<std::int32_t> members_;    // by node
  std::vector<std::uint64_t> adapters_;  // by node, of its first rank
  std::vector<SwitchPath> switches_;     // by node, where there is a map
  std::vector<std::string> unnamed_;
  std::vector<Directory::Row> rows_;
  std::vector<Directory::Site> sites_;
  std::unordered_map<std::string, std::uint32_t> known_sites_;
  std::vector<std::byte> addresses_;
  Directory::Head head_;
};

}  // namespace espalier
