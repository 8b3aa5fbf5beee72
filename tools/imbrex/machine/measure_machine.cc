#include <fmt/format.h>
#include <imbrex/base/build_config.h>
#include <imbrex/base/error.h>
#include <imbrex/device/completion_mode.h>
#include <imbrex/runtime/runtime.h>
#include <imbrex/virtual_time/machine/machine.h>

#include <fmt/chrono.h>
#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "commands.h"
#include "machine_meter.h"

namespace {

namespace ix = imbrex;
using machine_meter::gpu_facts;
using machine_meter::network_facts;
using machine_meter::samples;

struct options {
  std::string output;
  std::string name = "mine";
  int repeats = 15;
};

/// A basic string of TOML.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\u{:04x}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// The description, line by line: each number with its quartiles.
class description {
 public:
  explicit description(std::string head) : text_(std::move(head)) {}

  void part(const char* name) { text_ += fmt::format("\n[{}]\n", name); }
  void fact(const std::string& line) { text_ += line + "\n"; }
  void number(const char* key, const samples& s, const char* remark = "") {
    if (s.values.empty()) return;
    text_ +=
        fmt::format("{} = {:.4g}  # {:.4g} to {:.4g}{}\n", key, s.median(), s.quantile(0.25), s.quantile(0.75), remark);
  }
  void number(const char* key, double value, const char* remark = "") {
    text_ += fmt::format("{} = {:.4g}{}\n", key, value, remark);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Where meters are: the first PE and the last.
struct at_both_ends {
  int operator()(const ix::index1d& i, const ix::index1d&, int num_pes) const { return i.x == 0 ? 0 : num_pes - 1; }
};

void add_gpu(description& d, const gpu_facts& g, const std::string& completion) {
  d.part("gpu");
  d.fact("name = " + quoted(g.name));
  d.number("memory_gb", g.memory_gb);
  d.number("memory_gbs", g.memory_gbs, ", by copies");
  d.number("tflops", g.tflops, ", of multiplications and additions");
  d.number("filling_threads", g.filling_threads, ", by a copy with few");
  d.number("kernel_us", g.kernel_us);
  d.number("launch_us", g.launch_us);
  d.number("copy_us", g.copy_us);
  d.number("event_us", g.event_us);
  d.number("copy_start_us", g.copy_start_us);
  d.number("host_gbs", g.host_gbs);
  d.number("peer_gbs", g.peer_gbs);
  d.number("peer_us", g.peer_us);
  d.number("graph_launch_us", g.graph_launch_us);
  d.number("graph_node_us", g.graph_node_us);
  // What lies between a launch and the PE's knowing is one number: half of it before the kernel, half after.
  const double half = g.reaction_us.median() / 2;
  d.number("start_us", half);
  d.number(completion == "event" ? "event_query_us" : (completion + "_us").c_str(), half,
           "  # with start_us measured together; of this --imbrex-completion");
}

/// What of a message is not the sender's or the receiver's is the network's; the receiver is taken to pay as much.
void add_network(description& d, const network_facts& n, double dispatch, bool one_node) {
  const double wire = std::max(0.0, n.one_way_us.median() - 2 * n.send_us.median() - dispatch);
  if (one_node) {
    d.part("node");
    d.number("shared_us", wire);
    d.number("shared_gbs", n.gbs);
  } else {
    d.part("network");
    d.number("latency_us", wire);
    d.number("gbs", n.gbs);
  }
}

ix::task<int> measure(ix::runtime& rt, const options* o) {
  auto all = rt.create_array<machine_meter::meter>(ix::placed(ix::index1d(2), at_both_ends{}));
  const bool on_gpu = rt.kind_of_device() == ix::device_kind::cuda;
  const samples dispatch = co_await all[0].call<&machine_meter::meter::dispatch>(o->repeats);
  const std::time_t now = std::time(nullptr);
  std::tm today{};
  localtime_r(&now, &today);
  description d(fmt::format(
      "name = {}\ndescription = \"measured {:%Y-%m-%d} by imbrex {}, {} rank{}, transport {}\"\n"
      "# Medians, and quartiles in remarks. What is left out has its default: imbrex machines h200-x4 has all.\n",
      quoted(o->name), today, IMBREX_VERSION, rt.num_ranks(), rt.num_ranks() == 1 ? "" : "s", rt.transport_name()));
  network_facts network;
  if (rt.num_ranks() > 1) network = co_await all[0].call<&machine_meter::meter::talk>(1, o->repeats);
  d.part("cpu");
  d.number("dispatch_us", dispatch);
  d.number("send_us", network.send_us);
  d.number("receive_us", network.send_us, "; taken to be as send_us");
  d.number("transfer_us", network.send_us, "; taken to be as send_us");
  const bool one_node = rt.num_local_ranks() == rt.num_ranks();
  if (rt.num_ranks() > 1) add_network(d, network, dispatch.median(), one_node);
  if (!(rt.num_ranks() > 1 && one_node)) d.part("node");
  if (!rt.options().virtual_time.is_wanted()) d.fact(fmt::format("cores = {}", std::thread::hardware_concurrency()));
  d.fact(fmt::format("gpus = {}", on_gpu ? rt.num_gpus() * rt.num_local_ranks() : 0));
  if (on_gpu) {
    const gpu_facts g = co_await all[0].call<&machine_meter::meter::gpu>(o->repeats);
    add_gpu(d, g, to_string(rt.options().completion));
  }
  if (o->output.empty()) {
    fmt::print("{}", d.text());
  } else {
    std::ofstream out(o->output);
    out << d.text();
    out.close();
    if (!out) throw ix::config_error(fmt::format("--output {}: it cannot be written", o->output));
    fmt::print("{} describes this machine; it can be given to --imbrex-machine\n", o->output);
  }
  co_return 0;
}

int start(std::vector<std::string> words, const options* o) {
  // What is measured of a machine that is simulated needs no results, which the host would have to compute.
  const bool is_simulated =
      std::ranges::any_of(words, [](const std::string& w) { return w.starts_with("--imbrex-machine"); });
  if (is_simulated) words.emplace_back("--imbrex-machine-data=off");
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& w : words) pointers.push_back(w.data());
  pointers.push_back(nullptr);
  return ix::run(static_cast<int>(words.size()), pointers.data(), &measure, o);
}

}  // namespace

void add_measure_machine_command(CLI::App& app, const imbrex::config& settings, const std::vector<std::string>& words,
                                 std::function<int()>& command) {
  CLI::App* const sub = app.add_subcommand(
      "measure-machine",
      "describe this machine for runs in virtual time; mpirun -n 2 ... measures what is between ranks");
  const auto o = std::make_shared<options>();
  sub->add_option("--output", o->output, "the file, such as mine.toml (default: standard output)");
  sub->add_option("--name", o->name, "what the machine is called (mine)");
  sub->add_option("--repeats", o->repeats, "of each measurement (15)")->check(CLI::Range(1, 1000));
  sub->callback([&settings, &words, &command, o] {
    command = [&settings, &words, o] {
      std::vector<std::string> of_job = words;
      if (!settings.is_set("device")) of_job.emplace_back("--imbrex-device=auto");
      if (!settings.is_set("pes")) of_job.emplace_back("--imbrex-pes=1");
      return start(std::move(of_job), o.get());
    };
  });
}
