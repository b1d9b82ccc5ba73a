/* What the files of the function table share: checks of arguments, and the functions that stand in
 * another file than the table. */
#ifndef STAX_CODEGEN_FUNCTIONS_H
#define STAX_CODEGEN_FUNCTIONS_H

#include "codegen/parse.h"

static inline struct operand operand_tensor(int node)
{
    return (struct operand){.kind = OPERAND_TENSOR, .node = node};
}

/* Value k as a tensor; numbers become tensors without dims. */
enum stax_status function_want_tensor(struct parse *parse, struct call *call, int k,
                                      struct graph_shape *shape);
/* One axis or a list of them, negative from the end, as bits; None: all of `rank`. A tensor without
 * dims takes 0 and -1 as PyTorch does. */
enum stax_status function_want_axes(struct parse *parse, struct call *call, int k, int rank,
                                    unsigned *axes);

/* functions_view.c */
enum stax_status function_reshape(struct parse *parse, struct call *call, struct operand *out);
enum stax_status function_transpose(struct parse *parse, struct call *call, struct operand *out);
enum stax_status function_transpose_matrix(struct parse *parse, struct call *call,
                                           struct operand *out);
enum stax_status function_expand(struct parse *parse, struct call *call, struct operand *out);
enum stax_status function_squeeze(struct parse *parse, struct call *call, struct operand *out);
enum stax_status function_unsqueeze(struct parse *parse, struct call *call, struct operand *out);
enum stax_status function_flatten(struct parse *parse, struct call *call, struct operand *out);
enum stax_status function_pad(struct parse *parse, struct call *call, struct operand *out);
enum stax_status function_astype(struct parse *parse, struct call *call, struct operand *out);
enum stax_status function_arange(struct parse *parse, struct call *call, struct operand *out);
enum stax_status function_pow(struct parse *parse, struct call *call, struct operand *out);

#endif
