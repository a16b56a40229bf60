# Pasted logs of PyTorch: how each is read.
if(TARGET scatterproof)
  add_test(NAME fx COMMAND ${CMAKE_CURRENT_LIST_DIR}/fx.sh $<TARGET_FILE:scatterproof> ${CMAKE_SOURCE_DIR})
endif()
