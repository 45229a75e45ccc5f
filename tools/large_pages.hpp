// Large pages for worlds of many ranks, whose memory is beyond what a processor knows of page tables.
#pragma once

#include <span>
#include <string>

namespace offramp::tool {

/// Starts the command again, with glibc's allocator set to pages of 2 MiB, if it is to simulate tens of
/// thousands of ranks: those of the patterns and recordings among `files`, or `ranks` if that is more. Called
/// before anything is printed and before there are threads. It returns where there is nothing to do, where a
/// user has set GLIBC_TUNABLES, and where the command cannot be started again, which costs time and nothing
/// else.
void use_large_pages(std::span<const std::string> files, int ranks);

}  // namespace offramp::tool
