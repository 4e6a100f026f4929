# Debian packages of the two components: espalier (libraries, programs) and libespalier-dev
# (headers, compiler wrappers, documents, examples). `./run package` makes them in build/packages;
# what they depend on is read from the built files by dpkg-shlibdeps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME espalier)
set(CPACK_PACKAGE_VENDOR Espalier)
set(CPACK_PACKAGE_CONTACT "The Espalier developers <espalier@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "event-driven collective communication for Linux clusters")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_THREADS 0)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME espalier)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
string(JOIN "\n" CPACK_COMPONENT_RUNTIME_DESCRIPTION
  "What programs need that were compiled with libespalier-dev: the libraries,"
  "the launcher esp-run, and the programs esp-info, esp-tune, esp-sim,"
  "and esp-noise. In lib/espalier/mpi: mpirun, mpiexec, and the library"
  "of the standard ABI of MPI.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libespalier-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "espalier (= ${PROJECT_VERSION}-1)")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS pkg-config)
string(JOIN "\n" CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "What compiles programs: headers of the C and C++ API and mpi.h, esp-cc and"
  "esp-c++, also as mpicc and mpicxx in lib/espalier/mpi, the CMake package,"
  "pkg-config files, documents and examples.")
include(CPack)
