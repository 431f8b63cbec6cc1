package model2vec

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/disk/vfs"
)

// wantAllocated checks that f allocates at most a number of bytes.
func wantAllocated(t *testing.T, most int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(most) {
		t.Errorf("%d bytes were allocated, at most %d are allowed", n, most)
	}
}

// allowedFor returns the bytes that splitting a text may allocate: each step may make it
// longer before it is cut, and list its places.
func allowedFor(tok *tokenizer, text string) int {
	steps := len(tok.normalizers) + len(tok.splitters) + 1
	return 4<<20 + 400*steps*grownText(len(text))
}

// growing returns normalizers that each make a text 16 times as long.
func growing(n int) object {
	one := object{"type": "Replace", "pattern": object{"Regex": "a"}, "content": strings.Repeat("a", maxInserted)}
	return object{"type": "Sequence", "normalizers": slices.Repeat([]any{one}, n)}
}

// byteVocabulary returns a vocabulary of the tokens of bytes.
func byteVocabulary() object {
	var tokens []string
	for i := range 256 {
		tokens = append(tokens, fmt.Sprintf("<0x%02X>", i))
	}
	return numbered(tokens...)
}

// smallModel is a model of one token.
var smallModel = object{"type": "WordPiece", "vocab": numbered("a")}

// TestGrowthIsBounded checks that rules that make texts longer cannot make them longer than allowed.
func TestGrowthIsBounded(t *testing.T) {
	mark := strings.Repeat("x", maxInserted)
	repeated := func(name string, n int, one object) object {
		return object{"type": "Sequence", name: slices.Repeat([]any{one}, n)}
	}
	unknown := object{"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": func() (all [][2]any) {
		for token := range byteVocabulary() {
			all = append(all, [2]any{token, -1})
		}
		return all
	}()}
	single := object{"type": "Split", "pattern": object{"Regex": "."}, "behavior": "Isolated"}
	for name, file := range map[string]object{
		"replace":          {"normalizer": growing(60), "model": unknown},
		"replace nothing":  {"normalizer": repeated("normalizers", 60, object{"type": "Replace", "pattern": object{"String": ""}, "content": mark}), "model": unknown},
		"prepend":          {"normalizer": repeated("normalizers", 60, object{"type": "Prepend", "prepend": mark}), "model": unknown},
		"nested":           {"normalizer": object{"type": "Sequence", "normalizers": []any{growing(15), growing(15), object{"type": "Sequence", "normalizers": []any{growing(20)}}}}, "model": unknown},
		"metaspace":        {"pre_tokenizer": object{"type": "Sequence", "pretokenizers": slices.Repeat([]any{single, object{"type": "Metaspace", "replacement": mark}}, 30)}, "model": unknown},
		"bytes":            {"pre_tokenizer": repeated("pretokenizers", 60, object{"type": "ByteLevel"}), "model": unknown},
		"added and growth": {"added_tokens": []any{object{"id": 1, "content": "b"}}, "normalizer": growing(20), "pre_tokenizer": object{"type": "ByteLevel"}, "model": unknown},
		"found again":      {"added_tokens": []any{object{"id": 1, "content": "b"}, object{"id": 1, "content": "aa", "normalized": true}}, "normalizer": growing(20), "model": unknown},
		"all removed":      {"added_tokens": []any{object{"id": 1, "content": "b"}}, "normalizer": object{"type": "Sequence", "normalizers": []any{growing(20), object{"type": "Replace", "pattern": object{"Regex": "a+"}, "content": ""}}}, "model": unknown},
		"affixes":          {"model": object{"type": "BPE", "byte_fallback": true, "continuing_subword_prefix": mark, "end_of_word_suffix": mark, "vocab": byteVocabulary(), "merges": []any{}}},
	} {
		t.Run(name, func(t *testing.T) {
			tok := rules(t, file)
			for _, text := range []string{"", "a", "ab", strings.Repeat("a", 1000), strings.Repeat("ab ", 10_000)} {
				var all []int32
				wantAllocated(t, allowedFor(tok, text), func() { all = tok.cutText(text) })
				if len(all) > grownText(len(text)) {
					t.Errorf("a text of %d bytes becomes %d tokens", len(text), len(all))
				}
			}
		})
	}
}

// TestLongTextsEndEarly checks that the end of a long text does not count.
func TestLongTextsEndEarly(t *testing.T) {
	tok := rules(t, object{"pre_tokenizer": object{"type": "WhitespaceSplit"}, "model": smallModel})
	if got := len(tok.cutText(strings.Repeat("a ", maxText))); got != maxText/2 {
		t.Errorf("%d tokens, want %d", got, maxText/2)
	}
}

// TestLimits checks the errors of files that are above a limit: each names the file and the
// field.
func TestLimits(t *testing.T) {
	long := strings.Repeat("x", maxInserted+1)
	lower := object{"type": "Lowercase"}
	pattern := object{"String": "a"}
	split := func(s string) object {
		return object{"type": "Split", "pattern": object{"Regex": s}, "behavior": "Removed"}
	}
	for name, c := range map[string]struct {
		file object
		want string
	}{
		"content":         {object{"normalizer": object{"type": "Replace", "pattern": pattern, "content": long}}, "normalizer: Replace: content: it is longer than 16 bytes"},
		"prepend":         {object{"normalizer": object{"type": "Prepend", "prepend": long}}, "normalizer: Prepend: prepend: it is longer than 16 bytes"},
		"replacement":     {object{"pre_tokenizer": object{"type": "Metaspace", "replacement": long}}, "pre_tokenizer: Metaspace: replacement: it is longer than 16 bytes"},
		"delimiter":       {object{"pre_tokenizer": object{"type": "CharDelimiterSplit", "delimiter": long}}, "pre_tokenizer: CharDelimiterSplit: delimiter: it is longer than 16 bytes"},
		"steps":           {object{"normalizer": object{"type": "Sequence", "normalizers": slices.Repeat([]any{lower}, maxSteps)}}, "normalizer: there are more than 64 normalizers and pre-tokenizers"},
		"elements":        {object{"normalizer": object{"type": "Sequence", "normalizers": slices.Repeat([]any{0}, 900_000)}}, "normalizer: it has more than 64 elements"},
		"splitters":       {object{"normalizer": growing(40), "pre_tokenizer": object{"type": "Sequence", "pretokenizers": slices.Repeat([]any{object{"type": "Whitespace"}}, 50)}}, "pre_tokenizer: there are more than 64"},
		"long rules":      {object{"normalizer": object{"type": "Precompiled", "precompiled_charsmap": strings.Repeat("A", maxRules)}}, "normalizer: it is longer than 2 MB"},
		"long expression": {object{"pre_tokenizer": split(strings.Repeat("a", maxPattern+1))}, "pre_tokenizer: the pre-tokenizer Split is not supported: its pattern is longer than 1024 bytes"},
		"long text":       {object{"normalizer": object{"type": "Replace", "pattern": object{"String": strings.Repeat("a", maxPattern+1)}}}, "normalizer: the normalizer Replace is not supported: its pattern is longer than 1024 bytes"},
		"instructions":    {object{"pre_tokenizer": split("(?:a|bc){900}")}, "pre_tokenizer: the pre-tokenizer Split is not supported: with its pattern, the regular expressions have more than 512 instructions"},
		"instructions of several": {object{"pre_tokenizer": object{"type": "Sequence", "pretokenizers": slices.Repeat([]any{split("(?:a|b|cd){30}")}, 10)}},
			"pre_tokenizer: the pre-tokenizer Split is not supported: with its pattern, the regular expressions have more than 512 instructions"},
		"prefix":           {object{"model": object{"type": "BPE", "continuing_subword_prefix": long, "vocab": numbered("a")}}, "model: continuing_subword_prefix: it is longer than 16 bytes"},
		"suffix":           {object{"model": object{"type": "BPE", "end_of_word_suffix": long, "vocab": numbered("a")}}, "model: end_of_word_suffix: it is longer than 16 bytes"},
		"long token":       {object{"model": object{"type": "WordPiece", "vocab": numbered(strings.Repeat("a", maxToken+1))}}, `is longer than 256 bytes`},
		"long scored":      {object{"model": object{"type": "Unigram", "vocab": [][2]any{{strings.Repeat("a", maxToken+1), 1}}}}, "model: vocab: the token"},
		"long pair":        {object{"model": object{"type": "Unigram", "vocab": []any{slices.Repeat([]any{0}, maxElement)}}}, "model: vocab: element 0 is longer than 8192 bytes"},
		"merges":           {object{"model": object{"type": "BPE", "vocab": numbered("a", "aa"), "merges": slices.Repeat([]any{"a a"}, 2*maxMerges+1)}}, "model: merges: it has more than 32 elements"},
		"long merge":       {object{"model": object{"type": "BPE", "vocab": numbered("a", "aa"), "merges": []any{slices.Repeat([]any{""}, maxElement)}}}, "model: merges: element 0 is longer than 8192 bytes"},
		"merges no array":  {object{"model": object{"type": "BPE", "vocab": numbered("a"), "merges": object{}}}, "model: merges: not a JSON array"},
		"long added":       {object{"added_tokens": []any{object{"id": 0, "content": strings.Repeat("a", maxToken+1)}}}, "added_tokens: the token"},
		"long added token": {object{"added_tokens": []any{object{"id": 0, "content": "a", "x": strings.Repeat("a", maxElement)}}}, "added_tokens: element 0 is longer than 8192 bytes"},
		"added work":       {object{"normalizer": object{"type": "Sequence", "normalizers": slices.Repeat([]any{object{"type": "NFC"}}, 60)}, "added_tokens": slices.Repeat([]any{object{"id": 0, "content": strings.Repeat("a", maxToken), "normalized": true}}, 3000)}, "added_tokens: there are too many tokens to normalize"},
	} {
		t.Run(name, func(t *testing.T) {
			file := object{"model": smallModel}
			for field, value := range c.file {
				file[field] = value
			}
			data, err := json.Marshal(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			writeModel(t, dir, data, table(300, "F32"))
			m, err := Open(vfs.OS{}, dir)
			if err == nil {
				_, err = m.Tokens()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), filepath.Join(dir, tokenizerName)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestManyTokens checks the number of tokens of a vocabulary.
func TestManyTokens(t *testing.T) {
	if _, err := readVocabulary([]byte(`{"a":0,"b":0}`), 2); err != nil {
		t.Error(err)
	}
	if _, err := readVocabulary([]byte(`{"a":0,"b":0,"c":0}`), 2); err == nil || err.Error() != "it has more than 2 tokens" {
		t.Errorf("%v, want an error", err)
	}
}

// TestLongTokenizer checks the length of the file.
func TestLongTokenizer(t *testing.T) {
	dir := t.TempDir()
	writeModel(t, dir, []byte("{}"), table(1, "F32"))
	if err := os.Truncate(filepath.Join(dir, tokenizerName), maxTokenizer+1); err != nil {
		t.Fatal(err)
	}
	m, err := Open(vfs.OS{}, dir)
	if err == nil {
		_, err = m.Tokens()
	}
	if err == nil || !strings.Contains(err.Error(), "tokenizer.json: it is longer than 64 MB") {
		t.Errorf("%v, want an error", err)
	}
}
