// The configuration: what each source may set, which source has precedence, and the messages for mistakes.
#include "lib/base/configuration/configuration.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>

#include "lib/base/configuration/job_places.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

std::unique_ptr<Backend> no_backend(const BackendContext&) {
  return nullptr;
}

const BackendDescription& quiet() {
  static const BackendDescription description{
      .name = "host", .description = "no parameters", .parameters = {}, .create = no_backend};
  return description;
}

const BackendDescription& engine() {
  static const Parameter table[] = {choice("preset", "extended", {"extended", "strict"}, "seed", "types"),
                                    integer("mtu", "B", 1384, {64, 131072}, "seed", "payload"),
                                    real("timeout", "ns", 100, {0, 1e6}, "assumed", "until sent again"),
                                    flag("wide", false, "seed", "64-bit bus")};
  static const BackendDescription description{
      .name = "zrlmpi", .description = "an engine", .parameters = table, .create = no_backend};
  return description;
}

class ConfigurationFrom : public testing::Test {
 protected:
  ConfigurationFrom() {
    std::string pattern = testing::TempDir() + "offramp_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    around_.directory = directory_;
  }
  ~ConfigurationFrom() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& text, const std::string& name = "offramp.toml") {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  Result<Configuration> load() {
    registry_ = Registry(std::vector<const BackendDescription*>{&quiet(), &engine()});
    return load_configuration(around_, registry_);
  }
  Result<Configuration> load(const std::string& text) {
    write(text);
    return load();
  }
  /// The error without the name of the folder.
  std::string error(const std::string& text) {
    auto result = load(text);
    EXPECT_FALSE(result) << text;
    std::string message = result.error();
    if (const auto at = message.find(directory_ + "/"); at != std::string::npos) {
      message.erase(at, directory_.size() + 1);
    }
    return message;
  }
  std::string variable_error(const std::string& name, const std::string& value) {
    std::filesystem::remove(directory_ + "/offramp.toml");
    around_.environment = {{name, value}};
    auto result = load();
    EXPECT_FALSE(result) << name;
    return result.error();
  }

  std::string directory_;
  ConfigSources around_;
  Registry registry_;
};

TEST_F(ConfigurationFrom, NoFileIsTheHostBackendWithASummary) {
  auto c = load();
  ASSERT_TRUE(c) << c.error();
  EXPECT_EQ(c->backend, "host");
  EXPECT_EQ(c->clock, Clock::kWall);
  EXPECT_EQ(c->compute.kind, Compute::Mode::kNone);
  EXPECT_FALSE(c->faults.any());
  EXPECT_EQ(c->hang_timeout, 0);
  EXPECT_TRUE(c->summary);
  EXPECT_TRUE(c->file.empty());
}

TEST_F(ConfigurationFrom, ReceiptsAreForNoCallsAllOfThemOrSome) {
  const auto range = [this](const char* value) {
    around_.environment = {{"OFFRAMP_RECEIPTS", value}};
    auto c = load();
    EXPECT_TRUE(c) << c.error();
    return c->receipts;
  };
  EXPECT_FALSE(range("none").any());
  EXPECT_TRUE(range("all").contains(1));
  EXPECT_TRUE(range("127").contains(127));
  EXPECT_FALSE(range("127").contains(128));
  EXPECT_TRUE(range("100-200").contains(200));
  EXPECT_FALSE(range("100-200").contains(99));
  for (const char* wrong : {"0", "7-", "-7", "9-3", "7x", "1-2-3", "some", "99999999999999999999"})
    EXPECT_NE(variable_error("OFFRAMP_RECEIPTS", wrong).find("100-200"), std::string::npos) << wrong;
}

TEST_F(ConfigurationFrom, AFileSetsEveryKey) {
  auto c = load(R"(
backend = "zrlmpi"
clock = "model"
compute = 2.5
summary = false
report = "r.json"
trace = "t"
capture = "c"
hang_timeout = "2min"

[faults]
seed = 7
loss = 1e-3
duplication = 0.25
reordering = 0.5
[[route]]
operation = "bcast"
max_bytes = "64K"
min_ranks = 3
backend = "host"
[[route]]
min_bytes = "1MiB"
max_ranks = 9
backend = "zrlmpi"
[zrlmpi]
preset = "strict"
mtu = "64K"
timeout = "2.5us"
wide = true
)");
  ASSERT_TRUE(c) << c.error();
  EXPECT_EQ(c->backend, "zrlmpi");
  EXPECT_EQ(c->clock, Clock::kSettled);
  EXPECT_EQ(c->compute.kind, Compute::Mode::kFactor);
  EXPECT_EQ(c->compute.factor, 2.5);
  EXPECT_FALSE(c->summary);
  EXPECT_EQ(c->report + c->trace + c->capture, "r.jsontc");
  EXPECT_EQ(c->hang_timeout, 120);
  EXPECT_EQ(c->faults.seed, 7U);
  EXPECT_EQ(c->faults.loss, 1e-3);
  EXPECT_EQ(c->faults.duplication + c->faults.reordering, 0.75);
  ASSERT_EQ(c->routes.size(), 2U);
  EXPECT_EQ(c->routes[0].operation, OperationKind::kBcast);
  EXPECT_EQ(c->routes[0].max_bytes, 65536U);
  EXPECT_EQ(c->routes[0].min_ranks, 3);
  EXPECT_FALSE(c->routes[1].operation.has_value());
  EXPECT_EQ(c->routes[1].min_bytes, 1048576U);
  EXPECT_EQ(c->routes[1].max_bytes, std::numeric_limits<std::size_t>::max());
  auto settings = c->settings_for(engine());
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->choice("preset"), "strict");
  EXPECT_EQ(settings->integer("mtu"), 65536);
  EXPECT_EQ(settings->real("timeout"), 2500);
  EXPECT_TRUE(settings->flag("wide"));
}

TEST_F(ConfigurationFrom, AVariableWinsOverTheFileAndAnOverrideOverBoth) {
  around_.environment = {
      {"OFFRAMP_CLOCK", "model"}, {"OFFRAMP_ZRLMPI_MTU", "1K"}, {"OFFRAMP_HANG_TIMEOUT", "3"}};
  around_.overrides = {{"zrlmpi.mtu", "128", "--set zrlmpi.mtu"}};
  auto c = load("clock = 'wall'\nhang_timeout = 9\n[zrlmpi]\nmtu = 512\npreset = 'strict'\n");
  ASSERT_TRUE(c) << c.error();
  EXPECT_EQ(c->clock, Clock::kSettled);
  EXPECT_EQ(c->hang_timeout, 3);
  auto settings = c->settings_for(engine());
  EXPECT_EQ(settings->integer("mtu"), 128);
  EXPECT_EQ(settings->choice("preset"), "strict");
}

TEST_F(ConfigurationFrom, AnEmptyVariableIsAsGoodAsNoneButAnEmptyPathMeansNone) {
  around_.environment = {
      {"OFFRAMP_BACKEND", ""}, {"OFFRAMP_REPORT", ""}, {"OFFRAMP_CONFIG", ""}, {"OFFRAMP_ZRLMPI_MTU", ""}};
  auto c = load("backend = 'zrlmpi'\nreport = 'r'\n");
  ASSERT_TRUE(c) << c.error();
  EXPECT_EQ(c->backend, "zrlmpi");
  EXPECT_EQ(c->report, "");
}

TEST_F(ConfigurationFrom, AFileNamedInTheEnvironmentReplacesTheOneInTheFolder) {
  write("backend = 'nonsense'\n");
  around_.environment = {{"OFFRAMP_CONFIG", write("backend = 'off'\n", "other.toml")}};
  auto c = load();
  ASSERT_TRUE(c) << c.error();
  EXPECT_TRUE(c->off());
  EXPECT_EQ(variable_error("OFFRAMP_CONFIG", "/does/not/exist"),
            "OFFRAMP_CONFIG: cannot use /does/not/exist: No such file or directory");
  EXPECT_EQ(variable_error("OFFRAMP_CONFIG", "/dev/zero"),
            "OFFRAMP_CONFIG: cannot use /dev/zero: it is not a regular file");
}

TEST_F(ConfigurationFrom, AFileThatEverybodyMayWriteIsNotUsedUnlessNamed) {
  const std::string path = write("backend = 'zrlmpi'\n");
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  auto c = load();
  ASSERT_TRUE(c) << c.error();
  EXPECT_EQ(c->backend, "host");
  ASSERT_EQ(c->notes.size(), 1U);
  EXPECT_NE(c->notes[0].find("others may write it"), std::string::npos);
  around_.environment = {{"OFFRAMP_CONFIG", path}};
  EXPECT_EQ(load()->backend, "zrlmpi");
}

TEST_F(ConfigurationFrom, AFileOfAnotherUserIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(write("backend = 'zrlmpi'\n").c_str(), 65534, 65534), 0);
  EXPECT_EQ(load()->backend, "host");
}

TEST_F(ConfigurationFrom, ALinkOfAnotherUserIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  write("backend = 'zrlmpi'\n", "mine.toml");
  const std::string link = directory_ + "/offramp.toml";
  std::filesystem::create_symlink("mine.toml", link);
  EXPECT_EQ(load()->backend, "zrlmpi");
  ASSERT_EQ(lchown(link.c_str(), 65534, 65534), 0);
  EXPECT_EQ(load()->backend, "host");
}

TEST_F(ConfigurationFrom, AFileThatItsGroupMayWriteIsNotUsedUnlessTheGroupIsTheUsersOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to any group";
  const std::string path = write("backend = 'zrlmpi'\n");
  ASSERT_EQ(chmod(path.c_str(), 0664), 0);
  EXPECT_EQ(load()->backend, "zrlmpi");
  ASSERT_EQ(chown(path.c_str(), 0, 100), 0);
  EXPECT_EQ(load()->backend, "host");
}

TEST_F(ConfigurationFrom, AFileThatWasFoundLoadsNoPlugins) {
  const std::string text = "plugin_path = '" + directory_ + "'\n";
  EXPECT_EQ(error(text).find("offramp.toml:1: plugin_path loads code and is ignored in a file that was only "
                             "found in the folder"),
            0U);
  around_.environment = {{"OFFRAMP_CONFIG", write(text, "named.toml")}};
  EXPECT_TRUE(load());
}

TEST_F(ConfigurationFrom, AFileThatWasFoundNamesNoOutputOutsideOfItsFolder) {
  std::filesystem::create_directory(directory_ + "/below");
  std::filesystem::create_symlink("/etc", directory_ + "/out");
  std::filesystem::create_symlink("/etc/passwd", directory_ + "/part.rec.rank-0");
  for (const Key& key : configuration_keys()) {
    if (key.allowed != "a path in quotes; empty: none") continue;
    const bool faults = key.path.starts_with("faults.");
    const auto setting = [&](const std::string& path) {
      return fmt::format("{}{} = '{}'\n", faults ? "[faults]\n" : "", faults ? "record" : key.path, path);
    };
    for (const char* const path : {"/etc/new", "../new", "below/../../new", "out/new", "part.rec"}) {
      const std::string message = error(setting(path));
      EXPECT_NE(message.find(" points outside the folder in which the file was found"), std::string::npos)
          << message;
    }
    for (const char* const path : {"new", "below/new", "./new", "/dev/null"})
      EXPECT_TRUE(load(setting(path))) << setting(path);
    around_.environment = {{"OFFRAMP_CONFIG", write(setting("/etc/new"), "named.toml")}};
    EXPECT_TRUE(load());
    around_.environment.clear();
  }
}

TEST_F(ConfigurationFrom, APluginFolderThatAllUsersMayWriteIsRefused) {
  ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
  EXPECT_NE(variable_error("OFFRAMP_PLUGIN_PATH", directory_).find("is writable by all users"),
            std::string::npos);
}

TEST_F(ConfigurationFrom, APrivilegedProgramIsOffWhateverIsWritten) {
  write("= nonsense");
  around_.environment = {{"OFFRAMP_BACKEND", "zrlmpi"}, {"OFFRAMP_NONSENSE", "1"}};
  around_.privileged = true;
  auto c = load();
  ASSERT_TRUE(c) << c.error();
  EXPECT_TRUE(c->off());
  EXPECT_FALSE(c->summary);
}

TEST_F(ConfigurationFrom, UnknownNamesAreErrorsWithLineAndSuggestion) {
  EXPECT_EQ(error("\nbakend = 'host'\n"),
            "offramp.toml:2: unknown key \"bakend\"; did you mean \"backend\"?");
  EXPECT_EQ(error("[zrlmpl]\n"), "offramp.toml:1: unknown section \"zrlmpl\"; did you mean \"zrlmpi\"?");
  EXPECT_EQ(error("[faults]\nlos = 1\n"),
            "offramp.toml:2: unknown key in [faults] \"los\"; did you mean \"loss\"?");
  EXPECT_EQ(error("[[route]]\nmax_byte = 1\n"),
            "offramp.toml:2: unknown key in [route] \"max_byte\"; did you mean \"max_bytes\"?");
  EXPECT_EQ(error("[zrlmpi]\nprset = 'strict'\n"),
            "offramp.toml:2: backend zrlmpi has no parameter \"prset\"; did you mean \"preset\"?");
  EXPECT_EQ(error("[zrlmpi]\nsomething_else = 1\n"),
            "offramp.toml:2: backend zrlmpi has no parameter \"something_else\"; known: preset, mtu, "
            "timeout, wide");
  EXPECT_EQ(error("\"route.backend\" = 'host'\n").substr(0, 28), "offramp.toml:1: unknown key ");
}

TEST_F(ConfigurationFrom, UnknownVariablesAreErrorsWithSuggestion) {
  EXPECT_EQ(variable_error("OFFRAMP_BAKEND", "host"),
            "environment: unknown variable \"OFFRAMP_BAKEND\"; did you mean \"OFFRAMP_BACKEND\"?");
  EXPECT_EQ(
      variable_error("OFFRAMP_ZRLMPI_PRESE", "strict"),
      "environment: unknown variable \"OFFRAMP_ZRLMPI_PRESE\"; did you mean \"OFFRAMP_ZRLMPI_PRESET\"?");
  EXPECT_NE(variable_error("OFFRAMP_QUITE_DIFFERENT", "1").find("offramp info -c lists the known ones"),
            std::string::npos);
}

TEST_F(ConfigurationFrom, AForbiddenValueIsAnErrorThatListsTheAllowedValues) {
  EXPECT_EQ(error("clock = 'modell'\n"),
            "offramp.toml:1: \"modell\" is not allowed for clock; allowed: wall, settled, model; did you "
            "mean \"model\"?");
  EXPECT_EQ(error("backend = 'zrlmp'\n"),
            "offramp.toml:1: \"zrlmp\" is not allowed for backend; allowed: off, host, zrlmpi; did you mean "
            "\"zrlmpi\"?");
  EXPECT_EQ(error("[faults]\nloss = 1.5\n"),
            "offramp.toml:2: \"1.5\" is not allowed for faults.loss; allowed: 0 .. 1");
  EXPECT_EQ(error("[zrlmpi]\nmtu = 63\n"),
            "offramp.toml:2: \"63\" is not allowed for zrlmpi.mtu; allowed: 64 .. 131072 B, whole");
  EXPECT_EQ(variable_error("OFFRAMP_ZRLMPI_TIMEOUT", "5 KiB"),
            "OFFRAMP_ZRLMPI_TIMEOUT: \"5 KiB\" is not allowed for zrlmpi.timeout; allowed: 0 .. 1000000 ns, "
            "in ps, ns, us, ms, s, min");
  EXPECT_EQ(variable_error("OFFRAMP_ZRLMPI_PRESET", "stricd"),
            "OFFRAMP_ZRLMPI_PRESET: \"stricd\" is not allowed for zrlmpi.preset; allowed: extended, strict; "
            "did you mean "
            "\"strict\"?");
  EXPECT_EQ(
      variable_error("OFFRAMP_COMPUTE", "\x01nan"),
      "OFFRAMP_COMPUTE: \"\\x01nan\" is not allowed for compute; allowed: none, measured, a factor above 0");
}

TEST_F(ConfigurationFrom, LimitsThemselvesAreAllowed) {
  for (const char* text : {"64", "131072", "128K", "128KiB", "64B", " 64 "}) {
    around_.environment = {{"OFFRAMP_ZRLMPI_MTU", text}};
    EXPECT_TRUE(load()) << text;
  }
  for (const char* text :
       {"63", "131073", "64.5", "64 K B", "KiB", "inf", "nan", "0x40", "1e400", "-64", "64Q"}) {
    EXPECT_NE(variable_error("OFFRAMP_ZRLMPI_MTU", text), "") << text;
  }
}

TEST_F(ConfigurationFrom, WrongTypesAreErrors) {
  for (const char* text : {"backend = 5",
                           "backend = true",
                           "report = 5",
                           "summary = 'maybe'",
                           "clock = 1979-05-27",
                           "clock = ['wall']",
                           "machine.ranks_per_node = -1",
                           "machine.ranks_per_node = 1.5",
                           "machine.ranks_per_node = 2000000",
                           "machine.cards_per_node = 0",
                           "hang_timeout = true",
                           "hang_timeout = nan",
                           "hang_timeout = -1",
                           "hang_timeout = inf",
                           "compute = 0",
                           "compute = -1",
                           "faults = 3",
                           "zrlmpi = 3",
                           "route = 3",
                           "route = [3]",
                           "[route]\nbackend = 'host'\n[route.x]",
                           "[backend]",
                           "[clock]\nx = 1",
                           "[zrlmpi]\nmtu = true",
                           "[zrlmpi]\nmtu = []",
                           "[zrlmpi.mtu]\nx = 1",
                           "[zrlmpi]\nwide = 2",
                           "[faults]\nseed = -1",
                           "[faults]\nseed = 1.5",
                           "[[zrlmpi]]\nmtu = 64",
                           "[[backend]]"}) {
    EXPECT_NE(error(text), "") << text;
  }
  EXPECT_EQ(error("zrlmpi = 3\n"), "offramp.toml:1: zrlmpi is a section; write [zrlmpi] and its keys below");
  EXPECT_EQ(error("[clock]\n"), "offramp.toml:1: clock is a key, not a section");
}

TEST_F(ConfigurationFrom, ADuplicateKeyIsAnError) {
  EXPECT_NE(error("clock = 'wall'\nclock = 'wall'\n").find("offramp.toml:2: not valid TOML"),
            std::string::npos);
  EXPECT_NE(error("[zrlmpi]\n[zrlmpi]\n").find("offramp.toml:2:"), std::string::npos);
}

TEST_F(ConfigurationFrom, TheFirstErrorInTheFileIsReported) {
  EXPECT_EQ(error("[zrlmpi]\n[fault]\n[abc]\n").substr(0, 15), "offramp.toml:2:");
}

TEST_F(ConfigurationFrom, RoutesHaveToMakeSense) {
  EXPECT_EQ(error("[[route]]\noperation = 'bcast'\n"),
            "offramp.toml:1: this route lacks a backend; add backend");
  EXPECT_EQ(error("[[route]]\nbackend='host'\nmin_bytes = 2\nmax_bytes = 1\n"),
            "offramp.toml:1: min_bytes is above max_bytes");
  EXPECT_EQ(error("[[route]]\nbackend='host'\nmin_ranks = 2\nmax_ranks = 1\n"),
            "offramp.toml:1: min_ranks is above max_ranks");
  EXPECT_EQ(error("[[route]]\nbackend='off'\n"),
            "offramp.toml:2: \"off\" is not allowed for route.backend; allowed: host, zrlmpi");
  EXPECT_NE(error("[[route]]\noperation='bcats'\n").find("did you mean \"bcast\"?"), std::string::npos);
}

TEST_F(ConfigurationFrom, FaultRatesAddUpToAtMostOne) {
  EXPECT_TRUE(load("[faults]\nloss = 0.5\nreordering = 0.5\n"));
  EXPECT_EQ(error("[faults]\nloss = 0.5\nreordering = 0.75\n"),
            "faults: loss, duplication, reordering, corruption, and delay add up to 1.25; the maximum is 1");
}

TEST_F(ConfigurationFrom, EverythingIsCheckedEvenWhenSwitchedOff) {
  EXPECT_NE(error("backend = 'off'\nclock = 'x'\n"), "");
  EXPECT_NE(error("backend = 'off'\n[zrlmpi]\nmtu = 1\n"), "");
}

TEST_F(ConfigurationFrom, AnUnknownOverrideIsAnErrorNamingTheOption) {
  around_.overrides = {{"zrlmpi.prset", "x", "--set"}};
  EXPECT_EQ(load().error(), "--set: unknown key \"zrlmpi.prset\"; did you mean \"zrlmpi.preset\"?");
  around_.overrides = {{"route.backend", "host", "--set"}};
  EXPECT_NE(load().error(), "");
}

TEST_F(ConfigurationFrom, AParameterWithoutABackendIsSetForAllOfTheCommandLineThatHaveIt) {
  static const Parameter table[] = {integer("mtu", "B", 1500, {64, 131072}, "seed", "payload")};
  static const BackendDescription other{BackendDescription::kAbi, "cclo", "another engine", table,
                                        no_backend};
  Registry registry(std::vector<const BackendDescription*>{&quiet(), &engine(), &other});
  around_.overrides = {{"mtu", "256", "--set mtu", {"zrlmpi", "cclo"}}};
  auto both = load_configuration(around_, registry);
  ASSERT_TRUE(both) << both.error();
  EXPECT_EQ(both->settings_for(engine())->integer("mtu"), 256);
  EXPECT_EQ(both->settings_for(other)->integer("mtu"), 256);
  around_.overrides = {{"mtu", "x2", "--set mtu", {"all"}}};
  auto twice = load_configuration(around_, registry);
  ASSERT_TRUE(twice) << twice.error();
  EXPECT_EQ(twice->settings_for(engine())->integer("mtu"), 2768);
  EXPECT_EQ(twice->settings_for(other)->integer("mtu"), 3000);
}

TEST_F(ConfigurationFrom, AFactorMultipliesTheOtherwiseEffectiveValue) {
  around_.overrides = {{"zrlmpi.timeout", "x0.5", "--set zrlmpi.timeout"}};
  auto c = load("[zrlmpi]\ntimeout = '3us'\n");
  ASSERT_TRUE(c) << c.error();
  EXPECT_EQ(c->settings_for(engine())->real("timeout"), 1500);
  around_.overrides.push_back({"zrlmpi.timeout", "7", "--set zrlmpi.timeout"});
  EXPECT_EQ(load()->settings_for(engine())->real("timeout"), 7) << "what comes later wins";
  around_.overrides = {{"zrlmpi.timeout", "x1e9", "--set zrlmpi.timeout"}};
  EXPECT_THAT(load().error(), testing::HasSubstr("--set zrlmpi.timeout"));
  around_.overrides = {{"zrlmpi.preset", "x2", "--set zrlmpi.preset"}};
  EXPECT_NE(load().error(), "") << "a choice has no multiple";
}

TEST_F(ConfigurationFrom, AFactorWithAnInvalidResultIsRefused) {
  for (const char* key : {"zrlmpi.timeout", "zrlmpi.mtu"}) {
    around_.overrides = {{key, "x0", "--set it"}};
    EXPECT_THAT(load().error(), testing::HasSubstr(fmt::format("--set it: x0 of {}", key)));
  }
  around_.overrides = {{"zrlmpi.mtu", "x0.0001", "--set mtu"}};
  EXPECT_THAT(load().error(), testing::HasSubstr("--set mtu: x0.0001 of zrlmpi.mtu")) << "rounded";
  for (const char* wrong : {"x", "x-1", "xx2", "x1e999", "xnan", "x2ns"}) {
    around_.overrides = {{"zrlmpi.timeout", wrong, "--set timeout"}};
    EXPECT_THAT(load().error(), testing::HasSubstr("--set timeout")) << wrong;
  }
}

TEST_F(ConfigurationFrom, AFactorOfAnInheritedValueAppliesOrIsRefused) {
  // Like the NIC of a host: below a tenth, the card's value applies.
  static const Parameter table[] = {real("latency", "ns", 0, {0, 1e9}, "seed", "0: of the card")};
  static const BackendDescription card{
      .name = "cclo",
      .description = "a card",
      .parameters = table,
      .create = no_backend,
      .in_force = [](const Settings& settings, std::string_view) -> std::optional<double> {
        return settings.real("latency") < 0.1 ? 1000 : settings.real("latency");
      }};
  Registry registry(std::vector<const BackendDescription*>{&quiet(), &card});
  const auto with = [&](const char* factor) {
    around_.overrides = {{"cclo.latency", factor, "--set latency"}};
    return load_configuration(around_, registry);
  };
  EXPECT_EQ(with("x0.5")->settings_for(card)->real("latency"), 500);
  EXPECT_THAT(with("x0").error(), testing::HasSubstr("x0 of cclo.latency (1000) is 0"));
  EXPECT_THAT(with("x1e-6").error(), testing::HasSubstr("in force would be 1000"));
}

TEST_F(ConfigurationFrom, RoutesOfTheCommandLineComeBeforeThoseOfTheFile) {
  around_.overrides = {{"route", "bcast=zrlmpi", "--route"}, {"route", "send:1KiB-64KiB=host", "--route"}};
  auto c = load("[[route]]\noperation = 'reduce'\nbackend = 'zrlmpi'\n");
  ASSERT_TRUE(c) << c.error();
  ASSERT_EQ(c->routes.size(), 3U);
  EXPECT_EQ(c->routes[0].operation, OperationKind::kBcast);
  EXPECT_EQ(c->routes[0].backend, "zrlmpi");
  EXPECT_EQ(c->routes[1].min_bytes, 1024U);
  EXPECT_EQ(c->routes[1].max_bytes, 65536U);
  EXPECT_EQ(c->routes[1].backend, "host");
  EXPECT_EQ(c->routes[2].operation, OperationKind::kReduce);
  for (const char* wrong :
       {"bcast", "=host", "bcast:5=host", "bcast=nothing", "dance=host", "bcast:x-y=host"}) {
    around_.overrides = {{"route", wrong, "--route"}};
    EXPECT_THAT(load().error(), testing::HasSubstr("--route")) << wrong;
  }
}

TEST_F(ConfigurationFrom, AHugeFileIsRefused) {
  EXPECT_EQ(error(std::string((1 << 20) + 1, '#')).find("cannot use"), 0U);
  EXPECT_TRUE(load(std::string(1 << 20, '#')));
}

TEST_F(ConfigurationFrom, DeepNestingIsRefusedBeforeItCanExhaustTheStack) {
  std::string dotted = "a";
  for (int i = 0; i < 500000; ++i) dotted += ".a";
  EXPECT_NE(error(dotted + " = 1").find("too many dots"), std::string::npos);
  EXPECT_NE(error("a = " + std::string(100000, '[')), "");
  std::string headers;
  for (int i = 0; i < 2000; ++i) headers += "[a" + std::string(120, '.') + "\n";
  EXPECT_NE(error(headers), "");
}

TEST_F(ConfigurationFrom, JunkGivesAnErrorAndNeverACrash) {
  const std::string valid =
      "backend = \"zrlmpi\"\n[[route]]\noperation = \"bcast\"\nbackend = 'host'\n[zrlmpi]\nmtu = "
      "64\n[faults]\nloss = 1e-3\n";
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    std::string text = valid;
    for (int changes = 0; changes < 4; ++changes) text[random() % text.size()] = static_cast<char>(random());
    auto result = load(text);
    EXPECT_NE(static_cast<bool>(result), !result.error().empty());
    for (const char c : result.error()) ASSERT_GE(static_cast<unsigned char>(c), 0x20);
  }
  for (const char* text : {"[&", "[[[1]]]", "[[=", "\xcc\xaa", "\xc3\xbc = 1", "a = 0x6cA#+\xf1", "[", "a.",
                           "\"", "a = \"\"\"\\\xcc\xaa\"\"\""}) {
    EXPECT_NE(error(text), "") << text;
  }
  EXPECT_TRUE(load("report = '\xc3\xbc'  # \xc3\xbc\n"));
  std::string binary(4096, '\0');
  EXPECT_NE(error(binary), "");
  for (char& c : binary) c = static_cast<char>(random());
  EXPECT_NE(error(binary), "");
}

TEST_F(ConfigurationFrom, ARelativeOrMissingPluginFolderIsAnError) {
  EXPECT_EQ(variable_error("OFFRAMP_PLUGIN_PATH", "plugins"),
            "OFFRAMP_PLUGIN_PATH: plugin path: \"plugins\" is not absolute; write the whole path");
  EXPECT_NE(variable_error("OFFRAMP_PLUGIN_PATH", "/does/not/exist").find("cannot read"), std::string::npos);
  around_.environment = {{"OFFRAMP_PLUGIN_PATH", directory_ + "::" + directory_}};
  EXPECT_TRUE(load());
  write("not a library", "broken.so");
  EXPECT_NE(variable_error("OFFRAMP_PLUGIN_PATH", directory_).find("cannot load plugin"), std::string::npos);
}

TEST(RegistryOfBackends, RefusesUnusableBackends) {
  Registry registry;
  EXPECT_EQ(registry.add(&quiet(), "x").error(), "");
  EXPECT_EQ(registry.add(&quiet(), "x").error(), "x: backend \"host\" already exists");
  EXPECT_EQ(registry.add(nullptr, "x").error(), "x: offramp_backend_v1 returned no description");
  BackendDescription other = engine();
  other.abi = 1;
  EXPECT_EQ(
      registry.add(&other, "p.so").error(),
      "p.so: built for backend abi 1, but this offramp has abi 14; rebuild the plugin against its headers");
  for (const std::string_view name : {"", "off", "Upper", "a-b", "1st", "a.b"}) {
    other = engine();
    other.name = name;
    EXPECT_NE(registry.add(&other, "p.so").error(), "") << name;
  }
  other = engine();
  other.create = nullptr;
  EXPECT_NE(registry.add(&other, "p.so").error(), "");
  EXPECT_EQ(registry.all().size(), 1U);
  EXPECT_EQ(registry.find("zrlmpi"), nullptr);
}

TEST(RegistryOfBackends, RefusesAParameterTableThatDoesNotHoldTogether) {
  const Parameter bad[] = {
      {"x", ParameterKind::kInteger, "1", 5, 6, 7, "", {}, "", ""},
      {"x", ParameterKind::kChoice, "", 0, 0, 0, "c", {"a", "b"}, "", ""},
      {"X", ParameterKind::kInteger, "1", 6, 6, 7, "", {}, "", ""},
  };
  for (const Parameter& parameter : bad) {
    BackendDescription description = quiet();
    description.parameters = {&parameter, 1};
    EXPECT_NE(Registry().add(&description, "p.so").error(), "") << parameter.name;
  }
}

TEST(TableOfKeys, DefaultsAreAllowedValuesAndNamesAreUnique) {
  std::set<std::string_view> paths, variables;
  for (const Key& key : configuration_keys()) {
    EXPECT_TRUE(key.path.empty() || paths.insert(key.path).second) << key.path;
    EXPECT_TRUE(key.variable.empty() || variables.insert(key.variable).second) << key.variable;
    EXPECT_FALSE(key.description.empty() || key.allowed.empty()) << key.path;
    if (key.path.empty() || key.path.starts_with("route")) continue;
    Registry registry(std::vector<const BackendDescription*>{&quiet()});
    ConfigSources around;
    around.directory = "/nonexistent";
    around.overrides = {{std::string(key.path), std::string(key.default_text), "--set"}};
    auto c = load_configuration(around, registry);
    EXPECT_TRUE(c) << c.error();
  }
}

TEST(Words, AreReadBackAsWritten) {
  for (int i = 0; i < static_cast<int>(OperationKind::kCount); ++i) {
    const auto kind = static_cast<OperationKind>(i);
    EXPECT_EQ(parse_operation(to_string(kind)), kind);
  }
  for (int i = 0; i <= static_cast<int>(ElementType::kMixed); ++i) {
    EXPECT_EQ(parse_element_type(to_string(static_cast<ElementType>(i))), static_cast<ElementType>(i));
  }
  for (int i = 0; i <= static_cast<int>(ReduceFunction::kUser); ++i) {
    EXPECT_EQ(parse_reduce_function(to_string(static_cast<ReduceFunction>(i))),
              static_cast<ReduceFunction>(i));
  }
  EXPECT_EQ(to_string(OperationKind::kReduceScatter), "reduce_scatter");
  EXPECT_EQ(to_string(ReduceFunction::kMinimumLocation), "minloc");
  EXPECT_FALSE(parse_operation("Bkast"));
}

TEST(Names, FromMpiAndCAreEquivalent) {
  EXPECT_EQ(parse_operation("Bcast"), OperationKind::kBcast);
  EXPECT_EQ(parse_operation("MPI_Allreduce"), OperationKind::kAllreduce);
  EXPECT_EQ(parse_operation("MPI_Reduce_scatter_block"), OperationKind::kReduceScatter);
  EXPECT_EQ(parse_element_type("double"), ElementType::kFloat64);
  EXPECT_EQ(parse_element_type("MPI_DOUBLE"), ElementType::kFloat64);
  EXPECT_EQ(parse_element_type("MPI_UINT16_T"), ElementType::kUint16);
  EXPECT_EQ(parse_element_type("long long"), ElementType::kInt64);
  EXPECT_EQ(parse_reduce_function("maximum"), ReduceFunction::kMaximum);
  EXPECT_EQ(parse_reduce_function("MPI_MINLOC"), ReduceFunction::kMinimumLocation);
  EXPECT_FALSE(parse_element_type("quad"));
  EXPECT_FALSE(parse_element_type("MPI_"));
  EXPECT_FALSE(parse_element_type(std::string(1000, 'x')));
}

TEST(Quantities, ConvertExactlyWithinADimensionOnly) {
  EXPECT_EQ(parse_quantity("2.5us", "ns"), 2500);
  EXPECT_EQ(parse_quantity("1 ns", "ps"), 1000);
  EXPECT_EQ(parse_quantity("1MiB", "B"), 1048576);
  EXPECT_EQ(parse_quantity("64k", "bytes"), 65536);
  EXPECT_EQ(parse_quantity("12.5GB/s", "Gb/s"), 100);
  EXPECT_EQ(parse_quantity("64KB", "B"), 65536);
  EXPECT_EQ(parse_quantity("1kib", "B"), 1024);
  for (const char* rate : {"200Gbps", "200 Gbit/s", "200gb/s", "25GB/s", "25gB/s", "25 GBps"})
    EXPECT_EQ(parse_quantity(rate, "Gb/s"), 200) << rate;
  EXPECT_EQ(parse_quantity("400mhz", "MHz"), 400);
  EXPECT_EQ(parse_quantity("250MHz", "kHz"), 250000);
  EXPECT_EQ(parse_quantity("32 bit", "bit"), 32);
  EXPECT_EQ(parse_quantity("+1e3", "1"), 1000);
  for (const char* text : {"", " ", "us", "1 us us", "1K", "inf", "1e309", "--1", "1,5"}) {
    EXPECT_FALSE(parse_quantity(text, "ns")) << text;
  }
}

TEST_F(ConfigurationFrom, EverySourceIsNamedBesideTheValueInForce) {
  around_.environment = {
      {"OFFRAMP_ZRLMPI_TIMEOUT", "2us"}, {"OFFRAMP_OPTIONS", "OFFRAMP_CLOCK"}, {"OFFRAMP_CLOCK", "model"}};
  auto configuration =
      load("backend = 'zrlmpi'\n[zrlmpi]\nmtu = 512\n[[route]]\nmax_bytes = '1K'\nbackend = 'host'\n");
  ASSERT_TRUE(configuration) << configuration.error();
  std::map<std::string, std::pair<std::string, std::string>> found;
  for (const SettingInForce& s : settings_in_force(*configuration, registry_))
    EXPECT_TRUE(found.emplace(s.key, std::pair(s.value, s.source)).second) << s.key;
  const std::string file = directory_ + "/offramp.toml:";
  EXPECT_EQ(found["backend"], std::pair(std::string("zrlmpi"), file + "1"));
  EXPECT_EQ(found["zrlmpi.mtu"], std::pair(std::string("512 B"), file + "3"));
  EXPECT_EQ(found["zrlmpi.timeout"],
            std::pair(std::string("2000 ns"), std::string("OFFRAMP_ZRLMPI_TIMEOUT")));
  EXPECT_EQ(found["zrlmpi.preset"], std::pair(std::string("extended"), std::string("default")));
  EXPECT_EQ(found["clock"], std::pair(std::string("model"), std::string("option, OFFRAMP_CLOCK")));
  EXPECT_EQ(found["route 1"], std::pair(std::string("any, up to 1024 B: host"), file + "4"));
}

TEST_F(ConfigurationFrom, RanksAgreeOnEveryKeyButThoseOfOneRank) {
  const std::map<std::string, std::string> others = {{"backend", "zrlmpi"},
                                                     {"compare", "zrlmpi"},
                                                     {"clock", "model"},
                                                     {"compute", "measured"},
                                                     {"blocked", "0.5"},
                                                     {"polling", "wait"},
                                                     {"reductions", "native"},
                                                     {"record_parts", "keep"},
                                                     {"summary", "false"},
                                                     {"certificate", "true"},
                                                     {"details", "true"},
                                                     {"receipts", "1-2"},
                                                     {"plugin_path", directory_},
                                                     {"network.topology", "torus:4x4"},
                                                     {"network.routing", "adaptive"},
                                                     {"network.sharing", "fair"},
                                                     {"network.placement", "scattered"},
                                                     {"machine.sockets_per_node", "2"},
                                                     {"machine.cards_per_node", "2"},
                                                     {"machine.links_per_card", "2"},
                                                     {"stragglers.noise", "1ms:25us"},
                                                     {"stragglers.noise_phase", "same"},
                                                     {"stragglers.slow_nodes", "0:2"},
                                                     {"faults.script", "lose 0>1 packet 3"}};
  const std::string before = agreed_settings(*load());
  std::vector<std::string> free;
  for (const Key& key : configuration_keys()) {
    if (key.path.empty() || key.variable.empty()) continue;
    const auto other = others.find(std::string(key.path));
    const std::string value = other != others.end() ? other->second : key.quoted ? "name" : "1";
    around_.environment = {{std::string(key.variable), value}};
    auto configuration = load();
    ASSERT_TRUE(configuration) << configuration.error();
    if (agreed_settings(*configuration) == before) free.emplace_back(key.path);
  }
  EXPECT_EQ(free,
            (std::vector<std::string>{"summary", "certificate", "capture", "hang_timeout", "plugin_path"}));
}

TEST_F(ConfigurationFrom, RanksAgreeOnValuesAndNotOnHowTheyAreWritten) {
  const auto agreed = [this](const std::string& text) { return agreed_settings(*load(text)); };
  EXPECT_EQ(agreed("[faults]\nloss = 0.5"), agreed("[faults]\nloss = '5e-1'\ndelay_time = '10us'"));
  EXPECT_EQ(agreed("report = 'a'"), agreed("report = 'b'"));
  EXPECT_NE(agreed("report = 'a'"), agreed(""));
  EXPECT_NE(agreed("report = 'a'\nreceipts = 'all'"), agreed("report = 'b'\nreceipts = 'all'"));
  EXPECT_NE(agreed("[[route]]\nmax_bytes = 8\nbackend = 'host'"),
            agreed("[[route]]\nmax_bytes = 9\nbackend = 'host'"));
  EXPECT_NE(agreed("[zrlmpi]\nmtu = 512"), agreed(""));
}

TEST(Suggestions, AreNearAndNeverSilly) {
  const std::vector<std::string_view> words = {"wall", "model", "zrlmpi"};
  EXPECT_EQ(closest("modle", words), "model");
  EXPECT_EQ(closest("ZRLMPI", words), "zrlmpi");
  EXPECT_EQ(closest("zrl", words), "");
  EXPECT_EQ(closest("fast", words), "");
  EXPECT_EQ(closest("", words), "");
  EXPECT_EQ(closest(std::string(1 << 20, 'w'), words), "");
}

TEST_F(ConfigurationFrom, ARateOfLinksIsThatOfTheHostAndOfAllBackendsInUse) {
  Registry registry(built_in_backends());
  around_.overrides = {{"link_rate", "50", "--link-rate", {"dpu", "sharp"}}};
  const auto c = load_configuration(around_, registry);
  ASSERT_TRUE(c) << c.error();
  for (const auto& [backend, key] : {std::pair("host", "bandwidth"), {"dpu", "link"}, {"sharp", "link"}})
    EXPECT_EQ(c->sections.at(backend).at(key).text, "50") << backend;
  EXPECT_FALSE(c->sections.contains("cclo"));
}

TEST(TheNetwork, IsAFatTreeBeyondThePortsOfOneSwitchUnlessTheUserHasChosenIt) {
  Configuration configuration;
  EXPECT_TRUE(network_for(configuration, 64).is_star());
  EXPECT_EQ(network_for(configuration, 65).topology, "fat-tree:32");
  configuration.machine.ranks_per_node = 2;
  EXPECT_TRUE(network_for(configuration, 128).is_star());
  configuration.written["network.topology"] = {"star", RawValue::Type::kText, "test"};
  EXPECT_TRUE(network_for(configuration, 1024).is_star());
}

}  // namespace
}  // namespace offramp
