#include <fmt/format.h>
#include <imbrex/runtime/report.h>

#include <CLI/App.hpp>
#include <functional>
#include <memory>

#include "commands.h"

void add_info_command(CLI::App& app, const imbrex::config& settings, std::function<int()>& command) {
  CLI::App* info = app.add_subcommand("info", "build facts, devices, transports, options, and why something is off");
  const auto as_json = std::make_shared<bool>(false);
  info->add_flag("--json", *as_json, "as one JSON object");
  info->callback([&settings, &command, as_json] {
    command = [&settings, as_json] {
      const imbrex::runtime_report report = imbrex::make_report(settings);
      fmt::print("{}", *as_json ? imbrex::to_json(report) + "\n" : imbrex::to_text(report));
      return 0;
    };
  });
}
