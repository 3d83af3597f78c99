/* The C ABI of the one Rust library: CEL rules (crate `cel`) and Hugging Face tokenizers (crate `tokenizers`).
 *
 * Texts are UTF-8 with a length. A text that a function gives out is the caller's, who frees it with
 * caravan_string_free. Nothing throws; every function may be called from any thread. */
#ifndef CARAVAN_FFI_H
#define CARAVAN_FFI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void caravan_string_free(char* text);

/* Evaluates a CEL rule with `self` bound to a JSON object. 0: the rule holds; 1: it does not; 2: it cannot be evaluated,
 * and *error says why. */
int32_t caravan_cel_check(const char* rule, size_t rule_length, const char* json, size_t json_length, char** error);

#ifdef __cplusplus
}
#endif

#endif
