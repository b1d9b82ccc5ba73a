/* Frames between a session and its workers: whole, in pieces, damaged, too long; and the bodies
 * that cross. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/protocol.h"

static struct arena *arena;
static int pair[2];
static struct channel here, there;

static int set_up(void **state)
{
    arena = arena_create();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return -1;
    here = channel_make(pair[0], arena);
    there = channel_make(pair[1], arena);
    return 0;
}

static int tear_down(void **state)
{
    close(pair[0]);
    if (pair[1] >= 0) close(pair[1]);
    arena_destroy(arena);
    return 0;
}

static void test_whole(void **state)
{
    struct message message;
    struct text text = text_make(arena);
    text_put_string(&text, "hello");
    assert_int_equal(channel_send(&here, MESSAGE_HELLO, &text), STAX_OK);
    assert_int_equal(channel_send(&here, MESSAGE_CALIBRATE, NULL), STAX_OK);
    assert_int_equal(channel_wait(&there, 1, &message), STAX_OK);
    assert_int_equal(message.kind, MESSAGE_HELLO);
    assert_string_equal(reader_string(&message.body, arena), "hello");
    assert_int_equal(channel_wait(&there, 1, &message), STAX_OK);
    assert_int_equal(message.kind, MESSAGE_CALIBRATE);
    assert_int_equal(message.body.length, 0);
    assert_int_equal(channel_wait(&there, 0.01, &message), STAX_CANCELLED);
}

static size_t make_frame(unsigned char *bytes, size_t room)
{
    struct text text = text_make(arena);
    text_put_string(&text, "0123456789");
    assert_int_equal(channel_send(&here, MESSAGE_LOG, &text), STAX_OK);
    ssize_t got = recv(pair[1], bytes, room, MSG_DONTWAIT);
    assert_true(got > 16);
    return (size_t)got;
}

static void test_pieces(void **state)
{
    unsigned char bytes[256];
    size_t length = make_frame(bytes, sizeof bytes);
    struct message message;
    for (size_t i = 0; i < length; i++) {
        channel_read(&there);
        assert_false(channel_take(&there, &message));
        assert_int_equal(send(pair[0], bytes + i, 1, 0), 1);
    }
    channel_read(&there);
    assert_true(channel_take(&there, &message));
    assert_false(channel_take(&there, &message));
}

/* Every single damaged byte is noticed, or leaves a frame that never ends. */
static void test_damage(void **state)
{
    unsigned char bytes[256];
    size_t length = make_frame(bytes, sizeof bytes);
    for (size_t i = 0; i < length; i++) {
        int own[2];
        struct message message;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, own), 0);
        struct channel channel = channel_make(own[1], arena);
        bytes[i] ^= 0x40;
        assert_int_equal(send(own[0], bytes, length, 0), (int)length);
        bytes[i] ^= 0x40;
        channel_read(&channel);
        assert_false(channel_take(&channel, &message));
        close(own[0]);
        channel_read(&channel);
        assert_true(channel.closed);
        close(own[1]);
    }
}

static void test_too_long(void **state)
{
    struct text huge = text_make(arena);
    struct message message;
    huge.length = (size_t)MESSAGE_LIMIT_BYTES + 1; /* refused before a byte is looked at */
    assert_int_equal(channel_send(&here, MESSAGE_LOG, &huge), STAX_LIMIT);
    struct text header = text_make(arena);
    text_put_u32(&header, 0x4d585453);
    text_put_u32(&header, MESSAGE_LOG);
    text_put_u32(&header, UINT32_MAX);
    text_put_u32(&header, 0);
    assert_int_equal(send(pair[0], header.bytes, header.length, 0), (int)header.length);
    assert_int_equal(channel_wait(&there, 1, &message), STAX_IO);
    assert_true(there.garbled);
}

static void test_gone(void **state)
{
    struct message message;
    close(pair[1]);
    pair[1] = -1;
    assert_int_equal(channel_wait(&here, 1, &message), STAX_IO);
    struct text text = text_make(arena);
    text_put_u32(&text, 1);
    assert_int_equal(channel_send(&here, MESSAGE_LOG, &text), STAX_IO);
}

static void test_requests(void **state)
{
    struct job_buffer buffer = {.name = "x", .role = JOB_INPUT, .dtype = DTYPE_BF16, .elements = 5};
    struct job job = {.kernel = "k",
                      .device = DEVICE_CPU,
                      .arch = "a",
                      .buffers = 1,
                      .buffer = &buffer,
                      .program = {.source = "s", .options = "o"},
                      .reference = {.source = "r", .options = ""}};
    struct measure_entry entries[2] = {
        {.job = job, .program = "p", .reference = "", .verify = true},
        {.job = job, .program = "q", .reference = "z", .adverse = true}};
    entries[1].compile = (struct compile_facts){.seconds = 0.5,
                                                .cached = true,
                                                .registers = -1,
                                                .shared_bytes = 7,
                                                .spill_bytes = -1,
                                                .stack_bytes = 9,
                                                .binary = {3, 4}};
    struct measure_request request = {.race = true,
                                      .samples = 31,
                                      .stage = STAGE_FINAL,
                                      .limit_s = 2.5,
                                      .seed = 11,
                                      .entries = 2,
                                      .entry = entries};
    struct text text = text_make(arena);
    measure_request_put(&text, &request);
    struct measure_request back;
    struct reader reader = {.bytes = (const unsigned char *)text.bytes, .length = text.length};
    assert_int_equal(measure_request_get(&reader, arena, &back), STAX_OK);
    assert_true(back.race && back.samples == 31 && back.stage == STAGE_FINAL && back.seed == 11 &&
                back.entries == 2);
    assert_true(back.entry[0].verify && !back.entry[0].adverse && back.entry[1].adverse);
    assert_string_equal(back.entry[1].reference, "z");
    assert_memory_equal(&back.entry[1].compile.binary, &entries[1].compile.binary,
                        sizeof(struct hash128));
    assert_true(back.entry[1].compile.cached && back.entry[1].compile.registers == -1);
    assert_int_equal(back.entry[0].job.buffer[0].dtype, DTYPE_BF16);
    for (size_t cut = 0; cut < text.length; cut++) {
        reader = (struct reader){.bytes = (const unsigned char *)text.bytes, .length = cut};
        assert_int_equal(measure_request_get(&reader, arena, &back), STAX_FORMAT);
    }
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_whole),    EACH(test_pieces), EACH(test_damage),
        EACH(test_too_long), EACH(test_gone),   EACH(test_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
