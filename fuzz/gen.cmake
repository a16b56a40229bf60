# choices, policies, the generator and structural edits: below the campaign.
add_library(gen STATIC ${CMAKE_CURRENT_LIST_DIR}/choices.c ${CMAKE_CURRENT_LIST_DIR}/policy.c ${CMAKE_CURRENT_LIST_DIR}/edit.c
  ${CMAKE_CURRENT_LIST_DIR}/gen.c ${CMAKE_CURRENT_LIST_DIR}/gen_op.c ${CMAKE_CURRENT_LIST_DIR}/gen_arg.c
  ${CMAKE_CURRENT_LIST_DIR}/gen_input.c ${CMAKE_CURRENT_LIST_DIR}/gen_rules.c
  ${CMAKE_CURRENT_LIST_DIR}/gen_assign.c ${CMAKE_CURRENT_LIST_DIR}/gen_symbol.c
  ${CMAKE_CURRENT_LIST_DIR}/gen_size.c ${CMAKE_CURRENT_LIST_DIR}/gen_never.c ${CMAKE_CURRENT_LIST_DIR}/gen_illegal.c)
target_link_libraries(gen PUBLIC sp_flags eager)
