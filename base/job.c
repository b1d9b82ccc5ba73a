/* Packing and identity of jobs; see job.h. */
#include "base/job.h"

static void put_buffers(struct text *text, const struct job *job, bool with_fill)
{
    text_put_u32(text, (uint32_t)job->buffers);
    for (int i = 0; i < job->buffers; i++) {
        const struct job_buffer *buffer = &job->buffer[i];
        text_put_string(text, buffer->name);
        text_put_u32(text, (uint32_t)buffer->role);
        text_put_u32(text, (uint32_t)buffer->dtype);
        text_put_u64(text, (uint64_t)buffer->elements);
        text_put_u32(text, (uint32_t)buffer->pair);
        if (!with_fill) continue;
        text_put_u32(text, (uint32_t)buffer->fill);
        text_put_f64(text, buffer->low);
        text_put_f64(text, buffer->high);
        text_put_u64(text, buffer->seed);
    }
}

static void put_launch(struct text *text, const struct job_launch *launch)
{
    text_put_string(text, launch->entry);
    for (int k = 0; k < 3; k++) {
        text_put_u64(text, (uint64_t)launch->grid[k]);
        text_put_u32(text, (uint32_t)launch->block[k]);
        text_put_u32(text, (uint32_t)launch->cluster[k]);
    }
    text_put_u64(text, (uint64_t)launch->shared_bytes);
    text_put_u32(text, (uint32_t)launch->args);
    for (int k = 0; k < launch->args; k++) {
        text_put_u32(text, (uint32_t)launch->arg[k].kind);
        text_put_u32(text, (uint32_t)launch->arg[k].buffer);
        text_put_u64(text, (uint64_t)launch->arg[k].i);
        text_put_f64(text, launch->arg[k].f);
    }
}

static void put_program(struct text *text, const struct job_program *program)
{
    text_put_string(text, program->source);
    text_put_string(text, program->options);
    text_put_u32(text, (uint32_t)program->launches);
    for (int i = 0; i < program->launches; i++) put_launch(text, &program->launch[i]);
}

void job_put(struct text *text, const struct job *job)
{
    text_put_string(text, job->kernel);
    text_put_u32(text, (uint32_t)job->device);
    text_put_string(text, job->arch);
    put_buffers(text, job, true);
    put_program(text, &job->program);
    put_program(text, &job->reference);
    text_put_f64(text, job->bytes);
    text_put_f64(text, job->flop);
}

/* A count that cannot be right for the bytes left marks the message as bad before anything is
 * allocated. */
static int read_count(struct reader *reader)
{
    uint32_t count = reader_u32(reader);
    if (count > reader->length - reader->at) reader->bad = 1;
    return reader->bad ? 0 : (int)count;
}

static const char *read_text(struct reader *reader, struct arena *arena)
{
    const char *string = reader_string(reader, arena);
    if (!string) reader->bad = 1;
    return string;
}

static void get_buffers(struct reader *reader, struct arena *arena, struct job *job)
{
    job->buffers = read_count(reader);
    job->buffer = ARENA_ARRAY(arena, struct job_buffer, job->buffers);
    for (int i = 0; i < job->buffers && !reader->bad; i++) {
        struct job_buffer *buffer = &job->buffer[i];
        buffer->name = read_text(reader, arena);
        buffer->role = (enum job_role)reader_u32(reader);
        buffer->dtype = (enum dtype)reader_u32(reader);
        buffer->elements = (int64_t)reader_u64(reader);
        buffer->pair = (int)reader_u32(reader);
        buffer->fill = (enum job_fill)reader_u32(reader);
        buffer->low = reader_f64(reader);
        buffer->high = reader_f64(reader);
        buffer->seed = reader_u64(reader);
        if (buffer->role > JOB_REF_SCRATCH || buffer->dtype >= DTYPE_COUNT ||
            buffer->fill > JOB_FILL_INDEX || buffer->elements < 0)
            reader->bad = 1;
    }
}

static void get_launch(struct reader *reader, struct arena *arena, const struct job *job,
                       struct job_launch *launch)
{
    launch->entry = read_text(reader, arena);
    for (int k = 0; k < 3; k++) {
        launch->grid[k] = (int64_t)reader_u64(reader);
        launch->block[k] = (int)reader_u32(reader);
        launch->cluster[k] = (int)reader_u32(reader);
    }
    launch->shared_bytes = (int64_t)reader_u64(reader);
    launch->args = read_count(reader);
    launch->arg = ARENA_ARRAY(arena, struct job_arg, launch->args);
    for (int k = 0; k < launch->args && !reader->bad; k++) {
        struct job_arg *arg = &launch->arg[k];
        arg->kind = (enum job_arg_kind)reader_u32(reader);
        arg->buffer = (int)reader_u32(reader);
        arg->i = (int64_t)reader_u64(reader);
        arg->f = reader_f64(reader);
        if (arg->kind > JOB_ARG_F32) reader->bad = 1;
        if (arg->kind == JOB_ARG_BUFFER && (arg->buffer < 0 || arg->buffer >= job->buffers))
            reader->bad = 1;
    }
}

static void get_program(struct reader *reader, struct arena *arena, const struct job *job,
                        struct job_program *program)
{
    program->source = read_text(reader, arena);
    program->options = read_text(reader, arena);
    program->launches = read_count(reader);
    program->launch = ARENA_ARRAY(arena, struct job_launch, program->launches);
    for (int i = 0; i < program->launches && !reader->bad; i++)
        get_launch(reader, arena, job, &program->launch[i]);
}

enum stax_status job_get(struct reader *reader, struct arena *arena, struct job *job)
{
    *job = (struct job){0};
    job->kernel = read_text(reader, arena);
    job->device = (enum device_kind)reader_u32(reader);
    job->arch = read_text(reader, arena);
    get_buffers(reader, arena, job);
    get_program(reader, arena, job, &job->program);
    get_program(reader, arena, job, &job->reference);
    job->bytes = reader_f64(reader);
    job->flop = reader_f64(reader);
    if (reader->bad || job->device > DEVICE_CUDA)
        STAX_RETURN(STAX_FORMAT, "a job message is damaged");
    return STAX_OK;
}

struct hash128 job_hash(const struct job *job)
{
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    text_put_u32(&text, (uint32_t)job->device);
    text_put_string(&text, job->arch);
    put_buffers(&text, job, false);
    put_program(&text, &job->program);
    struct hash128 hash = hash128_bytes(text.bytes, text.length);
    arena_destroy(scratch);
    return hash;
}

struct hash128 job_reference_hash(const struct job *job)
{
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    text_put_u32(&text, (uint32_t)job->device);
    put_buffers(&text, job, true);
    put_program(&text, &job->reference);
    struct hash128 hash = hash128_bytes(text.bytes, text.length);
    arena_destroy(scratch);
    return hash;
}
