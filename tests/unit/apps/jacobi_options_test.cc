#include "options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "field/npy.h"
#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"

namespace jacobi {
namespace jacobi_options_test {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words{"jacobi3d"};
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

options parse(const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_options(static_cast<int>(argv.size()), argv.data()).value();
}

template <class Error = imbrex::usage_error>
std::string refusal(const std::string& line) {
  try {
    parse(line);
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::Not(testing::HasSubstr("\n"))) << "one line";
    return e.what();
  }
  return "accepted";
}

TEST(jacobi_options, defaults_are_those_of_the_papers_artifact) {
  const options o = parse("");
  EXPECT_EQ(o.grid, (extents{256, 256, 256}));
  EXPECT_EQ(o.warm_up, 10);
  EXPECT_EQ(o.iterations, 100);
  EXPECT_EQ(o.repeats, 3);
  EXPECT_EQ(o.impl, implementation::chare);
  EXPECT_EQ(o.boundary.value, 0.0);
  EXPECT_FALSE(o.boundary.periodic || o.overlap || o.verify || o.num_chares || o.odf || o.formula.weighted);
}

TEST(jacobi_options, everything_is_read) {
  const options o = parse(
      "-x 10 -y 11 -z 12 --odf 8 -w 0 -i 7 --repeats 2 --pes 3 --init random:18446744073709551615 --output a.npy,b.vti "
      "--output c.pvti --tolerance 1e-3 --check-every 5 --alpha 0.5 --beta -0.25 --boundary -1.5 --map round-robin "
      "--verify --report r.json --trace t.json --quiet --device host");
  EXPECT_EQ(o.grid, (extents{10, 11, 12}));
  EXPECT_EQ(o.odf, 8);
  EXPECT_EQ(o.initial.seed, ~std::uint64_t{0});
  EXPECT_THAT(o.outputs, testing::ElementsAre("a.npy", "b.vti", "c.pvti"));
  EXPECT_EQ(o.tolerance, 1e-3);
  EXPECT_EQ(o.check_every, 5);
  EXPECT_EQ(o.formula.beta, -0.25);
  EXPECT_EQ(o.boundary.value, -1.5);
  EXPECT_EQ(o.map, map_kind::round_robin);
  EXPECT_TRUE(o.verify && o.quiet && o.formula.weighted);
  EXPECT_EQ(o.report, "r.json");
  EXPECT_EQ(o.trace, "t.json");
  EXPECT_TRUE(parse("--boundary periodic").boundary.periodic);
}

TEST(jacobi_options, auto_is_found_by_trying) {
  const options o = parse("--odf auto --steps auto");
  EXPECT_TRUE(o.tuned.odf && o.tuned.steps && o.tuned.any());
  EXPECT_FALSE(o.odf);
  EXPECT_EQ(o.steps, 1);
  EXPECT_FALSE(parse("--odf 3 --steps 4").tuned.any());
  EXPECT_EQ(parse("--steps 4").steps, 4);
  EXPECT_NE(digest(o), digest(parse("")));
}

TEST(jacobi_options, resident_steps_are_for_gpus) {
#if IMBREX_HAVE_CUDA
  const options o = parse("--steps resident");
  EXPECT_EQ(o.steps, resident_steps);
  EXPECT_EQ(o.device, "cuda");
  EXPECT_NE(digest(o), digest(parse("--device cuda")));
#endif
  using testing::HasSubstr;
  EXPECT_THAT(refusal("--steps resident --device host"), HasSubstr("for GPUs"));
  EXPECT_THAT(refusal("--steps resident --boundary periodic"), HasSubstr("contradict"));
  EXPECT_THAT(refusal("--steps resident --odf 4"), HasSubstr("one chare on each GPU"));
  EXPECT_THAT(refusal("--steps resident --impl mpi"), HasSubstr("--steps resident needs --impl chare"));
  EXPECT_THAT(refusal("--steps 1000"), HasSubstr("too large"));
  EXPECT_THAT(refusal("--steps many"), HasSubstr("auto or resident"));
}

TEST(jacobi_options, one_extent_sets_all) {
  EXPECT_EQ(parse("-y 9").grid, (extents{9, 9, 9}));
  EXPECT_THAT(refusal("-x 5 -z 6"), testing::HasSubstr("third"));
}

TEST(jacobi_options, options_of_the_runtime_are_passed_over) {
  EXPECT_EQ(parse("--imbrex-schedule-seed 7 -x 4 --imbrex-quiet --imbrex-level=3").grid.nx, 4);
}

TEST(jacobi_options, what_cannot_be_used_is_refused_with_value_and_remedy) {
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_THAT(refusal("-x 0"), AllOf(HasSubstr("-x 0"), HasSubstr("at least 1")));
  EXPECT_THAT(refusal("-x -5"), HasSubstr("-5"));
  EXPECT_THAT(refusal("-x abc"), HasSubstr("abc"));
  EXPECT_THAT(refusal("-x 99999999999999999999999"), HasSubstr("99999"));
  EXPECT_THAT(refusal("-x 4000000000"), HasSubstr("too large"));
  EXPECT_THAT(refusal("-i -1"), HasSubstr("-i -1"));
  EXPECT_THAT(refusal("--repeats 0"), HasSubstr("--repeats 0"));
  EXPECT_THAT(refusal("-c 0"), HasSubstr("-c 0"));
  EXPECT_THAT(refusal("-c 4 --odf 2"), HasSubstr("contradict"));
  EXPECT_THAT(refusal("--odf 0"), HasSubstr("--odf 0"));
  EXPECT_THAT(refusal("--odf most"), AllOf(HasSubstr("most"), HasSubstr("auto")));
  EXPECT_THAT(refusal("-c 4 --odf auto"), HasSubstr("contradict"));
  EXPECT_THAT(refusal("--impl mpi --steps auto"), HasSubstr("auto"));
  EXPECT_THAT(refusal("--init cold"), AllOf(HasSubstr("cold"), HasSubstr("hot-face")));
  EXPECT_THAT(refusal("--init random:x"), HasSubstr("random:x"));
  EXPECT_THAT(refusal("--init sine --input a.npy"), HasSubstr("contradict"));
  EXPECT_THAT(refusal("--input /absent/a.npy"), HasSubstr("cannot read /absent/a.npy"));
  EXPECT_THAT(refusal("--output field.csv"), HasSubstr(".npy, .vti or .pvti"));
  EXPECT_THAT(refusal("--output a.npy,a.npy"), HasSubstr("--output a.npy and --output a.npy are one file"));
  EXPECT_THAT(refusal("--report a --trace ./a"), HasSubstr("--report a and --trace ./a are one file: give two"));
  EXPECT_THAT(refusal("--trace a --imbrex-trace=b"), HasSubstr("--trace and --imbrex-trace say the same: give one"));
  EXPECT_THAT(refusal("--pes 2 --imbrex-pes 3"), HasSubstr("--pes and --imbrex-pes say the same"));
  EXPECT_THAT(refusal("--device host --imbrex-device=cuda"), HasSubstr("contradict"));
  EXPECT_THAT(refusal("--tolerance 0"), HasSubstr("positive"));
  EXPECT_THAT(refusal("--tolerance nan"), HasSubstr("positive"));
  EXPECT_THAT(refusal("--check-every 5"), HasSubstr("--tolerance"));
  EXPECT_THAT(refusal("--tolerance 1 --check-every 0"), HasSubstr("--check-every 0"));
  EXPECT_THAT(refusal("--alpha 1"), HasSubstr("both"));
  EXPECT_THAT(refusal("--alpha inf --beta 1"), HasSubstr("finite"));
  EXPECT_THAT(refusal("--boundary warm"), AllOf(HasSubstr("warm"), HasSubstr("periodic")));
  EXPECT_THAT(refusal("--impl charm"), AllOf(HasSubstr("charm"), HasSubstr("chare, mpi or hetero")));
  EXPECT_THAT(refusal("--map spiral"), HasSubstr("spiral"));
  EXPECT_THAT(refusal("--overlap"), HasSubstr("--impl mpi"));
  EXPECT_THAT(refusal("--impl mpi --odf 2"), HasSubstr("--odf"));
  EXPECT_THAT(refusal("--impl mpi --pes 4"), HasSubstr("mpirun -n 4"));
  EXPECT_THAT(refusal("--impl mpi --map block"), HasSubstr("--map"));
  EXPECT_THAT(refusal("--impl mpi --gpus 2"), AllOf(HasSubstr("--gpus 2"), HasSubstr("mpirun -n 2")));
  EXPECT_THAT(refusal("--impl mpi --streams split"), AllOf(HasSubstr("--streams split"), HasSubstr("leave it out")));
  EXPECT_THAT(refusal("--impl mpi --fusion B"), AllOf(HasSubstr("--fusion B"), HasSubstr("--impl chare")));
  EXPECT_THAT(refusal("--impl mpi --graph"), HasSubstr("--graph needs"));
  EXPECT_THAT(refusal("--impl mpi --no-graph"), HasSubstr("--no-graph needs"));
  EXPECT_THAT(refusal("--impl mpi --completion event"), HasSubstr("--completion event"));
  EXPECT_THAT(refusal("--impl mpi --device host --comm host"), HasSubstr("--device cuda"));
  EXPECT_THAT(refusal("--device moon"), HasSubstr("use host"));
  EXPECT_THAT(refusal("--device cuda:0"), HasSubstr("use host, cuda, opencl or auto"));
  EXPECT_THAT(refusal("--device opencl"), AllOf(HasSubstr("--impl hetero"), HasSubstr("--device host")));
  EXPECT_THAT(refusal("--unknown"), HasSubstr("--unknown"));
  EXPECT_THAT(refusal("stray"), HasSubstr("stray"));
}

TEST(jacobi_options, objects_and_tasks_refuse_what_the_runtime_decides) {
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_EQ(parse("--impl hetero --odf 8 --pes 2 --map round-robin").impl, implementation::hetero);
  EXPECT_THAT(refusal("--impl hetero --overlap"), HasSubstr("--impl mpi"));
  EXPECT_THAT(refusal("--impl hetero --streams split"), AllOf(HasSubstr("--streams split"), HasSubstr("leave it out")));
  EXPECT_THAT(refusal("--impl hetero --comm device"), HasSubstr("--comm device needs --impl chare"));
  EXPECT_THAT(refusal("--impl hetero --fusion C"), HasSubstr("--fusion C needs --impl chare"));
  EXPECT_THAT(refusal("--impl hetero --graph"), HasSubstr("--graph needs --impl chare"));
  EXPECT_THAT(refusal("--impl hetero --no-graph"), HasSubstr("--no-graph needs --impl chare"));
  EXPECT_THAT(refusal("--impl hetero --device opencl --completion flag"), HasSubstr("--completion flag"));
#if IMBREX_HAVE_OPENCL
  EXPECT_EQ(parse("--impl hetero --device opencl --gpus 2").device, "opencl");
#else
  EXPECT_THAT(refusal<imbrex::not_built>("--impl hetero --device opencl"), HasSubstr("--device host"));
#endif
}

TEST(jacobi_options, ranks_on_gpus_choose_how_halos_go) {
#if IMBREX_HAVE_CUDA
  const options o = parse("--impl mpi --comm host --gpus 1 --overlap");
  EXPECT_EQ(o.device, "cuda");
  EXPECT_EQ(o.gpu.halos, halo_path::host);
  EXPECT_FALSE(parse("--impl mpi --device cuda").gpu.halos);
#else
  GTEST_SKIP() << "built without CUDA";
#endif
}

TEST(jacobi_options, input_file_sets_the_grid) {
  const auto file = std::filesystem::temp_directory_path() / ("jacobi_options_" + std::to_string(getpid()) + ".npy");
  std::ofstream(file, std::ios::binary) << npy_header({3, 2, 1}) << std::string(6 * sizeof(double), '\0');
  EXPECT_EQ(parse("--input " + file.string()).grid, (extents{3, 2, 1}));
  EXPECT_EQ(parse("-x 3 -y 2 -z 1 --input " + file.string()).grid, (extents{3, 2, 1}));
  EXPECT_THAT(refusal("-x 4 --input " + file.string()), testing::HasSubstr("shape (1, 2, 3)"));
  std::filesystem::remove(file);
}

TEST(jacobi_options, default_count_fits_the_grid) {
  EXPECT_EQ(chare_count(parse("-x 64"), 2), 2 * default_odf);
  EXPECT_EQ(chare_count(parse("-x 1 -y 1 -z 3"), 2), 3);
  EXPECT_EQ(chare_count(parse("-x 64 --odf 3"), 5), 15);
  EXPECT_EQ(chare_count(parse("-x 64 -c 7"), 5), 7);
}

TEST(jacobi_options, ranks_that_disagree_are_told_about_what) {
  const std::string a = digest(parse("-x 8 -i 5")), b = digest(parse("-x 8 -i 6"));
  EXPECT_EQ(a, digest(parse("-i 5 -z 8")));
  EXPECT_NE(a, b);
  const std::string text = describe_difference(b, 3, a, 0);
  EXPECT_THAT(text, testing::HasSubstr("-i: '6' on rank 3, '5' on rank 0"));
  EXPECT_THAT(
      describe_difference(digest(parse("-x 8 --tolerance 1")), 1, digest(parse("-x 8 --tolerance 1.0000000001")), 0),
      testing::HasSubstr("1.0000000001"));
}

}  // namespace
}  // namespace jacobi_options_test
}  // namespace jacobi
