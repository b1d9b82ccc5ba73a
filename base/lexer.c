/* Tokens of the one expression language, and messages that point into its text; see expr.h.
 *
 * Nothing here is remembered between tokens but the offset, so a parser may copy a struct lexer to
 * look further ahead and put it back. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expr.h"
#include "base/text.h"

/* Longest first, so that the first match is the longest. */
static const char *const marks[] = {
    "...", "->", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
    "..",  "(",  ")",  "[",  "]",  "{",  "}",  ",",  ":",  ";",  ".",  "=",
    "<",   ">",  "!",  "&",  "|",  "^",  "+",  "-",  "*",  "/",  "%",  "@",
};

/* Bytes of the UTF-8 character at `text`; a byte that starts none counts as one. */
static size_t character_bytes(const char *text)
{
    unsigned char lead = (unsigned char)text[0];
    size_t length = lead >= 0xf0 && lead < 0xf8 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
    if (lead >= 0xf8) length = 1;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) return 1;
    }
    return length;
}

void span_position(struct span span, int *line, int *column)
{
    *line = 1;
    *column = 1;
    for (size_t at = 0; at < span.start; at += character_bytes(span.text + at)) {
        if (span.text[at] == '\n') {
            ++*line;
            *column = 1;
        } else {
            ++*column;
        }
    }
}

/* Writes the characters of [start, end) of one line: as they are, as spaces (tabs stay, so that the
 * caret stands under its character whatever the tab width), or as carets. Bytes that a terminal
 * could take for commands become '?'. */
enum draw { DRAW_SOURCE, DRAW_BLANK, DRAW_CARET };

static void draw_characters(struct text *out, const char *text, size_t start, size_t end,
                            enum draw draw)
{
    for (size_t at = start; at < end;) {
        size_t length = character_bytes(text + at);
        unsigned char byte = (unsigned char)text[at];
        if (draw == DRAW_CARET) {
            text_add(out, "^");
        } else if (byte == '\t') {
            text_add(out, "\t");
        } else if (draw == DRAW_BLANK) {
            text_add(out, " ");
        } else if (length == 1 && (byte < 0x20 || byte >= 0x7f)) {
            text_add(out, "?");
        } else {
            text_add_n(out, text + at, length);
        }
        at += length;
    }
}

/* The part of the line that is shown: all of it, or what is near the span where the line is long.
 */
static void shown_part(const char *text, size_t from, size_t start, size_t *first, size_t *last)
{
    enum { BEFORE = 80, AFTER = 120 }; /* bytes, chosen: the message must fit status_set's buffer */
    *first = from;
    *last = from;
    while (text[*last] && text[*last] != '\n' && text[*last] != '\r')
        *last += character_bytes(text + *last);
    while (start - *first > BEFORE) *first += character_bytes(text + *first);
    if (*last > start + AFTER) {
        *last = start;
        while (*last < start + AFTER) *last += character_bytes(text + *last);
    }
}

enum stax_status span_error(const char *what, struct span span, const char *format, ...)
{
    struct arena *scratch = arena_create();
    struct text out = text_make(scratch);
    int line, column;
    span_position(span, &line, &column);
    va_list args;
    va_start(args, format);
    text_printf(&out, "%s:%d:%d: %s\n", what, line, column, arena_vprintf(scratch, format, args));
    va_end(args);

    size_t from = span.start;
    while (from > 0 && span.text[from - 1] != '\n') from--;
    size_t first, last;
    shown_part(span.text, from, span.start, &first, &last);
    size_t end = span.start + span.length;
    if (end > last) end = last;
    const char *dots = first > from ? "..." : "";
    text_printf(&out, "    %s", dots);
    draw_characters(&out, span.text, first, last, DRAW_SOURCE);
    text_printf(&out, "\n    %*s", (int)strlen(dots), "");
    draw_characters(&out, span.text, first, span.start, DRAW_BLANK);
    if (end > span.start)
        draw_characters(&out, span.text, span.start, end, DRAW_CARET);
    else
        text_add(&out, "^");
    status_set(STAX_USAGE, "%s", text_string(&out));
    arena_destroy(scratch);
    return STAX_USAGE;
}

const char *lexer_found(const struct lexer *lexer)
{
    const struct token *token = &lexer->token;
    if (token->kind == TOKEN_END) return "the end";
    if (token->kind == TOKEN_TEXT)
        return arena_printf(lexer->arena, "the text \"%.40s\"", token->text);
    return arena_printf(lexer->arena, "`%.*s`",
                        (int)(token->span.length < 40 ? token->span.length : 40),
                        token->span.text + token->span.start);
}

enum stax_status lexer_error(const struct lexer *lexer, const char *format, ...)
{
    if (lexer->failed) return STAX_USAGE;
    va_list args;
    va_start(args, format);
    const char *message = arena_vprintf(lexer->arena, format, args);
    va_end(args);
    return span_error(lexer->what, lexer->token.span, "%s", message);
}

/* Ends the token stream with a message about the `length` bytes at `start`. */
static void fail(struct lexer *lexer, size_t start, size_t length, const char *message)
{
    struct span span = {lexer->text, start, length};
    lexer->failed = true;
    lexer->at = start + strlen(lexer->text + start);
    lexer->token = (struct token){.kind = TOKEN_END, .span = span, .text = ""};
    span_error(lexer->what, span, "%s", message);
}

static void skip_blanks(struct lexer *lexer)
{
    const char *text = lexer->text;
    if (lexer->at == 0 && strncmp(text, "\xef\xbb\xbf", 3) == 0)
        lexer->at = 3; /* a byte order mark */
    for (;;) {
        if (text[lexer->at] == '#') {
            while (text[lexer->at] && text[lexer->at] != '\n') lexer->at++;
        } else if (text[lexer->at] && strchr(" \t\r\n\f\v", text[lexer->at])) {
            lexer->at++;
        } else {
            return;
        }
    }
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Digits with single underscores between them, as Python allows; returns the offset behind them. */
static size_t skip_digits(const char *text, size_t at)
{
    while (isdigit((unsigned char)text[at]) ||
           (text[at] == '_' && at > 0 && isdigit((unsigned char)text[at - 1]) &&
            isdigit((unsigned char)text[at + 1]))) {
        at++;
    }
    return at;
}

static void take_int(struct lexer *lexer, const char *digits, size_t length, int base)
{
    errno = 0;
    unsigned long long number = strtoull(digits, NULL, base);
    if (errno == ERANGE || number > INT64_MAX) {
        fail(lexer, lexer->token.span.start, length,
             "this integer is too large: the greatest is 9223372036854775807");
        return;
    }
    lexer->token.kind = TOKEN_INT;
    lexer->token.i = (int64_t)number;
    lexer->token.f = (double)number;
}

static void lex_number(struct lexer *lexer)
{
    const char *text = lexer->text;
    size_t start = lexer->at, at = start;
    bool hex = text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X');
    bool real = false;
    if (hex) {
        at += 2;
        while (isxdigit((unsigned char)text[at])) at++;
    } else {
        at = skip_digits(text, at);
        if (text[at] == '.' && text[at + 1] != '.') { /* `2..8` is a range, not `2.` */
            real = true;
            at = skip_digits(text, at + 1);
        }
        size_t exponent = at + 1;
        if ((text[at] == 'e' || text[at] == 'E')) {
            if (text[exponent] == '+' || text[exponent] == '-') exponent++;
            if (isdigit((unsigned char)text[exponent])) {
                real = true;
                at = skip_digits(text, exponent);
            }
        }
    }
    if (is_name_byte(text[at]) || (hex && at == start + 2)) {
        while (is_name_byte(text[at])) at++;
        fail(lexer, start, at - start, "this is neither a number nor a name");
        return;
    }
    char *digits = arena_text_n(lexer->arena, text + start, at - start);
    size_t kept = 0;
    for (size_t i = 0; i < at - start; i++) {
        if (digits[i] != '_') digits[kept++] = digits[i];
    }
    digits[kept] = '\0';
    lexer->at = at;
    lexer->token.span.length = at - start;
    if (!real) {
        take_int(lexer, digits, at - start, hex ? 16 : 10);
        return;
    }
    lexer->token.kind = TOKEN_FLOAT;
    lexer->token.f = strtod(digits, NULL);
    if (isinf(lexer->token.f))
        fail(lexer, start, at - start, "this number is too large for a double");
}

/* Escapes are Python's common ones; any other backslash stands for itself. */
static void lex_text(struct lexer *lexer)
{
    const char *text = lexer->text;
    size_t start = lexer->at, at = start + 1;
    char quote = text[start];
    struct text out = text_make(lexer->arena);
    while (text[at] != quote) {
        if (text[at] == '\0' || text[at] == '\n') {
            fail(lexer, start, 1, "this text has no closing quote");
            return;
        }
        static const char from[] = "nrt\\'\"", to[] = "\n\r\t\\'\"";
        const char *escape = text[at] == '\\' && text[at + 1] ? strchr(from, text[at + 1]) : NULL;
        if (escape) {
            text_add_n(&out, &to[escape - from], 1);
            at += 2;
        } else {
            text_add_n(&out, text + at, 1);
            at++;
        }
    }
    lexer->at = at + 1;
    lexer->token.kind = TOKEN_TEXT;
    lexer->token.span.length = lexer->at - start;
    lexer->token.text = text_string(&out);
}

static void lex_mark(struct lexer *lexer)
{
    const char *text = lexer->text + lexer->at;
    for (size_t i = 0; i < STAX_COUNT(marks); i++) {
        size_t length = strlen(marks[i]);
        if (strncmp(text, marks[i], length) != 0) continue;
        lexer->token.kind = TOKEN_MARK;
        lexer->token.text = marks[i];
        lexer->token.span.length = length;
        lexer->at += length;
        return;
    }
    size_t length = character_bytes(text);
    unsigned char byte = (unsigned char)text[0];
    bool printable = length > 1 || (byte > 0x20 && byte < 0x7f);
    fail(lexer, lexer->at, length,
         printable ? arena_printf(lexer->arena, "unexpected character `%.*s`", (int)length, text)
                   : arena_printf(lexer->arena, "unexpected byte 0x%02x", byte));
}

void lexer_next(struct lexer *lexer)
{
    if (lexer->failed) return;
    lexer->end = lexer->token.span.start + lexer->token.span.length;
    skip_blanks(lexer);
    const char *text = lexer->text + lexer->at;
    lexer->token = (struct token){
        .kind = TOKEN_END, .span = {lexer->text, lexer->at, 0}, .text = ""};
    if (*text == '\0') return;
    if (isdigit((unsigned char)text[0]) || (text[0] == '.' && isdigit((unsigned char)text[1]))) {
        lex_number(lexer);
    } else if (isalpha((unsigned char)text[0]) || text[0] == '_') {
        size_t length = 1;
        while (is_name_byte(text[length])) length++;
        lexer->token.kind = TOKEN_NAME;
        lexer->token.text = arena_text_n(lexer->arena, text, length);
        lexer->token.span.length = length;
        lexer->at += length;
    } else if (text[0] == '"' || text[0] == '\'') {
        lex_text(lexer);
    } else {
        lex_mark(lexer);
    }
}

struct lexer lexer_open(const char *what, const char *text, struct arena *arena)
{
    struct lexer lexer = {.what = what, .text = text, .arena = arena, .token.span.text = text};
    lexer_next(&lexer);
    return lexer;
}

bool lexer_is(const struct lexer *lexer, const char *text)
{
    const struct token *token = &lexer->token;
    return (token->kind == TOKEN_NAME || token->kind == TOKEN_MARK) &&
           strcmp(token->text, text) == 0;
}

bool lexer_accept(struct lexer *lexer, const char *text)
{
    if (!lexer_is(lexer, text)) return false;
    lexer_next(lexer);
    return true;
}

enum stax_status lexer_expect(struct lexer *lexer, const char *text)
{
    if (lexer_accept(lexer, text)) return STAX_OK;
    return lexer_error(lexer, "expected `%s` but found %s", text, lexer_found(lexer));
}
