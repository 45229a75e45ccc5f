"""Replays with a network, several programs and stragglers, as a user meets them. Needs OFFRAMP_BUILD, as cli_test.py does."""

import json
import unittest

from cli_test import CliTest


class Network(CliTest):
    def test_reports_each_of_several_programs(self):
        arguments = ("--job", "pattern:shift:2:4:1MiB:0,1,4,5", "--job", "pattern:incast:4:64KiB", "--backend", "host,dpu",
                     "--network", "fat-tree:2;4,2;1,1;1,1")
        printed = json.loads(self.offramp("replay", *arguments, "--json", "--receipts", "all", "--report", "r.json", "--html",
                                          "r.html").stdout)["results"]
        report = json.loads((self.folder / "r.json").read_text())
        for lane, result in zip((report, *report["compared"]), printed):
            self.assertEqual(lane["backend"], result["backend"])
            self.assertEqual([job["first_rank"] for job in lane["jobs"]], [0, 4])
            self.assertEqual([job["nodes"] for job in lane["jobs"]], ["0-1,4-5", "2-3,6-7"])
            for job, one in zip(lane["jobs"], result["jobs"]):
                self.assertEqual(job["modelled_time_ps"], one["modelled_time_ps"])
                self.assertEqual(job["slowdown"], one["slowdown"])
                self.assertGreaterEqual(job["slowdown"], 1)
                self.assertEqual({name: call["count"] for name, call in job["calls"].items()},
                                 {name: call["count"] for name, call in one["calls"].items()})
            self.assertEqual(lane["modelled_time_ps"], max(job["modelled_time_ps"] for job in lane["jobs"]))
        self.assertTrue(report["receipts"] and printed[0]["receipts"])
        self.assertIn("2 programs at the same time", self.offramp("report", "r.json").stdout)
        self.assertIn("<h2>Programs at the same time</h2>", self.shown("r.html"))
        self.assertIn("MPI_", self.offramp("explain", "--rank", "5", "--call", "1", "r.json").stdout)

    def test_says_what_stragglers_cost(self):
        pattern = ("replay", "pattern:alltoall:8:64KiB:4", "--backend", "host")
        one = json.loads(self.offramp(*pattern, "--noise", "50us:5us:0.5", "--json").stdout)["results"][0]
        without = json.loads(self.offramp(*pattern, "--json").stdout)["results"][0]
        self.assertNotIn("stragglers", without)
        self.assertEqual(one["stragglers"]["undisturbed_ns"], without["modelled_time_ns"])
        self.assertGreater(one["stragglers"]["cost_ns"], 0)
        self.offramp(*pattern, "--noise", "50us:5us:0.5", "--report", "r.json", "--html", "r.html")
        self.assertIn("longer than without them", self.offramp("report", "r.json").stdout)
        self.assertIn("<h2>Stragglers</h2>", self.shown("r.html"))
        self.assertIn("without stragglers", self.offramp("predict", "allreduce", "-n", "8", "--noise", "5us:2us").stderr)
        for arguments, says in ((("--noise", "1ms:2ms"), "--noise"), (("--slow-nodes", "2"), "--slow-nodes"),
                                (("--slow-nodes", "8:2"), "stragglers.slow_nodes: node 8 does not exist"),
                                (("--slow-nodes", "random:9:2"), "9 slow nodes are requested")):
            self.assertIn(says, self.refused(*pattern, *arguments))
        self.assertIn("--slow-nodes: stragglers.slow_nodes = 1:2 has no effect", self.offramp(*pattern, "--slow-nodes", "1:2").stderr)

    def test_says_which_settings_a_network_leaves_without_effect(self):
        (self.folder / "p.xml").write_text('<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" '
                                           'bw="12.5GBps" lat="1us"/></platform>')
        for network, says in (((), "has no effect in a star"), (("--network", "p.xml"), "has no effect with p.xml")):
            error = self.offramp("replay", "pattern:ring:4:8", "--backend", "host", *network, "--set", "network.hop=1us").stderr
            self.assertIn("--set network.hop: network.hop = 1us " + says, error)
        (self.folder / "q.xml").write_text('<platform version="4.1">\n<zone id="z" routing="Full">\n<host id="a" speed="1f"/>'
                                           '<host id="b" speed="1f"/></zone></platform>')
        self.assertIn("network.topology: q.xml:2: the zone has no route from a to b",
                      self.refused("replay", "pattern:ring:2:8", "--backend", "host", "--network", "q.xml"))

    def test_plays_several_programs_on_one_network(self):
        tree = ("--backend", "host", "--network", "fat-tree:2;4,2;1,1;1,1")
        jobs = ("--job", "pattern:shift:2:4:1MiB:0,1,4,5", "--job", "pattern:shift:2:4:1MiB")
        one = json.loads(self.offramp("replay", *jobs, *tree, "--json").stdout)["results"][0]
        self.assertEqual([job["nodes"] for job in one["jobs"]], ["0-1,4-5", "2-3,6-7"])
        for job in one["jobs"]:
            self.assertAlmostEqual(job["slowdown"], 2, delta=0.1)  # one link for both
            self.assertEqual(job["calls"]["MPI_Isend"]["count"], 4)
        alone = json.loads(self.offramp("replay", *jobs[:2], *tree, "--json").stdout)["results"][0]["jobs"][0]
        self.assertEqual(alone["slowdown"], 1)
        busy = json.loads(self.offramp("replay", *jobs[:2], *tree, "--background", "shift:20", "--json").stdout)
        self.assertGreater(busy["results"][0]["jobs"][0]["slowdown"], 1.2)
        self.assertEqual(busy["background_nodes"], 4)
        for arguments, says in (((*jobs, "--job", "pattern:incast:2:8", *tree), "room for 8 nodes, but there are 10"),
                                ((*jobs[:2], *jobs[:2], *tree), "job 2: node 0 is already in use"),
                                ((*jobs[:2], "--background", "storm:1", *tree), "is not uniform:RATE"),
                                ((*jobs[:2], "--background", "shift:1", "--backend", "host"), "needs a network"),
                                ((*jobs, "--backend", "host", "--network", "no.xml"), "cannot read no.xml")):
            refused = self.offramp("replay", *arguments, code=2)
            self.assertIn(says, refused.stderr)


class PlatformFiles(CliTest):
    LINES = """
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <trace id="t" periodicity="2.0">
    0.0 1.0
  </trace>

  <zone id="z" routing="Full">
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
    <link id="l" bandwidth="1MBps" latency="1ms" bandwidth_file="half.txt"/>

    <route src="a" dst="b"><link_ctn id="l"/></route>
  </zone>
  <trace_connect kind="SPEED" trace="t" element="a"/>
</platform>
"""

    def test_say_what_is_not_read(self):
        (self.folder / "p.xml").write_text(self.LINES)
        for command in ("replay", "predict"):
            question = ("pattern:ring:2:8:1",) if command == "replay" else ("send", "--ranks", "2", "--bytes", "8")
            done = self.offramp(command, *question, "--backend", "host", "--network", "p.xml")
            self.assertIn("network.topology: p.xml:5: <trace>, bandwidth_file, <trace_connect>: ignored: links and hosts do not change with time",
                          done.stderr + done.stdout)
        (self.folder / "p.xml").write_text(self.LINES.replace("bandwidth_file", "bandwith_file"))
        self.assertIn("p.xml:11: <link> has no attribute bandwith_file",
                      self.refused("replay", "pattern:ring:2:8:1", "--network", "p.xml"))


if __name__ == "__main__":
    unittest.main()
