#include <fmt/format.h>
#include <imbrex/virtual_time/machine/machine.h>

#include <CLI/App.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "first_day/described_command.h"

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

/// A file's own text, once it is known to be sound.
std::string text_of(const std::string& name_or_file) {
  static_cast<void>(imbrex::read_machine(name_or_file));
  return imbrex::text_of_machine(name_or_file);
}

int show(const machines_options& o) {
  if (!o.name.empty()) {
    if (o.json) {
      fmt::print("{}\n", facts_of(imbrex::read_machine(o.name)).dump());
    } else {
      fmt::print("{}", text_of(o.name));
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
  sub->add_option("NAME", o->name,
                  "print this one's description, to be changed and used as a file; a file is checked and printed")
      ->check(offers(imbrex::known_machines()));
  sub->add_flag("--json", o->json, "facts for programs");
  sub->callback([o, &command] { command = [o] { return show(*o); }; });
}
