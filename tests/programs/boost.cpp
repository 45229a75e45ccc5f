// Boost.MPI: serialised objects, collectives with functions and with strings, nonblocking messages, split.
#include <boost/mpi.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace mpi = boost::mpi;
using Book = std::map<std::string, std::vector<double>>;

int main(int argc, char** argv) {
  mpi::environment environment(argc, argv);
  mpi::communicator world;
  const int rank = world.rank();
  const int size = world.size();

  Book book;
  for (int i = 0; i <= rank; ++i)
    book["rank " + std::to_string(i)] = std::vector<double>(static_cast<std::size_t>(i + 1), rank);
  std::vector<Book> books;
  mpi::gather(world, book, books, 0);
  std::size_t entries = 0;
  for (const Book& one : books) entries += one.size();

  std::string text = rank == size - 1 ? std::string(100000, 'x') + "end" : "";
  mpi::broadcast(world, text, size - 1);
  const std::string joined = mpi::all_reduce(world, std::to_string(rank), std::plus<std::string>());
  const int largest = mpi::scan(world, rank * 2, mpi::maximum<int>());

  std::vector<mpi::request> requests;
  std::vector<std::string> received(static_cast<std::size_t>(size));
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    requests.push_back(world.irecv(peer, 7, received[static_cast<std::size_t>(peer)]));
  }
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) requests.push_back(world.isend(peer, 7, "from " + std::to_string(rank)));
  }
  mpi::wait_all(requests.begin(), requests.end());
  bool all_there = true;
  for (int peer = 0; peer < size; ++peer)
    all_there = all_there &&
                (peer == rank || received[static_cast<std::size_t>(peer)] == "from " + std::to_string(peer));

  const mpi::communicator half = world.split(rank % 2);
  const int members = mpi::all_reduce(half, 1, std::plus<int>());
  const bool good = text.size() == 100003 && largest == rank * 2 && all_there && members == half.size();
  const bool everywhere = mpi::all_reduce(world, good, std::logical_and<bool>());
  if (rank == 0)
    std::cout << "boost " << entries << " entries, joined " << joined << ", "
              << (everywhere ? "right" : "wrong") << "\n";
  return everywhere ? 0 : 1;
}
