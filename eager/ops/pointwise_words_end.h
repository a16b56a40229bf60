/* pointwise_words_end.h: the words of pointwise_words.h go. */
#if INST_INT
#undef floor
#undef ceil
#undef trunc
#endif
#undef ADD
#undef SUB
#undef MUL
#undef NEG
#undef ABS
#undef MAXNAN
#undef MINNAN
#undef POW
#undef ROW_FLOAT
#undef ROW_KEEP
#undef ROW_PROMOTE
#undef ROW_BOOL
#undef ROW_SUBTRACT
#undef ROW_NEGATE
#undef ROW_BOUNDS
#undef ROW_GRADIENT
#undef GELU_SLOPE
#undef GELU_BEND
#undef GELU_TANH_SLOPE
#undef SIGN
#undef RELU
#undef CLAMP
