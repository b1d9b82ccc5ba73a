/* doctor: what was found on this machine. */
#include "tuner/tuner.h"

enum stax_status command_doctor(stax_tuner *tuner, int count, const char *const *arguments,
                                int *exit_code)
{
    (void)exit_code;
    if (count) STAX_RETURN(STAX_USAGE, "doctor takes no argument (%s)", arguments[0]);
    struct arena *arena = arena_create();
    struct measure_options options;
    const char *text = "";
    enum stax_status status = setup_measure_options(tuner, &options);
    if (status == STAX_OK) {
        say(tuner, 1, "stax-tune     %s\n", STAX_VERSION);
        say(tuner, 1, "database      HDF5 %s\n", db_library_version());
        status = measure_doctor(&options, arena, &text);
    }
    if (status == STAX_OK) say(tuner, 1, "%s%s", text, search_doctor(arena));
    arena_destroy(arena);
    return status;
}
