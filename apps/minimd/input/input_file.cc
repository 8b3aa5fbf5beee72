#include "input/input_file.h"

#include <utility>

#include "input/file_search.h"
#include "input/lammps_input.h"
#include "input/minimd_file.h"
#include "input/text_file.h"

namespace md {
namespace {

bool is_minimd(const std::string& path) {
  const text_file file = read_text_file(path);
  line_reader lines(file);
  for (int i = 0; i < 3; ++i) lines.next();
  std::string_view rest = lines.line();
  const std::string_view word = next_word(rest);
  return word == "lj" || word == "metal";
}

input_job read_either(const std::string& path, const input_files& instead) {
  if (is_minimd(path)) return {read_minimd_file(path), std::nullopt};
  lammps_job job = read_lammps_input(path, instead.eam);
  return {std::move(job.what), job.newton};
}

}  // namespace

input_job read_input_file(const std::string& path, const input_files& instead) {
  input_job job = read_either(path, instead);
  problem& p = job.what;
  if (!instead.data.empty()) {
    p.data_file = instead.data;
  } else if (!p.data_file.empty()) {
    p.data_file = find_file(p.data_file, path, "the data file", "put it there or use --data_file");
  }
  if (!instead.eam.empty()) {
    p.eam_file = instead.eam;
  } else if (p.force == force_style::eam) {
    p.eam_file = find_eam_file(p, path);
  }
  return job;
}

std::string find_eam_file(const problem& p, const std::string& input) {
  return find_file(p.eam_file, input, "the funcfl file", "put it there or use --eam");
}

}  // namespace md
