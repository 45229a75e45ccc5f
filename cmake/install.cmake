# Installation, in four components that are packages of their own with CPack: library, tools, dev, doc; and a modulefile. What
# is installed can be moved: pkg-config and the modulefile find the rest from where they are.
set(PRODUCT ${INTERPOSERS} offramp-fabric-ucx ${SERVICES} offramp-tool offramp-measure)
set(PRODUCT_FILES "")
foreach(target ${PRODUCT})
  list(APPEND PRODUCT_FILES "$<TARGET_FILE:${target}>")
endforeach()
if(TARGET offramp-manual)
  list(APPEND PRODUCT offramp-manual)
  list(APPEND PRODUCT_FILES ${MANUAL}/offramp.1)
endif()
# All that is installed, without tests and benchmarks.
add_custom_target(offramp-product DEPENDS ${PRODUCT})
# Before the first file is installed: half an installation is worse than none.
install(CODE "
  set(files \"${PRODUCT_FILES}\")
  foreach(file IN LISTS files)
    if(NOT EXISTS \"\${file}\")
      message(FATAL_ERROR \"\${file} is not built yet, and nothing was installed. Run: cmake --build ${CMAKE_BINARY_DIR} --target offramp-product\")
    endif()
  endforeach()" ALL_COMPONENTS)

file(RELATIVE_PATH PREFIX_FROM_PKGCONFIG /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" PREFIX_FROM_PKGCONFIG "${PREFIX_FROM_PKGCONFIG}")
foreach(name offramp ${SERVICES})
  configure_file(pkgconfig/${name}.pc.in pkgconfig/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/pkgconfig/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()
set(CMAKE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/offramp)
configure_package_config_file(cmake/offrampConfig.cmake.in offrampConfig.cmake INSTALL_DESTINATION ${CMAKE_FOLDER})
write_basic_package_version_file(offrampConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/offrampConfig.cmake ${CMAKE_BINARY_DIR}/offrampConfigVersion.cmake
        DESTINATION ${CMAKE_FOLDER} COMPONENT dev)
install(EXPORT offrampTargets NAMESPACE offramp:: DESTINATION ${CMAKE_FOLDER} COMPONENT dev)
install(DIRECTORY include/offramp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${CMAKE_BINARY_DIR}/include/offramp/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/offramp COMPONENT dev)

# libofframp.so by that name belongs to the library: that is what is preloaded.
install(TARGETS ${INTERPOSERS} ${SERVICES} EXPORT offrampTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(TARGETS offramp-fabric-ucx offramp-audit LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/offramp COMPONENT library)

install(TARGETS offramp-tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
install(TARGETS offramp-measure RUNTIME DESTINATION libexec/offramp COMPONENT tools)
install(DIRECTORY ${MANUAL}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools FILES_MATCHING PATTERN "*.1")
install(DIRECTORY ${MANUAL}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT tools FILES_MATCHING PATTERN "*.5")
# `offramp completion bash` prints the one, bash finds the other.
install(FILES ${COMPLETION} DESTINATION libexec/offramp COMPONENT tools OPTIONAL)
install(FILES ${COMPLETION} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME offramp COMPONENT tools OPTIONAL)
install(DIRECTORY tools/wireshark DESTINATION ${CMAKE_INSTALL_DATADIR}/offramp COMPONENT tools)
install(DIRECTORY python DESTINATION ${CMAKE_INSTALL_DATADIR}/offramp COMPONENT tools FILES_MATCHING PATTERN "*.py")
# Wireshark 4.4 runs no Lua script as root but those in this folder, which Debian's has below /usr.
install(CODE "
  set(plugins \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/${CMAKE_LIBRARY_ARCHITECTURE}/wireshark/plugins\")
  if(CMAKE_INSTALL_PREFIX MATCHES \"/usr/*$\" AND EXISTS /etc/debian_version)
    file(MAKE_DIRECTORY \"\${plugins}\")
    file(CREATE_LINK ../../../../${CMAKE_INSTALL_DATADIR}/offramp/wireshark/offramp.lua \"\${plugins}/offramp.lua\" SYMBOLIC)
  endif()" COMPONENT tools)

# Below /usr everything is found without a module, so no package has it.
file(RELATIVE_PATH PREFIX_FROM_MODULEFILE /prefix/${CMAKE_INSTALL_DATADIR}/modulefiles/offramp /prefix)
configure_file(packaging/modulefile.in ${GENERATED}/modulefile @ONLY)
install(FILES ${GENERATED}/modulefile DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/offramp RENAME ${PROJECT_VERSION}
        COMPONENT modulefile)

install(FILES README.md CONTRIBUTING.md CHANGES.md LICENSE CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY ${MADE_PAGES}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT doc OPTIONAL)

set(CPACK_PACKAGE_VENDOR "Offramp contributors")
set(CPACK_PACKAGE_CONTACT "Offramp contributors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Carries the communication of MPI programs over software models of offload hardware")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL library tools dev doc)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENT_TOOLS_DEPENDS library)
set(CPACK_COMPONENT_DEV_DEPENDS library)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libofframp${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME offramp)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libofframp-dev)
set(CPACK_DEBIAN_DOC_PACKAGE_NAME offramp-doc)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
# What starts programs and compiles them is the user's choice among MPI libraries.
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "openmpi-bin | mpich")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "libopenmpi-dev | libmpich-dev, pkg-config")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/lib)
include(CPack)
