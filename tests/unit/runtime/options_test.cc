#include "imbrex/runtime/options/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/runtime/report.h"

namespace options_test {

namespace {

using imbrex::config;
using imbrex::pe_plan;
using imbrex::plan_pes;
using imbrex::runtime_options;
using imbrex::runtime_settings;
using testing::HasSubstr;

/// The settings for a command line, without this process's environment.
config settings_for(std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  return config(runtime_settings(), argc, argv.data(), nullptr);
}

runtime_options options_for(std::vector<std::string> words) {
  return imbrex::options_from(settings_for(std::move(words)));
}

TEST(options, the_defaults_of_table_and_fields_agree) {
  const runtime_options parsed = options_for({}), fields;
  EXPECT_EQ(parsed.pes, fields.pes);
  EXPECT_EQ(parsed.transport, fields.transport);
  EXPECT_EQ(parsed.ranks, fields.ranks);
  EXPECT_EQ(parsed.loopback_seed, fields.loopback_seed);
  EXPECT_EQ(parsed.loopback_delay_us, fields.loopback_delay_us);
  EXPECT_EQ(parsed.loopback_reorder, fields.loopback_reorder);
  EXPECT_EQ(parsed.trace, fields.trace);
  EXPECT_EQ(parsed.trace_by_cupti, fields.trace_by_cupti);
  EXPECT_EQ(parsed.schedule_seed, fields.schedule_seed);
  EXPECT_EQ(parsed.pin, fields.pin);
  EXPECT_EQ(parsed.protocols, fields.protocols);
  EXPECT_EQ(parsed.protocols_file, fields.protocols_file);
  EXPECT_EQ(parsed.tuning_file, fields.tuning_file);
  EXPECT_EQ(parsed.spin_us, fields.spin_us);
  EXPECT_EQ(parsed.log, fields.log);
  EXPECT_EQ(parsed.device, fields.device);
  EXPECT_EQ(parsed.gpus, fields.gpus);
  EXPECT_EQ(parsed.completion, fields.completion);
  EXPECT_EQ(parsed.check_races, fields.check_races);
  EXPECT_EQ(parsed.check_memory, fields.check_memory);
  EXPECT_EQ(parsed.help, fields.help);
  EXPECT_EQ(parsed.loopback_lose_after, fields.loopback_lose_after);
  EXPECT_EQ(parsed.checkpoint.in_memory(), fields.checkpoint.in_memory());
  EXPECT_EQ(parsed.checkpoint.memory_group, fields.checkpoint.memory_group);
  EXPECT_EQ(parsed.checkpoint.memory_parity, fields.checkpoint.memory_parity);
}

TEST(options, costs_of_tasks_are_kept_for_a_policy_that_learns) {
  const runtime_options o = options_for({"--imbrex-task-costs=c.txt", "--imbrex-task-policy=shortest_finish"});
  EXPECT_EQ(o.task_costs, "c.txt");
  EXPECT_EQ(options_for({}).task_costs, "");
  EXPECT_THAT(imbrex::options_help(), HasSubstr("--imbrex-task-costs FILE"));
  const auto message = [](std::vector<std::string> words) -> std::string {
    try {
      options_for(std::move(words));
    } catch (const imbrex::config_error& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(message({"--imbrex-task-costs=c.txt"}),
              testing::AllOf(HasSubstr("c.txt"), HasSubstr("'locality'"), HasSubstr("shortest_finish")));
  EXPECT_THAT(message({"--imbrex-task-costs=c.txt", "--imbrex-task-policy=round_robin"}), HasSubstr("'round_robin'"));
  EXPECT_THAT(message({"--imbrex-task-costs=", "--imbrex-task-policy=shortest_finish"}), HasSubstr("needs a file"));
}

TEST(options, every_option_reaches_its_field) {
  const runtime_options o = options_for(
      {"--imbrex-pes=3",           "--imbrex-transport=loopback",  "--imbrex-ranks=4",
       "--imbrex-loopback-seed=5", "--imbrex-loopback-delay-us=6", "--imbrex-loopback-reorder",
       "--imbrex-trace=t.json",    "--imbrex-trace-gpu=events",    "--imbrex-schedule-seed=18446744073709551615",
       "--imbrex-pin=off",         "--imbrex-spin-us=0",           "--imbrex-device=auto",
       "--imbrex-gpus=2",          "--imbrex-gpu-map=0,1,1",       "--imbrex-completion=event",
       "--imbrex-check-races",     "--imbrex-protocol=direct",     "--imbrex-protocols=p.json",
       "--imbrex-tuning=t.json",   "--imbrex-log=debug",           "--imbrex-help",
       "--imbrex-check-memory"});
  EXPECT_EQ(o.pes, 3);
  EXPECT_EQ(o.transport, "loopback");
  EXPECT_EQ(o.ranks, 4);
  EXPECT_EQ(o.loopback_seed, 5u);
  EXPECT_EQ(o.loopback_delay_us, 6);
  EXPECT_TRUE(o.loopback_reorder);
  EXPECT_EQ(o.trace, "t.json");
  EXPECT_FALSE(o.trace_by_cupti);
  EXPECT_EQ(o.schedule_seed, 18446744073709551615ull);
  EXPECT_EQ(o.pin, false);
  EXPECT_EQ(o.spin_us, 0);
  EXPECT_EQ(o.device, "auto");
  EXPECT_EQ(o.gpus, 2);
  EXPECT_EQ(o.gpu_map, "0,1,1");
  EXPECT_EQ(o.completion, imbrex::completion_mode::event);
  EXPECT_TRUE(o.check_races);
  EXPECT_TRUE(o.check_memory);
  EXPECT_EQ(o.protocols.forced, imbrex::protocol_table::way::direct);
  EXPECT_EQ(o.protocols_file, "p.json");
  EXPECT_EQ(o.tuning_file, "t.json");
  EXPECT_EQ(o.log, imbrex::log_level::debug);
  EXPECT_TRUE(o.help);
}

TEST(options, refuses_what_cannot_be_used) {
  for (const char* word :
       {"--imbrex-pes=-1", "--imbrex-pes=100000", "--imbrex-ranks=0", "--imbrex-transport=tcp", "--imbrex-log=loud",
        "--imbrex-spin-us=-1", "--imbrex-device=abacus", "--imbrex-gpus=-1", "--imbrex-completion=prayer"}) {
    EXPECT_THROW(options_for({word}), imbrex::config_error) << word;
  }
}

TEST(options, ranks_inside_of_a_process_and_a_transport_between_some_contradict_each_other) {
  EXPECT_THROW(options_for({"--imbrex-ranks=2", "--imbrex-transport=mpi"}), imbrex::config_error);
  EXPECT_THROW(options_for({"--imbrex-ranks=2", "--imbrex-transport=ucx"}), imbrex::config_error);
  EXPECT_EQ(options_for({"--imbrex-ranks=2", "--imbrex-transport=loopback"}).ranks, 2);
  EXPECT_EQ(options_for({"--imbrex-ranks=1", "--imbrex-transport=mpi"}).transport, "mpi");
}

TEST(options, unknown_names_become_warnings) {
  EXPECT_THAT(options_for({"--imbrex-tracer=t"}).warnings, testing::ElementsAre(HasSubstr("--imbrex-trace?")));
}

TEST(options, the_environment_counts) {
  ASSERT_EQ(setenv("IMBREX_RANKS", "7", 1), 0);
  int argc = 1;
  char name[] = "program";
  char* argv[] = {name, nullptr};
  const runtime_options o = imbrex::parse_runtime_options(argc, argv);
  unsetenv("IMBREX_RANKS");
  EXPECT_EQ(o.ranks, 7);
}

TEST(options, help_lists_every_option) {
  const std::string help = imbrex::options_help();
  for (const imbrex::setting& s : runtime_settings()) {
    EXPECT_THAT(help, HasSubstr("--imbrex-" + s.name));
    EXPECT_FALSE(s.help.empty());
  }
}

TEST(options, pes_default_to_the_share_of_the_cores) {
  const runtime_options o;
  EXPECT_EQ(plan_pes(o, 8, 1).pes, 8);
  EXPECT_EQ(plan_pes(o, 8, 2).pes, 4);
  EXPECT_EQ(plan_pes(o, 8, 3).pes, 2);
  EXPECT_EQ(plan_pes(o, 2, 4).pes, 1);
  EXPECT_EQ(plan_pes(o, 8, 2, false).pes, 8);
}

TEST(options, more_pes_than_cores_neither_pin_nor_spin) {
  runtime_options o;
  pe_plan p = plan_pes(o, 2, 1);
  EXPECT_TRUE(p.pin);
  EXPECT_GT(p.spin_us, 0);
  o.pes = 3;
  p = plan_pes(o, 2, 1);
  EXPECT_EQ(p.pes, 3);
  EXPECT_FALSE(p.pin);
  EXPECT_EQ(p.spin_us, 0);
  p = plan_pes(runtime_options{}, 2, 4);
  EXPECT_FALSE(p.pin);
  EXPECT_EQ(p.spin_us, 0);
}

TEST(options, what_is_asked_for_goes_before_what_is_chosen) {
  runtime_options o;
  o.pes = 3;
  o.pin = true;
  o.spin_us = 5;
  const pe_plan p = plan_pes(o, 2, 1);
  EXPECT_TRUE(p.pin);
  EXPECT_EQ(p.spin_us, 5);
}

bool there_are_gpus() {
  for (const imbrex::device_facts& d : imbrex::make_report(settings_for({})).devices) {
    if (d.kind == "cuda") return true;
  }
  return false;
}

TEST(devices, auto_without_a_gpu_is_the_host_and_says_why) {
  if (there_are_gpus()) GTEST_SKIP() << "there is a GPU";
  runtime_options o = options_for({"--imbrex-device=auto"});
  imbrex::choose_device_kind(o, 1, false);
  EXPECT_EQ(o.device, "host");
  EXPECT_FALSE(o.why_no_gpu.empty());
}

TEST(devices, gpus_asked_for_in_vain_are_an_error) {
  if (there_are_gpus()) GTEST_SKIP() << "there is a GPU";
  runtime_options o = options_for({"--imbrex-device=cuda"});
  EXPECT_THROW(imbrex::choose_device_kind(o, 1, true), imbrex::error);
}

TEST(devices, of_opencl_come_with_a_pe_for_each_or_an_error_that_says_what_is_missing) {
  runtime_options o = options_for({"--imbrex-device=opencl"});
  bool built = false;
  int usable = 0;
  const imbrex::runtime_report r = imbrex::make_report(settings_for({}));
  for (const imbrex::feature_facts& f : r.build.features) built |= f.name == "opencl" && f.present;
  for (const imbrex::device_facts& d : r.devices)
    usable += d.kind == "opencl" && d.name.find("cannot be used") == std::string::npos ? 1 : 0;
  if (!built) {
    EXPECT_THROW(imbrex::choose_device_kind(o, 1, true), imbrex::not_built);
  } else if (usable == 0) {
    EXPECT_THROW(imbrex::choose_device_kind(o, 1, true), imbrex::config_error);
  } else {
    imbrex::choose_device_kind(o, 1, true);
    EXPECT_EQ(o.device, "opencl");
    EXPECT_GE(o.pes, 1);
    EXPECT_LE(o.pes, usable);
  }
}

TEST(devices, the_host_needs_nothing) {
  runtime_options o = options_for({"--imbrex-pes=3"});
  imbrex::choose_device_kind(o, 2, true);
  EXPECT_EQ(o.device, "host");
  EXPECT_EQ(o.pes, 3);
}

TEST(report, tells_the_same_facts_as_text_and_json) {
  const imbrex::runtime_report r = imbrex::make_report(settings_for({"--imbrex-pes=3"}));
  const nlohmann::json j = nlohmann::json::parse(imbrex::to_json(r));
  const std::string text = imbrex::to_text(r);
  EXPECT_EQ(j["version"], r.build.version);
  EXPECT_EQ(j["options"]["--imbrex-pes"]["value"], "3");
  EXPECT_EQ(j["options"]["--imbrex-pes"]["source"], "command line");
  EXPECT_EQ(j["devices"][0]["name"], "host");
  EXPECT_TRUE(j["transports"]["loopback"]["present"].get<bool>());
  for (const imbrex::feature_facts& f : r.build.features) {
    EXPECT_EQ(j["features"][f.name]["present"], f.present);
    EXPECT_FALSE(f.note.empty()) << f.name;
    EXPECT_THAT(text, HasSubstr(f.note));
  }
  EXPECT_THAT(text, HasSubstr("[command line; default 0]"));
  for (const imbrex::protocol_facts& p : r.protocols) {
    EXPECT_EQ(j["protocols"][p.transport]["sizes"], p.sizes);
    EXPECT_THAT(text, HasSubstr(p.sizes));
  }
}

TEST(options, a_trace_has_so_many_ranks_as_far_apart_as_they_can_be) {
  imbrex::runtime_options o;
  for (const int ranks : {1, 2, 3, 7, 64, 65, 3072}) {
    for (const int wanted : {1, 2, 3, 5, 64, 4000}) {
      o.trace_ranks = wanted;
      std::vector<int> traced;
      for (int r = 0; r < ranks; ++r) {
        if (imbrex::is_traced(o, r, ranks)) traced.push_back(r);
      }
      EXPECT_EQ(static_cast<int>(traced.size()), std::min(wanted, ranks)) << ranks << " " << wanted;
      EXPECT_EQ(traced.front(), 0);
      if (wanted > 1) {
        EXPECT_EQ(traced.back(), ranks - 1);
      }
    }
  }
  o.trace_ranks = 0;
  EXPECT_EQ(imbrex::traced_ranks(o, 3072), 3072);
  o.virtual_time.machine = "summit";
  EXPECT_EQ(imbrex::traced_ranks(o, 3072), 64);
  EXPECT_EQ(imbrex::traced_ranks(o, 6), 6);
}

/// What is said of these words; nothing where they are accepted.
std::string refusal_of(std::vector<std::string> words) {
  try {
    options_for(std::move(words));
  } catch (const imbrex::config_error& e) {
    return e.what();
  }
  return {};
}

TEST(options, ranks_of_a_trace_need_a_trace) {
  EXPECT_THAT(refusal_of({"--imbrex-trace-ranks=4"}), HasSubstr("--imbrex-trace=FILE"));
  EXPECT_EQ(refusal_of({"--imbrex-trace-ranks=4", "--imbrex-trace=t.json"}), "");
}

TEST(options, a_simulated_machine_has_no_loopback_network) {
  EXPECT_THAT(refusal_of({"--imbrex-machine=summit", "--imbrex-loopback-delay-us=3"}),
              testing::AllOf(HasSubstr("loopback-delay-us"), HasSubstr("summit"), HasSubstr("machine-seed")));
}

}  // namespace

}  // namespace options_test
