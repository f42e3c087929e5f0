option(PARTITA_WERROR "Warnings are errors" ON)
add_library(partita_warnings INTERFACE)
target_compile_options(
  partita_warnings
  INTERFACE -Wall
            -Wextra
            -Wshadow
            -Wconversion
            -Wswitch-enum
            $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
            $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>
            $<$<BOOL:${PARTITA_WERROR}>:-Werror>)
