#include <fmt/format.h>
#include <imbrex/base/error.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <system_error>

#include "commands.h"
#include "mpi_check.h"
#include "mpi_check_summary.h"

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) throw imbrex::usage_error(fmt::format("cannot write {}: is there room, and may you?", file.string()));
}

std::filesystem::path page_of(const mpi_check::options& o) {
  return o.html.empty() ? std::filesystem::path(o.output) / "mpi-check.html" : std::filesystem::path(o.html);
}

/// Before all is measured: whether the report can be written. What is there stays; a pipe is not opened.
void check_page(const mpi_check::options& o) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(o.html, ignored);
  const bool is_there = std::filesystem::exists(status);
  if (o.html.empty() || (is_there && !is_regular_file(status) && !is_directory(status))) return;
  errno = 0;
  std::ofstream file(o.html, std::ios::app);
  if (!file) {
    throw imbrex::usage_error(fmt::format("--html {} cannot be written: {}: give a file in a folder that is there",
                                          o.html, std::strerror(errno)));
  }
  file.close();
  if (!is_there) std::filesystem::remove(o.html, ignored);
}

/// An older program's results are not taken for this one's where this one fails.
void remove_results(const mpi_check::options& o) {
  std::error_code ignored;
  for (const char* name : {"mpi-check.txt", "mpi-check.json", "mpi-check.svg", "mpi-check.html"})
    std::filesystem::remove(std::filesystem::path(o.output) / name, ignored);
}

/// Gives the table, too.
std::string write_results(const mpi_check::result& measured) {
  const mpi_check::summary s = mpi_check::summarize(measured);
  const std::string text = mpi_check::table(measured, s);
  // A command need not be UTF-8, JSON is.
  const std::string json =
      mpi_check::to_json(measured, s).dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::filesystem::path folder(measured.asked.output);
  write(folder / "mpi-check.txt", text);
  write(folder / "mpi-check.json", json + "\n");
  write(folder / "mpi-check.svg", mpi_check::picture(measured, s));
  write(page_of(measured.asked), mpi_check::page(measured, s));
  return text;
}

int check(const mpi_check::options& o) {
  std::string text;
  check_page(o);
  remove_results(o);
  mpi_check::measure(o, [&](const mpi_check::result& so_far) { text = write_results(so_far); });
  fmt::print(
      "{}\nresults in {}: mpi-check.txt, mpi-check.json, mpi-check.svg, and runs/ with what each run said\n"
      "the report with pictures: {}\n",
      text, o.output, page_of(o).string());
  return 0;
}

constexpr const char* patterns[] = {"MPI_CPU_TO_CPU", "MPI_CPU_TO_GPU", "MPI_GPU_TO_CPU", "MPI_GPU_TO_GPU"};

}  // namespace

void add_mpi_check_command(CLI::App& app, std::function<int()>& command) {
  CLI::App* check_app = app.add_subcommand("mpi-check",
                                           "what a GPU-aware MPI's looking at every buffer costs a program, and what "
                                           "saying once where buffers live returns: "
                                           "imbrex mpi-check -- mpirun -n 4 ./program ...");
  const auto o = std::make_shared<mpi_check::options>();
  const auto delay = std::make_shared<long>(-1);
  check_app->add_option("--repeats", o->repeats, "rounds, each with a run in every variant (default 5)")
      ->check(CLI::Range(1, 1000));
  check_app
      ->add_option("--delay-ns", *delay,
                   "what a check takes, instead of asking the driver (default: the driver; 400 where there is none)")
      ->check(CLI::Range(0L, 1000000000L));
  check_app
      ->add_option(
          "--pattern", o->pattern,
          "declares for the elided runs where all buffers live: MPI_CPU_TO_CPU, ... (default: what the program "
          "declares)")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(patterns), std::end(patterns))));
  check_app->add_option("--output", o->output,
                        "folder for table, JSON, page, picture and logs (default out/mpi-check)");
  check_app->add_option("--html", o->html,
                        "file for the report as one web page (default mpi-check.html in the folder)");
  check_app->add_option("--library", o->library, "libimbrex_sessions.so (default: the one built with this program)");
  check_app->add_option("command", o->command, "after --: the launcher, the program and its arguments")->required();
  check_app->callback([&command, o, delay] {
    command = [o, delay] {
      if (*delay >= 0) o->delay_ns = *delay;
      return check(*o);
    };
  });
}
