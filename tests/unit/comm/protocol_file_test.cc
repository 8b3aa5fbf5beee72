#include "imbrex/comm/data/protocol_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "imbrex/base/error.h"

namespace protocol_file_test {

namespace {

using namespace imbrex;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

struct protocol_file : testing::Test {
  protocol_file() {
    char name[] = "/tmp/imbrex-protocols-XXXXXX";
    folder = mkdtemp(name);
    path = (folder / "deep" / "protocols.json").string();
  }
  ~protocol_file() override { fs::remove_all(folder); }

  void write(const std::string& text) const {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  json content() const {
    std::ifstream in(path);
    return json::parse(in);
  }
  protocol_reading read(const std::string& transport = "mpi", const std::string& machine = "here") const {
    return read_protocols(path, transport, machine);
  }

  fs::path folder;
  std::string path;
};

protocol_entry entry(const std::string& machine, const std::string& transport, memory_kind of, std::uint64_t packed) {
  protocol_section s{of, {}, {{"measured", "2026-01-02T03:04:05Z"}}};
  s.points.packed_host_bytes = s.points.packed_device_bytes = packed;
  s.points.chunk_bytes = 1 << 16;
  return {machine, transport, {s}};
}

TEST_F(protocol_file, gives_back_what_was_stored) {
  store_protocols(path, entry("here", "mpi", memory_kind::host, 100));
  const protocol_reading r = read();
  EXPECT_EQ(r.table.packed_host_bytes, 100u);
  EXPECT_EQ(r.table.packed_device_bytes, protocol_table().packed_device_bytes);  // of the other kind of memory
  EXPECT_EQ(r.table.chunk_bytes, protocol_table().chunk_bytes);
  EXPECT_EQ(r.source, path + ", mpi on here, measured 2026-01-02T03:04:05Z");
  EXPECT_THAT(r.warnings, IsEmpty());
}

TEST_F(protocol_file, what_is_stored_later_leaves_the_rest_alone) {
  store_protocols(path, entry("here", "mpi", memory_kind::host, 1));
  store_protocols(path, entry("here", "mpi", memory_kind::device, 2));
  store_protocols(path, entry("here", "ucx", memory_kind::host, 3));
  store_protocols(path, entry("there", "mpi", memory_kind::host, 4));
  json all = content();
  all["machines"]["there"]["mpi"]["host_memory"]["a note of mine"] = "kept";
  write(all.dump());
  store_protocols(path, entry("here", "mpi", memory_kind::host, 5));
  EXPECT_EQ(read().table.packed_host_bytes, 5u);
  EXPECT_EQ(read().table.packed_device_bytes, 2u);
  EXPECT_EQ(read().table.chunk_bytes, 1u << 16);
  EXPECT_EQ(read("ucx").table.packed_host_bytes, 3u);
  EXPECT_EQ(read("mpi", "there").table.packed_host_bytes, 4u);
  EXPECT_EQ(content()["machines"]["there"]["mpi"]["host_memory"]["a note of mine"], "kept");
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path).parent_path()), {}), 1);  // nothing lies beside it
}

TEST_F(protocol_file, without_an_entry_sizes_are_built_in_or_those_of_any_machine) {
  store_protocols(path, entry("there", "mpi", memory_kind::host, 1));
  EXPECT_EQ(read().source, "built in");
  EXPECT_EQ(read().table, protocol_table());
  store_protocols(path, entry("any", "mpi", memory_kind::host, 2));
  EXPECT_EQ(read().table.packed_host_bytes, 2u);
  EXPECT_EQ(read("ucx").source, "built in");
  store_protocols(path, entry("here", "mpi", memory_kind::host, 3));
  EXPECT_EQ(read().table.packed_host_bytes, 3u);
}

TEST_F(protocol_file, a_file_that_cannot_be_used_is_one_warning_and_is_not_overwritten) {
  for (const auto& [text, reason] :
       {std::pair<std::string, std::string>{"{\"format\": 1, \"mach", "it is not JSON"},
        {"", "it is not JSON"},
        {"[1, 2]", "it names no format"},
        {R"({"format": 7, "machines": {}})", "its format is 7, this build knows 1"},
        {R"({"format": 1})", "no object 'machines'"},
        {R"({"format": 1, "machines": {"here": 3}})", "'here' is no object"},
        {R"({"format": 1, "machines": {"here": {"mpi": 3}}})", "entry mpi"},
        {R"({"format": 1, "machines": {"here": {"mpi": {"host_memory": 3}}}})", "entry mpi"}}) {
    write(text);
    const protocol_reading r = read();
    EXPECT_EQ(r.table, protocol_table());
    EXPECT_THAT(r.warnings, ElementsAre(testing::AllOf(HasSubstr(path), HasSubstr(reason), HasSubstr("imbrex tune"))));
    EXPECT_THROW(store_protocols(path, entry("here", "mpi", memory_kind::host, 1)), usage_error) << text;
    EXPECT_THROW(check_protocols_storable(path), usage_error) << text;
  }
}

TEST_F(protocol_file, values_out_of_range_are_refused_one_by_one) {
  write(R"({"format": 1, "machines": {"here": {"mpi": {
            "host_memory": {"packed_host_bytes": -3},
            "device_memory": {"packed_device_bytes": 5, "chunk_bytes": 1, "staged_device_bytes": "many",
                              "unshared_device_bytes": 1099511627776}}}}})");
  const protocol_reading r = read();
  EXPECT_THAT(r.warnings, ElementsAre(HasSubstr("packed_host_bytes is -3, not a number of 0 to 67108864: 4096 is used"),
                                      HasSubstr("chunk_bytes is 1, not a number of 4096 to 1073741824"),
                                      HasSubstr("staged_device_bytes is \"many\"")));
  EXPECT_EQ(r.table.packed_host_bytes, protocol_table().packed_host_bytes);
  EXPECT_EQ(r.table.chunk_bytes, protocol_table().chunk_bytes);
  EXPECT_EQ(r.table.packed_device_bytes, 5u);
  EXPECT_EQ(r.table.unshared_device_bytes, protocol_table::always);
}

TEST_F(protocol_file, a_file_that_is_not_there_is_a_warning_only_when_it_was_named) {
  EXPECT_THAT(read().warnings, ElementsAre(HasSubstr("No such file")));
  EXPECT_THAT(read_protocols("none", "mpi", "here").warnings, IsEmpty());
  ASSERT_EQ(setenv("XDG_CONFIG_HOME", folder.c_str(), 1), 0);
  EXPECT_EQ(protocols_path("auto"), folder.string() + "/imbrex/protocols.json");
  EXPECT_THAT(read_protocols("auto", "mpi", "here").warnings, IsEmpty());
  store_protocols(protocols_path("auto"), entry("here", "mpi", memory_kind::host, 7));
  EXPECT_EQ(read_protocols("auto", "mpi", "here").table.packed_host_bytes, 7u);
  EXPECT_EQ(read_protocols("none", "mpi", "here").table, protocol_table());
  unsetenv("XDG_CONFIG_HOME");
}

TEST_F(protocol_file, says_why_it_cannot_be_written) {
  EXPECT_THROW(check_protocols_storable(folder.string()), usage_error);
  EXPECT_THAT(read_protocols(folder.string(), "mpi", "here").warnings, ElementsAre(HasSubstr("it is a folder")));
  EXPECT_THROW(check_protocols_storable("/proc/none/protocols.json"), usage_error);
  EXPECT_NO_THROW(check_protocols_storable(path));
  EXPECT_FALSE(fs::exists(path));
}

TEST(protocol_values, name_every_size_once_and_accept_what_is_built_in) {
  const protocol_table built_in;
  for (const protocol_value& v : protocol_values()) {
    EXPECT_GE(built_in.*v.member, v.min) << v.name;
    EXPECT_LE(built_in.*v.member, v.max) << v.name;
    EXPECT_THAT(to_text(built_in), HasSubstr(v.name));
  }
}

}  // namespace

}  // namespace protocol_file_test
