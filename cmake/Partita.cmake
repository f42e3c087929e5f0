# One library and one test program per folder. Sources are listed by name: a file that nobody lists is
# not built, and CMake sees every change.

option(PARTITA_TESTS "Build the tests" ON)
option(PARTITA_BENCH "Build the benchmarks" OFF)
option(PARTITA_FUZZ "Build the fuzzers with libFuzzer (clang)" OFF)

# partita_library(base SOURCES a.cc b.cc DEPS other…): target partita_base, include root src/ and the
# repository.
function(partita_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(partita_${name} STATIC ${ARG_SOURCES})
  target_include_directories(partita_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  target_link_libraries(partita_${name} PUBLIC ${ARG_DEPS} PRIVATE partita_warnings partita_sanitizers)
endfunction()

# partita_test(base SOURCES a_test.cc DEPS …): one GoogleTest program, run by ctest as "base".
function(partita_test name)
  if(NOT PARTITA_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(partita_${name}_test ${ARG_SOURCES})
  target_include_directories(partita_${name}_test PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  target_link_libraries(
    partita_${name}_test PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main Threads::Threads
                                 partita_warnings partita_sanitizers)
  add_test(NAME ${name} COMMAND partita_${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "unit;sanitized")
endfunction()
