package model2vec

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/find/model2vec/modeltest"
)

type object = map[string]any

// rules returns a tokenizer.
func rules(t *testing.T, members object) *tokenizer {
	t.Helper()
	data, err := modeltest.Rules(members)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := parseTokenizer(data)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// numbered returns a vocabulary in the order of the tokens.
func numbered(tokens ...string) object {
	vocab := make(object)
	for i, token := range tokens {
		vocab[token] = i
	}
	return vocab
}

// texts returns the tokens of a text, by a vocabulary in their order.
func texts(tok *tokenizer, text string, tokens []string) []string {
	var all []string
	for _, id := range tok.tokens(text, maxTextTokens) {
		all = append(all, tokens[id])
	}
	return all
}

func wantTokens(t *testing.T, tok *tokenizer, tokens []string, text, want string) {
	t.Helper()
	if got := strings.Join(texts(tok, text, tokens), " "); got != want {
		t.Errorf("%q becomes %q, want %q", text, got, want)
	}
}

// TestWordPiece splits texts by the rules of BERT.
func TestWordPiece(t *testing.T) {
	tokens := []string{"[UNK]", "[PAD]", "un", "##believ", "##able", "the", "cafe", "!", "東", "京", "don", "'", "t", "##e", "ᄒ", "##ᅡ", "##ᆫ", "new york"}
	tok := rules(t, object{
		"added_tokens":  []any{object{"id": 1, "content": "[PAD]", "special": true}, object{"id": 17, "content": "New York", "normalized": true, "single_word": true}},
		"normalizer":    object{"type": "BertNormalizer", "lowercase": true},
		"pre_tokenizer": object{"type": "BertPreTokenizer"},
		"model":         object{"type": "WordPiece", "unk_token": "[UNK]", "vocab": numbered(tokens...)},
	})
	for text, want := range map[string]string{
		"The UNBELIEVABLE café!":   "the un ##believ ##able cafe !",
		"東京 don't":                 "東 京 don ' t",
		"cafe\u0301 xyz":           "cafe",
		"the[PAD]the":              "the [PAD] the",
		"한":                        "ᄒ ##ᅡ ##ᆫ",
		"the\u200b\ufffd\x00\tthe": "the the",
		"NEW YORK the new yorker":  "new york the",
		strings.Repeat("e", 101):   "",
		"":                         "",
	} {
		wantTokens(t, tok, tokens, text, want)
	}
}

// TestUnigram splits texts by scores, with the mark of SentencePiece.
func TestUnigram(t *testing.T) {
	tokens := []string{"<unk>", "▁", "▁he", "llo", "▁hello", "h", "e", "l", "o", "▁w", "orld"}
	scores := []float64{0, -3, -4, -4, -5, -6, -6, -6, -6, -4, -4}
	var vocab [][2]any
	for i, token := range tokens {
		vocab = append(vocab, [2]any{token, scores[i]})
	}
	for _, split := range []bool{true, false} {
		tok := rules(t, object{
			"normalizer":    object{"type": "Sequence", "normalizers": []any{object{"type": "Replace", "pattern": object{"Regex": `\s+`}, "content": " "}, object{"type": "Strip", "strip_left": true, "strip_right": true}, object{"type": "Lowercase"}}},
			"pre_tokenizer": object{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": split},
			"model":         object{"type": "Unigram", "unk_id": 0, "vocab": vocab},
		})
		for text, want := range map[string]string{
			"  Hello \n world ": "▁hello ▁w orld",
			"hellohe":           "▁hello h e",
			"hello日本 world":     "▁hello <unk> ▁w orld",
			"日":                 "▁ <unk>",
		} {
			wantTokens(t, tok, tokens, text, want)
		}
	}
}

// TestBytes splits unknown characters into bytes.
func TestBytes(t *testing.T) {
	tokens := []string{"<unk>", "a"}
	vocab := [][2]any{{"<unk>", 0.0}, {"a", -1.0}}
	for i := range 256 {
		tokens = append(tokens, fmt.Sprintf("<0x%02X>", i))
		vocab = append(vocab, [2]any{tokens[len(tokens)-1], -1.0})
	}
	wantTokens(t, rules(t, object{"model": object{"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": vocab}}), tokens, "aé", "a <0xC3> <0xA9>")
	wantTokens(t, rules(t, object{"model": object{"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "merges": []any{}, "vocab": numbered(tokens...)}}), tokens, "aé", "a <0xC3> <0xA9>")
}

// TestBytePair splits texts by merges, with bytes as characters.
func TestBytePair(t *testing.T) {
	tokens := []string{"h", "e", "l", "o", "Ġ", "w", "r", "d", "he", "ll", "hell", "hello", "Ġw", "Ġhe", "Ã", "©", "'s", "1"}
	for _, merges := range []any{
		[]any{"h e", "l l", "he ll", "hell o", "Ġ w", "Ġ he"},
		[]any{[]any{"h", "e"}, []any{"l", "l"}, []any{"he", "ll"}, []any{"hell", "o"}, []any{"Ġ", "w"}, []any{"Ġ", "he"}},
	} {
		tok := rules(t, object{
			"normalizer":    object{"type": "NFC"},
			"pre_tokenizer": object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
			"model":         object{"type": "BPE", "vocab": numbered(tokens...), "merges": merges},
		})
		for text, want := range map[string]string{
			"hello world": "hello Ġw o r l d",
			"hello   he":  "hello Ġ Ġ Ġhe",
			"é":           "Ã ©",
			"he1  ":       "he 1 Ġ Ġ",
		} {
			wantTokens(t, tok, tokens, text, want)
		}
	}
	whole := rules(t, object{"model": object{"type": "BPE", "ignore_merges": true, "unk_token": "?", "fuse_unk": true, "vocab": numbered("?", "ab", "a"), "merges": []any{}}})
	wantTokens(t, whole, []string{"?", "ab", "a"}, "ab", "ab")
	wantTokens(t, whole, []string{"?", "ab", "a"}, "axx", "a")
}

// TestSplitters checks the other pre-tokenizers.
func TestSplitters(t *testing.T) {
	pattern := func(s string) object { return object{"String": s} }
	for _, c := range []struct {
		splitter object
		text     string
		want     []string
	}{
		{object{"type": "Whitespace"}, "it's a-b  c_d", []string{"it", "'", "s", "a", "-", "b", "c_d"}},
		{object{"type": "WhitespaceSplit"}, " a\tb-c ", []string{"a", "b-c"}},
		{object{"type": "Punctuation", "behavior": "Isolated"}, "a,b", []string{"a", ",", "b"}},
		{object{"type": "Digits", "individual_digits": true}, "a12", []string{"a", "1", "2"}},
		{object{"type": "Digits", "individual_digits": false}, "a12b", []string{"a", "12", "b"}},
		{object{"type": "CharDelimiterSplit", "delimiter": "-"}, "a-b", []string{"a", "b"}},
		{object{"type": "Split", "pattern": pattern("x"), "behavior": "Removed"}, "axb", []string{"a", "b"}},
		{object{"type": "Split", "pattern": pattern("x"), "behavior": "MergedWithPrevious"}, "axb", []string{"ax", "b"}},
		{object{"type": "Split", "pattern": pattern("x"), "behavior": "MergedWithNext"}, "axb", []string{"a", "xb"}},
		{object{"type": "Split", "pattern": pattern("x"), "behavior": "Isolated"}, "axb", []string{"a", "x", "b"}},
		{object{"type": "Split", "pattern": object{"Regex": "[a-z]+"}, "behavior": "Removed", "invert": true}, "ab-cd", []string{"ab", "cd"}},
		{object{"type": "Sequence", "pretokenizers": []any{object{"type": "WhitespaceSplit"}, object{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}}}, "a b", []string{"▁a", "b"}},
		{object{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"}, "a  b", []string{"a", "▁", "▁b"}},
	} {
		tok := rules(t, object{"pre_tokenizer": c.splitter, "model": object{"type": "WordPiece", "vocab": object{}}})
		if got, _ := tok.split(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.splitter, got, c.want)
		}
	}
}

// charsTable returns a compiled table that maps the letter x to y.
func charsTable() []byte {
	units := make([]uint32, 256)
	units[0] = 1 << 10         // the children of the root are from 1 on
	units[1^'x'] = 'x' | 1<<8  // x is a key
	units[1^'x'] |= 200 << 10  // its value
	units[1^'x'^200] = 1 << 31 // is the text at 0
	data := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		data = binary.LittleEndian.AppendUint32(data, u)
	}
	return append(data, "y\x00"...)
}

// TestCharsmap normalizes a text by a compiled table.
func TestCharsmap(t *testing.T) {
	m, err := parseCharsmap(charsTable())
	if err != nil {
		t.Fatal(err)
	}
	if got := m.normalize("axbx\u0301é"); got != "ayby\u0301é" && got != "aybyé" {
		t.Errorf("got %q", got)
	}
	for _, data := range [][]byte{nil, {1, 0, 0, 0, 5}, {0, 0, 0, 0}, {255, 255, 255, 255}} {
		if _, err := parseCharsmap(data); err == nil {
			t.Errorf("%v is accepted", data)
		}
	}
}

// TestWrongTokenizers checks the errors of files that are not supported.
func TestWrongTokenizers(t *testing.T) {
	model := `"model":{"type":"WordPiece","vocab":{"a":0}}`
	for file, want := range map[string]string{
		`[]`: "cannot unmarshal",
		`{}`: "model",
		`{"normalizer":{"type":"Nmt"},` + model + `}`:                                                                                  `normalizer "Nmt" is not supported`,
		`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"},` + model + `}`:                                            "too short",
		`{"normalizer":{"type":"Replace","pattern":{"Regex":"a(?!b)"}},` + model + `}`:                                                 "Replace is not supported",
		`{"normalizer":{"type":"Replace"},` + model + `}`:                                                                              "no pattern",
		`{"pre_tokenizer":{"type":"UnicodeScripts"},` + model + `}`:                                                                    `"UnicodeScripts" is not supported`,
		`{"pre_tokenizer":{"type":"Split","pattern":{}},` + model + `}`:                                                                "neither a text",
		`{"model":{"type":"WordPiece","vocab":{"a":0,"a":1}}}`:                                                                         `"a" occurs twice`,
		`{"model":{"type":"WordPiece","vocab":{"a":-1}}}`:                                                                              `"a" has the number -1`,
		`{"model":{"type":"WordPiece","vocab":{"a":4294967296}}}`:                                                                      "has the number",
		`{"model":{"type":"WordPiece","unk_token":"b","vocab":{"a":0}}}`:                                                               `"b" is not in the vocabulary`,
		`{"model":{"type":"Unigram","vocab":[]}}`:                                                                                      "0 tokens",
		`{"model":{"type":"Unigram","vocab":[["a",1],["a",2],["b",1]]}}`:                                                               "occurs twice",
		`{"model":{"type":"Unigram","vocab":[["a"]]}}`:                                                                                 "not an array",
		`{"model":{"type":"Unigram","unk_id":7,"vocab":[["a",1]]}}`:                                                                    "token 7 is not",
		`{"model":{"type":"BPE","vocab":{"a":0},"merges":["a a"]}}`:                                                                    "merge 0",
		`{"model":{"type":"BPE","vocab":{"a":0},"merges":[["a"]]}}`:                                                                    "not a pair",
		`{"added_tokens":[{"id":-1,"content":"a"}],` + model + `}`:                                                                     `"a" has the number -1`,
		`{"normalizer":` + strings.Repeat(`{"type":"Sequence","normalizers":[`, 3000) + strings.Repeat(`]}`, 3000) + `,` + model + `}`: "normalizer: sequences are nested in more than 10 others",
	} {
		if _, err := parseTokenizer([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %q", file, err, want)
		}
	}
}

// FuzzTokenizer checks that an accepted tokenizer splits any text into its own tokens, and
// that neither reading it nor using it takes more memory than allowed.
func FuzzTokenizer(f *testing.F) {
	add := func(members object, text string) {
		data, err := modeltest.Rules(members)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, text)
	}
	wordPiece := object{"type": "WordPiece", "unk_token": "?", "vocab": numbered("?", "a", "##b", "é")}
	add(object{"normalizer": object{"type": "BertNormalizer"}, "pre_tokenizer": object{"type": "BertPreTokenizer"}, "model": wordPiece}, "Ab é\xff")
	add(object{"normalizer": object{"type": "Precompiled", "precompiled_charsmap": base64.StdEncoding.EncodeToString(charsTable())}, "model": wordPiece}, "x\u0301")
	add(object{"pre_tokenizer": object{"type": "Metaspace", "replacement": "▁"}, "model": object{"type": "Unigram", "unk_id": 0, "vocab": [][2]any{{"?", 0}, {"▁a", -1}, {"b", -2}}}}, "a b日")
	add(object{"pre_tokenizer": object{"type": "ByteLevel"}, "model": object{"type": "BPE", "vocab": numbered("a", "b", "ab", "Ġ"), "merges": []any{"a b"}}}, "ab  ba")
	add(object{"added_tokens": []any{object{"id": 3, "content": "[X]", "lstrip": true, "rstrip": true}}, "normalizer": object{"type": "Replace", "pattern": object{"Regex": "b*"}, "content": "--"}, "model": wordPiece}, "a [X] b")
	add(object{"normalizer": growing(20), "pre_tokenizer": object{"type": "Metaspace", "replacement": strings.Repeat("x", maxInserted)}, "model": wordPiece}, "aa a")
	add(object{"pre_tokenizer": object{"type": "Split", "pattern": object{"Regex": "(?:.*b|.|^a$)"}, "behavior": "Isolated"}, "model": wordPiece}, strings.Repeat("a", 500))
	add(object{"model": object{"type": "BPE", "byte_fallback": true, "continuing_subword_prefix": strings.Repeat("#", maxInserted), "end_of_word_suffix": strings.Repeat("#", maxInserted), "vocab": byteVocabulary(), "merges": []any{}}}, "éé é")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if len(text) > 4000 {
			return
		}
		var tok *tokenizer
		var err error
		// Reading takes a few copies of the file, and normalizing added tokens.
		wantAllocated(t, 4<<20+400*len(data), func() { tok, err = parseTokenizer(data) })
		if err != nil {
			return
		}
		var all []int32
		wantAllocated(t, allowedFor(tok, text), func() { all = tok.cutText(text) })
		if len(all) > grownText(3*len(text)) {
			t.Errorf("a text of %d bytes becomes %d tokens", len(text), len(all))
		}
		for _, id := range tok.tokens(text, maxTextTokens) {
			if id < 0 || int(id) >= tok.count {
				t.Errorf("token %d of %d", id, tok.count)
			}
		}
	})
}

// FuzzCharsmap checks that every table ends, and does not make texts too long.
func FuzzCharsmap(f *testing.F) {
	f.Add(charsTable(), "axb")
	f.Add([]byte{4, 0, 0, 0, 255, 255, 255, 255}, "a")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		m, err := parseCharsmap(data)
		if err != nil {
			return
		}
		most := grownStep(len(text)) + maxMapped
		wantAllocated(t, 1<<20+600*len(text), func() {
			if got := m.normalize(text); len(got) > most {
				t.Errorf("a text of %d bytes becomes %d", len(text), len(got))
			}
		})
	})
}
