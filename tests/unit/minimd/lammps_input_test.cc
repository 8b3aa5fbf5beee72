#include "input/lammps_input.h"

#include "unit/minimd/written_file.h"

namespace md {
namespace lammps_input_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string example =
    "# Lennard-Jones\n"                                        // 1
    "units lj\n"                                               // 2
    "variable \ts index 8\n"                                   // 3
    "variable x index $s\n"                                    // 4
    "variable steps equal 70\n"                                // 5
    "atom_style atomic\n"                                      // 6
    "variable gn index 1\n"                                    // 7
    "if \"${gn} > 0\" then &\n"                                // 8
    " \"newton on\" &\n"                                       // 9
    "else &\n"                                                 // 10
    " \"newton off\"\n"                                        // 11
    "lattice fcc 0.8 # reduced density\n"                      // 12
    "region box block 0 ${x} 0 9 0.0 10.0\n"                   // 13
    "create_box 1 box\n"                                       // 14
    "create_atoms 1 box\n"                                     // 15
    "mass 1 2.5\n"                                             // 16
    "velocity all create 1.5 376847 loop geom dist uniform\n"  // 17
    "pair_style lj/cut 2.4\n"                                  // 18
    "pair_coeff 1 1 0.5 1.25\n"                                // 19
    "neighbor 0.25 bin\n"                                      // 20
    "neigh_modify every 10 delay 0 check no\n"                 // 21
    "fix 1 all nve\n"                                          // 22
    "timestep 0.004\n"                                         // 23
    "thermo 50\n"                                              // 24
    "run ${steps}\n";                                          // 25

const std::string copper =
    "units metal\n"
    "lattice fcc 4\n"
    "region all block 0 3 0 3 0 3\n"
    "create_box 1 all\n"
    "create_atoms 1 box\n"
    "pair_style eam\n"
    "pair_coeff 1 1 Cu.eam\n"
    "neigh_modify every 20 delay 0 check no\n"
    "fix 1 all nve\n"
    "run 5\n";

lammps_job read(const std::string& text) {
  const test_folder folder;
  folder.write("Cu.eam", small_funcfl());
  return read_lammps_input(folder.write("in", text));
}

std::string refusal(const std::string& old, const std::string& replacement, const std::string& text = example) {
  return refusal_of([&] { read(with(text, old, replacement)); });
}

TEST(lammps_input, the_whole_example_is_read) {
  const lammps_job job = read(example);
  problem p;
  p.density = 0.8;
  p.cells = {8, 9, 10};
  p.mass = 2.5;
  p.temperature = 1.5;
  p.cutoff = 2.4;
  p.epsilon = 0.5;
  p.sigma = 1.25;
  p.skin = 0.25;
  p.reneighbour_every = 10;
  p.dt = 0.004;
  p.thermo_every = 50;
  p.steps = 70;
  EXPECT_EQ(job.what, p);
  EXPECT_EQ(job.newton, true);
}

TEST(lammps_input, defaults_are_those_of_lammps) {
  problem p = read(with(with(example, "timestep 0.004", ""), "neighbor 0.25 bin", "")).what;
  EXPECT_EQ(p.dt, 0.005);
  EXPECT_EQ(p.skin, 0.3);
  const lammps_job metal = read(copper);
  EXPECT_EQ(metal.what.dt, 0.001);
  EXPECT_EQ(metal.what.skin, 2.0);
  EXPECT_EQ(metal.what.temperature, 0) << "atoms stand without velocity";
  EXPECT_EQ(metal.what.thermo_every, 0);
  EXPECT_FALSE(metal.newton);
}

TEST(lammps_input, eam_takes_cutoff_and_mass_from_its_file_beside_the_input) {
  const test_folder folder;
  const std::string potential = folder.write("Cu.eam", small_funcfl());
  const std::string input = folder.write("in", copper);
  const problem p = read_lammps_input(input).what;
  EXPECT_EQ(p.force, force_style::eam);
  EXPECT_EQ(p.units, unit_system::metal);
  EXPECT_EQ(p.lattice_constant, 4);
  EXPECT_EQ(p.density, 4 / 64.0);
  EXPECT_EQ(p.cutoff, 4.95);
  EXPECT_EQ(p.mass, 63.55);
  EXPECT_EQ(p.eam_file, potential);
  EXPECT_EQ(read_lammps_input(folder.write("stars", with(copper, "1 1 Cu", "* * Cu"))).what, p);
  EXPECT_EQ(read_lammps_input(folder.write("one", with(copper, "1 1 Cu", "1 Cu"))).what, p);
  EXPECT_EQ(read_lammps_input(folder.write("given", with(copper, "1 1 Cu", "1 1 " + folder.path("Cu")))).what, p);
  EXPECT_EQ(read_lammps_input(folder.write("absent", with(copper, "Cu.eam", "absent.eam")), potential).what, p);
}

TEST(lammps_input, data_files_take_the_place_of_the_lattice) {
  const std::string text =
      "read_data 1m.data\npair_style lj/cut 4.95\npair_coeff * * 1 1 3.5\nneigh_modify delay 0 every 5 check no\n"
      "fix 1 all nve\nrun 1\n";
  const problem p = read(text).what;
  EXPECT_EQ(p.data_file, "1m.data");
  EXPECT_EQ(p.cutoff, 3.5) << "that of the pair";
  EXPECT_EQ(p.reneighbour_every, 5);
  EXPECT_THAT(refusal("read_data 1m.data", "read_data a b", text), HasSubstr("'read_data FILE' is expected"));
}

TEST(lammps_input, if_compares_numbers) {
  for (const char* holds : {"1 > 0", "0 < 1", "1>=1", "1 <= 1", "1 == 1.0", "1 != 2"})
    EXPECT_EQ(read(with(example, "${gn} > 0", holds)).newton, true) << holds;
  for (const char* fails : {"1 > 1", "1 < 1", "0 >= 1", "2 <= 1", "1 == 2", "-1 != -1.0"})
    EXPECT_EQ(read(with(example, "${gn} > 0", fails)).newton, false) << fails;
  EXPECT_FALSE(read("if \"1 > 2\" then \"newton on\" \"timestep 7\"\n" + copper).newton);
  EXPECT_EQ(
      read("if \"2 > 1\" then \"newton on\" \"variable n index 9\"\n" + with(copper, "run 5", "run $n")).what.steps, 9);
}

TEST(lammps_input, an_index_variable_keeps_its_first_value) {
  EXPECT_EQ(read(with(example, "variable x", "variable s index 5 6\nvariable x")).what.cells[0], 8);
  EXPECT_EQ(read(with(example, "atom_style", "variable steps equal 3\natom_style")).what.steps, 3);
}

TEST(lammps_input, variables_and_conditions_are_checked) {
  EXPECT_THAT(refusal("${steps}", "${stops}"),
              AllOf(HasSubstr("in:25: variable 'stops'"), HasSubstr("gn, s, steps, x")));
  EXPECT_THAT(refusal("${steps}", "$(1+1)"), AllOf(HasSubstr("in:25: '$(1+1)'"), HasSubstr("${name}")));
  EXPECT_THAT(refusal("equal 70", "equal 7*10"), AllOf(HasSubstr("in:5:"), HasSubstr("'7*10'"), HasSubstr("a number")));
  EXPECT_THAT(refusal("equal 70", "loop 3"), AllOf(HasSubstr("in:5:"), HasSubstr("loop"), HasSubstr("index VALUE")));
  EXPECT_THAT(refusal("${gn} > 0", "${gn} && 0"), AllOf(HasSubstr("in:8: condition '1 && 0'"), HasSubstr("==")));
  EXPECT_THAT(refusal("${gn} > 0", "on == on"), HasSubstr("in:8: condition 'on == on'"));
  EXPECT_THAT(refusal("else &", "elif \"1 > 0\" &"), HasSubstr("in:8: this if is unknown"));
  EXPECT_THAT(refusal("\"newton off\"", "\"newton off"), HasSubstr("in:8: the quote"));
}

TEST(lammps_input, unknown_words_are_named_with_what_is_known) {
  EXPECT_THAT(refusal("thermo 50", "thermo_style custom"),
              AllOf(HasSubstr("in:24: command 'thermo_style' is unknown"), HasSubstr("thermo, timestep, units")));
  EXPECT_THAT(refusal("units lj", "units real"), AllOf(HasSubstr("in:2: units 'real'"), HasSubstr("lj or metal")));
  EXPECT_THAT(refusal("style atomic", "style full"), HasSubstr("in:6: atom_style 'full' cannot be used: 'atomic'"));
  EXPECT_THAT(refusal("\"newton on\"", "\"newton maybe\""), HasSubstr("in:8: newton 'maybe'"));
  EXPECT_THAT(refusal("fcc 0.8", "bcc 0.8"), HasSubstr("in:12: lattice 'bcc'"));
  EXPECT_THAT(refusal("lj/cut 2.4", "morse 2.4"),
              AllOf(HasSubstr("in:18: pair_style 'morse 2.4'"), HasSubstr("'eam'")));
  EXPECT_THAT(refusal("0.25 bin", "0.25 nsq"), HasSubstr("in:20: neighbor 'nsq' cannot be used: 'bin'"));
  EXPECT_THAT(refusal("all nve", "all nvt"), HasSubstr("in:22: fix 'nvt'"));
  EXPECT_THAT(refusal("loop geom", "bias yes"), AllOf(HasSubstr("in:17: velocity 'bias'"), HasSubstr("loop, dist")));
  EXPECT_THAT(refusal("loop geom", "loop"), HasSubstr("in:17: velocity 'loop dist'"));
}

TEST(lammps_input, numbers_are_checked) {
  EXPECT_THAT(refusal("fcc 0.8", "fcc -0.8"), HasSubstr("in:12: reduced density '-0.8'"));
  EXPECT_THAT(refusal("fcc 4", "fcc 0", copper), HasSubstr("in:2: lattice constant '0'"));
  EXPECT_THAT(refusal("block 0 ", "block 1 "), AllOf(HasSubstr("in:13: region '1'"), HasSubstr("lower bound of 0")));
  EXPECT_THAT(refusal("0 9 ", "0 9.5 "), AllOf(HasSubstr("in:13: region '9.5'"), HasSubstr("whole number")));
  EXPECT_THAT(refusal("1 2.5", "1 0"), HasSubstr("in:16: mass '0'"));
  EXPECT_THAT(refusal("1 2.5", "2 2.5"), AllOf(HasSubstr("in:16: mass '2'"), HasSubstr("type 1 or *")));
  EXPECT_THAT(refusal("376847", "-1"), HasSubstr("in:17: seed '-1'"));
  EXPECT_THAT(refusal("lj/cut 2.4", "lj/cut x"), HasSubstr("in:18: cutoff 'x'"));
  EXPECT_THAT(refusal("1 1 0.5 1.25", "1 2 0.5 1.25"), HasSubstr("in:19: pair_coeff '2'"));
  EXPECT_THAT(refusal("1 1 0.5 1.25", "1 1 0.5"), AllOf(HasSubstr("in:19:"), HasSubstr("EPSILON SIGMA")));
  EXPECT_THAT(refusal("1 1 0.5 1.25", "1 1 0.5 -1"), HasSubstr("in:19: sigma '-1'"));
  EXPECT_THAT(refusal("0.25 bin", "-1 bin"), HasSubstr("in:20: skin '-1'"));
  EXPECT_THAT(refusal("timestep 0.004", "timestep 0"), HasSubstr("in:23: time step '0'"));
  EXPECT_THAT(refusal("thermo 50", "thermo -1"), HasSubstr("in:24: interval of thermo '-1'"));
  EXPECT_THAT(refusal("equal 70", "equal 7.5"), HasSubstr("in:25: number of steps '7.5'"));
}

TEST(lammps_input, lists_are_built_at_a_fixed_interval_only) {
  EXPECT_THAT(refusal("delay 0 check no", ""),
              AllOf(HasSubstr("in:21: neigh_modify 'delay 10'"), HasSubstr("'delay 0'")));
  EXPECT_THAT(refusal("delay 0 check no", "delay 0"),
              AllOf(HasSubstr("in:21:"), HasSubstr("every N delay 0 check no")));
  EXPECT_THAT(refusal("check no", "check yes"), HasSubstr("'check no'"));
  EXPECT_THAT(refusal("every 10", "every 0"), HasSubstr("in:21: every '0'"));
  EXPECT_THAT(refusal("every 10", "once yes"), AllOf(HasSubstr("'once'"), HasSubstr("every, delay or check")));
  EXPECT_THAT(refusal("neigh_modify every 10 delay 0 check no", ""),
              AllOf(HasSubstr("in:25: 'run' needs neigh_modify"), HasSubstr("every N delay 0 check no")));
}

TEST(lammps_input, order_matters) {
  EXPECT_THAT(refusal("lattice fcc 0.8", ""), AllOf(HasSubstr("in:13: 'region' needs lattice"), HasSubstr("fcc X")));
  EXPECT_THAT(refusal("box 1 box", "box 1 bex"),
              AllOf(HasSubstr("in:14: create_box 'bex'"), HasSubstr("region 'box'")));
  EXPECT_THAT(refusal("create_atoms 1 box", ""),
              AllOf(HasSubstr("in:17: 'velocity' needs atoms"), HasSubstr("read_data")));
  EXPECT_THAT(refusal("create_box 1 box", "read_data d"), HasSubstr("in:15: 'create_atoms' needs create_box"));
  EXPECT_THAT(refusal("create_atoms 1 box", "read_data d"), HasSubstr("in:15: 'read_data' comes after create_box"));
  EXPECT_THAT(refusal("mass 1 2.5", ""), AllOf(HasSubstr("in:25: 'run' needs mass"), HasSubstr("'mass 1 M'")));
  EXPECT_THAT(refusal("pair_style lj/cut 2.4", ""), HasSubstr("in:19: 'pair_coeff' needs pair_style"));
  EXPECT_THAT(refusal("pair_coeff 1 1 0.5 1.25", ""), HasSubstr("in:25: 'run' needs pair_coeff"));
  EXPECT_THAT(refusal("fix 1 all nve", ""), AllOf(HasSubstr("in:25: 'run' needs fix"), HasSubstr("'fix ID all nve'")));
  EXPECT_THAT(refusal("thermo 50", "units lj"), HasSubstr("in:24: 'units' was already there on line 2"));
  EXPECT_THAT(refusal("units lj", "timestep 1\nunits lj"), HasSubstr("in:3: 'units' comes after timestep on line 2"));
  EXPECT_THAT(refusal("thermo 50", "newton on"), HasSubstr("in:24: 'newton' comes after a box on line 14"));
  EXPECT_THAT(refusal("run ${steps}", "run 1\nrun 2"), HasSubstr("in:26: 'run' was already there on line 25"));
  EXPECT_THAT(refusal("run ${steps}", "run 1\nthermo 2"), HasSubstr("in:26: 'thermo' comes after run"));
  EXPECT_THAT(refusal("run ${steps}", ""), HasSubstr("in:25: there is no run"));
}

TEST(lammps_input, eam_files_are_checked) {
  EXPECT_THAT(refusal("Cu.eam", "Ni.eam", copper),
              AllOf(HasSubstr("no file Ni.eam"), HasSubstr("/Ni.eam beside the input"), HasSubstr("--eam")));
  EXPECT_THAT(refusal("eam\n", "eam\nmass 1 2.0\n", copper), AllOf(HasSubstr("in:7: mass 2"), HasSubstr("63.55")));
  EXPECT_EQ(read(with(copper, "eam\n", "eam\nmass 1 63.55\n")).what.mass, 63.55);
  EXPECT_THAT(refusal("Cu.eam", "in", copper), HasSubstr("in:2: atomic number 'lattice'"));
}

}  // namespace
}  // namespace lammps_input_test
}  // namespace md
