# Programs that say that eager must refuse them: refused by our interpreter and, where they are installed, by both PyTorch versions.
if(TARGET scatterproof)
  file(GLOB refused CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/prog/raises/*.prog)
  add_test(NAME raises COMMAND scatterproof check --quiet ${refused})
  foreach(version 2.11.0 2.15.0)
    add_test(NAME raises_torch_${version} COMMAND scatterproof check --quiet --target torch-${version}:eager ${refused})
    set_tests_properties(raises_torch_${version} PROPERTIES LABELS torch SKIP_RETURN_CODE 3 TIMEOUT 300)
  endforeach()
endif()
