# One library and one test program per folder. Sources are listed by name: a file that nobody lists is
# not built, and CMake sees every change.

option(PARTITA_TESTS "Build the tests" ON)
option(PARTITA_BENCH "Build the benchmarks" OFF)
option(PARTITA_FUZZ "Build the fuzzers with libFuzzer (clang)" OFF)
set(PARTITA_PRECOMPILE "test" CACHE STRING "What is compiled with a precompiled header: product, test, both or none")
set(PARTITA_TEST_COMPILER "" CACHE STRING "clang's C++ compiler for tests where the product has another or other flags; empty: the product's")
set(PARTITA_PRODUCT_FLAGS "" CACHE STRING "Compiler flags of what is shipped and of the simulator, not of tests")

set(PARTITA_BATCH 1 CACHE STRING "How many sources of a target are compiled at once: 1 where one is worked on")
set(PARTITA_ALONE "" CACHE STRING "Sources, from the tree's root, that are in no batch: those that change again and again")

# partita_not_registered(REASON TEST…): what cannot be shown on this machine is no test here. Nobody would miss it, so
# scripts/check-no-skips names it at the end of every run.
file(REMOVE ${CMAKE_BINARY_DIR}/not-registered.txt)
function(partita_not_registered reason)
  foreach(test IN LISTS ARGN)
    file(APPEND ${CMAKE_BINARY_DIR}/not-registered.txt "${test}: ${reason}\n")
  endforeach()
endfunction()

# What is shipped, and the simulator. Tests are compiled without the optimiser and linked against these
# same objects: what they run is what ships.
add_library(partita_product INTERFACE)
target_compile_options(partita_product INTERFACE ${PARTITA_PRODUCT_FLAGS})
# To gcc a file that is not the first is a header, where a class may not hold what is in an unnamed namespace.
if(PARTITA_BATCH GREATER 1 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(partita_product INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
target_link_libraries(partita_product INTERFACE partita_warnings partita_sanitizers)

# Tests are clang's: without the optimiser it needs three fifths of gcc's time, and every header is read by both.
# Where the product is instrumented and they are not, they are compiled as in `make test`, and so come out of the
# compiler's cache.
function(partita_compile_as_test target)
  if(PARTITA_TEST_COMPILER)
    set_target_properties(
      ${target} PROPERTIES CXX_COMPILER_LAUNCHER "${CMAKE_SOURCE_DIR}/scripts/compile-with;${CMAKE_CXX_COMPILER_LAUNCHER};${PARTITA_TEST_COMPILER};instead-of")
  endif()
endfunction()

# partita_batched(VARIABLE SOURCE…): what to compile instead of these sources: about PARTITA_BATCH of them at a time,
# in a file that includes them (docs/decisions/015). The file is named by its content and includes by paths from the
# tree's root: every build and every copy of the tree that has the same batch finds its object in the compiler's cache.
# Left alone are sources with properties of their own, which must be set before, and what the build itself writes.
function(partita_batched variable)
  set(alone "")
  set(joined "")
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    set(own "")
    foreach(property COMPILE_DEFINITIONS COMPILE_OPTIONS INCLUDE_DIRECTORIES)
      get_source_file_property(value ${source} ${property})
      if(value)
        list(APPEND own ${property})
      endif()
    endforeach()
    string(FIND ${source} ${CMAKE_BINARY_DIR}/ written)
    if(own OR written EQUAL 0 OR PARTITA_BATCH LESS 2)
      list(APPEND alone ${source})
    elseif(NOT EXISTS ${source})
      message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt names ${source}, which is not there")
    else()
      list(APPEND joined ${source})
    endif()
  endforeach()
  list(LENGTH joined count)
  if(count LESS 2)
    set(${variable} ${alone} ${joined} PARENT_SCOPE)
    return()
  endif()
  math(EXPR batches "(${count} + ${PARTITA_BATCH} - 1) / ${PARTITA_BATCH}")
  set(end 0)
  foreach(number RANGE 1 ${batches})
    set(begin ${end})
    math(EXPR end "${count} * ${number} / ${batches}")
    math(EXPR size "${end} - ${begin}")
    list(SUBLIST joined ${begin} ${size} batch)
    set(text "")
    foreach(source IN LISTS batch)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE relative)
      if(relative IN_LIST PARTITA_ALONE)
        list(APPEND alone ${source})
      else()
        string(APPEND text "#include \"${relative}\"\n")
      endif()
    endforeach()
    if(NOT text)
      continue()
    endif()
    string(SHA256 name "${text}")
    string(SUBSTRING ${name} 0 12 name)
    set(file ${CMAKE_SOURCE_DIR}/build/batches/${name}.cc)
    if(NOT EXISTS ${file})
      file(WRITE ${file} "${text}")
    endif()
    list(APPEND alone ${file})
  endforeach()
  set(${variable} ${alone} PARENT_SCOPE)
endfunction()

# partita_precompile(TARGET HEADERS [FLAG…]): compiles with cmake/precompiled/HEADERS.h ("product" or "test") read
# once for all that have the same flags besides the usual ones.
#
# With gcc, and for tests, the result lies outside the build folder, by its flags: builds that compile by the same
# flags (tests in `make test` and `make asan`, all of it in a copy of the tree) have the same commands, and the
# second takes the objects out of the compiler's cache. clang's result holds absolute paths: there the cache goes
# by a sum of what was read (scripts/precompile).
function(partita_precompile target headers)
  if(NOT headers IN_LIST PARTITA_PRECOMPILE)
    return()
  endif()
  set(when_read "")
  set(compiler ${CMAKE_CXX_COMPILER})
  set(version ${CMAKE_CXX_COMPILER_VERSION})
  if(PARTITA_TEST_COMPILER AND headers STREQUAL "test")
    set(compiler ${PARTITA_TEST_COMPILER})
    execute_process(COMMAND ${compiler} -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(when_read "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  elseif(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    if(NOT TARGET partita_precompiled_${headers})
      add_library(partita_precompiled_${headers} OBJECT ${CMAKE_SOURCE_DIR}/cmake/precompiled/empty.cc)
      target_precompile_headers(partita_precompiled_${headers} PRIVATE
                                ${CMAKE_SOURCE_DIR}/cmake/precompiled/${headers}.h)
      target_include_directories(partita_precompiled_${headers} PRIVATE ${FMT_INCLUDE_DIR})
      if(headers STREQUAL "test")
        set_target_properties(partita_precompiled_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
        target_link_libraries(partita_precompiled_test PRIVATE GTest::gtest Threads::Threads partita_test_sanitizers)
      else()
        target_link_libraries(partita_precompiled_${headers} PRIVATE partita_product)
      endif()
    endif()
    target_precompile_headers(${target} REUSE_FROM partita_precompiled_${headers})
    return()
  endif()
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  if(headers STREQUAL "test")
    list(APPEND flags -DGTEST_HAS_PTHREAD=1)
  else()
    list(APPEND flags -fPIC ${PARTITA_PRODUCT_FLAGS} ${ARGN})
  endif()
  if(headers STREQUAL "product" OR PARTITA_SANITIZE STREQUAL "thread")
    get_target_property(sanitizers partita_sanitizers INTERFACE_COMPILE_OPTIONS)
    if(sanitizers)
      list(APPEND flags ${sanitizers})
    endif()
  endif()
  string(SHA256 name "${compiler} ${version} ${flags}")
  string(SUBSTRING ${name} 0 12 name)
  set(header ${CMAKE_SOURCE_DIR}/build/precompiled/${name}/${headers}.h)
  if(NOT TARGET partita_precompiled_${headers}_${name})
    add_custom_command(
      OUTPUT ${header}.gch
      COMMAND ${CMAKE_SOURCE_DIR}/scripts/precompile ${header} ${CMAKE_CXX_COMPILER_LAUNCHER} ${compiler}
              ${flags} -std=c++20
      DEPENDS ${CMAKE_SOURCE_DIR}/cmake/precompiled/product.h ${CMAKE_SOURCE_DIR}/cmake/precompiled/test.h
              ${CMAKE_SOURCE_DIR}/scripts/precompile
      COMMENT "Precompiling ${headers}.h"
      VERBATIM)
    add_custom_target(partita_precompiled_${headers}_${name} DEPENDS ${header}.gch)
  endif()
  add_dependencies(${target} partita_precompiled_${headers}_${name})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Winvalid-pch> "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${header}>"
                                           "${when_read}")
endfunction()

# partita_library(base SOURCES a.cc b.cc DEPS other…): target partita_base, include root src/ and the
# repository. PLAIN: it must do with libc, so nothing is put before its own includes. SMALL: where the optimiser is
# on, it saves bytes, not time: a quarter of the code, for what waits for the kernel and nothing else.
function(partita_library name)
  cmake_parse_arguments(ARG "PLAIN;SMALL" "" "SOURCES;DEPS" ${ARGN})
  set(flags "")
  partita_batched(sources ${ARG_SOURCES})
  if(ARG_SMALL AND "-O2" IN_LIST PARTITA_PRODUCT_FLAGS)
    set(flags -Os)
    # Of the files, to stand behind the flags of all products.
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${flags}")
  endif()
  add_library(partita_${name} STATIC ${sources})
  target_include_directories(partita_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  target_link_libraries(partita_${name} PUBLIC ${ARG_DEPS} PRIVATE partita_product)
  if(NOT ARG_PLAIN)
    partita_precompile(partita_${name} product ${flags})
  endif()
endfunction()

# partita_program(partita SOURCES main.cc DEPS …): a program that is shipped, or the simulator's.
function(partita_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  partita_batched(sources ${ARG_SOURCES})
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} partita_product)
endfunction()

# partita_test_program(name SOURCES … DEPS …): compiled as tests are, whether ctest runs it or a script.
function(partita_test_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  partita_batched(sources ${ARG_SOURCES})
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} Threads::Threads partita_warnings partita_test_sanitizers)
  partita_compile_as_test(${name})
endfunction()

# partita_test(base SOURCES a_test.cc DEPS …): one GoogleTest program, run by ctest as "base". THREADS:
# it runs threads of the product, so the thread sanitizer judges it too. SANITIZED_NIGHTLY: so long under
# sanitizers that CI leaves it to `make nightly`.
function(partita_test name)
  if(NOT PARTITA_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "THREADS;SANITIZED_NIGHTLY" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 240)
  endif()
  partita_test_program(partita_${name}_test SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} GTest::gtest
                       GTest::gtest_main)
  set_target_properties(partita_${name}_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  partita_precompile(partita_${name}_test test)
  add_test(NAME ${name} COMMAND partita_${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set(labels unit sanitized)
  if(ARG_SANITIZED_NIGHTLY)
    set(labels unit sanitized-nightly)
  endif()
  if(ARG_THREADS)
    list(APPEND labels threads)
    set_property(GLOBAL APPEND PROPERTY partita_thread_tests partita_${name}_test)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${labels}")
endfunction()

# partita_embed(VARIABLE HEADER config/built_in.h NAMESPACE partita::config FILES data/…): a source, whose path is put
# into VARIABLE, that has the files' contents as HEADER declares them. Made anew when one of them changes.
function(partita_embed variable)
  cmake_parse_arguments(ARG "" "HEADER;NAMESPACE" "FILES" ${ARGN})
  list(TRANSFORM ARG_FILES PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/built_in.cc)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${source} -DROOT=${CMAKE_SOURCE_DIR} "-DFILES=${ARG_FILES}"
            -DHEADER=${ARG_HEADER} -DNAMESPACE=${ARG_NAMESPACE} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${CMAKE_SOURCE_DIR}/cmake/embed.cmake ${paths}
    COMMENT "Embedding data for ${ARG_NAMESPACE}"
    VERBATIM)
  set(${variable} ${source} PARENT_SCOPE)
endfunction()
