/* From a request to a kernel at one set of shapes: find the text, parse, lower, and describe the
 * result.
 *
 * The catalogue is the folder kernels/, built into the library; its order is that of the book's
 * sections, which the first comment line of each file names, then the alphabet. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "base/log.h"
#include "base/nearest.h"
#include "codegen/graph.h"
#include "codegen/parse.h"
#include "codegen/program.h"

enum { MOST_ENTRIES = 64, SUMMARY_BYTES = 160, MOST_TEXT_BYTES = 1 << 20 };

/* ---- catalogue ---- */

static struct cg_entry entries[MOST_ENTRIES];
static char entry_names[MOST_ENTRIES][64], entry_summaries[MOST_ENTRIES][SUMMARY_BYTES];
static int entry_count = -1;

/* "# Text" of the first line, without the mark. */
static void first_comment(const char *text, char *out)
{
    out[0] = '\0';
    if (text[0] == '#') {
        text += 1 + strspn(text + 1, " ");
        snprintf(out, SUMMARY_BYTES, "%.*s", (int)strcspn(text, "\r\n"), text);
    }
}

/* 904 for "(book 9.4)"; greatest where the summary names no section. */
static int section(const struct cg_entry *entry)
{
    const char *at = strstr(entry->summary, "(book ");
    char *end;
    if (!at) {
        return 1 << 20;
    }
    long chapter = strtol(at + 6, &end, 10);
    return (int)(100 * chapter + (*end == '.' ? strtol(end + 1, NULL, 10) : 0));
}

static int compare_entries(const void *a, const void *b)
{
    const struct cg_entry *first = a, *second = b;
    int order = section(first) - section(second);
    return order ? order : strcmp(first->name, second->name);
}

static void fill_catalogue(void)
{
    static const char folder[] = "kernels/", ending[] = ".stax";
    entry_count = 0;
    for (size_t i = 0; i < codegen_texts_count && entry_count < MOST_ENTRIES; i++) {
        const char *path = codegen_texts[i].name;
        size_t length = strlen(path), front = sizeof folder - 1, back = sizeof ending - 1;
        if (length <= front + back || strncmp(path, folder, front) != 0 ||
            strcmp(path + length - back, ending) != 0) {
            continue;
        }
        struct cg_entry *entry = &entries[entry_count];
        snprintf(entry_names[entry_count], sizeof entry_names[0], "%.*s",
                 (int)(length - front - back), path + front);
        entry->name = entry_names[entry_count];
        entry->text = (const char *)codegen_texts[i].text;
        first_comment(entry->text, entry_summaries[entry_count]);
        entry->summary = entry_summaries[entry_count];
        entry_count++;
    }
    qsort(entries, (size_t)entry_count, sizeof *entries, compare_entries);
}

int cg_catalogue(const struct cg_entry **out)
{
    if (entry_count < 0) {
        fill_catalogue();
    }
    *out = entries;
    return entry_count;
}

static const char *catalogue_name(const void *unused, int index)
{
    (void)unused;
    return entries[index].name;
}

/* ---- text ---- */

static enum stax_status read_file(const char *path, struct arena *arena, const char **text)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        STAX_RETURN(STAX_IO, "cannot read %s: %s", path, strerror(errno));
    }
    char *bytes = arena_alloc(arena, MOST_TEXT_BYTES + 1);
    size_t length = fread(bytes, 1, MOST_TEXT_BYTES, file);
    bool failed = ferror(file) != 0;
    bool more = !failed && fgetc(file) != EOF;
    fclose(file);
    if (failed) {
        STAX_RETURN(STAX_IO, "cannot read %s: %s", path, strerror(errno));
    }
    if (more) {
        STAX_RETURN(STAX_LIMIT, "%s is longer than 1 MiB: a kernel's text is not", path);
    }
    if (strlen(bytes) != length) {
        STAX_RETURN(STAX_USAGE, "%s is not text: it holds a zero byte", path);
    }
    *text = bytes;
    return STAX_OK;
}

static enum stax_status find_text(const struct cg_request *request, struct arena *arena,
                                  const char **what, const char **text)
{
    if (request->expr) {
        *what = "--expr";
        *text = request->expr;
        return STAX_OK;
    }
    if (!request->kernel) {
        STAX_RETURN(STAX_USAGE,
                    "no kernel is named: give --kernel NAME or FILE.stax, or --expr TEXT");
    }
    size_t length = strlen(request->kernel);
    *what = request->kernel;
    if (strchr(request->kernel, '/') ||
        (length > 5 && strcmp(request->kernel + length - 5, ".stax") == 0)) {
        return read_file(request->kernel, arena, text);
    }
    const struct cg_entry *known;
    int count = cg_catalogue(&known);
    for (int i = 0; i < count; i++) {
        if (strcmp(known[i].name, request->kernel) == 0) {
            *text = known[i].text;
            return STAX_OK;
        }
    }
    const char *near = nearest_name(request->kernel, catalogue_name, NULL, count);
    STAX_RETURN(
        STAX_NOTFOUND,
        "unknown kernel `%s`%s%s%s; `stax-tune list kernels` names them, a path must end in .stax",
        request->kernel, near ? ": did you mean `" : "", near ? near : "", near ? "`?" : "");
}

/* ---- description ---- */

static const char *problem_text(const struct graph *graph, struct arena *arena)
{
    struct text text = text_make(arena);
    text_printf(&text, "%s(", graph->name);
    for (int i = 0; i < graph->inputs; i++) {
        const struct graph_input *input = &graph->input[i];
        text_printf(&text, "%s%s: %s[", i ? ", " : "", input->name, dtype_table[input->dtype].name);
        int64_t step = 1;
        bool packed = true;
        for (int k = 0; k < input->shape.rank; k++) {
            text_printf(&text, "%s%lld", k ? "," : "", (long long)input->shape.size[k]);
        }
        text_add(&text, "]");
        for (int k = input->shape.rank - 1; k >= 0; k--) {
            packed = packed && (input->stride[k] == step || input->shape.size[k] <= 1);
            step *= input->shape.size[k] > 0 ? input->shape.size[k] : 1;
        }
        for (int k = 0; !packed && k < input->shape.rank; k++) {
            text_printf(&text, "%s%lld", k ? "," : ":", (long long)input->stride[k]);
        }
    }
    text_add(&text, ")");
    return text_string(&text);
}

/* Each element of an input that a load names, once (a stride of 0 names one element); each output
 * once. */
static double count_bytes(const struct graph *graph, const struct ir_program *program)
{
    double bytes = 0.0;
    for (int b = 0; b < program->buffers; b++) {
        const struct ir_buffer *buffer = &program->buffer[b];
        double elements = buffer->elements > 0 ? 1.0 : 0.0;
        bool read = false;
        for (int k = 0; k < program->kernels; k++) {
            for (int i = 0; i < program->kernel[k].nodes; i++) {
                read = read || (program->kernel[k].node[i].op == IR_LOAD &&
                                program->kernel[k].node[i].buffer == b);
            }
        }
        for (int d = 0; d < buffer->rank; d++) {
            elements *= buffer->stride[d] ? (double)buffer->shape[d] : 1.0;
        }
        bool counts = b < graph->inputs ? read : buffer->role == IR_BUFFER_OUTPUT;
        bytes += counts ? elements * dtype_table[buffer->dtype].bytes : 0.0;
    }
    return bytes;
}

static double count_flop(const struct ir_program *program)
{
    double flop = 0.0;
    for (int k = 0; k < program->kernels; k++) {
        const struct ir_kernel *kernel = &program->kernel[k];
        double rows = 1.0, length = (double)ir_axis_size(kernel, IR_AXIS_R);
        for (int d = 0; d < kernel->dims; d++) {
            rows *= kernel->dim[d].axis == IR_AXIS_R ? 1.0 : (double)kernel->dim[d].size;
        }
        for (int i = 0; i < kernel->nodes; i++) {
            const struct ir_node *node = &kernel->node[i];
            if (node->op == IR_REDUCE) {
                flop += rows * length;
            } else if (node->op < IR_PURE_COUNT && dtype_is_float(node->dtype)) {
                flop += ir_op_table[node->op].flop * rows * (node->in_r ? length : 1.0);
            }
        }
    }
    return flop;
}

/* Is the value of `number` an input, seen through views and casts? */
static int plain_input(const struct graph *graph, int number)
{
    while (graph->node[number].kind == GRAPH_VIEW || graph->node[number].kind == GRAPH_CAST) {
        number = graph->node[number].arg[0];
    }
    return graph->node[number].kind == GRAPH_INPUT ? graph->node[number].input : -1;
}

struct fill_range {
    double low, high;         /* of plain inputs */
    double above, above_high; /* of divisors and what a root or logarithm is taken of */
};

/* Chosen: floats so that results stay finite and well conditioned; narrow integers over all they
 * hold, so that they wrap; wide ones so that products of rows leave 32 bits. */
static struct fill_range fill_range(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_BOOL: return (struct fill_range){0.0, 1.0, 0.0, 1.0};
    case DTYPE_U8: return (struct fill_range){0.0, 255.0, 1.0, 255.0};
    case DTYPE_I8: return (struct fill_range){-128.0, 127.0, 1.0, 127.0};
    case DTYPE_I32:
    case DTYPE_I64: return (struct fill_range){-1000.0, 1000.0, 1.0, 1000.0};
    default: return (struct fill_range){-1.0, 1.0, 0.5, 2.0};
    }
}

static void choose_fills(const struct graph *graph, struct cg_input *input)
{
    for (int i = 0; i < graph->inputs; i++) {
        struct fill_range range = fill_range(graph->input[i].dtype);
        input[i] = (struct cg_input){.buffer = i, .low = range.low, .high = range.high};
    }
    for (int i = 0; i < graph->nodes; i++) {
        const struct graph_node *node = &graph->node[i];
        if (node->kind != GRAPH_PURE) {
            continue;
        }
        bool first = node->op == IR_LOG || node->op == IR_SQRT || node->op == IR_RSQRT ||
                     node->op == IR_RECIP;
        int which = first                ? plain_input(graph, node->arg[0])
                    : node->op == IR_DIV ? plain_input(graph, node->arg[1])
                                         : -1;
        if (which >= 0) {
            struct fill_range range = fill_range(graph->input[which].dtype);
            input[which].low = range.above;
            input[which].high = range.above_high;
        }
    }
}

enum stax_status cg_open(const struct cg_request *request, struct arena *arena,
                         struct cg_kernel **out)
{
    struct parse_request parse = {
        .arg = request->arg, .args = request->args, .dim = request->dim, .dims = request->dims};
    struct graph graph;
    const char *note;
    STAX_TRY(find_text(request, arena, &parse.what, &parse.text));
    STAX_TRY(parse_kernel(&parse, arena, &graph, &note));
    struct cg_kernel *kernel = ARENA_NEW(arena, struct cg_kernel);
    STAX_TRY(lower_graph(&graph, arena, &kernel->program));
    kernel->name = graph.name;
    kernel->source = parse.text;
    kernel->problem = problem_text(&graph, arena);
    kernel->inputs = graph.inputs;
    kernel->input = ARENA_ARRAY(arena, struct cg_input, graph.inputs + 1);
    choose_fills(&graph, kernel->input);
    struct text text = text_make(arena);
    graph_print(&text, &graph);
    kernel->graph_text = text_string(&text);
    kernel->bytes = count_bytes(&graph, &kernel->program);
    kernel->flop = count_flop(&kernel->program);
    kernel->arena = arena;
    if (note[0]) {
        log_write(LOG_WARNING, "%s: %s; other sizes need their own run with --dim", kernel->name,
                  note);
    }
    *out = kernel;
    return STAX_OK;
}

const char *cg_name(const struct cg_kernel *kernel)
{
    return kernel->name;
}

const char *cg_problem(const struct cg_kernel *kernel)
{
    return kernel->problem;
}

const char *cg_source(const struct cg_kernel *kernel)
{
    return kernel->source;
}

double cg_bytes(const struct cg_kernel *kernel)
{
    return kernel->bytes;
}

double cg_flop(const struct cg_kernel *kernel)
{
    return kernel->flop;
}
