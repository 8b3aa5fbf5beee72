#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace md {

struct options;

/// What the command line said: as text where the value needs reading, and empty where it says nothing, so that what the
/// input file says stays.
struct raw_options {
  std::optional<std::int64_t> steps, size, nx, ny, nz, reneighbour, thermo, dump_every;
  std::optional<double> cutoff, skin, dt, temperature, density, imbalance;
  std::optional<int> half_neigh, ghost_newton, sort, yaml_level;
  std::string units, force, data, eam, impl = "chare", exchange = "direct", lists, streams, halos, precision;
};

/// Declares all options, with `o` and `raw` as the places of their values. Those that are left out throw usage_error
/// with the reason when they are given.
void declare_options(CLI::App& app, options& o, raw_options& raw);

}  // namespace md
