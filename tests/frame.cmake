# Tests of the frame: text, arrows between the rooms.
add_executable(text_test text_test.c)
target_link_libraries(text_test PRIVATE eager)
file(GLOB seed_progs ${CMAKE_SOURCE_DIR}/corpus/seeds/*.prog ${CMAKE_SOURCE_DIR}/corpus/regressions/*.prog)
add_test(NAME text COMMAND text_test ${seed_progs})
if(TARGET oracle)
  add_test(NAME arrows COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/arrows.sh ${CMAKE_SOURCE_DIR} $<TARGET_FILE:oracle>)
endif()
