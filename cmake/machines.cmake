# Puts net/sim/machines/*.machine into the program, as one generated source of espalier_sim, and
# installs them as examples of the format.
file(GLOB machine_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/net/sim/machines/*.machine)
list(SORT machine_files)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${machine_files})

set(machine_table "")
foreach(file ${machine_files})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND machine_table "    {\"${name}\", R\"machine(${text})machine\"},\n")
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/cmake/shipped_machines.cpp.in
  ${CMAKE_BINARY_DIR}/generated/shipped_machines.cpp @ONLY)
target_sources(espalier_sim PRIVATE ${CMAKE_BINARY_DIR}/generated/shipped_machines.cpp)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/net/sim/machines/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/espalier/machines COMPONENT runtime
  FILES_MATCHING PATTERN "*.machine")
