/* Opening a strategy, its options, and the order of tells: whatever finishes first, a strategy
 * hears its trials in the order it asked, so early ones wait here. */
#include "search/search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "search/boosted.h"
#include "search/strategy.h"

/* A ring by ask id; a slot's sample buffer is kept and used again. */
struct pending {
    struct slot {
        struct ask ask;
        bool told;
        struct trial trial;
        double *span_ns;
        int room;
    } * slot;
    uint64_t slots;       /* a power of two */
    uint64_t first, next; /* ids: the oldest not delivered, the next to give */
};

enum { FIRST_PENDING = 16 };

/* ---- options ---- */

static int option_count(const struct search_ops *ops)
{
    int count = 0;
    while (ops->options && ops->options[count].name) count++;
    return count;
}

/* Is `word` one of "a|b|c"? */
static bool word_in(const char *words, const char *word, size_t length)
{
    for (const char *at = words; at && *at;) {
        size_t here = strcspn(at, "|");
        if (here == length && memcmp(at, word, length) == 0) return true;
        at += here + (at[here] == '|');
    }
    return false;
}

static enum stax_status refuse(const struct search_ops *ops, const struct search_option *option,
                               const char *text)
{
    if (option->kind == SEARCH_OPTION_CHOICE)
        STAX_RETURN(STAX_USAGE, "%s.%s=%s: choose one of %s", ops->name, option->name, text,
                    option->choices);
    const char *kind = option->kind == SEARCH_OPTION_INT ? "whole number" : "number";
    STAX_RETURN(STAX_USAGE, "%s.%s=%s: give a %s from %g to %g%s%s", ops->name, option->name, text,
                kind, option->low, option->high, option->choices ? ", or " : "",
                option->choices ? option->choices : "");
}

static enum stax_status option_parse(const struct search_ops *ops,
                                     const struct search_option *option, const char *text,
                                     struct arena *arena, struct option_value *value)
{
    *value = (struct option_value){.f = NAN, .text = arena_text(arena, text)};
    if (option->choices && word_in(option->choices, text, strlen(text))) return STAX_OK;
    if (option->kind == SEARCH_OPTION_CHOICE) return refuse(ops, option, text);
    char *end;
    errno = 0;
    value->f = strtod(text, &end);
    if (end == text || *end || errno || !(value->f >= option->low && value->f <= option->high))
        return refuse(ops, option, text);
    if (option->kind == SEARCH_OPTION_INT && value->f != floor(value->f))
        return refuse(ops, option, text);
    value->i = (int64_t)value->f;
    return STAX_OK;
}

static enum stax_status unknown_option(const struct search_ops *ops, const char *setting,
                                       struct arena *arena)
{
    struct text names = text_make(arena);
    for (int i = 0; i < option_count(ops); i++)
        text_printf(&names, "%s%s", i ? ", " : "", ops->options[i].name);
    if (names.length == 0)
        STAX_RETURN(STAX_USAGE, "%s: strategy %s takes no options", setting, ops->name);
    STAX_RETURN(STAX_USAGE, "%s: strategy %s has the options %s (as option=value)", setting,
                ops->name, text_string(&names));
}

static enum stax_status read_options(struct search *search, int settings,
                                     const char *const *setting)
{
    const struct search_ops *ops = search->ops;
    int count = option_count(ops);
    search->option = ARENA_ARRAY(search->arena, struct option_value, count);
    for (int i = 0; i < count; i++)
        STAX_TRY(option_parse(ops, &ops->options[i], ops->options[i].fallback, search->arena,
                              &search->option[i]));
    for (int s = 0; s < settings; s++) {
        size_t length = strcspn(setting[s], "=");
        int at = 0;
        while (at < count && (strlen(ops->options[at].name) != length ||
                              memcmp(ops->options[at].name, setting[s], length) != 0))
            at++;
        if (at == count || setting[s][length] != '=')
            return unknown_option(ops, setting[s], search->arena);
        STAX_TRY(option_parse(ops, &ops->options[at], setting[s] + length + 1, search->arena,
                              &search->option[at]));
    }
    return STAX_OK;
}

static const struct option_value *option_find(const struct search *search, const char *name)
{
    int at = 0;
    while (strcmp(search->ops->options[at].name, name) != 0) at++;
    return &search->option[at];
}

int64_t search_int(const struct search *search, const char *option)
{
    return option_find(search, option)->i;
}

double search_real(const struct search *search, const char *option)
{
    return option_find(search, option)->f;
}

bool search_is(const struct search *search, const char *option, const char *word)
{
    return strcmp(option_find(search, option)->text, word) == 0;
}

const char *search_settings(const struct search *search, struct arena *arena)
{
    struct text text = text_make(arena);
    for (int i = 0; i < option_count(search->ops); i++)
        text_printf(&text, "%s%s=%s", i ? " " : "", search->ops->options[i].name,
                    search->option[i].text);
    return text_string(&text);
}

/* ---- table ---- */

const struct search_ops *search_find(const char *name)
{
    const struct search_ops *const *rows;
    int count = search_table(&rows);
    for (int i = 0; i < count; i++)
        if (strcmp(rows[i]->name, name) == 0) return rows[i];
    return NULL;
}

/* ---- asking and telling ---- */

enum stax_status search_open(const struct search_ops *ops, const struct search_problem *problem,
                             int settings, const char *const *setting, struct arena *arena,
                             struct search **search)
{
    uint64_t size = space_count(problem->space);
    if (size == 0)
        STAX_RETURN(STAX_USAGE, "the space %s has no valid configuration: relax a constraint",
                    space_name(problem->space));
    for (int i = 0; i < problem->candidates; i++) STAX_CHECK(problem->candidate[i] < size);
    for (int i = 0; i < problem->warm; i++) STAX_CHECK(problem->warm_config[i] < size);
    struct search *fresh = ARENA_NEW(arena, struct search);
    fresh->ops = ops;
    fresh->problem = *problem;
    fresh->size = size;
    fresh->arena = arena;
    fresh->memo = memo_make(arena);
    fresh->rng = rng_make(problem->seed, hash_string(ops->name));
    fresh->draws = rng_make(problem->seed, hash_string("uniform draws"));
    fresh->pending = ARENA_NEW(arena, struct pending);
    fresh->pending->slots = FIRST_PENDING;
    fresh->pending->slot = ARENA_ARRAY(arena, struct slot, FIRST_PENDING);
    STAX_TRY(read_options(fresh, settings, setting));
    STAX_TRY(ops->init(fresh));
    *search = fresh;
    return STAX_OK;
}

static struct slot *slot_of(struct pending *pending, uint64_t id)
{
    return &pending->slot[id & (pending->slots - 1)];
}

static void pending_reserve(struct pending *pending, uint64_t more, struct arena *arena)
{
    uint64_t need = pending->next - pending->first + more;
    if (need <= pending->slots) return;
    struct pending old = *pending;
    while (pending->slots < need) pending->slots *= 2;
    pending->slot = ARENA_ARRAY(arena, struct slot, pending->slots);
    for (uint64_t id = old.first; id < old.next; id++) *slot_of(pending, id) = *slot_of(&old, id);
}

int search_ask(struct search *search, struct ask *asks, int n)
{
    STAX_CHECK(n > 0);
    if (search->done) return SEARCH_DONE;
    int count = search->ops->ask(search, asks, n);
    struct pending *pending = search->pending;
    /* A strategy that waits for nothing would hang the session. */
    STAX_CHECK(count != SEARCH_WAIT || pending->next > pending->first);
    if (count == SEARCH_DONE) search->done = true;
    if (count <= 0) return count;
    pending_reserve(pending, (uint64_t)count, search->arena);
    for (int i = 0; i < count; i++) {
        STAX_CHECK(asks[i].config < search->size && asks[i].fidelity >= 0);
        memo_add(&search->memo, asks[i].config);
        asks[i].id = pending->next++;
        struct slot *slot = slot_of(pending, asks[i].id);
        slot->ask = asks[i];
        slot->told = false;
    }
    return count;
}

/* The caller's trial may be gone before its turn; messages and logs are of no use to a strategy. */
static void keep(struct search *search, struct slot *slot, const struct trial *trial)
{
    slot->trial = *trial;
    slot->trial.message = slot->trial.log = "";
    if (slot->room < trial->samples) {
        slot->span_ns = ARENA_ARRAY(search->arena, double, trial->samples);
        slot->room = trial->samples;
    }
    if (trial->samples > 0)
        memcpy(slot->span_ns, trial->span_ns, (size_t)trial->samples * sizeof *trial->span_ns);
    slot->trial.span_ns = slot->trial.sum_ns = slot->span_ns;
}

static void deliver(struct search *search, const struct ask *ask, const struct trial *trial)
{
    memo_tell(&search->memo, ask, trial);
    search->batch.told++;
    if (search->ops->tell) search->ops->tell(search, ask, trial);
}

void search_tell(struct search *search, const struct ask *ask, const struct trial *trial)
{
    struct pending *pending = search->pending;
    STAX_CHECK(ask->id >= pending->first && ask->id < pending->next);
    struct slot *slot = slot_of(pending, ask->id);
    STAX_CHECK(!slot->told && slot->ask.config == ask->config);
    slot->told = true;
    if (ask->id != pending->first) {
        keep(search, slot, trial);
        return;
    }
    deliver(search, &slot->ask, trial);
    for (pending->first++; pending->first < pending->next; pending->first++) {
        slot = slot_of(pending, pending->first);
        if (!slot->told) break;
        deliver(search, &slot->ask, &slot->trial);
    }
}

const char *search_claim(struct search *search, struct arena *arena)
{
    return search->ops->claim ? search->ops->claim(search, arena) : NULL;
}

const char *search_doctor(struct arena *arena)
{
    const char *version = boosted_version(arena);
    if (version) return arena_printf(arena, "xgboost     %s\n", version);
    return arena_printf(
        arena,
        "xgboost     not found, `model` learns by the forest instead, which ranks worse: %s\n",
        status_message());
}
