/* The C ABI of the one Rust library: CEL rules (crate `cel`) and Hugging Face tokenizers (crate
 * `tokenizers`).
 *
 * Texts are UTF-8 with a length, and are never kept. A function that can fail takes `error` and leaves there
 * a message, which is the caller's, who frees it with caravan_string_free. Nothing throws: a panic inside
 * Rust is such an error too. Every function may be called from any thread. */
#ifndef CARAVAN_FFI_H
#define CARAVAN_FFI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void caravan_string_free(char* text);

/* Evaluates a CEL rule with `self` bound to a JSON object. 0: the rule holds; 1: it does not; 2: it cannot be
 * evaluated, and *error says why. */
int32_t caravan_cel_check(const char* rule, size_t rule_length, const char* json, size_t json_length,
                          char** error);

/* A loaded tokenizer.json. Any number of threads may use one. */
typedef struct CaravanTokenizer CaravanTokenizer;

typedef struct CaravanToken {
  uint32_t id;
  uint32_t begin; /* of the text it stands for, in bytes */
} CaravanToken;

/* json: the content of the file. Its truncation, padding and post-processor are off. NULL on error. */
CaravanTokenizer* caravan_tokenizer_load(const char* json, size_t json_length, char** error);
void caravan_tokenizer_free(CaravanTokenizer* tokenizer);

/* The largest id and one more. */
uint64_t caravan_tokenizer_vocabulary(const CaravanTokenizer* tokenizer);

/* The id of a token by its text, -1 when there is none. */
int64_t caravan_tokenizer_token_id(const CaravanTokenizer* tokenizer, const char* name, size_t name_length);
/* The same of special tokens alone, which stand for no text: -1 for every other. */
int64_t caravan_tokenizer_special_token_id(const CaravanTokenizer* tokenizer, const char* name,
                                           size_t name_length);

/* Tokens of a text of less than 4 GiB in order, without those that a post-processor adds around it. NULL on
 * error, else the caller's, who frees them with caravan_tokens_free. */
CaravanToken* caravan_tokenizer_encode(const CaravanTokenizer* tokenizer, const char* text,
                                       size_t text_length, size_t* count, char** error);
void caravan_tokens_free(CaravanToken* tokens, size_t count);

/* The text of tokens, without special ones; what is no whole character, and a NUL, is U+FFFD. NULL on error,
 * else the caller's, who frees it with caravan_string_free. */
char* caravan_tokenizer_decode(const CaravanTokenizer* tokenizer, const uint32_t* ids, size_t count,
                               char** error);

#ifdef __cplusplus
}
#endif

#endif
