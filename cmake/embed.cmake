# cmake -DOUTPUT=file.cc -DROOT=dir "-DFILES=a;b" -DHEADER=x/built_in.h -DNAMESPACE=a::b -P embed.cmake
#
# Writes a C++ file that holds the given files (paths relative to ROOT) as string constants. HEADER
# declares, in NAMESPACE, the struct BuiltInFile {path, text} and the function BuiltInFiles.
set(delimiter "partita_data")
set(code "// Written by cmake/embed.cmake.\n#include \"${HEADER}\"\n\n")
string(APPEND code "namespace ${NAMESPACE} {\nnamespace {\n\n")
string(APPEND code "constexpr BuiltInFile kFiles[] = {\n")
foreach(path IN LISTS FILES)
  file(READ "${ROOT}/${path}" text)
  string(FIND "${text}" ")${delimiter}\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${path} contains the end of a raw string: choose another delimiter")
  endif()
  string(APPEND code "    {\"${path}\", R\"${delimiter}(${text})${delimiter}\"},\n")
endforeach()
string(APPEND code "};\n\n}  // namespace\n\n")
string(APPEND code "std::span<const BuiltInFile> BuiltInFiles() { return kFiles; }\n\n")
string(APPEND code "}  // namespace ${NAMESPACE}\n")
file(WRITE "${OUTPUT}" "${code}")
