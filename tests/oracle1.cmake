# Tests of the reference: arithmetic, tape, licences, comparison.
if(TARGET oracle)
  add_executable(oracle_ref_test oracle_ref_test.c)
  target_link_libraries(oracle_ref_test PRIVATE oracle eager sp_flags m)
  add_test(NAME oracle_ref COMMAND oracle_ref_test ${CMAKE_SOURCE_DIR})
endif()
