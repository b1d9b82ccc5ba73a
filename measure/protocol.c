/* Framing and the bodies of messages; see protocol.h. */
#include "measure/protocol.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"

enum {
    MAGIC = 0x4d585453, /* "STXM" */
    HEADER_BYTES = 16,
    FIRST_BYTES = 1 << 16, /* chosen */
    SEND_WAIT_MS = 10000,  /* chosen: a worker that reads nothing for so long is stuck */
};

double measure_clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct channel channel_make(int fd, struct arena *arena)
{
    return (struct channel){.fd = fd, .arena = arena, .why = "the other end closed"};
}

static void close_for(struct channel *channel, const char *why)
{
    channel->closed = true;
    channel->why = why;
}

static bool send_all(struct channel *channel, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(channel->fd, bytes, length, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        } else if (errno == EAGAIN) {
            struct pollfd poller = {.fd = channel->fd, .events = POLLOUT};
            if (poll(&poller, 1, SEND_WAIT_MS) == 0) return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

enum stax_status channel_send(struct channel *channel, enum message_kind kind, struct text *body)
{
    size_t length = body ? body->length : 0;
    if (length > MESSAGE_LIMIT_BYTES)
        STAX_RETURN(STAX_LIMIT, "a message of %zu bytes passes the limit of %d", length,
                    MESSAGE_LIMIT_BYTES);
    struct arena *scratch = arena_create();
    struct text frame = text_make(scratch);
    text_put_u32(&frame, MAGIC);
    text_put_u32(&frame, (uint32_t)kind);
    text_put_u32(&frame, (uint32_t)length);
    text_put_u32(&frame, (uint32_t)hash_bytes(length ? body->bytes : "", length, kind));
    if (length) text_add_n(&frame, body->bytes, length);
    bool sent = send_all(channel, frame.bytes, frame.length);
    arena_destroy(scratch);
    if (sent) return STAX_OK;
    close_for(channel, "the other end does not read");
    STAX_RETURN(STAX_IO, "a message could not be sent: the other end is gone");
}

static void make_room(struct channel *channel)
{
    size_t used = channel->to - channel->from;
    if (channel->from > 0) {
        memmove(channel->bytes, channel->bytes + channel->from, used);
        channel->from = 0;
        channel->to = used;
    }
    if (channel->capacity - used >= FIRST_BYTES / 2) return;
    size_t capacity = channel->capacity ? channel->capacity * 2 : FIRST_BYTES;
    channel->bytes = arena_grow(channel->arena, channel->bytes, used, capacity, 1);
    channel->capacity = capacity;
}

void channel_read(struct channel *channel)
{
    while (!channel->closed) {
        make_room(channel);
        ssize_t got = recv(channel->fd, channel->bytes + channel->to,
                           channel->capacity - channel->to, MSG_DONTWAIT);
        if (got > 0) {
            channel->to += (size_t)got;
            if (channel->to - channel->from > 2 * (size_t)MESSAGE_LIMIT_BYTES) return;
        } else if (got == 0) {
            close_for(channel, "the other end closed");
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            close_for(channel, "the other end broke off");
        }
    }
}

bool channel_take(struct channel *channel, struct message *message)
{
    size_t used = channel->to - channel->from;
    if (used < HEADER_BYTES) return false;
    const unsigned char *frame = channel->bytes + channel->from;
    struct reader header = {.bytes = frame, .length = HEADER_BYTES};
    uint32_t magic = reader_u32(&header), kind = reader_u32(&header);
    uint32_t length = reader_u32(&header), check = reader_u32(&header);
    if (magic != MAGIC || length > MESSAGE_LIMIT_BYTES) {
        close_for(channel, "what came is no message");
        channel->garbled = true;
        channel->from = channel->to;
        return false;
    }
    if (used - HEADER_BYTES < length) return false;
    const unsigned char *body = frame + HEADER_BYTES;
    channel->from += HEADER_BYTES + length;
    if (check != (uint32_t)hash_bytes(body, length, kind)) {
        close_for(channel, "a message is damaged");
        channel->garbled = true;
        return false;
    }
    message->kind = (enum message_kind)kind;
    message->body = (struct reader){.bytes = body, .length = length};
    return true;
}

enum stax_status channel_wait(struct channel *channel, double seconds, struct message *message)
{
    double end = measure_clock_s() + seconds;
    for (;;) {
        if (channel_take(channel, message)) return STAX_OK;
        if (channel->closed) STAX_RETURN(STAX_IO, "%s", channel->why);
        double left = end - measure_clock_s();
        if (seconds >= 0 && left <= 0) return STAX_CANCELLED;
        int wait_ms = seconds < 0 ? -1 : (int)(left * 1e3) + 1;
        struct pollfd poller = {.fd = channel->fd, .events = POLLIN};
        poll(&poller, 1, wait_ms);
        channel_read(channel);
    }
}

void compile_request_put(struct text *text, const struct compile_request *request)
{
    text_put_string(text, request->arch);
    text_put_string(text, request->source);
    text_put_string(text, request->options);
    text_put_string(text, request->path);
    text_put_u32(text, request->assembly);
}

static const char *need_string(struct reader *reader, struct arena *arena)
{
    const char *string = reader_string(reader, arena);
    if (!string) reader->bad = 1;
    return string ? string : "";
}

enum stax_status compile_request_get(struct reader *reader, struct arena *arena,
                                     struct compile_request *request)
{
    request->arch = need_string(reader, arena);
    request->source = need_string(reader, arena);
    request->options = need_string(reader, arena);
    request->path = need_string(reader, arena);
    request->assembly = reader_u32(reader) != 0;
    if (reader->bad) STAX_RETURN(STAX_FORMAT, "a compile request is damaged");
    return STAX_OK;
}

void compile_facts_put(struct text *text, const struct compile_facts *facts)
{
    text_put_f64(text, facts->seconds);
    text_put_u32(text, facts->cached);
    text_put_u32(text, (uint32_t)facts->registers);
    text_put_u64(text, (uint64_t)facts->shared_bytes);
    text_put_u64(text, (uint64_t)facts->spill_bytes);
    text_put_u64(text, (uint64_t)facts->stack_bytes);
    text_put_u64(text, facts->binary.low);
    text_put_u64(text, facts->binary.high);
}

void compile_facts_get(struct reader *reader, struct compile_facts *facts)
{
    facts->seconds = reader_f64(reader);
    facts->cached = reader_u32(reader) != 0;
    facts->registers = (int)reader_u32(reader);
    facts->shared_bytes = (int64_t)reader_u64(reader);
    facts->spill_bytes = (int64_t)reader_u64(reader);
    facts->stack_bytes = (int64_t)reader_u64(reader);
    facts->binary.low = reader_u64(reader);
    facts->binary.high = reader_u64(reader);
}

void measure_request_put(struct text *text, const struct measure_request *request)
{
    text_put_u32(text, request->race);
    text_put_u32(text, (uint32_t)request->samples);
    text_put_u32(text, (uint32_t)request->stage);
    text_put_f64(text, request->limit_s);
    text_put_u64(text, request->seed);
    text_put_u32(text, (uint32_t)request->entries);
    for (int i = 0; i < request->entries; i++) {
        const struct measure_entry *entry = &request->entry[i];
        job_put(text, &entry->job);
        compile_facts_put(text, &entry->compile);
        text_put_string(text, entry->program);
        text_put_string(text, entry->reference);
        text_put_u32(text, entry->verify);
        text_put_u32(text, entry->adverse);
    }
}

enum stax_status measure_request_get(struct reader *reader, struct arena *arena,
                                     struct measure_request *request)
{
    request->race = reader_u32(reader) != 0;
    request->samples = (int)reader_u32(reader);
    request->stage = (enum trial_stage)reader_u32(reader);
    request->limit_s = reader_f64(reader);
    request->seed = reader_u64(reader);
    uint32_t entries = reader_u32(reader);
    if (entries > reader->length || request->samples < 0 || (int)request->stage >= STAGE_COUNT)
        reader->bad = 1;
    if (reader->bad) STAX_RETURN(STAX_FORMAT, "a measure request is damaged");
    request->entries = (int)entries;
    request->entry = ARENA_ARRAY(arena, struct measure_entry, entries);
    for (uint32_t i = 0; i < entries; i++) {
        struct measure_entry *entry = &request->entry[i];
        STAX_TRY(job_get(reader, arena, &entry->job));
        compile_facts_get(reader, &entry->compile);
        entry->program = need_string(reader, arena);
        entry->reference = need_string(reader, arena);
        entry->verify = reader_u32(reader) != 0;
        entry->adverse = reader_u32(reader) != 0;
    }
    if (reader->bad) STAX_RETURN(STAX_FORMAT, "a measure request is damaged");
    return STAX_OK;
}
