# A short call is counted in instructions (bench/instructions.sh). g++ loads what it remembers of
# the team as a vector, and then takes that apart again: five instructions of three hundred.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/coll/engine/short_path.cpp PROPERTIES
    COMPILE_OPTIONS -fno-tree-slp-vectorize)
endif()
