# libofframp.so shares a process with libraries that the program brings, which may be older than those that Offramp was compiled with. So it
# contains libstdc++, fmt, Expat, and zlib, under hidden names. libgcc_s stays shared: exceptions of the program and cancelled threads
# unwind through Offramp.
include(CheckCXXSourceCompiles)

# Sets the variable if a shared library can be linked with these words.
function(offramp_can_link variable)
  set(CMAKE_POSITION_INDEPENDENT_CODE OFF)  # adds -fPIE otherwise
  set(CMAKE_REQUIRED_FLAGS "-fPIC -shared")
  set(CMAKE_REQUIRED_LIBRARIES ${ARGN})
  check_cxx_source_compiles("#include <iostream>\nint main() { std::cout << 1; }" ${variable})
endfunction()

# offramp_archive(TARGET NAME): uses libNAME.a for an imported library, if it is there and can be part of a shared library.
function(offramp_archive target name)
  find_library(OFFRAMP_ARCHIVE_${name} lib${name}.a)
  mark_as_advanced(OFFRAMP_ARCHIVE_${name})
  if(OFFRAMP_ARCHIVE_${name})
    offramp_can_link(OFFRAMP_CONTAINS_${name} -Wl,--exclude-libs,ALL -Wl,--whole-archive ${OFFRAMP_ARCHIVE_${name}} -Wl,--no-whole-archive)
  endif()
  if(OFFRAMP_CONTAINS_${name})
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${OFFRAMP_ARCHIVE_${name}} IMPORTED_LOCATION_RELEASE ${OFFRAMP_ARCHIVE_${name}})
  endif()
endfunction()

offramp_archive(EXPAT::EXPAT expat)
offramp_archive(ZLIB::ZLIB z)
# Distributions have no archive of fmt; its headers contain what it is compiled from.
add_library(offramp_fmt OBJECT cmake/fmt.cpp)
target_link_libraries(offramp_fmt PRIVATE fmt::fmt)
if(NOT OFFRAMP_SANITIZE)  # sanitizers need the shared libstdc++
  offramp_can_link(OFFRAMP_CONTAINS_stdcxx -static-libstdc++)
endif()

function(offramp_contain)
  foreach(target ${ARGN})
    target_sources(${target} PRIVATE $<$<STREQUAL:$<TARGET_PROPERTY:fmt::fmt,TYPE>,SHARED_LIBRARY>:$<TARGET_OBJECTS:offramp_fmt>>)
    target_link_options(${target} PRIVATE $<$<BOOL:${OFFRAMP_CONTAINS_stdcxx}>:-static-libstdc++> -Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,--gc-sections)
  endforeach()
endfunction()
