# cmake -DBINARY=scatterproof -DOUT=DIR -P man.cmake: a manual page of the tool and of each verb, from the binary itself. DIR is where they
# are installed, so that two installations of one build share nothing; pages of another name there are not ours.
execute_process(COMMAND ${BINARY} complete help "" OUTPUT_VARIABLE verbs OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" verbs "${verbs}")
file(MAKE_DIRECTORY ${OUT})
execute_process(COMMAND ${BINARY} man OUTPUT_FILE ${OUT}/scatterproof.1 COMMAND_ERROR_IS_FATAL ANY)
foreach(verb ${verbs})
  execute_process(COMMAND ${BINARY} man ${verb} OUTPUT_FILE ${OUT}/scatterproof-${verb}.1 COMMAND_ERROR_IS_FATAL ANY)
endforeach()
