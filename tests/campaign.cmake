# From results to verdicts and signatures.
if(TARGET campaign)
  add_executable(test_verdict ${CMAKE_CURRENT_LIST_DIR}/test_verdict.c)
  target_link_libraries(test_verdict PRIVATE campaign)
  add_test(NAME verdict COMMAND test_verdict)
endif()
# The whole binary.
if(TARGET scatterproof)
  foreach(part clean plants full kill usage)
    add_test(NAME campaign_${part} COMMAND ${CMAKE_CURRENT_LIST_DIR}/campaign.sh $<TARGET_FILE:scatterproof> ${CMAKE_SOURCE_DIR} ${part})
  endforeach()
  set_tests_properties(campaign_kill PROPERTIES RUN_SERIAL ON)
endif()
