/* Text files built into the library: kernel sources, templates, catalogue entries.
 *
 * The build turns the files of a folder into one table (scripts/cmake/EmbedText.cmake), sorted by
 * name. A name is the path inside the folder, "kernels/red_fused.stax". Tables end with a row whose
 * name is NULL, which the count leaves out.
 */
#ifndef STAX_BASE_EMBED_H
#define STAX_BASE_EMBED_H

#include <stddef.h>

struct embedded_text {
    const char *name;
    const unsigned char *text; /* NUL-terminated */
    size_t length;             /* bytes, without the NUL */
};

extern const struct embedded_text codegen_texts[];
extern const size_t codegen_texts_count;
extern const struct embedded_text measure_texts[];
extern const size_t measure_texts_count;
extern const struct embedded_text tuner_texts[];
extern const size_t tuner_texts_count;

#endif
