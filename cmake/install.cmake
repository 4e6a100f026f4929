# Install rules. The prefix may be moved afterwards: programs, the CMake package, the pkg-config
# files and the compiler wrappers all find their neighbours relative to themselves.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/espalier)
set(generated ${CMAKE_BINARY_DIR}/package)

install(DIRECTORY include/espalier DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(TARGETS espalier EXPORT espalier_targets)
if(TARGET espalier_mpi)
  set_target_properties(espalier_mpi PROPERTIES EXPORT_NAME mpi)
  install(TARGETS espalier_mpi EXPORT espalier_targets)
endif()
foreach(program esp-run esp-info esp-bench esp-sim esp-noise)
  if(TARGET ${program})
    install(TARGETS ${program})
  endif()
endforeach()

# find_package(espalier): targets espalier::espalier and espalier::mpi.
install(EXPORT espalier_targets NAMESPACE espalier:: FILE espalierTargets.cmake
  DESTINATION ${package_folder})
configure_package_config_file(cmake/espalierConfig.cmake.in ${generated}/espalierConfig.cmake
  INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${generated}/espalierConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/espalierConfig.cmake ${generated}/espalierConfigVersion.cmake
  DESTINATION ${package_folder})

# pkg-config espalier, pkg-config espalier-mpi. ${pcfiledir} is LIBDIR/pkgconfig.
file(RELATIVE_PATH prefix_from_pc
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
foreach(name espalier espalier-mpi)
  configure_file(cmake/${name}.pc.in ${generated}/${name}.pc @ONLY)
  install(FILES ${generated}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
