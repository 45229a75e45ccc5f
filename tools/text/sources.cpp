#include "tools/text/sources.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace offramp::tool {
namespace {

constexpr auto kDocument = SourceKind::kDocument;
constexpr auto kCode = SourceKind::kCode;
constexpr auto kMeasurement = SourceKind::kMeasurement;
constexpr auto kPaper = SourceKind::kPaper;
constexpr auto kManual = SourceKind::kManual;

constexpr std::array kBibliography = {
    Source{"accl", kDocument, "ACCL Under the Hood",
           "documentation of ACCL, Xilinx; the document names no authors",
           "kernel.md of the pages of github.com/Xilinx/ACCL; revision not known"},
    Source{"zrlmpi-protocol", kDocument,
           "ZRLMPI protocol. IBM cloudFPGA MPI subset for network-attached FPGAs",
           "Zurich Research Laboratory; the document names no authors",
           "doc/ZRLMPI_protocol.md of [zrlmpi-src]"},
    Source{"aie-thesis", kDocument,
           "Designing a Communication Library for Xilinx Versal Devices Using the Window-Based API",
           "S. Zanetti, bachelor thesis, ETH Zürich, 2023", "doi:10.3929/ethz-b-000671822"},
    Source{"dpu-service", kDocument, "Overview and core capabilities",
           "architecture of the DPU offload service; the document names no authors",
           "docs/architecture.md of [dpu-service-src], before revision 1e0512c; which one is not known"},
    Source{"pip-0024", kDocument, "PIP-0024: Programmable routers and global multicast", "M. Naylor",
           "doc/PIP-0024-global-multicast.md of [tinsel-src]"},

    Source{"accl-2021", kCode, "ACCL, first generation", "Xilinx, 18 October 2021",
           "github.com/Xilinx/ACCL, revision 63df5b4"},
    Source{"accl-h2rc", kCode, "ACCL, first generation, as measured for H2RC 2021", "Z. He and others",
           "github.com/zhenhaohe/ACCL, branch legacy-h2rc, revision 5f35004"},
    Source{"accl-2025", kCode, "ACCL, second generation (ACCL+)", "Xilinx, 25 March 2025",
           "github.com/Xilinx/ACCL, revision 723d8ec"},
    Source{"zrlmpi-src", kCode, "ZRLMPI: message passing engine, library and compiler", "IBM, 30 June 2023",
           "github.com/cloudFPGA/ZRLMPI, revision eb8f70e"},
    Source{"mlir-aie", kCode, "MLIR-based AI Engine toolchain: device model of the VC1902", "AMD/Xilinx",
           "github.com/Xilinx/mlir-aie; revision not known"},
    Source{"dpu-service-src", kCode, "DPU offload service (MIMOSA)", "2 March 2024",
           "github.com/gvallee/dpu_offload_service, revision 1e0512c"},
    Source{"ucc-offload", kCode, "UCC with an allgatherv over the offload service",
           "a fork; authors not known",
           "github.com/yqin/ucc, branch topic/rdma_workshop; revision not known"},
    Source{"ucc-dpu", kCode, "UCC with a team layer for DPUs: staging through the DPU, and broadcasts",
           "two forks; authors not known",
           "github.com/janjust/ucc, revision c6818569; github.com/wpeng102/ucc, revision 21e7f79"},
    Source{"tinsel-src", kCode, "Tinsel 0.8.3: hardware, documents, applications and their results",
           "POETS project, 10 November 2021", "github.com/POETSII/tinsel, revision 3f0a386"},
    Source{"openmpi", kCode, "Open MPI 4.1.4", "The Open MPI Project, 2022",
           "www.open-mpi.org, release 4.1.4"},
    Source{"mpich", kCode, "MPICH 4.3", "Argonne National Laboratory", "www.mpich.org, release 4.3"},
    Source{"ucx", kCode, "Unified Communication X 1.13.1", "The UCX Project, 2022",
           "openucx.org, release 1.13.1"},
    Source{"sharp-api", kCode, "sharp_coll.h: the interface of NVIDIA's library for SHARP", "NVIDIA, 2023",
           "api/sharp_coll.h of HPC-X; revision not known"},
    Source{"libfabric", kCode, "Libfabric's provider for Slingshot: accelerated reductions", "HPE",
           "github.com/ofiwg/libfabric, man/fi_cxi.7.md and prov/cxi, revision caf5652"},
    Source{"ucc", kCode, "UCC's layers cl/hier and tl/ucp: default selection and radix of each collective",
           "NVIDIA and others", "github.com/openucx/ucc, revision 8263de4"},
    Source{"simgrid", kCode, "SimGrid 3.32", "The SimGrid Team, 2022", "simgrid.org, release 3.32"},

    Source{"accl-issues", kMeasurement, "Logs of ACCL on U55C cards with Coyote", "users of ACCL, 2024",
           "github.com/Xilinx/ACCL, issues 196, 198 and 202"},
    Source{"vnx", kMeasurement, "Notebooks vnx-benchmark-rtt of the Vitis network example", "Xilinx",
           "github.com/Xilinx/xup_vitis_network_example, Notebooks; revision not known"},
    Source{"coyote-issues", kMeasurement, "RDMA and local loops of Coyote", "users of Coyote",
           "github.com/fpgasystems/Coyote, issues 71, 161 and 175"},
    Source{"xrt-issues", kMeasurement, "Registers and starts of kernels through XRT", "users of XRT",
           "github.com/Xilinx/XRT, issues 6053 and 8687"},
    Source{"sc23-logs", kMeasurement, "Allgatherv of 128 ranks with the offload service, BlueField-2 and -3",
           "SmartNIC tutorial at SC23, logs of September 2023",
           "github.com/gt-crnch-rg/smartnic-tutorial-sc23, code/01-mpi-collectives; revision not known"},
    Source{"sc25-odos", kMeasurement, "Messages and ialltoall of ODOS, BlueField-3",
           "SmartNIC tutorial at SC25",
           "github.com/gt-crnch-rg/smartnic-tutorial-sc25, code/odos-mpi/README.md; revision not known"},
    Source{"smartnic-bench", kMeasurement, "DMA engine of BlueField-2",
           "repository of a paper at OSDI 2023, arXiv:2212.07868",
           "github.com/smartnickit-project/smartnic-bench, benchs/docs/doca_dma.md; revision not known"},
    Source{"dpdk-compression", kMeasurement, "Compression on BlueField-2's Arm cores and on a Xeon",
           "authors not known", "github.com/takashimakazuki/dpdk_compression, README; revision not known"},
    Source{"exp00", kMeasurement, "RDMA of 1 KiB between host and DPU, whole microseconds",
           "a note named EXP00; authors not known", "repository not known"},
    Source{"bf2-osu", kMeasurement,
           "MPI collective offloading benchmarks: OSU 5.3 on four nodes with BlueField-2",
           "measured at LRZ, July 2025; authors not known",
           "github.com/coleridged01/mpi_offloading_performance, revision 544c580"},
    Source{"ucc-reduce-scatter", kMeasurement, "Reduce-scatter by knomial exchange and by ring, 8 nodes",
           "S. Lebedev, April 2024", "github.com/openucx/ucc/pull/970"},
    Source{"ompi-han", kMeasurement, "Allgather over Omni-Path, 2 nodes with 22 ranks, OSU 5.9",
           "B. Cunningham, June 2022", "github.com/open-mpi/ompi/issues/10347"},
    Source{"ucc-ring", kMeasurement, "Allreduce by Open MPI and UCC, 4 nodes with 32 ranks",
           "A. Ratner, April 2025", "github.com/openucx/ucc/pull/1082"},
    Source{"imb-full-nodes", kMeasurement, "Intel's benchmarks on full nodes of Fulhame, Peta4, and ARCHER2",
           "EPCC, 2019 and 2020", "github.com/hpc-uk/archer-benchmarks, revision f644ea4, synth/IMB/results"},
    Source{"hpc-tests", kMeasurement, "OSU's benchmarks on AlaSKA and CSD3, two nodes with 32 ranks each",
           "StackHPC, November 2020", "github.com/stackhpc/hpc-tests, revision f735aa2"},
    Source{"azure-hbv2", kMeasurement, "osu_latency between two virtual machines of Azure's HBv2 series",
           "November 2019; authors not known", "not known"},
    Source{"gke-osu", kMeasurement, "OSU 5.8's messages and one-sided tests in Google's cloud",
           "Converged Computing, August and September 2023",
           "github.com/converged-computing/metrics-operator-experiments, revision e4c4d31, google: "
           "network-osu-benchmark/c3-standard-176, kubecon/lammps/run1, kubecon/osu-benchmarks/run4"},
    Source{"azure-hbv4", kMeasurement, "Latency of one byte on Azure's HBv4 series",
           "Microsoft; authors not known", "not known"},
    Source{"smartns", kMeasurement, "Experiments of SmartNS: BlueField-3 between two hosts", "RC4ML",
           "github.com/RC4ML/SmartNS, doc/EXP.md; revision not known"},
    Source{"ucc-sharp", kMeasurement, "Reduce-scatter by SHARP's packets and streams, 4 to 32 nodes",
           "users of UCC, 2023", "github.com/openucx/ucc, issue 840"},
    Source{"ucc-hcoll", kMeasurement, "Allreduce of 4 x 128 ranks by HCOLL over HDR100",
           "a user of UCC, May 2024", "github.com/openucx/ucc, issue 981"},
    Source{"ucc-hier", kMeasurement, "Allreduce of 32 x 40 ranks, node by node, with and without SHARP",
           "V. Petrov, October 2021", "github.com/openucx/ucc, pull request 328"},

    Source{"accl-plus", kPaper, "ACCL+: an FPGA-Based Collective Engine for Distributed Applications",
           "Z. He, D. Korolija, Y. Zhu, B. Ramhorst, T. Laan, L. Petrica, M. Blott, G. Alonso, OSDI 2024, "
           "pages 211 to 231",
           "arXiv:2312.11742"},
    Source{"easynet", kPaper, "EasyNet: 100 Gbps Network for HLS", "Z. He, D. Korolija, G. Alonso, FPL 2021",
           "doi:10.1109/FPL53798.2021.00040"},
    Source{"wierse", kPaper, "Evaluation of Xilinx Versal Device",
           "M. Wierse, bachelor thesis, ETH Zürich, 2023", "cited by [aie-thesis] as [4]; not read itself"},
    Source{"tinsel-fpl", kPaper, "Tinsel: a manythread overlay for FPGA clusters",
           "M. Naylor, S. W. Moore, D. Thomas, FPL 2019", "doi:10.1109/FPL.2019.00066"},
    Source{"tinsel-asap", kPaper, "Termination detection for fine-grained message-passing architectures",
           "M. Naylor and others, ASAP 2020", "DOI not known"},
    Source{"tinsel-pdp", kPaper,
           "General hardware multicasting for fine-grained message-passing architectures",
           "M. Naylor and others, PDP 2021, pages 126 to 133", "DOI not known; only the abstract was read"},
    Source{"loggp", kPaper, "LogGP: Incorporating Long Messages into the LogP Model",
           "A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman, SPAA 1995",
           "doi:10.1145/215399.215427"},
    Source{"pcie-bench", kPaper, "Understanding PCIe performance for end host networking",
           "R. Neugebauer, G. Antichi, J. F. Zazo, Y. Audzevich, S. López-Buedo, A. W. Moore, SIGCOMM 2018",
           "doi:10.1145/3230543.3230560"},
    Source{"fat-trees", kPaper, "On Generalized Fat Trees",
           "S. R. Öhring, M. Ibel, S. K. Das, M. J. Kumar, IPPS 1995", "DOI not known"},
    Source{"d-mod-k", kPaper,
           "D-Mod-K Routing Providing Non-Blocking Traffic for Shift Permutations on Real Life Fat Trees",
           "E. Zahavi, 2010", "DOI not known"},
    Source{"dally-towles", kPaper, "Principles and Practices of Interconnection Networks",
           "W. J. Dally, B. Towles, Morgan Kaufmann, 2004", "a book"},
    Source{"dragonfly", kPaper, "Technology-Driven, Highly-Scalable Dragonfly Topology",
           "J. Kim, W. J. Dally, S. Scott, D. Abts, ISCA 2008", "doi:10.1109/ISCA.2008.19"},
    Source{"cascade", kPaper, "Cray Cascade: a Scalable HPC System based on a Dragonfly Network",
           "G. Faanes and others, SC 2012", "doi:10.1109/SC.2012.39"},
    Source{"noise-asci-q", kPaper,
           "The Case of the Missing Supercomputer Performance: Achieving Optimal Performance on the 8,192 "
           "Processors of ASCI Q",
           "F. Petrini, D. J. Kerbyson, S. Pakin, SC 2003", "doi:10.1145/1048935.1050204"},
    Source{"noise-hoefler", kPaper,
           "Characterizing the Influence of System Noise on Large-Scale Applications by Simulation",
           "T. Hoefler, T. Schneider, A. Lumsdaine, SC 2010", "doi:10.1109/SC.2010.12"},
    Source{"sharp-2016", kPaper,
           "Scalable Hierarchical Aggregation Protocol (SHArP): A Hardware Architecture for Efficient Data "
           "Reduction",
           "R. L. Graham and others, COMHPC 2016", "doi:10.1109/COMHPC.2016.006; only the abstract was read"},
    Source{"sharp-2017", kPaper, "Towards a Data Centric System Architecture: SHARP",
           "G. Bloch, D. Bureddy, R. L. Graham, G. Shainer, B. Smith, Supercomputing Frontiers and "
           "Innovations, 2017",
           "doi:10.14529/jsfi170401; only the abstract was read"},
    Source{"sharp-2020", kPaper,
           "Scalable Hierarchical Aggregation and Reduction Protocol (SHARP) Streaming-Aggregation Hardware "
           "Design and Evaluation",
           "R. L. Graham and others, ISC 2020",
           "doi:10.1007/978-3-030-50743-5_3; only the abstract was read"},

    Source{"am009", kManual, "Versal ACAP AI Engine Architecture Manual", "AMD", "AM009, revision 1.4"},
    Source{"ug1079", kManual, "AI Engine Kernel and Graph Programming Guide", "AMD",
           "UG1079; revision not known"},
    Source{"xd100", kManual, "Vitis tutorials: AI Engine development", "AMD", "XD100; revision not known"},
    Source{"ds957", kManual, "Versal AI Core Series Data Sheet: DC and AC Switching Characteristics", "AMD",
           "DS957; revision not known"},
    Source{"cfdk", kManual, "cloudFPGA development kit: documents of the shell", "IBM",
           "github.com/cloudFPGA/cFDK, DOC; revision not known"},
    Source{"cfdoc", kManual, "cloudFPGA documentation: platform", "IBM",
           "cloudFPGA on GitHub, CFHW/cFRP/platform.md of its documentation; revision not known"},
    Source{"dosa", kManual, "DOSA: description of cloudFPGA's nodes", "IBM",
           "github.com/cloudFPGA/DOSA, cf_fmku60_role1.py; revision not known"},
    Source{"bluefield", kManual, "BlueField-2 and BlueField-3 DPU: specifications", "NVIDIA",
           "docs.nvidia.com; revision not known"},
    Source{
        "sharp-docs", kManual,
        "NVIDIA Scalable Hierarchical Aggregation and Reduction Protocol (SHARP): release notes, collective "
        "library, SHARP with Open MPI",
        "NVIDIA", "docs.nvidia.com/networking, revisions 2.6.1 to 3.10"},
    Source{"connectx-6", kManual, "ConnectX-6 data sheet", "NVIDIA", "revision not known"},
    Source{"infiniband", kManual,
           "InfiniBand Architecture Specification, volume 1, with its annex A17 on RoCE v2",
           "InfiniBand Trade Association", "revision not known"},
};

}  // namespace

std::string_view to_string(SourceKind kind) {
  switch (kind) {
    case SourceKind::kDocument:
      return "Documents that the models follow";
    case SourceKind::kCode:
      return "Source code that was read";
    case SourceKind::kMeasurement:
      return "Measurements published without a paper";
    case SourceKind::kPaper:
      return "Papers, theses and books";
    case SourceKind::kManual:
      return "Manuals, data sheets and standards";
  }
  return "";
}

std::span<const Source> bibliography() {
  return kBibliography;
}

bool cites(std::string_view text, std::string_view key) {
  return text.find("[" + std::string(key) + "]") != std::string_view::npos;
}

}  // namespace offramp::tool
