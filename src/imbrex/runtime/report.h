#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "imbrex/base/config.h"

/// What this imbrex is and can do here: the contents of `imbrex info`.
namespace imbrex {

/// An optional part of the build.
struct feature_facts {
  std::string name;  ///< "mpi"
  bool present;
  std::string note;    ///< what was found, or why it is absent
  std::string remedy;  ///< how to get it; empty when present
};

struct build_facts {
  std::string version, compiler, build_type, sanitizer;
  std::vector<feature_facts> features;
};

struct device_facts {
  std::string name, kind;  ///< kind: "host", "cuda" or "opencl"
  int cores = 0;           ///< that this process may use
  int physical_cores = 0;
  std::uint64_t memory_bytes = 0;  ///< free now; of OpenCL, which does not tell that, all there is
  std::uint64_t cache_bytes = 0;   ///< last level
};

struct transport_facts {
  std::string name;
  bool present;
  std::string note;
};

/// The sizes up to which data go which way, as jobs on this machine will have them.
struct protocol_facts {
  std::string transport;
  std::string sizes;   ///< "packed_host_bytes 16384, ..."
  std::string source;  ///< "built in", or file and date
  std::vector<std::string> warnings;
};

struct option_facts {
  std::string name, default_value, value, source, help;
};

struct runtime_report {
  build_facts build;
  std::vector<device_facts> devices;
  std::vector<transport_facts> transports;
  std::vector<protocol_facts> protocols;
  std::vector<option_facts> options;
};

build_facts this_build();

/// Looks at this machine; `settings` gives the options' current values.
runtime_report make_report(const config& settings);

/// For people, some 40 lines.
std::string to_text(const runtime_report& r);
/// For programs: one JSON object of the same facts.
std::string to_json(const runtime_report& r);

}  // namespace imbrex
