# Tests of the reference: arithmetic, tape, licences, comparison.
if(TARGET oracle)
  foreach(t oracle_ref_test oracle_rigor_test)
    add_executable(${t} ${t}.c)
    target_link_libraries(${t} PRIVATE oracle eager sp_flags m)
  endforeach()
  add_test(NAME oracle_ref COMMAND oracle_ref_test)
  add_test(NAME oracle_rigor COMMAND oracle_rigor_test 650)
endif()
