// Limits the memory of a command, so that it ends with a message before the kernel ends it or another
// process.
#pragma once

namespace offramp::tool {

/// Bytes that this process may still use, by free memory, control groups, and address space limit.
double available_memory();

/// Makes allocations fail beyond the available memory.
void limit_memory();

}  // namespace offramp::tool
