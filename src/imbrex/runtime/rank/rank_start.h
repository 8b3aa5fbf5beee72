#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "imbrex/comm/transport.h"
#include "imbrex/runtime/options/options.h"
#include "imbrex/runtime/rank/device_sharing.h"

namespace imbrex::detail {

/// What a rank tells all others before its PEs start, in one exchange.
struct rank_facts {
  std::string error_kind, error_text;  ///< why it cannot start; empty: it can
  std::string command_line;
  std::uint64_t program = 0;    ///< digest of what its PEs can be sent
  int pes = 0;                  ///< that were asked for; 0: its share of the cores
  int cores = 0;                ///< it may use
  int local_ranks = 1;          ///< of its host
  std::vector<int> processors;  ///< it may use
  devices_in_use devices;       ///< of its machine
  std::int64_t now_ns = 0;
  /// \name Rank 0 alone: they are everyone's
  ///@{
  std::vector<std::byte> readonly_values;
  protocol_table protocols;
  ///@}

  template <class Archive>
  void serialize(Archive& ar) {
    ar & error_kind & error_text & command_line & program & pes & cores & local_ranks & processors & devices & now_ns &
        readonly_values & protocols;
  }
};

/// What the ranks know of each other then.
struct rank_agreement {
  pe_plan plan;
  std::vector<bool> same_host;    ///< by rank: it runs on this machine, in another process
  std::vector<int> host_of_rank;  ///< equal numbers: they run on one machine
  int num_sharing_devices = 1;    ///< ranks that use a device of this one, itself counted
  std::int64_t began_ns = 0;      ///< rank 0's clock
  std::vector<std::byte> readonly_values;
  protocol_table protocols;
};

/// This rank's facts. Settles what the options leave open about devices. What it cannot do becomes an error in them.
rank_facts facts_of_this_rank(runtime_options& options, transport* t, const std::string& command_line);

/// What follows from all ranks' facts, the same on each of them. Throws the first rank's error, or `config_error` when
/// the ranks were started differently.
struct agreement_of_all {
  std::vector<rank_facts> facts;
  std::vector<pe_plan> plans;
  std::vector<int> hosts;  ///< by rank: the first one of its machine
};
agreement_of_all agree(std::vector<rank_facts> facts, const runtime_options& options);

/// What that is for rank `mine`; `one_process`: all ranks are in one, and none is another process on this machine.
rank_agreement agreement_of(const agreement_of_all& all, std::size_t mine, bool one_process);
/// Both.
rank_agreement agree(const std::vector<rank_facts>& all, std::size_t mine, const runtime_options& options,
                     bool one_process);

/// The facts and what follows, with one exchange between the ranks. `t` may be null. `once`: where many ranks are in
/// one process, the first of them leaves there what is the same for all; null: there are not.
rank_agreement agree_on_start(runtime_options& options, transport* t, const std::string& command_line,
                              std::optional<agreement_of_all>* once = nullptr);

}  // namespace imbrex::detail
