# find_package(Proctor): what a plugin in C or C++ is built with. The package may lie in any folder.
#
#   Proctor::plugin_api   the headers proctor_plugin.h and proctor_plugin.hpp
#   Proctor::host         the program, for a test that runs a plugin

get_filename_component(_proctor_package "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET Proctor::plugin_api)
  add_library(Proctor::plugin_api INTERFACE IMPORTED)
  set_target_properties(Proctor::plugin_api PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_proctor_package}/include")
endif()

if(NOT TARGET Proctor::host)
  add_executable(Proctor::host IMPORTED)
  set_target_properties(Proctor::host PROPERTIES IMPORTED_LOCATION "${_proctor_package}/bin/host")
endif()

unset(_proctor_package)
