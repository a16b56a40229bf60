# The family `python`: a compiler of the user's. Needs python3, and nothing else of it than the standard library.
if(TARGET scatterproof)
  foreach(part example values rounding gradients failures calls paths campaign)
    add_test(NAME python_${part} COMMAND ${CMAKE_CURRENT_LIST_DIR}/python_target.sh $<TARGET_FILE:scatterproof> ${CMAKE_SOURCE_DIR} ${part})
    set_tests_properties(python_${part} PROPERTIES LABELS cli)
  endforeach()
  add_test(NAME python_numpy COMMAND ${CMAKE_CURRENT_LIST_DIR}/with_torch.sh 2.11.0 ${CMAKE_CURRENT_LIST_DIR}/python_target.sh
    $<TARGET_FILE:scatterproof> ${CMAKE_SOURCE_DIR} numpy {python})
  set_tests_properties(python_numpy PROPERTIES LABELS "cli;torch" SKIP_RETURN_CODE 77)
endif()
