#include "options.h"

#include <sstream>
#include <vector>

#include "unit/minimd/written_file.h"

namespace md {
namespace options_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::optional<options> parse_line(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words{"minimd"};
  for (std::string word; text >> word;) words.push_back(word);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

options parse(const std::string& line) { return parse_line(line).value(); }

std::string refusal(const std::string& line) {
  return refusal_of<imbrex::usage_error>([&] { parse(line); });
}

const std::string lj_input = "a\nb\nlj\nnone\nlj\n1 1\n8 9 10\n7\n0.004\n1.2\n0.7\n10\n2.4 0.2\n50\n";
const std::string eam_input = "a\nb\nmetal\nnone\neam\n1 1\n8 9 10\n7\n0.004\n1.2\n0.7\n10\n2.4 0.2\n50\n";
const std::string lammps_input =
    "newton off\nlattice fcc 0.5\nregion b block 0 3 0 4 0 5\ncreate_box 1 b\ncreate_atoms 1 box\nmass 1 1\n"
    "pair_style lj/cut 2.5\npair_coeff 1 1 1 1\nneigh_modify every 20 delay 0 check no\nfix 1 all nve\nrun 5\n";

TEST(minimd_options, without_arguments_it_is_the_built_in_problem) {
  const options o = parse("");
  EXPECT_EQ(o.what, problem{});
  EXPECT_EQ(o.impl, implementation::chare);
  EXPECT_EQ(o.lists, list_style::half);
  EXPECT_EQ(o.exchange, exchange_style::direct);
  EXPECT_EQ(o.device, "host");
  EXPECT_TRUE(o.ghost_newton);
  EXPECT_FALSE(o.deterministic || o.verify || o.quiet || o.yaml_screen || o.num_chares || o.odf || o.sort_every);
  EXPECT_THAT(o.yaml + o.report + o.trace, IsEmpty());
  EXPECT_THAT(o.notes, IsEmpty());
}

TEST(minimd_options, everything_is_read) {
  const options o = parse(
      "-n 7 -s 5 -u metal --dt 0.25 --temperature 0 --density 0.5 --cutoff 3 --skin 0 --reneighbour 0 "
      "--thermo 9 -c 12 --pes 3 --exchange rounds --lists full -gn 0 --sort 0 --deterministic --yaml a.yaml "
      "--yaml_screen --dump a.xyz,b.vtu --dump c.lammpstrj --dump-every 4 --report r.json --trace t.json --verify "
      "--quiet --device host");
  problem p;
  p.steps = 7;
  p.cells = {5, 5, 5};
  p.units = unit_system::metal;
  p.dt = 0.25;
  p.temperature = 0;
  p.density = 0.5;
  p.cutoff = 3;
  p.skin = 0;
  p.reneighbour_every = 0;
  p.thermo_every = 9;
  EXPECT_EQ(o.what, p);
  EXPECT_EQ(o.num_chares, 12);
  EXPECT_EQ(o.pes, 3);
  EXPECT_EQ(o.exchange, exchange_style::rounds);
  EXPECT_EQ(o.lists, list_style::full);
  EXPECT_EQ(o.sort_every, 0);
  EXPECT_TRUE(o.deterministic && o.yaml_screen && o.verify && o.quiet && !o.ghost_newton);
  EXPECT_THAT(o.dumps, ElementsAre("a.xyz", "b.vtu", "c.lammpstrj"));
  EXPECT_EQ(o.dump_every, 4);
  EXPECT_EQ(o.yaml + o.report + o.trace + o.device, "a.yamlr.jsont.jsonhost");
  EXPECT_EQ(parse("--odf 8").odf, 8);
  EXPECT_EQ(parse("-p eam --eam Ni.eam").what.eam_file, "Ni.eam");
  EXPECT_EQ(parse("--impl mpi").impl, implementation::mpi);
}

TEST(minimd_options, the_references_spellings_work) {
  const options o = parse("--nsteps 3 --size 6 -t 2 --half_neigh 0 --ghost_newton 0 --units metal --force lj");
  EXPECT_EQ(o.what.steps, 3);
  EXPECT_EQ(o.what.cells, (std::array<std::int64_t, 3>{6, 6, 6}));
  EXPECT_EQ(o.pes, 2);
  EXPECT_EQ(o.lists, list_style::full);
  EXPECT_FALSE(o.ghost_newton);
  EXPECT_EQ(parse("--num_threads 4").pes, 4);
  EXPECT_EQ(parse("--half_neigh -1").lists, list_style::half);
  EXPECT_EQ(parse("--sort -1").sort_every, std::nullopt);
  EXPECT_EQ(parse("--data_file d").what.data_file, "d");
  EXPECT_THAT(parse("-o 1").yaml, AllOf(testing::StartsWith("miniMD-"), testing::EndsWith(".yaml")));
  EXPECT_EQ(parse("-o 0").yaml, "");
  EXPECT_EQ(parse("-o 1 --yaml b.yaml").yaml, "b.yaml");
}

TEST(minimd_options, sizes_combine_as_in_the_reference) {
  using cells = std::array<std::int64_t, 3>;
  EXPECT_EQ(parse("-nx 5").what.cells, (cells{5, 5, 5}));
  EXPECT_EQ(parse("-nx 5 -nz 7").what.cells, (cells{5, 5, 7}));
  EXPECT_EQ(parse("-s 4 -nx 5").what.cells, (cells{5, 4, 4}));
  EXPECT_EQ(parse("-nx=5 -ny=6 -nz=7").what.cells, (cells{5, 6, 7}));
  EXPECT_EQ(parse("-ny 6").what.cells, (cells{32, 6, 32}));
}

TEST(minimd_options, eam_without_an_input_is_the_references_copper) {
  const options o = parse("-p eam");
  EXPECT_EQ(o.what.units, unit_system::metal);
  EXPECT_EQ(o.what.force, force_style::eam);
  EXPECT_EQ(o.what.density, 0.07041125);
  EXPECT_EQ(o.what.dt, 0.001);
  EXPECT_EQ(o.what.temperature, 600);
  EXPECT_EQ(o.what.cutoff, 4.95);
  EXPECT_EQ(o.what.skin, 1.0);
  EXPECT_EQ(parse("-p eam --density 0.08 --skin 0.5").what.density, 0.08);
}

TEST(minimd_options, eam_changes_ghost_newton_and_says_so) {
  EXPECT_FALSE(parse("-p eam").ghost_newton);
  EXPECT_THAT(parse("-p eam").notes, ElementsAre("# EAM needs ghost_newton 0: changed"));
  EXPECT_THAT(parse("-p eam -gn 0").notes, IsEmpty());
}

TEST(minimd_options, options_go_before_the_input_file) {
  const test_folder folder;
  const std::string input = folder.write("in", lj_input);
  EXPECT_EQ(parse("-i " + input).what.cells, (std::array<std::int64_t, 3>{8, 9, 10}));
  const options o = parse("--skin 0.1 --input_file " + input + " -n 3");
  EXPECT_EQ(o.input_file, input);
  EXPECT_EQ(o.what.skin, 0.1);
  EXPECT_EQ(o.what.cutoff, 2.4);
  EXPECT_EQ(o.what.steps, 3);
  EXPECT_THAT(refusal_of([] { parse("-i /absent/in"); }), HasSubstr("cannot read /absent/in"));
}

TEST(minimd_options, a_lammps_input_says_newton_and_a_density_replaces_its_lattice_constant) {
  const test_folder folder;
  const std::string input = folder.write("in", lammps_input);
  EXPECT_FALSE(parse("-i " + input).ghost_newton);
  EXPECT_TRUE(parse("-gn 1 -i " + input).ghost_newton);
  const std::string metal = folder.write("metal", "units metal\n" + lammps_input);
  EXPECT_EQ(parse("-i " + metal).what.lattice_constant, 0.5);
  EXPECT_EQ(parse("--density 0.6 -i " + metal).what.lattice_constant, 0);
}

TEST(minimd_options, files_named_by_options_take_the_place_of_the_inputs) {
  const test_folder folder;
  const std::string input = folder.write("in", eam_input), lj = folder.write("lj", lj_input);
  EXPECT_THAT(refusal_of([&] { parse("-i " + input); }), HasSubstr("Cu_u6.eam"));
  EXPECT_EQ(parse("--eam mine.eam -i " + input).what.eam_file, "mine.eam");
  EXPECT_THAT(refusal_of([&] { parse("-p eam -i " + lj); }), HasSubstr("--eam"));
  const std::string beside = folder.write("Cu_u6.eam", "");
  EXPECT_EQ(parse("-i " + input).what.eam_file, beside);
  EXPECT_EQ(parse("-p eam -i " + lj).what.eam_file, beside);
  const std::string data = folder.write("data", with(lj_input, "none", "absent.data"));
  EXPECT_EQ(parse("-f mine.data -i " + data).what.data_file, "mine.data");
  EXPECT_EQ(parse("-f none -i " + data).what.data_file, "");
}

TEST(minimd_options, deterministic_runs_have_full_lists) {
  EXPECT_EQ(parse("--deterministic").lists, list_style::full);
  EXPECT_THAT(refusal("--deterministic --half_neigh 1"), HasSubstr("--lists full"));
  EXPECT_THAT(refusal("--deterministic --lists half"), HasSubstr("contradicts half lists"));
}

TEST(minimd_options, newton_for_ghosts_without_half_lists_is_told_of) {
  EXPECT_THAT(parse("-gn 1 --lists full").notes, testing::ElementsAre(HasSubstr("lists are full")));
  EXPECT_THAT(parse("-gn 1").notes, testing::IsEmpty());
  EXPECT_THAT(parse("-gn 0 --lists full").notes, testing::IsEmpty());
}

TEST(minimd_options, options_of_the_runtime_are_passed_over) {
  EXPECT_EQ(parse("--imbrex-schedule-seed 7 -s 4 --imbrex-quiet --imbrex-level=3 -n 2").what.cells[0], 4);
}

TEST(minimd_options, options_of_the_reference_that_are_left_out_say_why) {
  EXPECT_THAT(refusal("--teams 2"), AllOf(HasSubstr("--teams is left out"), HasSubstr("threads already")));
  EXPECT_THAT(refusal("-sse 1"), AllOf(HasSubstr("-sse is left out"), HasSubstr("at run time")));
  EXPECT_THAT(refusal("-d 1"), HasSubstr("--device 1 is left out"));
  EXPECT_THAT(refusal("-dm"), HasSubstr("--imbrex-gpu-map"));
  EXPECT_THAT(refusal("--device_map"), HasSubstr("--imbrex-gpu-map"));
  EXPECT_THAT(refusal("-ng 2"), HasSubstr("--imbrex-gpus"));
  EXPECT_THAT(refusal("--skip_gpu 0"), HasSubstr("--imbrex-gpus"));
  EXPECT_THAT(refusal("-b 10"), HasSubstr("follow from the cutoff"));
  EXPECT_THAT(refusal("--neigh_bins 10"), HasSubstr("follow from the cutoff"));
  EXPECT_THAT(refusal("--check_exchange"), HasSubstr("always on"));
  EXPECT_THAT(refusal("--safe_exchange"), HasSubstr("always on"));
  EXPECT_THAT(refusal("--ntypes 4"), HasSubstr("alike"));
}

TEST(minimd_options, help_is_printed_with_what_is_left_out) {
  testing::internal::CaptureStdout();
  EXPECT_FALSE(parse_line("--help"));
  const std::string text = testing::internal::GetCapturedStdout();
  for (const char* word : {"--nsteps", "--half_neigh", "--teams", "-sse", "--skip_gpu", "--imbrex-"})
    EXPECT_THAT(text, HasSubstr(word));
}

TEST(minimd_options, what_cannot_be_used_is_refused_with_value_and_remedy) {
  EXPECT_THAT(refusal("-n -1"), AllOf(HasSubstr("--nsteps -1"), HasSubstr("at least 0")));
  EXPECT_THAT(refusal("-n abc"), HasSubstr("abc"));
  EXPECT_THAT(refusal("-n 99999999999999999999999"), HasSubstr("99999"));
  EXPECT_THAT(refusal("-s 0"), AllOf(HasSubstr("--size 0"), HasSubstr("at least 1")));
  EXPECT_THAT(refusal("-nx 0"), HasSubstr("-nx 0"));
  EXPECT_THAT(refusal("-s 1000000000"), AllOf(HasSubstr("too many"), HasSubstr("2^58")));
  EXPECT_THAT(refusal("-u real"), AllOf(HasSubstr("--units real"), HasSubstr("lj or metal")));
  EXPECT_THAT(refusal("-p sw"), AllOf(HasSubstr("--force sw"), HasSubstr("lj or eam")));
  EXPECT_THAT(refusal("--half_neigh 2"), HasSubstr("0, 1 or -1"));
  EXPECT_THAT(refusal("--lists half --half_neigh 0"), HasSubstr("contradict"));
  EXPECT_THAT(refusal("--lists most"), HasSubstr("full or half"));
  EXPECT_THAT(refusal("-gn 2"), AllOf(HasSubstr("--ghost_newton 2"), HasSubstr("0 or 1")));
  EXPECT_THAT(refusal("--dt 0"), AllOf(HasSubstr("--dt 0"), HasSubstr("positive")));
  EXPECT_THAT(refusal("--dt nan"), HasSubstr("positive"));
  EXPECT_THAT(refusal("--temperature -1"), AllOf(HasSubstr("--temperature -1"), HasSubstr("not negative")));
  EXPECT_THAT(refusal("--density inf"), HasSubstr("--density inf"));
  EXPECT_THAT(refusal("--cutoff -2"), HasSubstr("--cutoff -2"));
  EXPECT_THAT(refusal("--skin -0.1"), HasSubstr("--skin -0.1"));
  EXPECT_THAT(refusal("--reneighbour -1"), HasSubstr("--reneighbour -1"));
  EXPECT_THAT(refusal("--thermo -1"), HasSubstr("--thermo -1"));
  EXPECT_THAT(refusal("-f a.data -s 5"), AllOf(HasSubstr("the size contradicts the data file a.data")));
  EXPECT_THAT(refusal("-f a.data --density 5"), HasSubstr("--density contradicts"));
  EXPECT_THAT(refusal("-f a.data --imbalance 5"), AllOf(HasSubstr("--imbalance"), HasSubstr("a.data")));
  EXPECT_THAT(refusal("--imbalance 0"), HasSubstr("--imbalance 0"));
  EXPECT_THAT(refusal("-c 4 --odf 2"), HasSubstr("contradict"));
  EXPECT_THAT(refusal("-c 0"), HasSubstr("-c 0"));
  EXPECT_THAT(refusal("--odf 0"), HasSubstr("--odf 0"));
  EXPECT_THAT(refusal("--pes -1"), HasSubstr("--pes -1"));
  EXPECT_THAT(refusal("--impl charm"), AllOf(HasSubstr("charm"), HasSubstr("chare, mpi or serial")));
  EXPECT_THAT(refusal("--exchange slow"), HasSubstr("direct or rounds"));
  EXPECT_THAT(refusal("--device moon"), HasSubstr("use host or cuda"));
  EXPECT_THAT(refusal("-o -1"), HasSubstr("--yaml_output -1"));
  EXPECT_THAT(refusal("--dump a.csv"), HasSubstr(".xyz, .lammpstrj or .vtu"));
  EXPECT_THAT(refusal("-o 2"), HasSubstr("--yaml_output 2 is unknown: use 0 or 1"));
  EXPECT_THAT(refusal("-o 0 --yaml a"), HasSubstr("contradict"));
  EXPECT_THAT(refusal("--eam a.eam"), HasSubstr("--eam a.eam needs --force eam"));
  EXPECT_THAT(refusal("--dump a.xyz,a.xyz"), HasSubstr("--dump a.xyz and --dump a.xyz are one file"));
  EXPECT_THAT(refusal("--report a.xyz --dump a.xyz"), HasSubstr("--report a.xyz and --dump a.xyz are one file"));
  EXPECT_THAT(refusal("-t 2 --imbrex-pes 3"), HasSubstr("--pes and --imbrex-pes say the same: give one"));
  EXPECT_THAT(refusal("--balance rcb --imbrex-balance=rcb"), HasSubstr("--imbrex-balance say the same"));
  EXPECT_THAT(refusal("--device host --imbrex-device cuda"), HasSubstr("contradict"));
  EXPECT_THAT(refusal("--dump-every 5"), HasSubstr("needs --dump"));
  EXPECT_THAT(refusal("--dump a.xyz --dump-every -5"), HasSubstr("--dump-every -5"));
  EXPECT_THAT(refusal("--unknown"), HasSubstr("--unknown"));
  EXPECT_THAT(refusal("stray"), HasSubstr("stray"));
}

TEST(minimd_options, ranks_refuse_what_only_chares_have) {
  EXPECT_THAT(refusal("--impl mpi --odf 2"), HasSubstr("--odf needs --impl chare"));
  EXPECT_THAT(refusal("--impl mpi -c 2"), HasSubstr("-c needs --impl chare"));
  EXPECT_THAT(refusal("--impl mpi -t 4"), HasSubstr("mpirun -n 4"));
  EXPECT_THAT(refusal("--impl serial -t 4"), HasSubstr("one thread"));
  EXPECT_THAT(refusal("--impl serial -c 4"), HasSubstr("one box"));
  EXPECT_THAT(refusal("--impl serial --sort 5"), HasSubstr("--sort"));
  EXPECT_THAT(refusal("--device cuda --exchange rounds"), HasSubstr("--exchange"));
  EXPECT_THAT(refusal("--impl mpi --trace t"), HasSubstr("--trace t"));
}

}  // namespace
}  // namespace options_test
}  // namespace md
