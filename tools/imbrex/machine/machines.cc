#include <fmt/format.h>
#include <imbrex/virtual_time/machine/machine.h>

#include <CLI/App.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.h"

namespace {

struct machines_options {
  std::string name;
  bool json = false;
};

nlohmann::json facts_of(const imbrex::machine& m) {
  return {{"name", m.name},
          {"description", m.description},
          {"gpus", m.node.gpus},
          {"cores", m.node.cores},
          {"gpu", m.gpu.name}};
}

int show(const machines_options& o) {
  if (!o.name.empty()) {
    if (o.json) {
      fmt::print("{}\n", facts_of(imbrex::read_machine(o.name)).dump());
    } else {
      fmt::print("{}", imbrex::text_of_known_machine(o.name));
    }
    return 0;
  }
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& name : imbrex::known_machines()) {
    const imbrex::machine m = imbrex::read_machine(name);
    all.push_back(facts_of(m));
    if (!o.json) fmt::print("{:<14} {}\n", name, m.description);
  }
  if (o.json) fmt::print("{}\n", all.dump());
  return 0;
}

}  // namespace

void add_machines_command(CLI::App& app, std::function<int()>& command) {
  const auto o = std::make_shared<machines_options>();
  CLI::App* const sub = app.add_subcommand("machines", "the machines that jobs run on in virtual time");
  sub->add_option("NAME", o->name, "print this one's description, to be changed and used as a file");
  sub->add_flag("--json", o->json, "facts for programs (NAME may be a file then)");
  sub->callback([o, &command] { command = [o] { return show(*o); }; });
}
