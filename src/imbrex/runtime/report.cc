#include "imbrex/runtime/report.h"

#include <fmt/format.h>

#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>

#include "imbrex/base/build_config.h"
#include "imbrex/base/topology.h"
#include "imbrex/comm/data/protocol_file.h"
#if IMBREX_HAVE_UCX
#include "imbrex/comm/ucx/ucx_transport.h"
#endif
#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/cuda_gpu.h"
#endif
#if IMBREX_HAVE_OPENCL
#include "imbrex/device/opencl/opencl_machine.h"
#endif

namespace imbrex {

namespace {

using json = nlohmann::ordered_json;

// How to get an optional part that this build lacks.
feature_facts feature(std::string name, bool present, const std::string& note, const std::string& packages) {
  const bool planned = note.starts_with("not part of");
  std::string remedy;
  if (!present && !planned) {
    std::string upper;
    for (char c : name) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const char* const by = packages.starts_with("pip ") ? "" : "apt-get install ";
    remedy = fmt::format("{}{}, then configure again with -DIMBREX_WITH_{}=AUTO", by, packages, upper);
  }
  return {std::move(name), present, note.substr(0, note.find(": install")), std::move(remedy)};
}

device_facts facts_of_host() {
  return {.name = "host",
          .kind = "host",
          .cores = available_cores(),
          .physical_cores = available_physical_cores(),
          .memory_bytes = available_host_memory(),
          .cache_bytes = last_level_cache_size()};
}

std::vector<device_facts> all_gpus() {
  std::vector<device_facts> list;
#if IMBREX_HAVE_CUDA
  for (int i = 0; i < cuda_machine::count(); ++i) {
    cuda_gates gates;
    const cuda_gpu gpu(i, i, gates);
    list.push_back({.name = gpu.name(), .kind = "cuda", .memory_bytes = gpu.memory().free});
  }
#endif
#if IMBREX_HAVE_OPENCL
  for (const opencl_found& d : opencl_machine::list()) {
    std::string name = fmt::format("{} (platform {})", d.name, d.platform_name);
    if (!d.why_not.empty()) name += ", which cannot be used: " + d.why_not;
    list.push_back({.name = std::move(name), .kind = "opencl", .memory_bytes = d.memory_bytes});
  }
#endif
  return list;
}

// What was found at build time says little: the library at run time may be another.
std::string ucx_note(const feature_facts& f) {
#if IMBREX_HAVE_UCX
  if (f.present) return ucx_library_description() + "; when started by mpirun or srun, with --imbrex-transport=ucx";
#endif
  return f.note;
}

std::vector<transport_facts> all_transports(const build_facts& build) {
  std::vector<transport_facts> list;
  list.push_back({"loopback", true, "ranks inside one process; also used for a single rank"});
  for (const feature_facts& f : build.features) {
    if (f.name == "mpi")
      list.push_back({"mpi", f.present, f.present ? f.note + ", when started by mpirun or srun" : f.note});
    if (f.name == "ucx") list.push_back({"ucx", f.present, ucx_note(f)});
  }
  return list;
}

std::vector<protocol_facts> all_protocols(const build_facts& build, const config& settings) {
  std::vector<protocol_facts> list;
  for (const feature_facts& f : build.features) {
    if (!f.present || (f.name != "mpi" && f.name != "ucx")) continue;
    protocol_reading read = read_protocols(settings.text("protocols"), f.name, machine_name());
    list.push_back({f.name, to_text(read.table), std::move(read.source), std::move(read.warnings)});
  }
  return list;
}

std::vector<option_facts> all_options(const config& settings) {
  std::vector<option_facts> list;
  for (const setting& s : settings.known()) {
    if (s.name == "help") continue;
    const std::string automatic = s.kind == setting_kind::text ? "" : "auto";
    const auto shown = [&](const std::string& text) { return text.empty() ? automatic : text; };
    list.push_back({"--imbrex-" + s.name, shown(s.default_value), shown(settings.text(s.name)),
                    to_string(settings.source(s.name)), s.help});
  }
  return list;
}

std::string in_units(std::uint64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

std::string or_none(const std::string& text) { return text.empty() ? "none" : text; }

}  // namespace

build_facts this_build() {
  build_facts b{IMBREX_VERSION, IMBREX_COMPILER, IMBREX_BUILD_TYPE, IMBREX_SANITIZER, {}};
  b.features.push_back(feature("mpi", IMBREX_HAVE_MPI != 0, IMBREX_NOTE_MPI, "libopenmpi-dev openmpi-bin"));
  b.features.push_back(feature("hwloc", IMBREX_HAVE_HWLOC != 0, IMBREX_NOTE_HWLOC, "libhwloc-dev pkg-config"));
  b.features.push_back(feature("metis", IMBREX_HAVE_METIS != 0, IMBREX_NOTE_METIS, "libmetis-dev"));
  b.features.push_back(feature("cuda", IMBREX_HAVE_CUDA != 0, IMBREX_NOTE_CUDA, "nvidia-cuda-toolkit"));
  b.features.push_back(feature("ucx", IMBREX_HAVE_UCX != 0, IMBREX_NOTE_UCX, "libucx-dev libopenmpi-dev openmpi-bin"));
  b.features.push_back(
      feature("opencl", IMBREX_HAVE_OPENCL != 0, IMBREX_NOTE_OPENCL, "ocl-icd-opencl-dev pocl-opencl-icd"));
  b.features.push_back(
      feature("libdeflate", IMBREX_HAVE_LIBDEFLATE != 0, IMBREX_NOTE_LIBDEFLATE, "libdeflate-dev pkg-config"));
  if (IMBREX_HAVE_LIBDEFLATE == 0)  // looked for only then
    b.features.push_back(feature("zlib", IMBREX_HAVE_ZLIB != 0, IMBREX_NOTE_ZLIB, "zlib1g-dev"));
  b.features.push_back(feature("isal", IMBREX_HAVE_ISAL != 0, IMBREX_NOTE_ISAL, "libisal-dev pkg-config"));
  b.features.push_back(feature("toml", IMBREX_HAVE_TOML != 0, IMBREX_NOTE_TOML, "libtomlplusplus-dev"));
  b.features.push_back(feature("hdf5", IMBREX_HAVE_HDF5 != 0, IMBREX_NOTE_HDF5, "libhdf5-dev"));
  b.features.push_back(
      feature("adios2", IMBREX_HAVE_ADIOS2 != 0, IMBREX_NOTE_ADIOS2, "pip install adios2 (or spack, conda)"));
  return b;
}

runtime_report make_report(const config& settings) {
  runtime_report r;
  r.build = this_build();
  r.devices.push_back(facts_of_host());
  for (device_facts& gpu : all_gpus()) r.devices.push_back(std::move(gpu));
  r.transports = all_transports(r.build);
  r.protocols = all_protocols(r.build, settings);
  r.options = all_options(settings);
  return r;
}

std::string to_text(const runtime_report& r) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "imbrex {}\n\nbuild\n", r.build.version);
  fmt::format_to(out, "  compiler    {}\n  type        {}\n  sanitizer   {}\n", r.build.compiler,
                 or_none(r.build.build_type), or_none(r.build.sanitizer));
  for (const feature_facts& f : r.build.features) {
    fmt::format_to(out, "  {:<11} {}  {}\n", f.name, f.present ? "yes" : "no ", f.note);
    if (!f.remedy.empty()) fmt::format_to(out, "{:19}to get it: {}\n", "", f.remedy);
  }
  text += "\ndevices\n";
  for (const device_facts& d : r.devices) {
    if (d.kind != "host") {
      fmt::format_to(out, "  {:<11} {}, {}memory {}\n", d.kind, d.name, d.kind == "cuda" ? "free " : "",
                     in_units(d.memory_bytes));
      continue;
    }
    fmt::format_to(out, "  {:<11} cores {} (physical {}), free memory {}, last-level cache {}\n", d.name, d.cores,
                   d.physical_cores, in_units(d.memory_bytes), in_units(d.cache_bytes));
  }
  text += "\ntransports\n";
  for (const transport_facts& t : r.transports) {
    fmt::format_to(out, "  {:<11} {}  {}\n", t.name, t.present ? "yes" : "no ", t.note);
  }
  if (!r.protocols.empty()) text += "\nprotocols (sizes up to which data go which way; measured by imbrex tune)\n";
  for (const protocol_facts& p : r.protocols) {
    fmt::format_to(out, "  {:<11} {}\n{:14}{}\n", p.transport, p.source, "", p.sizes);
    for (const std::string& w : p.warnings) fmt::format_to(out, "{:14}{}\n", "", w);
  }
  text += "\noptions (or as IMBREX_... in the environment; the command line goes first)\n";
  for (const option_facts& o : r.options) {
    const std::string from =
        o.source == "default" ? "" : fmt::format(" [{}; default {}]", o.source, or_none(o.default_value));
    fmt::format_to(out, "  {:<26} {:<9} {}{}\n", o.name, or_none(o.value), o.help, from);
  }
  return text;
}

std::string to_json(const runtime_report& r) {
  json j;
  j["version"] = r.build.version;
  j["build"] = {{"compiler", r.build.compiler}, {"type", r.build.build_type}, {"sanitizer", r.build.sanitizer}};
  for (const feature_facts& f : r.build.features) {
    j["features"][f.name] = {{"present", f.present}, {"note", f.note}, {"remedy", f.remedy}};
  }
  for (const device_facts& d : r.devices) {
    j["devices"].push_back({{"name", d.name},
                            {"kind", d.kind},
                            {"cores", d.cores},
                            {"physical_cores", d.physical_cores},
                            {"memory_bytes", d.memory_bytes},
                            {"cache_bytes", d.cache_bytes}});
  }
  for (const transport_facts& t : r.transports) j["transports"][t.name] = {{"present", t.present}, {"note", t.note}};
  for (const protocol_facts& p : r.protocols)
    j["protocols"][p.transport] = {{"sizes", p.sizes}, {"source", p.source}, {"warnings", p.warnings}};
  for (const option_facts& o : r.options) {
    j["options"][o.name] = {{"default", o.default_value}, {"value", o.value}, {"source", o.source}, {"help", o.help}};
  }
  return j.dump(2);
}

}  // namespace imbrex
