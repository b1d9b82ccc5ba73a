/* Progress and warnings, handed to a sink; library code never prints. */
#ifndef STAX_BASE_LOG_H
#define STAX_BASE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING };

/* The sink gets one line without a newline. NULL (the start) drops everything. */
void log_set_sink(void (*sink)(void *data, enum log_level level, const char *line), void *data);
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
