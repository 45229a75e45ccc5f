// SimGrid's platform files: the machines that they describe, and what is refused.
#include "simulators/network/platform.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/network/play.hpp"

namespace offramp::platform_test {
namespace {

using test::Arrival;
using test::Play;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NoLoads final : public LinkLoads {
 public:
  [[nodiscard]] std::int64_t load(std::size_t) const override { return 0; }
};

std::string file_of(const std::string& inside) {
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n" +
         inside + "\n</platform>\n";
}

std::string cluster(const std::string& radical, const std::string& more) {
  return file_of(
      fmt::format("<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"{}\" speed=\"1Gf\" bw=\"12.5GBps\" "
                  "lat=\"150ns\" {}/>",
                  radical, more));
}

std::shared_ptr<const Platform> made(const std::string& text) {
  auto platform = Platform::read(text, "p.xml");
  EXPECT_TRUE(platform) << platform.error();
  return platform ? *platform : nullptr;
}

std::vector<std::string> way(const Platform& platform, int source, int destination) {
  std::vector<std::size_t> links;
  EXPECT_TRUE(platform.route({source, destination, 0}, Routing::kStatic, NoLoads(), links))
      << source << " to " << destination;
  std::vector<std::string> names;
  for (const std::size_t link : links) names.push_back(platform.link_name(link));
  return names;
}

TEST(APlatform, HasTheCablesAndBackboneOfAFlatCluster) {
  const auto p = made(cluster("0-2,7", "bb_bw=\"50GBps\" bb_lat=\"1us\""));
  EXPECT_EQ(p->nodes(), 4);
  EXPECT_EQ(p->node_name(3), "n7");
  EXPECT_THAT(way(*p, 0, 3), ElementsAre("c_link_0_UP", "c_backbone", "c_link_7_DOWN"));
  EXPECT_EQ(p->links(), 9U);
  std::vector<std::size_t> links;
  p->route({0, 3, 0}, Routing::kStatic, NoLoads(), links);
  EXPECT_EQ(p->link(links[0])->rate.count(), 100'000'000'000);
  EXPECT_EQ(p->link(links[0])->latency, Time()) << "the backends' own wires have it";
  EXPECT_EQ(p->link(links[1])->rate.count(), 400'000'000'000);
  EXPECT_EQ(p->link(links[1])->latency, Time::us(1));
}

TEST(APlatform, HasTheRoutesOfAClustersTopology) {
  const auto tree = made(cluster("0-15", "topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,1\""));
  EXPECT_THAT(way(*tree, 0, 5), ElementsAre("c_link_0_UP", "switch 1.0 to switch 2.1",
                                            "switch 2.1 to switch 1.1", "c_link_5_DOWN"));
  EXPECT_THAT(way(*tree, 0, 3), ElementsAre("c_link_0_UP", "c_link_3_DOWN"));
  const auto torus = made(cluster("0-11", "topology=\"TORUS\" topo_parameters=\"3,2,2\""));
  EXPECT_THAT(way(*torus, 0, 4),
              ElementsAre("router 0,0,0, dimension 1, up", "router 1,0,0, dimension 2, up"));
}

/// SimGrid's own example of its notation: three groups of four chassis of five routers.
TEST(APlatform, RoutesADragonflyOverGreenBlackAndBlueLinks) {
  const auto p = made(cluster("0-119", "topology=\"DRAGONFLY\" topo_parameters=\"3,4;4,3;5,1;2\""));
  const auto node = [](int group, int chassis, int router) {
    return ((group * 4 + chassis) * 5 + router) * 2;
  };
  EXPECT_THAT(way(*p, node(0, 1, 3), node(0, 2, 4)),
              ElementsAre("c_link_16_UP", "router 0.1.3 to router 0.1.4", "router 0.1.4 to router 0.2.4",
                          "c_link_" + std::to_string(node(0, 2, 4)) + "_DOWN"));
  EXPECT_THAT(way(*p, node(0, 1, 3), node(2, 2, 4)),
              ElementsAre("c_link_16_UP", "router 0.1.3 to router 0.1.2", "router 0.1.2 to router 0.0.2",
                          "router 0.0.2 to group 2", "router 2.0.0 to router 2.0.4",
                          "router 2.0.4 to router 2.2.4", testing::_));
  // The number of cables.
  std::map<std::string, std::int64_t> width;
  for (std::size_t link = 0; link < p->links(); ++link)
    width[p->link_name(link)] = p->link(link)->rate.count() / 100'000'000'000;
  EXPECT_EQ(width["router 0.0.2 to group 2"], 4);
  EXPECT_EQ(width["router 0.0.1 to router 0.3.1"], 3);
  EXPECT_EQ(width["router 0.0.1 to router 0.0.3"], 1);
}

const char* const kZones = R"(<zone id="world" routing="Full">
<zone id="a" routing="Full">
 <host id="a0" speed="1Gf"/><host id="a1" speed="1Gf"/><router id="ar"/>

 <link id="x" bandwidth="10Gbps" latency="1us"/>
 <link id="y" bandwidth="1.25GBps" latency="2us" sharing_policy="SPLITDUPLEX"/>

 <route src="a0" dst="ar"><link_ctn id="x"/></route>
 <route src="a1" dst="ar"><link_ctn id="y" direction="UP"/></route>
</zone>

<zone id="b" routing="Floyd">
 <host id="b0" speed="1Gf"/><host id="b1" speed="1Gf"/><host id="b2" speed="1Gf"/>

 <link id="p" bandwidth="1Gbps" latency="1us"/><link id="q" bandwidth="1Gbps" latency="1us"/>
 <route src="b0" dst="b1"><link_ctn id="p"/></route>
 <route src="b1" dst="b2"><link_ctn id="q"/></route>
</zone>

<link id="wan" bandwidth="125MBps" latency="5ms" sharing_policy="FATPIPE"/>
<zoneRoute src="a" dst="b" gw_src="ar" gw_dst="b1"><link_ctn id="wan"/></zoneRoute>
</zone>)";

/// Hosts in a zone with routing="Cluster" form a cluster with links of their own.
TEST(APlatform, ReadsAZoneWithHostLinksAsACluster) {
  const auto p = made(file_of(R"(<zone id="w" routing="Full">
<zone id="a" routing="Cluster">
 <router id="ar"/>
 <host id="h0" speed="1Gf"/><link id="l" bandwidth="10Gbps" latency="1us" sharing_policy="SPLITDUPLEX"/>
 <host_link id="h0" up="l_UP" down="l_DOWN"/>

 <host id="h1" speed="1Gf"/><link id="m" bandwidth="20Gbps" latency="2us"/><host_link id="h1" up="m" down="m"/>

 <host id="h2" speed="1Gf"/>
 <cabinet id="k" prefix="c" suffix="x" radical="3-4" speed="1Gf" bw="40Gbps" lat="1us"/>
 <backbone id="b" bandwidth="100Gbps" latency="3us"/>
</zone>

<cluster id="o" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="10Gbps" lat="1us" router_id="or"/>

<link id="wan" bandwidth="1Gbps" latency="1ms"/>
<zoneRoute src="a" dst="o" gw_src="ar" gw_dst="or"><link_ctn id="wan"/></zoneRoute></zone>)"));
  ASSERT_EQ(p->nodes(), 7);
  EXPECT_EQ(p->node_name(3), "c3x");
  EXPECT_THAT(way(*p, 0, 1), ElementsAre("l_UP", "b", "m"));
  EXPECT_THAT(way(*p, 1, 0), ElementsAre("m", "b", "l_DOWN"));
  EXPECT_THAT(way(*p, 2, 4), ElementsAre("b", "link_c4x_DOWN"));
  EXPECT_THAT(way(*p, 3, 5), ElementsAre("link_c3x_UP", "b", "wan", "o_link_0_DOWN"));
  std::vector<std::size_t> links;
  p->route({0, 1, 0}, Routing::kStatic, NoLoads(), links);
  EXPECT_EQ(p->link(links[0])->rate.count(), 10'000'000'000);
  EXPECT_EQ(p->link(links[0])->latency, Time()) << "the backends' own wires have it";
  EXPECT_EQ(p->link(links[1])->latency, Time::us(3));
}

/// Data that a host sends and receives at the same time shares its limiter.
TEST(APlatform, LimitsItsHosts) {
  const auto p = made(cluster("0-2", "limiter_link=\"15GBps\" bb_bw=\"50GBps\""));
  EXPECT_THAT(way(*p, 0, 2), ElementsAre("c_link_0_limiter", "c_link_0_UP", "c_backbone", "c_link_2_DOWN",
                                         "c_link_2_limiter"));
  std::vector<std::size_t> links;
  p->route({0, 2, 0}, Routing::kStatic, NoLoads(), links);
  EXPECT_EQ(p->link(links[0])->rate.count(), 120'000'000'000);
  EXPECT_THAT(p->notes(), IsEmpty());
  const auto tree = made(
      cluster("0-15", "limiter_link=\"15GBps\" topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,1\""));
  EXPECT_EQ(way(*tree, 0, 3).front(), "c_link_0_limiter");
  EXPECT_THAT(tree->notes(), ElementsAre(HasSubstr("p.xml:4: limiter_link: limits only the hosts here")));
}

TEST(APlatform, NamesIgnoredContent) {
  const auto notes = [](const std::string& inside) { return made(file_of(inside))->notes(); };
  const std::string hosts =
      "<zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1f\" speed_file=\"f\" state_file=\"\"/>\n"
      "<link id=\"l\" bandwidth=\"1MBps\" bandwidth_file=\"half.txt\"/><link id=\"m\" bandwidth=\"1MBps\" "
      "bandwidth_file=\"f\"/></zone>";
  EXPECT_THAT(
      notes(hosts),
      ElementsAre("p.xml:4: speed_file, bandwidth_file: ignored: links and hosts do not change with time"));
  EXPECT_THAT(notes("<config id=\"c\"><prop id=\"network/model\" value=\"SMPI\"/></config>\n"
                    "<trace id=\"t\" periodicity=\"2.0\">0 1</trace>\n" +
                    hosts + "<trace_connect kind=\"SPEED\" trace=\"t\" element=\"a\"/>\n" +
                    "<actor host=\"a\" function=\"f\"/>"),
              ElementsAre(HasSubstr("p.xml:5: <trace>, speed_file, bandwidth_file, <trace_connect>: ignored"),
                          "p.xml:4: <config>: ignored: it sets SimGrid's own models",
                          "p.xml:8: <actor>: ignored: network.placement sets the nodes of the ranks"));
  EXPECT_THAT(made(cluster("0-3", "loopback_bw=\"1GBps\" loopback_lat=\"0\""))->notes(),
              ElementsAre(HasSubstr("loopback_bw, loopback_lat: ignored: messages within a node")));
  EXPECT_THAT(made("\n \n" + cluster("0-3", "loopback_bw=\"1GBps\""))->notes(),
              ElementsAre(HasSubstr("p.xml:6: ")))
      << "blank lines before the declaration";
}

/// SimGrid's loopback links are so fast that they cost nothing.
TEST(APlatform, MayHaveAnyRateWithinAHost) {
  const auto zone = [](const std::string& rate, const std::string& to) {
    return file_of(
        "<zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1f\"/><host id=\"b\" speed=\"1f\"/>"
        "<link id=\"l\" bandwidth=\"1GBps\"/>\n<link id=\"in\" bandwidth=\"" +
        rate + "\"/>\n<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route><route src=\"" + to +
        "\" dst=\"a\"><link_ctn id=\"in\"/></route></zone>");
  };
  for (const char* const rate : {"1000EBps", "1Bps", "2YiBps", "0", "5e30"}) {
    EXPECT_EQ(way(*made(zone(rate, "a")), 0, 1), std::vector<std::string>{"l"}) << rate;
    EXPECT_EQ(Platform::read(zone(rate, "b"), "p.xml").error(),
              fmt::format("p.xml:5: \"{}\" is not a bandwidth from 1kbps to 100Tbps", rate));
  }
  for (const char* const rate : {"fast", "-", "1iBps", "1mBps", "Bps"})
    EXPECT_THAT(Platform::read(zone(rate, "a"), "p.xml").error(), HasSubstr("is not a bandwidth")) << rate;
}

/// As in SimGrid, whose parser is laxer than XML.
TEST(APlatform, MayHaveDashesInComments) {
  const std::string text = file_of(
      "<!-- two\n -- <hosts> --\n---><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1f\"/>\n"
      "<host id=\"b\" speed=\"1f\"/></zone>");
  EXPECT_EQ(made(text)->nodes(), 2);
  EXPECT_THAT(Platform::read(text + "<!-- -- open", "p.xml").error(), HasSubstr("unclosed token"));
}

TEST(APlatform, RoutesBetweenZonesOverTheirGateways) {
  const auto p = made(file_of(kZones));
  ASSERT_EQ(p->nodes(), 5);
  EXPECT_THAT(way(*p, 1, 2), ElementsAre("y_UP", "wan", "p"));
  EXPECT_THAT(way(*p, 2, 1), ElementsAre("p", "wan", "y_DOWN"));
  EXPECT_THAT(way(*p, 2, 4), ElementsAre("p", "q")) << "Floyd finds the way over b1";
  std::vector<std::size_t> links;
  EXPECT_FALSE(p->route({0, 1, 0}, Routing::kStatic, NoLoads(), links)) << "routing=\"Full\" finds none";
}

NetworkOptions options_with(const std::string& text, Sharing sharing = Sharing::kTrains) {
  NetworkOptions options;
  options.topology = "p.xml";
  options.platform = made(text);
  options.sharing = sharing;
  return options;
}

class PlatformSharings : public testing::TestWithParam<Sharing> {};
INSTANTIATE_TEST_SUITE_P(Of, PlatformSharings, testing::Values(Sharing::kTrains, Sharing::kFair),
                         [](const auto& one) { return one.param == Sharing::kTrains ? "trains" : "fair"; });

/// Links of different rates in any order: the slowest is the bound, and all latencies count.
TEST_P(PlatformSharings, LetASlowLinkBeTheBoundAloneAndShared) {
  const std::string text = file_of(R"(<zone id="w" routing="Full">
<host id="h0" speed="1f"/><host id="h1" speed="1f"/><host id="h2" speed="1f"/><host id="h3" speed="1f"/>

<link id="fast" bandwidth="80Gbps" latency="1us"/><link id="slow" bandwidth="8Gbps" latency="2us"/>
<link id="middle" bandwidth="30Gbps" latency="3us"/><link id="pipe" bandwidth="4Gbps" latency="4us" sharing_policy="FATPIPE"/>

<route src="h0" dst="h1"><link_ctn id="fast"/><link_ctn id="slow"/><link_ctn id="middle"/></route>

<route src="h1" dst="h2"><link_ctn id="middle"/><link_ctn id="slow"/><link_ctn id="fast"/></route>
<route src="h2" dst="h3"><link_ctn id="pipe"/><link_ctn id="fast"/></route></zone>)");
  constexpr std::size_t kBytes = 1'000'000;
  const Time slow = Bandwidth::gigabits_per_second(8).bytes(kBytes);
  for (const int from : {0, 1}) {
    Play play(*make_network(options_with(text, GetParam()), 4, {}));
    play.send(from, from + 1, kBytes, Time::ns(7));
    const Arrival one = play.run()[0];
    EXPECT_EQ(one.last, Time::ns(7) + slow + Time::us(6));
    EXPECT_EQ(one.waited, Time());
  }
  Play play(*make_network(options_with(text, GetParam()), 4, {}));
  play.send(0, 1, kBytes);
  play.send(1, 0, kBytes);  // the same links, so they are not split
  play.send(2, 3, kBytes);
  play.send(3, 2, kBytes);
  const std::vector<Arrival> there = play.run();
  const Time last = later(there[0].last, there[1].last);
  EXPECT_GE(last, slow * 2 + Time::us(4));                 // the latencies before and after the slow link
  EXPECT_LE(last, slow * 2 + Time::us(6) + Time::us(40));  // at most a train
  // Each has the pipe for itself, and the fast link carries both.
  for (const std::size_t one : {2U, 3U}) {
    EXPECT_GE(there[one].last, slow * 2 + Time::us(5));
    EXPECT_LE(there[one].last, slow * 2 + Time::us(5) + Time::us(3)) << one;
  }
}

/// A cluster of a file, and the same tree by name: equal routes over cables as fast as the ports.
TEST_P(PlatformSharings, AgreeWithAnEqualTreeByName) {
  const auto arrivals = [](const NetworkOptions& options) {
    Play play(*make_network(options, 16, {}));
    for (int node = 0; node < 16; ++node) play.send(node, (node + 5) % 16, 200'000);
    std::vector<Time> last;
    for (const Arrival& arrival : play.run()) last.push_back(arrival.last);
    return last;
  };
  NetworkOptions named;
  named.topology = "fat-tree:2;4,4;1,2;1,1";
  named.sharing = GetParam();
  EXPECT_EQ(arrivals(options_with(cluster("0-15", "topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,1\""),
                                  GetParam())),
            arrivals(named));
}

TEST(APlatform, WithTooFewHostsSaysWhereTheyAre) {
  EXPECT_EQ(make_network(options_with(cluster("0-3", "")), 5, {}).error(),
            "network.topology: p.xml:4: it has 4 hosts, but there are 5 nodes");
}

TEST(APlatform, IsRefusedWithFileAndLine) {
  const auto error = [](const std::string& text) { return Platform::read(text, "p.xml").error(); };
  const auto in_zone = [&](const std::string& text) {
    return error(
        file_of("<zone id=\"z\" routing=\"Full\">\n<host id=\"h\" speed=\"1f\"/>\n" + text + "\n</zone>"));
  };
  EXPECT_EQ(error(""), "p.xml:1: no element found");
  EXPECT_EQ(error("no XML"), "p.xml:1: syntax error");
  EXPECT_EQ(error("<a>\n<b></a>"), "p.xml:2: mismatched tag");
  EXPECT_THAT(error("<html/>"), HasSubstr("p.xml:1: it begins with <html>"));
  EXPECT_THAT(error("<platform version=\"3\"/>"), HasSubstr("version is not 4.1"));
  EXPECT_THAT(error("<!DOCTYPE p [<!ENTITY a \"aaaa\">]>\n<p/>"),
              HasSubstr("p.xml:1: it declares an entity"));
  EXPECT_THAT(error(cluster("0-", "")), HasSubstr("p.xml:4: radical=\"0-\" is not a list"));
  EXPECT_THAT(error(cluster("0-2000000000", "")), HasSubstr("more than 1048576 hosts"));
  EXPECT_THAT(error(cluster("0-3", "topology=\"TORUS\" topo_parameters=\"3,2\"")),
              HasSubstr("p.xml:4: the radical has 4 hosts, but topo_parameters=\"3,2\" has room for 6"));
  EXPECT_THAT(error(cluster("0-3", "topology=\"TORUS\" topo_parameters=\"2;2\"")), HasSubstr("is not torus"));
  EXPECT_THAT(error(cluster("0-3", "topology=\"DRAGONFLY\" topo_parameters=\"4;1;1;1\"")),
              HasSubstr("is not GROUPS,LINKS;"));
  EXPECT_THAT(error(cluster("0-3", "topology=\"DRAGONFLY\" topo_parameters=\"4,1;1,1;1,1;1\"")),
              HasSubstr("a chassis has 1 routers, but 4 groups need one each"));
  EXPECT_THAT(error(cluster("0-3", "topology=\"RING\" topo_parameters=\"4\"")),
              HasSubstr("is not one of FLAT"));
  EXPECT_THAT(in_zone("<host id=\"h\" speed=\"1f\"/>"), HasSubstr("p.xml:6: \"h\" occurs twice"));
  EXPECT_THAT(in_zone("<link id=\"l\" bandwidth=\"fast\"/>"), HasSubstr("\"fast\" is not a bandwidth from"));
  EXPECT_THAT(in_zone("<link id=\"l\" bandwidth=\"1GBps\" latency=\"nan\"/>"),
              HasSubstr("\"nan\" is not a latency"));
  EXPECT_THAT(in_zone("<peer id=\"x\"/>"), HasSubstr("p.xml:6: <peer> is not supported"));
  EXPECT_THAT(
      in_zone("<link id=\"l\" bandwidth=\"1GBps\" latncy=\"1us\"/>"),
      HasSubstr("p.xml:6: <link> has no attribute latncy; it has id bandwidth latency sharing_policy"));
  EXPECT_THAT(in_zone("<host id=\"i\" speed=\"1f\"><link id=\"l\" bandwidth=\"1GBps\"/></host>"),
              HasSubstr("p.xml:6: <link> is not allowed in a <host>"));
  EXPECT_THAT(in_zone("<host_link id=\"h\" up=\"l\" down=\"l\"/>"),
              HasSubstr("p.xml:6: <host_link> belongs in a zone with routing=\"Cluster\""));
  EXPECT_THAT(in_zone("<host id=\"i\" speed=\"1f\"/><link id=\"l\" bandwidth=\"1GBps\"/>\n"
                      "<route src=\"h\" dst=\"i\" symmetrical=\"Yess\"><link_ctn id=\"l\"/></route>"),
              HasSubstr("p.xml:7: symmetrical=\"Yess\" is neither YES nor NO"));
  EXPECT_THAT(error(file_of("<zone id=\"a\" routing=\"None\"/>\n<zone id=\"b\" routing=\"None\"/>")),
              HasSubstr("p.xml:5: the platform has a second zone; the first begins in line 4"));
  EXPECT_THAT(error(file_of("<actor host=\"a\" function=\"f\"/>")),
              HasSubstr("it has actors but no zone: it is a deployment, not a machine"));
  EXPECT_THAT(
      in_zone("<host id=\"i\" speed=\"1f\"/>\n<route src=\"h\" dst=\"i\">\n<link_ctn id=\"l\"/></route>"),
      HasSubstr("p.xml:8: link \"l\" is not defined before this line"));
  EXPECT_THAT(in_zone("<route src=\"h\" dst=\"x\"/>"), HasSubstr("p.xml:6: dst=\"x\": no such host"));
  EXPECT_THAT(in_zone("<host id=\"i\" speed=\"1f\"/>\n<route src=\"h\" dst=\"i\"/>"),
              HasSubstr("has no link"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += fmt::format("<zone id=\"{}\" routing=\"Full\">", i);
  EXPECT_THAT(error(deep), HasSubstr("more than 64 deep"));
}

}  // namespace
}  // namespace offramp::platform_test
