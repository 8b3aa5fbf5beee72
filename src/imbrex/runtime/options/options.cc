#include "imbrex/runtime/options/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "imbrex/balance/balance_strategy.h"
#include "imbrex/balance/live/pe_rates.h"
#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#include "imbrex/checkpoint/erasure_code/reed_solomon.h"
#include "imbrex/hetero/placement/placement.h"
#include "imbrex/runtime/options/idle_options.h"
#include "imbrex/runtime/options/virtual_time_settings.h"
#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/cuda_devices.h"
#endif
#if IMBREX_HAVE_OPENCL
#include "imbrex/device/opencl/opencl_devices.h"
#endif

namespace imbrex {

namespace {

/// Those that are known before `main` has begun, imbrex's own at least.
std::string names_of_strategies() {
  std::string names;
  for (const strategy_facts& s : known_strategies())
    names += (names.empty() ? "" : ", ") + s.name + (s.is_built ? "" : " (not built)");
  return names;
}

std::vector<setting> settings_of_every_run() {
  using enum setting_kind;
  return {
      {.name = "pes",
       .kind = integer,
       .default_value = "0",
       .max = 4096,
       .help = "PEs (scheduler threads) of each rank; 0: this rank's share of the cores"},
      {.name = "pin", .kind = flag, .help = "keep every PE on a core of its own; default: when there are enough cores"},
      {.name = "spin-us",
       .kind = integer,
       .max = 1'000'000,
       .help = "microseconds that an idle PE spins before it sleeps; default: 20, or 0 with more PEs than cores"},
      {.name = "transport",
       .kind = text,
       .default_value = "auto",
       .choices = {"auto", "loopback", "mpi", "ucx"},
       .help = "how ranks talk; auto: mpi when started by mpirun or srun, else loopback"},
      {.name = "protocol",
       .kind = text,
       .default_value = "auto",
       .choices = {"auto", "packed", "staged", "direct", "shared"},
       .help =
           "how data of channels and GPU messages go to other ranks: in the message, through pinned memory in pieces, "
           "straight from where they are, or read where they are by GPUs of the same machine; auto: by size and kind"},
      {.name = "protocols",
       .kind = text,
       .default_value = "auto",
       .help = "file of sizes up to which data go which way, as imbrex tune writes it; auto: that of this user, "
               "none: built-in sizes"},
      {.name = "tuning",
       .kind = text,
       .default_value = "auto",
       .help = "file in which searches of `ix::tuner` remember what was fastest; auto: tuning.json of this user; none"},
      {.name = "heartbeat-s",
       .kind = integer,
       .default_value = "10",
       .max = 86'400,
       .help = "ucx only: a rank that is silent for so many seconds is lost and the job ends; 0: nobody looks"},
      {.name = "ranks",
       .kind = integer,
       .default_value = "1",
       .min = 1,
       .max = 1'000'000,
       .help =
           "loopback: ranks inside this process, for tests; with machine: ranks of the job, default: as many as its "
           "nodes take"},
      {.name = "loopback-seed",
       .kind = seed,
       .default_value = "0",
       .help = "loopback only: seed of the delays and the order of messages"},
      {.name = "loopback-delay-us",
       .kind = integer,
       .default_value = "0",
       .max = 1'000'000,
       .help = "loopback only: a message takes up to this many microseconds"},
      {.name = "loopback-reorder",
       .kind = flag,
       .default_value = "off",
       .help = "loopback only: messages of different pairs of PEs overtake each other"},
      {.name = "loopback-lose-after",
       .kind = integer,
       .default_value = "0",
       .max = 1'000'000'000,
       .help = "loopback only: a rank is lost after so many messages or up to twice as many, which one by "
               "loopback-seed; with checkpoint-memory again and again, until one is left; 0: none"},
      {.name = "trace", .kind = text, .help = "file for a Chrome trace of the run (opens in Perfetto)"},
      {.name = "trace-ranks",
       .kind = integer,
       .default_value = "0",
       .max = 1'000'000,
       .help =
           "the trace has so many ranks at most, from the first to the last as far apart as they can be; 0: all, or "
           "64 with machine"},
      {.name = "trace-gpu",
       .kind = text,
       .default_value = "cupti",
       .choices = {"cupti", "events"},
       .help = "what tells a trace when GPUs did what: cupti, where CUDA's library of that name can be used; events, "
               "which slow "
               "streams down and see nothing inside graphs, and leave CUPTI to other tools"},
      {.name = "device",
       .kind = text,
       .default_value = "host",
       .choices = {"host", "cuda", "opencl", "auto"},
       .help = "where chares keep their data and run their kernels; auto: cuda where there is a GPU, else host"},
      {.name = "gpus",
       .kind = integer,
       .default_value = "0",
       .max = 1024,
       .help = "GPUs (with opencl: devices) of each rank; 0: its share of those there are"},
      {.name = "gpu-map", .kind = text, .help = "the GPU of each PE of a rank, such as 0,0,1,1; default: by topology"},
      {.name = "completion",
       .kind = text,
       .default_value = "flag",
       .choices = {"flag", "event", "callback", "sync"},
       .help = "cuda only: how a PE notices that GPU work has finished; sync blocks the PE"},
      {.name = "gpu-waits",
       .kind = text,
       .default_value = "kernel",
       .choices = {"kernel", "stream"},
       .help = "how a stream waits for another GPU: in a small kernel, or, later, by the driver's means; stream with "
               "kernels of your own that need a whole GPU at once (cooperative ones)"},
      {.name = "task-policy",
       .kind = text,
       .default_value = "locality",
       .help = "which task runs next, and on which device: locality: where its data are; round_robin: in turn; "
               "shortest_finish: where it will be over first; or a policy of the program's own"},
      {.name = "task-costs",
       .kind = text,
       .help = "file of what tasks took, for shortest_finish: read at the start if it is there, written at the end"},
      {.name = "task-stealing",
       .kind = flag,
       .default_value = "on",
       .help = "PEs with nothing to do run tasks of the host that other PEs of the process have submitted"},
      {.name = "task-memory-mb",
       .kind = integer,
       .default_value = "0",
       .help = "MB of each device's memory for the objects of a PE's tasks; 0: the PE's share of most of what is free"},
      {.name = "task-disk",
       .kind = text,
       .help = "folder on a disk: objects' memory on the host lies in a file there as far as it is beyond "
               "task-host-mb, so that objects may exceed main memory; empty: all is in main memory"},
      {.name = "task-host-mb",
       .kind = integer,
       .default_value = "0",
       .help =
           "with task-disk: MB of main memory for the objects of a PE's tasks; 0: the PE's share of half of what is "
           "free"},
      {.name = "task-streams",
       .kind = integer,
       .default_value = "5",
       .min = 1,
       .max = 64,
       .help = "streams of each device for a PE's tasks, besides one for each direction of copies"},
      {.name = "schedule-seed",
       .kind = seed,
       .default_value = "0",
       .help = "other than 0: run what is ready in random order, to find order-dependent programs"},
      {.name = "busiest-elements",
       .kind = integer,
       .default_value = "0",
       .max = 1'000'000,
       .help = "time what elements run, and name at the end so many of each PE that ran longest, on standard error"},
      {.name = "balance",
       .kind = text,
       .default_value = "",
       .help = "balance loads by moving elements, by this strategy: " + names_of_strategies() +
               "; a program may have its own; empty: do not"},
      {.name = "balance-every-ms",
       .kind = integer,
       .default_value = "500",
       .max = 3'600'000,
       .help = "with balance: look that often whether moving elements pays; 0: only where the program calls balance"},
      {.name = "balance-rates",
       .kind = text,
       .default_value = "measured",
       .help = "with balance: how fast PEs are: measured, equal, or a number for each PE, e.g. 1,1,0.5,0.5"},
      {.name = "balance-record",
       .kind = text,
       .default_value = "",
       .help = "with balance: file for what was measured each time, for imbrex balance-replay"},
      {.name = "checkpoint",
       .kind = text,
       .default_value = "",
       .help =
           "folder for checkpoints, the same for all ranks: one is made where the program has a point for it and one "
           "is due, on SIGUSR1, and on SIGTERM, which ends the job then; empty: none"},
      {.name = "checkpoint-every",
       .kind = text,
       .default_value = "10min",
       .help = "with checkpoint: when one is due: a time such as 30s, 10min or 2h since the last, or a number: at each "
               "so-manieth point; 0: only on signals"},
      {.name = "checkpoint-keep",
       .kind = integer,
       .default_value = "2",
       .min = 1,
       .max = 1'000'000,
       .help = "so many of the newest checkpoints stay"},
      {.name = "checkpoint-memory",
       .kind = text,
       .default_value = "0",
       .help = "ranks keep checkpoints in memory, too, with parity for each other's, and go on from there when one is "
               "lost: how often, as of checkpoint-every; 0: none. Over MPI that takes one with ULFM"},
      {.name = "checkpoint-group",
       .kind = integer,
       .default_value = "8",
       .min = 2,
       .max = 128,
       .help = "with checkpoint-memory: so many ranks, of different hosts where there are several, keep each other's"},
      {.name = "checkpoint-parity",
       .kind = integer,
       .default_value = "1",
       .min = 1,
       .max = 127,
       .help = "with checkpoint-memory: so many ranks of a group may be lost at once; more than 1 needs ISA-L"},
      {.name = "spare-ranks",
       .kind = integer,
       .default_value = "0",
       .max = 65536,
       .help = "with checkpoint-memory: the last so many ranks do nothing, but take the places of those that are lost"},
      {.name = "restart",
       .kind = text,
       .default_value = "",
       .help = "begin with this checkpoint, or with the newest whole one of a folder of them; auto: that of the folder "
               "for checkpoints, or from the start where there is none"},
      {.name = "single-thread",
       .kind = flag,
       .default_value = "off",
       .help = "one thread runs all PEs of a rank, a piece of work of each at a time, in turn or in the order of "
               "schedule-seed: for debuggers; with one rank on the host a run is the same each time"},
      {.name = "check-races",
       .kind = flag,
       .default_value = "off",
       .help = "find memory that is written while it is lent to a channel's receiver; slow"},
      {.name = "check-memory",
       .kind = flag,
       .default_value = "off",
       .help =
           "find what is written beyond the ends of buffers and objects, and fill what is new or freed with numbers "
           "that are none (NaN); slow"},
      {.name = "check-serialize",
       .kind = flag,
       .default_value = "off",
       .help =
           "find members that elements do not take along when they move to another rank, since their serialize does "
           "not name them"},
      {.name = "log",
       .kind = text,
       .default_value = "warning",
       .choices = {"trace", "debug", "info", "warning", "error", "off"},
       .help = "least severe messages to show"},
      {.name = "help", .kind = flag, .default_value = "off", .help = "print these options and end"},
  };
}

completion_mode parse_completion(const std::string& text) {
  for (const completion_mode m : {completion_mode::event, completion_mode::callback, completion_mode::sync}) {
    if (text == to_string(m)) return m;
  }
  return completion_mode::flag;  // the setting's choices allow no other text
}

// Throws where there is no such policy.
void check_task_costs(const runtime_options& o, bool asked_for) {
  const bool learns = make_placement_policy(o.tasks.policy)->learns();
  if (!asked_for) return;
  if (o.task_costs.empty()) throw config_error("--imbrex-task-costs needs a file: what tasks took is kept there");
  if (learns) return;
  throw config_error(
      fmt::format("--imbrex-task-costs={}: the policy '{}' does not learn what tasks take: add "
                  "--imbrex-task-policy=shortest_finish",
                  o.task_costs, o.tasks.policy));
}

void check_balance(const runtime_options& o) {
  if (o.balance.strategy.empty()) {
    if (!o.balance.record.empty()) throw config_error("--imbrex-balance-record needs --imbrex-balance=STRATEGY, too");
    return;
  }
  check_pe_rates(o.balance.rates);
  try {
    make_strategy(o.balance.strategy);
  } catch (const usage_error& e) {
    throw config_error(fmt::format("--imbrex-balance={}: {}", o.balance.strategy, e.what()));
  }
}

/// "30s", "10min", "2h": a time; "5": so many points.
void parse_every(const char* name, const std::string& text, std::int64_t& every_ns, std::uint32_t& every_points) {
  double number = 0;
  const auto [unit, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest(unit, static_cast<std::size_t>(text.data() + text.size() - unit));
  const bool is_number = error == std::errc{} && number >= 0;
  const double most = 1e9;  // of any unit
  if (is_number && rest.empty() && number <= most && number == std::floor(number)) {
    every_points = static_cast<std::uint32_t>(number);
    return;
  }
  for (const auto& [unit_name, seconds] : {std::pair("s", 1.0), {"min", 60.0}, {"h", 3600.0}}) {
    if (!is_number || rest != unit_name || number * seconds > most) continue;
    every_ns = static_cast<std::int64_t>(number * seconds * 1e9);
    return;
  }
  throw config_error(
      fmt::format("--imbrex-{}={}: give a time such as 30s, 10min or 2h, or a whole number of points", name, text));
}

void read_memory_checkpoints(const config& settings, checkpoint_options& o) {
  parse_every("checkpoint-memory", settings.text("checkpoint-memory"), o.memory_every_ns, o.memory_every_points);
  o.memory_group = settings.get<int>("checkpoint-group");
  o.memory_parity = settings.get<int>("checkpoint-parity");
  o.spare_ranks = settings.get<int>("spare-ranks");
  for (const char* name : {"checkpoint-group", "checkpoint-parity", "spare-ranks"}) {
    if (settings.is_set(name) && !o.in_memory())
      throw config_error(fmt::format("--imbrex-{} needs --imbrex-checkpoint-memory=EVERY, too", name));
  }
  if (o.memory_parity >= o.memory_group) {
    throw config_error(fmt::format("--imbrex-checkpoint-parity={}: of a group of {} ranks at most {} can be restored",
                                   o.memory_parity, o.memory_group, o.memory_group - 1));
  }
  if (o.memory_parity > 1) reed_solomon(1, o.memory_parity);  // says how it is had where it is not
}

void read_checkpoint(const config& settings, checkpoint_options& o) {
  o.folder = settings.text("checkpoint");
  o.keep = settings.get<int>("checkpoint-keep");
  o.restart = settings.text("restart");
  for (const char* name : {"checkpoint", "restart"}) {
    if (settings.is_set(name) && settings.text(name).empty())
      throw config_error(fmt::format("--imbrex-{} is empty: name a folder, or leave it out", name));
  }
  parse_every("checkpoint-every", settings.text("checkpoint-every"), o.every_ns, o.every_points);
  read_memory_checkpoints(settings, o);
  if (!o.folder.empty()) return;
  for (const char* name : {"checkpoint-every", "checkpoint-keep"}) {
    if (settings.is_set(name))
      throw config_error(fmt::format("--imbrex-{} needs --imbrex-checkpoint=FOLDER, too", name));
  }
  if (o.restart == "auto") throw config_error("--imbrex-restart=auto needs --imbrex-checkpoint=FOLDER, too");
}
}  // namespace

const std::vector<setting>& runtime_settings() {
  static const std::vector<setting> table = [] {
    std::vector<setting> all = settings_of_every_run();
    std::vector<setting> more = detail::virtual_time_settings();
    all.insert(all.end() - 1, std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));  // help is last
    return all;
  }();
  return table;
}

config read_runtime_config(int& argc, char** argv) { return config(runtime_settings(), argc, argv, environ); }

runtime_options options_from(const config& settings) {
  runtime_options o;
  o.pes = settings.get<int>("pes");
  if (settings.is_set("pin")) o.pin = settings.get<bool>("pin");
  if (settings.is_set("spin-us")) o.spin_us = settings.get<int>("spin-us");
  o.transport = settings.get<std::string>("transport");
  o.protocols.forced = protocol_table::parse(settings.text("protocol"));
  o.protocols_file = settings.get<std::string>("protocols");
  o.tuning_file = settings.get<std::string>("tuning");
  o.heartbeat_s = settings.get<int>("heartbeat-s");
  o.ranks = settings.get<int>("ranks");
  o.loopback_seed = settings.get<std::uint64_t>("loopback-seed");
  o.loopback_delay_us = settings.get<int>("loopback-delay-us");
  o.loopback_reorder = settings.get<bool>("loopback-reorder");
  o.loopback_lose_after = settings.get<int>("loopback-lose-after");
  o.trace = settings.get<std::string>("trace");
  o.trace_ranks = settings.get<int>("trace-ranks");
  if (o.trace_ranks > 0 && o.trace.empty()) throw config_error("--imbrex-trace-ranks needs --imbrex-trace=FILE, too");
  o.trace_by_cupti = settings.text("trace-gpu") == "cupti";
  o.device = settings.get<std::string>("device");
  o.gpus = settings.get<int>("gpus");
  o.gpu_map = settings.get<std::string>("gpu-map");
  o.completion = parse_completion(settings.text("completion"));
  o.kernels_wait = settings.text("gpu-waits") == "kernel";
  o.tasks.policy = settings.text("task-policy");
  o.tasks.device_bytes = static_cast<std::uint64_t>(settings.get<int>("task-memory-mb")) << 20;
  o.tasks.disk = settings.get<std::string>("task-disk");
  o.tasks.host_bytes = static_cast<std::uint64_t>(settings.get<int>("task-host-mb")) << 20;
  if (o.tasks.host_bytes > 0 && o.tasks.disk.empty()) {
    throw config_error(
        fmt::format("--imbrex-task-host-mb={} without --imbrex-task-disk: name the folder for what is beyond",
                    settings.get<int>("task-host-mb")));
  }
  o.tasks.compute_lanes = settings.get<int>("task-streams");
  o.task_costs = settings.get<std::string>("task-costs");
  check_task_costs(o, settings.is_set("task-costs"));
  o.task_stealing = settings.get<bool>("task-stealing");
  o.check_races = settings.get<bool>("check-races");
  o.check_memory = settings.get<bool>("check-memory");
  o.check_serialize = settings.get<bool>("check-serialize");
  o.busiest_elements = settings.get<int>("busiest-elements");
  o.balance.strategy = settings.text("balance");
  o.balance.interval_ms = settings.get<int>("balance-every-ms");
  o.balance.rates = settings.text("balance-rates");
  o.balance.record = settings.text("balance-record");
  check_balance(o);
  read_checkpoint(settings, o.checkpoint);
  detail::read_virtual_time(settings, o);
  constexpr int most_threads = 1024;
  if (!o.virtual_time.is_wanted() && o.ranks > most_threads)
    throw config_error(
        fmt::format("--imbrex-ranks={}: each is a thread here, so there are at most {}", o.ranks, most_threads));
  o.single_thread = settings.get<bool>("single-thread");
  o.schedule_seed = settings.get<std::uint64_t>("schedule-seed");
  o.log = parse_log_level(settings.text("log"));
  o.help = settings.get<bool>("help");
  o.warnings = settings.warnings();
  for (std::string& line : detail::idle_options(settings, o)) o.warnings.push_back(std::move(line));
  return o;
}

runtime_options parse_runtime_options(int& argc, char** argv) {
  runtime_options o = options_from(read_runtime_config(argc, argv));
  set_log_level(o.log);
  return o;
}

namespace {

/// How many GPUs the first rank of a host drives with the chosen kind of device. Throws `not_built`, `config_error`.
std::size_t count_devices(const runtime_options& o, int num_local_ranks) {
  static_cast<void>(num_local_ranks);
  if (o.device == "opencl") {
#if IMBREX_HAVE_OPENCL
    return opencl_devices::choose(o.gpus, 0, num_local_ranks).size();
#else
    throw not_built(
        "this build has no OpenCL: install ocl-icd-opencl-dev and opencl-headers (and pocl-opencl-icd, or the driver "
        "of the GPU's maker), then build again; or use --imbrex-device=host");
#endif
  }
#if IMBREX_HAVE_CUDA
  return cuda_devices::choose(o.gpus, 0, num_local_ranks).size();
#else
  throw not_built(
      "this build has no CUDA: install the CUDA toolkit (nvcc 12.4 or newer), then build again; or use "
      "--imbrex-device=host");
#endif
}

void choose_device(runtime_options& o, bool may_speak) {
#if IMBREX_HAVE_CUDA
  o.device = cuda_machine::count(&o.why_no_gpu) > 0 ? "cuda" : "host";
  if (o.device == "host" && may_speak) log_info("kernels run on the host: " + o.why_no_gpu);
#else
  o.why_no_gpu = "this build has no CUDA";
  o.device = "host";
  static_cast<void>(may_speak);
#endif
}

}  // namespace

void choose_device_kind(runtime_options& o, int num_local_ranks, bool may_speak) {
  if (o.device == "auto") choose_device(o, may_speak);
  if (o.device == "host") return;
  const std::size_t gpus =
      o.virtual_time.is_wanted() ? static_cast<std::size_t>(o.gpus) : count_devices(o, num_local_ranks);
  if (o.pes == 0) o.pes = static_cast<int>(gpus);
  if (o.pes < static_cast<int>(gpus) && o.gpus == 0) o.gpus = o.pes;
  if (o.pes < o.gpus) {
    throw config_error(fmt::format("{} GPUs need at least as many PEs, but there {} {}: use --imbrex-pes={}", o.gpus,
                                   o.pes == 1 ? "is" : "are", o.pes, o.gpus));
  }
}

std::string options_help() {
  std::string text =
      "Options of the imbrex runtime, for every application; --imbrex-name=value works too,\n"
      "and so does the environment variable IMBREX_NAME (the command line goes first):\n";
  for (const setting& s : runtime_settings()) {
    std::string usage = "--imbrex-" + s.name;
    if (s.kind == setting_kind::integer || s.kind == setting_kind::seed) usage += " N";
    if (s.kind == setting_kind::text)
      usage += s.name == "trace" || s.name == "protocols" || s.name == "tuning" || s.name == "task-costs" ||
                       s.name == "machine-report"
                   ? " FILE"
                   : " NAME";
    if (s.kind == setting_kind::flag && s.name != "help") usage += "[=on|off]";
    const bool show_default = !s.default_value.empty() && s.name != "help";
    fmt::format_to(std::back_inserter(text), "  {:<34} {}{}\n", usage, s.help,
                   show_default ? fmt::format(" ({})", s.default_value) : "");
  }
  return text;
}

int traced_ranks(const runtime_options& o, int num_ranks) {
  constexpr int of_a_machine = 64;
  const int most = o.trace_ranks > 0 ? o.trace_ranks : o.virtual_time.is_wanted() ? of_a_machine : num_ranks;
  return std::min(most, num_ranks);
}

bool is_traced(const runtime_options& o, int rank, int num_ranks) {
  const int n = traced_ranks(o, num_ranks);
  if (n == num_ranks || rank == 0) return true;
  if (n == 1) return false;
  // The i-th of them is rank i * (num_ranks - 1) / (n - 1), rounded down.
  const std::int64_t last = num_ranks - 1, parts = n - 1;
  const std::int64_t i = (rank * parts + last - 1) / last;
  return i * last / parts == rank;
}

pe_plan plan_pes(const runtime_options& options, int cores, int num_local_ranks, bool cores_are_shared) {
  constexpr int default_spin_us = 20;
  const int sharing = cores_are_shared ? std::max(num_local_ranks, 1) : 1;
  pe_plan plan;
  plan.pes = options.pes > 0 ? options.pes : std::max(cores / sharing, 1);
  const bool enough = plan.pes * sharing <= cores;
  plan.pin = options.pin.value_or(enough);
  plan.spin_us = options.spin_us.value_or(enough ? default_spin_us : 0);
  return plan;
}

}  // namespace imbrex
