# Install rules. The prefix may be moved afterwards: programs, the CMake package, the pkg-config
# files and the compiler wrappers all find their neighbours relative to themselves.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/espalier)
set(generated ${CMAKE_BINARY_DIR}/package)

# Two components, which become two packages (cmake/package.cmake): what running programs need, and
# what compiling them needs. What names no component is for the latter.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(DIRECTORY include/espalier DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET espalier_mpi)
  set_target_properties(espalier_mpi PROPERTIES EXPORT_NAME mpi)
endif()
foreach(library espalier espalier_mpi espalier_mpifort)
  if(TARGET ${library})
    install(TARGETS ${library} EXPORT espalier_targets
      LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
  endif()
endforeach()
include(cmake/install_documents.cmake)
foreach(program esp-run esp-info esp-bench esp-sim esp-noise esp-tune)
  if(TARGET ${program})
    install(TARGETS ${program} COMPONENT runtime)
    espalier_install_page(${program} runtime)
  endif()
endforeach()

# What others have measured, for who wants to choose by it.
install(DIRECTORY profiles/ DESTINATION ${CMAKE_INSTALL_DATADIR}/espalier/profiles COMPONENT runtime
  FILES_MATCHING PATTERN "*.profile")

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

if(PROJECT_IS_TOP_LEVEL)
  include(cmake/package.cmake)
endif()
