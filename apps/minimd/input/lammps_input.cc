#include "input/lammps_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "input/file_search.h"
#include "input/funcfl_file.h"
#include "input/lammps_order.h"
#include "input/lammps_script.h"
#include "input/lattice_size.h"
#include "input/text_file.h"

namespace md {
namespace {

using argument_list = std::vector<std::string>;

[[noreturn]] void refuse(const lammps_command& c, std::string_view value, std::string_view expected) {
  c.place.refuse_value(c.name, value, expected);
}

void expect_word(const lammps_command& c, std::size_t i, std::string_view word) {
  if (c.arguments[i] != word) refuse(c, c.arguments[i], fmt::format("'{}' as word {}", word, i + 2));
}

/// All atoms are of type 1.
void expect_type(const lammps_command& c, std::size_t i) {
  if (c.arguments[i] != "1" && c.arguments[i] != "*") refuse(c, c.arguments[i], "type 1 or *");
}

class lammps_reader {
 public:
  lammps_reader(const text_file& file, const std::string& eam_file)
      : script_(file), path_(file.path), eam_file_(eam_file) {
    job_.what.temperature = 0;
    job_.what.thermo_every = 0;
  }

  lammps_job read() && {
    while (const auto command = script_.next()) {
      order_.enter(*command);
      (this->*handler(command->name))(*command);
    }
    if (!order_.came("run")) script_.place().refuse("there is no run: 'run N' is expected at the end");
    return std::move(job_);
  }

 private:
  using handler_type = void (lammps_reader::*)(const lammps_command&);

  static handler_type handler(const std::string& name) {
    static const std::map<std::string, handler_type> handlers{
        {"atom_style", &lammps_reader::atom_style},
        {"create_atoms", &lammps_reader::create_atoms},
        {"create_box", &lammps_reader::create_box},
        {"fix", &lammps_reader::fix},
        {"lattice", &lammps_reader::lattice},
        {"mass", &lammps_reader::mass},
        {"neigh_modify", &lammps_reader::neigh_modify},
        {"neighbor", &lammps_reader::neighbor},
        {"newton", &lammps_reader::newton},
        {"pair_coeff", &lammps_reader::pair_coeff},
        {"pair_style", &lammps_reader::pair_style},
        {"read_data", &lammps_reader::read_data},
        {"region", &lammps_reader::region},
        {"run", &lammps_reader::run},
        {"thermo", &lammps_reader::thermo},
        {"timestep", &lammps_reader::timestep},
        {"units", &lammps_reader::units},
        {"velocity", &lammps_reader::velocity},
    };
    return handlers.at(name);
  }

  void units(const lammps_command& c) {
    const std::string& name = c.arguments[0];
    if (name != "lj" && name != "metal") refuse(c, name, "lj or metal");
    if (name == "lj") return;
    job_.what.units = unit_system::metal;
    job_.what.dt = 0.001;
    job_.what.skin = 2.0;
  }
  void atom_style(const lammps_command& c) { expect_word(c, 0, "atomic"); }
  void newton(const lammps_command& c) {
    if (c.arguments[0] != "on" && c.arguments[0] != "off") refuse(c, c.arguments[0], "on or off");
    job_.newton = c.arguments[0] == "on";
  }

  void lattice(const lammps_command& c) {
    expect_word(c, 0, "fcc");
    const bool metal = job_.what.units == unit_system::metal;
    const double value = c.place.real(c.arguments[1], metal ? "lattice constant" : "reduced density", sign::positive);
    if (metal) job_.what.lattice_constant = value;
    job_.what.density = metal ? 4 / (value * value * value) : value;
  }
  void region(const lammps_command& c) {
    const argument_list& a = c.arguments;
    expect_word(c, 1, "block");
    region_ = a[0];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (c.place.real(a[2 + 2 * axis], "lower bound") != 0) refuse(c, a[2 + 2 * axis], "a lower bound of 0");
      job_.what.cells[axis] = read_cells(c, a[3 + 2 * axis]);
    }
    if (!countable(job_.what.cells))
      refuse(c, fmt::format("{}", fmt::join(a, " ")), "a block of at most 2^58 unit cells in all");
  }
  static std::int64_t read_cells(const lammps_command& c, const std::string& text) {
    const double high = c.place.real(text, "upper bound");
    if (high < 1 || high != std::floor(high) || high > 9e15)
      refuse(c, text, "a whole number of lattice cells, at least 1,");
    return static_cast<std::int64_t>(high);
  }
  void create_box(const lammps_command& c) {
    c.place.whole(c.arguments[0], "number of atom types", 1);
    if (c.arguments[1] != region_) refuse(c, c.arguments[1], fmt::format("the region '{}'", region_));
  }
  void create_atoms(const lammps_command& c) {
    expect_word(c, 0, "1");
    expect_word(c, 1, "box");
  }
  void read_data(const lammps_command& c) { job_.what.data_file = c.arguments[0]; }

  void mass(const lammps_command& c) {
    expect_type(c, 0);
    job_.what.mass = c.place.real(c.arguments[1], "mass", sign::positive);
  }
  void velocity(const lammps_command& c) {
    static const std::map<std::string, argument_list> known{{"loop", {"all", "local", "geom"}},
                                                            {"dist", {"uniform", "gaussian"}},
                                                            {"mom", {"yes", "no"}},
                                                            {"rot", {"yes", "no"}}};
    const argument_list& a = c.arguments;
    expect_word(c, 0, "all");
    expect_word(c, 1, "create");
    job_.what.temperature = c.place.real(a[2], "temperature", sign::not_negative);
    c.place.whole(a[3], "seed", 1);
    for (std::size_t i = 4; i < a.size(); i += 2) {
      const auto keyword = known.find(a[i]);
      if (keyword == known.end()) refuse(c, a[i], "loop, dist, mom or rot");
      const std::string value = i + 1 < a.size() ? a[i + 1] : std::string();
      if (std::ranges::find(keyword->second, value) == keyword->second.end())
        refuse(c, a[i] + " " + value, fmt::format("one of {} after it", fmt::join(keyword->second, ", ")));
    }
  }

  void pair_style(const lammps_command& c) {
    const argument_list& a = c.arguments;
    const bool lj = a[0] == "lj/cut";
    if ((!lj || a.size() != 2) && (a[0] != "eam" || a.size() != 1))
      refuse(c, fmt::format("{}", fmt::join(a, " ")), "'lj/cut CUTOFF' or 'eam'");
    job_.what.force = lj ? force_style::lj : force_style::eam;
    if (lj) job_.what.cutoff = c.place.real(a[1], "cutoff", sign::positive);
  }
  void pair_coeff(const lammps_command& c) {
    if (job_.what.force == force_style::eam) return eam_coefficients(c);
    const argument_list& a = c.arguments;
    if (a.size() < 4) refuse(c, fmt::format("{}", fmt::join(a, " ")), "'1 1 EPSILON SIGMA [CUTOFF]'");
    expect_type(c, 0);
    expect_type(c, 1);
    job_.what.epsilon = c.place.real(a[2], "epsilon", sign::positive);
    job_.what.sigma = c.place.real(a[3], "sigma", sign::positive);
    if (a.size() == 5) job_.what.cutoff = c.place.real(a[4], "cutoff", sign::positive);
  }
  void eam_coefficients(const lammps_command& c) {
    const argument_list& a = c.arguments;
    if (a.size() > 3) refuse(c, fmt::format("{}", fmt::join(a, " ")), "'1 1 FILE' or '* * FILE'");
    for (std::size_t i = 0; i + 1 < a.size(); ++i) expect_type(c, i);
    const std::string found =
        eam_file_.empty() ? find_file(a.back(), path_, "the funcfl file", "put it there or use --eam") : eam_file_;
    const funcfl potential = read_funcfl(found);
    job_.what.eam_file = found;
    job_.what.cutoff = potential.cutoff;
    eam_mass_ = potential.mass;
  }

  void neighbor(const lammps_command& c) {
    job_.what.skin = c.place.real(c.arguments[0], "skin", sign::not_negative);
    expect_word(c, 1, "bin");
  }
  void neigh_modify(const lammps_command& c) {
    constexpr const char* expected = "'neigh_modify every N delay 0 check no'";
    const argument_list& a = c.arguments;
    if (a.size() % 2 != 0) refuse(c, fmt::format("{}", fmt::join(a, " ")), expected);
    for (std::size_t i = 0; i < a.size(); i += 2) {
      if (a[i] == "every")
        job_.what.reneighbour_every = c.place.whole(a[i + 1], "every", 1);
      else if (a[i] == "delay" || a[i] == "check")
        (a[i] == "delay" ? delay_ : check_) = a[i + 1];
      else
        refuse(c, a[i], "every, delay or check");
    }
    if (delay_ != "0") refuse(c, "delay " + delay_, fmt::format("'delay 0', as in {},", expected));
    if (check_ != "no") refuse(c, "check " + check_, fmt::format("'check no', as in {},", expected));
  }
  void fix(const lammps_command& c) {
    expect_word(c, 1, "all");
    expect_word(c, 2, "nve");
  }
  void timestep(const lammps_command& c) { job_.what.dt = c.place.real(c.arguments[0], "time step", sign::positive); }
  void thermo(const lammps_command& c) {
    job_.what.thermo_every = c.place.whole(c.arguments[0], "interval of thermo", 0);
  }

  void run(const lammps_command& c) {
    job_.what.steps = c.place.whole(c.arguments[0], "number of steps", 0);
    if (job_.what.force == force_style::eam) return take_eam_mass();
    if (!order_.came("read_data")) order_.require(c, "mass");
  }
  void take_eam_mass() {
    if (order_.came("mass") && job_.what.mass != eam_mass_)
      order_.place("mass").refuse(
          fmt::format("mass {} cannot be used with pair_style eam: {}, the mass in its file, or no "
                      "such command is expected",
                      job_.what.mass, eam_mass_));
    job_.what.mass = eam_mass_;
  }

  lammps_script script_;
  lammps_order order_;
  std::string path_, eam_file_;
  lammps_job job_;
  std::string region_;
  std::string delay_ = "10", check_ = "yes";  // LAMMPS's defaults, the larger one of those of its versions
  double eam_mass_ = 0;
};

}  // namespace

lammps_job read_lammps_input(const std::string& path, const std::string& eam_file) {
  const text_file file = read_text_file(path);
  return lammps_reader(file, eam_file).read();
}

}  // namespace md
