# A room is a folder of sources, compiled as a static library of its own. A change recompiles what depends on the room, and a call into a
# room that is not among the links does not link.
#
#   offramp_room(lib/run/engine LINKS lib/base/configuration lib/run/fabric COLD_SOURCES hang_report)
#
#   LINKS         rooms, by their folders, and libraries; what links this room links them too
#   LIBRARIES     those that only the sources of this room use
#   COLD          the whole room runs once in a process: -O1 halves what its compilation takes
#   COLD_SOURCES  the sources of a room, by name, of which that is true
#   HOT_SOURCES   the sources of a COLD room, by name, of which it is not
#   WITHOUT       sources that another target compiles
#   SOURCES       the sources, if they are not all of the folder
#   OBJECTS       all objects are linked, not only those that others refer to
#   FAMILY        the MPI library for which the room is compiled: a suffix of the target
set(OFFRAMP_COLD $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
if(OFFRAMP_SANITIZE)
  set(OFFRAMP_COLD -O0) # compiles in half of the time
endif()
set(OFFRAMP_UNITY_BATCH 24)

# The target of a room: offramp_engine for lib/run/engine, offramp_simulators_aie for simulators/aie.
function(offramp_room_target target folder)
  string(REGEX REPLACE "^lib/((base|programs|answers|run|services)/)?" "" name ${folder})
  string(REPLACE "/" "_" name ${name})
  set(${target} offramp_${name} PARENT_SCOPE)
endfunction()

# Replaces folders by the targets of their rooms, in a list of links. A room that is compiled for each MPI library is that for FAMILY.
function(offramp_room_links links family)
  set(found "")
  foreach(link ${ARGN})
    if(link MATCHES "^(lib|simulators|backends|tools|tests)(/|$)")
      offramp_room_target(link ${link})
      if(TARGET ${link}_${family})
        string(APPEND link _${family})
      endif()
    endif()
    list(APPEND found ${link})
  endforeach()
  set(${links} ${found} PARENT_SCOPE)
endfunction()

# Sources are compiled together in as few, equally large batches as the limit allows: each batch instantiates the templates that its sources
# share once.
function(offramp_balance_unity target)
  list(LENGTH ARGN count)
  math(EXPR batches "(${count} + ${OFFRAMP_UNITY_BATCH} - 1) / ${OFFRAMP_UNITY_BATCH}")
  if(batches GREATER 0)
    math(EXPR size "(${count} + ${batches} - 1) / ${batches}")
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()

function(offramp_room folder)
  cmake_parse_arguments(PARSE_ARGV 1 room "COLD;OBJECTS" "FAMILY" "LINKS;LIBRARIES;COLD_SOURCES;HOT_SOURCES;WITHOUT;SOURCES")
  offramp_room_target(target ${folder})
  offramp_room_links(links "${room_FAMILY}" ${room_LINKS})
  offramp_room_links(libraries "${room_FAMILY}" ${room_LIBRARIES})
  if(room_FAMILY)
    string(APPEND target _${room_FAMILY})
  endif()
  set(sources ${room_SOURCES})
  if(NOT sources)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  endif()
  foreach(name ${room_WITHOUT})
    list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/${folder}/${name}.cpp)
  endforeach()
  set(parts ${target})
  set(apart "")
  foreach(kind COLD HOT)
    if(NOT room_${kind}_SOURCES)
      continue()
    endif()
    string(TOLOWER ${target}_${kind} part)
    list(TRANSFORM room_${kind}_SOURCES REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/${folder}/\\1.cpp" OUTPUT_VARIABLE files)
    list(REMOVE_ITEM sources ${files})
    add_library(${part} OBJECT ${files})
    if(kind STREQUAL COLD)
      target_compile_options(${part} PRIVATE ${OFFRAMP_COLD})
    endif()
    offramp_balance_unity(${part} ${files})
    list(APPEND parts ${part})
    list(APPEND apart $<TARGET_OBJECTS:${part}>)
  endforeach()
  if(room_OBJECTS)
    add_library(${target} OBJECT ${sources})
  else()
    add_library(${target} STATIC ${sources} ${apart})
  endif()
  if(room_COLD)
    target_compile_options(${target} PRIVATE ${OFFRAMP_COLD})
  endif()
  offramp_balance_unity(${target} ${sources})
  foreach(part ${parts})
    target_link_libraries(${part} PUBLIC offramp_options ${links} PRIVATE ${libraries} offramp_static_tls)
  endforeach()
endfunction()

# What only scripts/thorough needs: `ninja thorough_programs` builds it, `ninja` does not.
add_custom_target(thorough_programs)
function(offramp_thorough)
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(thorough_programs ${ARGN})
endfunction()
