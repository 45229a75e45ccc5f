// The configuration file: reads and writes all that the grammar allows, and refuses everything else by name.
#include "simulators/dpu_protocol/config_file.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace offramp::dpu {
namespace {

constexpr const char* kHeader = "# Format version: 1\n";

std::string error_of(const std::string& text) {
  return parse_config(text, "nodes.cfg").error();
}

TEST(DpuConfigFile, ReadsAllFormsOfTheGrammar) {
  const Result<ConfigFile> result = parse_config(
      "  #   Format version:  1\n"
      "   # rack 7 is down\n"
      "\n"
      "nodeB,bfB:10.1.0.2:7100&7101:9100&9101\n"
      "nodeC,bfC0:10.1.0.3:7100&7101:9100&9101,bfC1:10.1.0.4:7100&7101:9100&9101\r\n",
      "nodes.cfg");
  ASSERT_EQ(result.error(), "");
  ASSERT_EQ(result->hosts.size(), 2U);
  EXPECT_EQ(result->processes(), 2);
  EXPECT_EQ(result->hosts[1].dpus.size(), 2U);
  const ConfiguredDpu* const dpu = result->dpu("bfC1");
  ASSERT_NE(dpu, nullptr);
  EXPECT_EQ(dpu->address, "10.1.0.4");
  EXPECT_EQ(dpu->process_ports, (std::vector<std::uint16_t>{7100, 7101}));
  EXPECT_EQ(dpu->rank_ports, (std::vector<std::uint16_t>{9100, 9101}));
}

TEST(DpuConfigFile, ReadsOneDpuWithOneServiceProcess) {
  const Result<ConfigFile> result =
      parse_config(std::string(kHeader) + "nodeA,bfA:10.1.0.1:7100:9100", "nodes.cfg");
  ASSERT_EQ(result.error(), "");
  EXPECT_EQ(result->processes(), 1);
}

TEST(DpuConfigFile, RefusesEveryInvalidExampleWithItsLine) {
  const std::string header = kHeader;
  const std::pair<std::string, std::string> cases[] = {
      {"nodeA,bfA:10.1.0.1:7100:9100", "nodes.cfg:1: the first line must be \"# Format version: 1\""},
      {"# Format version: 2\n", "nodes.cfg:1: format version 2 is unknown; only 1 is"},
      {"# Format version: -1\n", "nodes.cfg:1: format version -1 is unknown; only 1 is"},
      {"# Format version: one\n", "nodes.cfg:1: the format version \"one\" is not a number"},
      {"\t# Format version: 1\n", "nodes.cfg:1: the first line must be \"# Format version: 1\""},
      {"", "nodes.cfg:1: the first line must be \"# Format version: 1\""},
      {header + "nodeA", "nodes.cfg:2: host \"nodeA\" has no DPU"},
      {header + "nodeA,bfA:10.1.0.1:7100",
       "nodes.cfg:2: DPU \"bfA:10.1.0.1:7100\" has 3 fields instead of four: name:IPv4 address:ports:ports"},
      {header + "\nnodeA,bfA:10.1.0.1:7100&7101:9100",
       "nodes.cfg:3: DPU \"bfA\" has 2 ports for service processes and 1 for ranks; each service process "
       "needs one of each"},
      {header + "nodeA,bfA:10.1.0.1:70x0:9100", "nodes.cfg:2: port \"70x0\" is not in 1 .. 65535"},
      {header + "nodeA,bfA:10.1.0.1:70000:9100", "nodes.cfg:2: port \"70000\" is not in 1 .. 65535"},
      {header + "nodeA,bfA:10.1.0.1:0:9100", "nodes.cfg:2: port \"0\" is not in 1 .. 65535"},
      {header + "nodeA,bfA:10.1.0.1:7100&:9100&9101", "nodes.cfg:2: port \"\" is not in 1 .. 65535"},
      {header + "nodeA,bfA:[fe80::1]:7100:9100",
       "nodes.cfg:2: DPU \"bfA:[fe80::1]:7100:9100\" has 6 fields instead of four: name:IPv4 "
       "address:ports:ports"},
      {header + "nodeA,bfA:10.1.0.256:7100:9100", "nodes.cfg:2: \"10.1.0.256\" is not an IPv4 address"},
      {header + "nodeA,bfA:10.1.0.1:7100:9100\nnodeB,bfB:10.1.0.2:7100&7101:9100&9101",
       "nodes.cfg:3: DPU \"bfB\" has 2 service processes, others have 1"},
      {header + "nodeA,bfA:10.1.0.1:7100:9100\nnodeA,bfB:10.1.0.2:7100:9100",
       "nodes.cfg:3: host \"nodeA\" is listed twice"},
      {header + "nodeA,bfA:10.1.0.1:7100:9100\nnodeB,bfA:10.1.0.2:7100:9100",
       "nodes.cfg:3: DPU \"bfA\" is listed twice"},
      {header + "nodeA,bfA:10.1.0.1:7100:7100", "nodes.cfg:2: DPU \"bfA\" uses a port twice"},
      {header + " nodeA,bfA:10.1.0.1:7100:9100", "nodes.cfg:2: host name \" nodeA\" is not a name"},
      {header + "nodeA,,bfA:10.1.0.1:7100:9100",
       "nodes.cfg:2: DPU \"\" has 1 fields instead of four: name:IPv4 address:ports:ports"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(error_of(text), expected) << text;
}

TEST(DpuConfigFile, IsReadableAfterWriting) {
  for (const int hosts : {0, 1, 3, 600}) {
    for (const int processes : {1, 2, 8}) {
      const std::string text = write_config(describe_platform(hosts, processes));
      const Result<ConfigFile> result = parse_config(text, "nodes.cfg");
      EXPECT_EQ(result.error(), "");
      EXPECT_EQ(result->hosts.size(), static_cast<std::size_t>(hosts));
      EXPECT_EQ(write_config(*result), text);
    }
  }
}

TEST(DpuConfigFile, WithRandomBytesIsValidOrRefused) {
  std::mt19937 random(7);
  const std::string alphabet = std::string("# Format version: 1\nab,:&.07\r\t\xff", 30) + '\0';
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 2 == 0 ? kHeader : "";
    const auto length = static_cast<std::size_t>(random() % 80);
    for (std::size_t j = 0; j < length; ++j) text += alphabet[random() % alphabet.size()];
    const Result<ConfigFile> result = parse_config(text, "x");
    if (!result) continue;
    for (const ConfiguredHost& host : result->hosts) EXPECT_FALSE(host.dpus.empty());
  }
}

TEST(DpuConfigFile, FindsHostsAndDpusByTheirWholeName) {
  const ConfigFile file = describe_platform(11, 1);
  EXPECT_EQ(file.dpu("dpu"), nullptr);
  EXPECT_EQ(file.dpu("dpu1")->address, "10.0.0.2");  // not dpu10's
  EXPECT_EQ(file.host("node1.cluster.example")->name, "node1");
  EXPECT_EQ(file.host("node"), nullptr);
  EXPECT_EQ(file.host("node12"), nullptr);
}

TEST(DpuConfigFile, TheOrderOfTheListGivesTheIds) {
  const ConfigFile file = describe_platform(4, 2);
  const Result<ProcessList> list = list_processes(file, "dpu2,dpu0");
  ASSERT_EQ(list.error(), "");
  ASSERT_EQ(list->size(), 4U);
  for (int i = 0; i < 4; ++i) {
    const ListedProcess& process = (*list)[static_cast<std::size_t>(i)];
    EXPECT_EQ(process.global_id, i);
    EXPECT_EQ(process.local_id, i % 2);
    EXPECT_EQ(process.dpu->name, i < 2 ? "dpu2" : "dpu0");
  }
  EXPECT_EQ((*list)[0].host, 0);  // in the order of the list
  EXPECT_EQ((*list)[2].host, 1);
  EXPECT_EQ(list_processes(file, "dpu0,dpu9").error(),
            "DPU \"dpu9\" of the list is not in the configuration file");
  EXPECT_EQ(list_processes(file, "dpu0,dpu0").error(), "DPU \"dpu0\" of the list occurs twice");
}

TEST(DpuConfigFile, HostsMayHaveSeveralDpus) {
  const ConfigFile file = describe_platform(2, 2, 2);
  EXPECT_EQ(write_config(file),
            "# Format version: 1\n"
            "node0,dpu0:10.0.0.1:7100&7101:9100&9101,dpu1:10.0.0.2:7100&7101:9100&9101\n"
            "node1,dpu2:10.0.0.3:7100&7101:9100&9101,dpu3:10.0.0.4:7100&7101:9100&9101\n");
  EXPECT_EQ(write_config(*parse_config(write_config(file), "x")), write_config(file));
  const Result<ProcessList> list = list_processes(file, "dpu3,dpu0,dpu2");
  const int hosts[] = {0, 0, 1, 1, 0, 0};
  ASSERT_EQ(list->size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ((*list)[i].host, hosts[i]) << i;
  EXPECT_NE(fingerprint_of(*list), fingerprint_of(*list_processes(file, "dpu0,dpu3,dpu2")));
  EXPECT_NE(fingerprint_of(file), fingerprint_of(describe_platform(2, 2, 1)));
  const ConfiguredHost& host = file.hosts[1];
  const char* const expected[] = {"dpu2", "dpu2", "dpu3", "dpu3", "dpu2"};
  for (int rank = 0; rank < 5; ++rank)
    EXPECT_EQ(dpu_of_rank(host, "", 2, rank)->name, expected[rank]) << rank;
  EXPECT_EQ(dpu_of_rank(host, "", 2, -1)->name, "dpu2") << "no local rank";
  EXPECT_EQ(dpu_of_rank(host, "dpu0,dpu3", 2, 0)->name, "dpu3") << "the job has one of them only";
  EXPECT_EQ(dpu_of_rank(host, "dpu0", 2, 0), nullptr);
}

Lookup variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

TEST(DpuEnvironment, TheFirstOfTheTwoPathsWins) {
  EXPECT_EQ(config_path(variables({})), "");
  EXPECT_EQ(config_path(variables({{"DPU_OFFLOAD_CONFIG_FILE_PATH", "/b"}})), "/b");
  EXPECT_EQ(
      config_path(variables({{"DPU_OFFLOAD_CONFIG_FILE_PATH", "/b"}, {"OFFLOAD_CONFIG_FILE_PATH", "/a"}})),
      "/a");
}

TEST(DpuEnvironment, OneAddressStandsForAFileOfTwoDpus) {
  using Values = std::map<std::string, std::string>;
  EXPECT_FALSE(has_connection(variables({})));
  EXPECT_FALSE(has_connection(variables({{"INTER_DPU_CONN_PORT", "7000"}})));
  const Values two = {{"INTER_DPU_CONN_ADDR", "10.1.0.2"}, {"DPU_OFFLOAD_LIST_DPUS", "bf0,bf1"}};
  EXPECT_TRUE(has_connection(variables(two)));
  const auto with = [&](const char* name, const char* value) {
    Values values = two;
    values[name] = value;
    return connection_of(variables(values));
  };
  const Result<ConfigFile> found = connection_of(variables(two));
  ASSERT_EQ(found.error(), "");
  EXPECT_EQ(found->processes(), 1);
  ASSERT_NE(found->dpu("bf1"), nullptr);
  EXPECT_EQ(found->dpu("bf1")->address, "10.1.0.2");
  EXPECT_EQ(found->dpu("bf1")->process_ports.front(), 11111);
  EXPECT_EQ(with("INTER_DPU_CONN_PORT", "7000")->dpu("bf0")->process_ports.front(), 7000);
  EXPECT_EQ(with("DPU_OFFLOAD_LIST_DPUS", "bf0").error(), "");
  EXPECT_EQ(with("INTER_DPU_CONN_PORT", "70x0").error(), "INTER_DPU_CONN_PORT is \"70x0\", not 1 to 65535");
  EXPECT_EQ(with("INTER_DPU_CONN_PORT", "65536").error(), "INTER_DPU_CONN_PORT is \"65536\", not 1 to 65535");
  EXPECT_EQ(with("INTER_DPU_CONN_ADDR", "bf1").error(),
            "INTER_DPU_CONN_ADDR is \"bf1\", not an IPv4 address");
  EXPECT_EQ(with("DPU_OFFLOAD_LIST_DPUS", "a,b,c").error(),
            "INTER_DPU_CONN_ADDR names one address: with 3 DPUs a configuration file is needed");
  EXPECT_EQ(connection_of(variables({{"INTER_DPU_CONN_ADDR", "10.1.0.2"}})).error(),
            "DPU_OFFLOAD_LIST_DPUS is not set");
}

TEST(DpuEnvironment, IdsAreThereTogetherOrNotAtAll) {
  const auto identity = [](std::map<std::string, std::string> values) {
    values.try_emplace("DPU_OFFLOAD_LIST_DPUS", "d0,d1");
    return service_identity(variables(std::move(values)), "d1");
  };
  EXPECT_EQ(service_identity(variables({}), "d1").error(), "DPU_OFFLOAD_LIST_DPUS is not set");
  EXPECT_EQ(identity({{"DPU_OFFLOAD_LIST_DPUS", "d0,d10"}}).error(),
            "DPU \"d1\" is not in DPU_OFFLOAD_LIST_DPUS");
  const Result<ServiceIdentity> alone = identity({});
  EXPECT_EQ(alone.error(), "");
  EXPECT_EQ(alone->global_id, 1);
  const Result<ServiceIdentity> third = identity({{"DPU_OFFLOAD_SERVICE_PROCESS_GLOBAL_ID", "5"},
                                                  {"DPU_OFFLOAD_SERVICE_PROCESS_LOCAL_ID", "1"},
                                                  {"DPU_OFFLOAD_SERVICE_PROCESSES_PER_DPU", "4"}});
  EXPECT_EQ(third.error(), "");
  EXPECT_EQ(third->global_id, 5);
  EXPECT_NE(identity({{"DPU_OFFLOAD_SERVICE_PROCESS_LOCAL_ID", "0"}}).error(), "");
  EXPECT_NE(identity({{"DPU_OFFLOAD_SERVICE_PROCESS_GLOBAL_ID", "6"},
                      {"DPU_OFFLOAD_SERVICE_PROCESS_LOCAL_ID", "1"},
                      {"DPU_OFFLOAD_SERVICE_PROCESSES_PER_DPU", "4"}})
                .error(),
            "");
}

}  // namespace
}  // namespace offramp::dpu
