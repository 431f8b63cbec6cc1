package model2vec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"firn.dev"
)

// tokenizer splits texts into tokens, as described by a file tokenizer.json.
type tokenizer struct {
	normalizers []func(string) string
	splitters   []func([]string) []string
	model       interface {
		append(dst []int32, word string) []int32
	}
	// before are added tokens that are found in the text as it is, after those that are
	// found in the normalized text.
	before, after *added
	// ignored is the token of unknown words, which is left out; none if it is not.
	ignored int32
	// count is the number of tokens: the highest number and one.
	count int
}

// tokenizerFile is what a file describes.
type tokenizerFile struct {
	Added      json.RawMessage `json:"added_tokens"`
	Normalizer json.RawMessage `json:"normalizer"`
	Splitter   json.RawMessage `json:"pre_tokenizer"`
	Model      json.RawMessage `json:"model"`
}

// modelFile is the part of a file with the vocabulary.
type modelFile struct {
	Type         string          `json:"type"`
	Vocab        json.RawMessage `json:"vocab"`
	Merges       json.RawMessage `json:"merges"`
	Unknown      *string         `json:"unk_token"`
	UnknownID    *int64          `json:"unk_id"`
	Prefix       *string         `json:"continuing_subword_prefix"`
	Suffix       *string         `json:"end_of_word_suffix"`
	Most         *int            `json:"max_input_chars_per_word"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	Fuse         bool            `json:"fuse_unk"`
}

// parseTokenizer reads a file tokenizer.json.
func parseTokenizer(data []byte) (*tokenizer, error) {
	var file tokenizerFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	b := &builder{field: "normalizer"}
	b.addNormalizer(file.Normalizer)
	b.field = "pre_tokenizer"
	b.addSplitter(file.Splitter)
	if b.err != nil {
		return nil, b.err
	}
	t := &tokenizer{ignored: none, normalizers: b.normalizers, splitters: b.splitters}
	if err := t.setModel(file.Model); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if err := t.setAdded(file.Added, 1+len(b.normalizers)+maxReads*b.instructions); err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	return t, nil
}

// setModel sets the model that splits words.
func (t *tokenizer) setModel(data json.RawMessage) error {
	var m modelFile
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	for _, one := range []struct {
		name string
		text *string
	}{{"continuing_subword_prefix", m.Prefix}, {"end_of_word_suffix", m.Suffix}} {
		if one.text != nil && len(*one.text) > maxInserted {
			return fmt.Errorf("%s: it is longer than %d bytes", one.name, maxInserted)
		}
	}
	kind := m.Type
	if kind == "" { // files of old versions
		kind = m.guess()
	}
	switch kind {
	case "WordPiece":
		return t.setWordPiece(&m)
	case "Unigram":
		return t.setUnigram(&m)
	case "BPE":
		return t.setBytePair(&m)
	}
	return fmt.Errorf("the type %.40q is not supported; WordPiece, Unigram and BPE are", m.Type)
}

func (m *modelFile) guess() string {
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(m.Vocab), []byte("[")):
		return "Unigram"
	case len(m.Merges) > 0 && string(m.Merges) != "null":
		return "BPE"
	}
	return "WordPiece"
}

// vocabulary reads the vocabulary of WordPiece and BPE: the number of each token.
func (t *tokenizer) vocabulary(m *modelFile) (map[string]int32, error) {
	ids, err := readVocabulary(m.Vocab, maxTokens)
	if err != nil {
		return nil, fmt.Errorf("vocab: %w", err)
	}
	for _, id := range ids {
		t.count = max(t.count, int(id)+1)
	}
	if m.Unknown != nil {
		id, ok := ids[*m.Unknown]
		if !ok {
			return nil, fmt.Errorf("the unknown token %.60q is not in the vocabulary", *m.Unknown)
		}
		t.ignored = id
	}
	return ids, nil
}

// readVocabulary reads a JSON object of at most most tokens and their numbers. It reads them
// one by one, since there are tens of thousands.
func readVocabulary(data []byte, most int) (map[string]int32, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	ids := make(map[string]int32, min(len(data)/16, most))
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		text, _ := token.(string)
		value, err := d.Token()
		if err != nil {
			return nil, err
		}
		id, ok := value.(float64)
		if !ok || id < 0 || id >= maxTokens || id != math.Trunc(id) {
			return nil, fmt.Errorf("token %.60q has the number %v", text, value)
		}
		if _, ok := ids[text]; ok {
			return nil, fmt.Errorf("the token %.60q occurs twice", text)
		}
		if len(ids) == most {
			return nil, fmt.Errorf("it has more than %d tokens", most)
		}
		ids[text] = int32(id)
	}
	_, err := d.Token()
	return ids, err
}

func (t *tokenizer) setWordPiece(m *modelFile) error {
	ids, err := t.vocabulary(m)
	if err != nil {
		return err
	}
	w := &wordPiece{starts: newLexicon(len(ids)), rest: newLexicon(len(ids) / 4), unknown: t.ignored, most: 100}
	if m.Most != nil {
		w.most = max(*m.Most, 0)
	}
	prefix := "##"
	if m.Prefix != nil {
		prefix = *m.Prefix
	}
	for text, id := range ids {
		if err := checkToken(text); err != nil {
			return fmt.Errorf("vocab: %w", err)
		}
		w.starts.add(text, id)
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			w.rest.add(rest, id)
		}
	}
	w.starts.prepare()
	w.rest.prepare()
	t.model = w
	return nil
}

// checkToken checks the length of a token that is looked for at each place of a text.
func checkToken(text string) error {
	if len(text) > maxToken {
		return fmt.Errorf("the token %.60q is longer than %d bytes", text, maxToken)
	}
	return nil
}

func (t *tokenizer) setUnigram(m *modelFile) error {
	u := &unigram{lexicon: newLexicon(0), unknown: none, lowest: math.Inf(1)}
	err := eachElement(m.Vocab, maxTokens, maxElement, func(element json.RawMessage) error {
		var p scored
		if err := p.UnmarshalJSON(element); err != nil {
			return err
		}
		if _, ok := u.ids[p.text]; ok {
			return fmt.Errorf("the token %.60q occurs twice", p.text)
		}
		if err := checkToken(p.text); err != nil {
			return err
		}
		u.add(p.text, int32(len(u.scores)))
		u.scores = append(u.scores, p.score)
		u.lowest = min(u.lowest, p.score)
		return nil
	})
	if err == nil && len(u.scores) == 0 {
		err = errors.New("it has 0 tokens")
	}
	if err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	u.prepare()
	if m.UnknownID != nil {
		if *m.UnknownID < 0 || *m.UnknownID >= int64(len(u.scores)) {
			return fmt.Errorf("the unknown token %d is not in the vocabulary", *m.UnknownID)
		}
		u.unknown = int32(*m.UnknownID)
	}
	if m.ByteFallback {
		u.bytes = byteTokens(u.ids)
	}
	t.count, t.model = len(u.scores), u
	return nil
}

// scored is a token of a Unigram vocabulary, with its score: a JSON array of both.
type scored struct {
	text  string
	score float64
}

// UnmarshalJSON reads a token.
func (s *scored) UnmarshalJSON(data []byte) error {
	both := [2]any{&s.text, &s.score}
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil || len(parts) != 2 {
		return errors.New("a token is not an array of a text and a score")
	}
	for i, part := range parts {
		if err := json.Unmarshal(part, both[i]); err != nil {
			return err
		}
	}
	return nil
}

// byteTokens returns the tokens of bytes, as <0x0A>; nil if one is missing.
func byteTokens(ids map[string]int32) *[256]int32 {
	var all [256]int32
	for i := range all {
		id, ok := ids[fmt.Sprintf("<0x%02X>", i)]
		if !ok {
			return nil
		}
		all[i] = id
	}
	return &all
}

func (t *tokenizer) setBytePair(m *modelFile) error {
	ids, err := t.vocabulary(m)
	if err != nil {
		return err
	}
	b := &bytePair{ids: ids, merges: make(map[[2]int32]merge), unknown: t.ignored, whole: m.IgnoreMerges, fuse: m.Fuse}
	if m.Prefix != nil {
		b.prefix = *m.Prefix
	}
	if m.Suffix != nil {
		b.suffix = *m.Suffix
	}
	if m.ByteFallback {
		b.bytes = byteTokens(ids)
	}
	t.model = b
	if len(m.Merges) == 0 || string(m.Merges) == "null" {
		return nil
	}
	rank := int32(-1)
	err = eachElement(m.Merges, min(maxMerges*len(ids), maxTokens), maxElement, func(element json.RawMessage) error {
		rank++
		if err := b.addMerge(element, rank); err != nil {
			return fmt.Errorf("merge %d: %w", rank, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("merges: %w", err)
	}
	return nil
}

// addMerge adds a merge, unless one of the same pair was learned earlier.
func (b *bytePair) addMerge(data json.RawMessage, rank int32) error {
	texts, err := mergePair(data)
	if err != nil {
		return err
	}
	left, ok1 := b.ids[texts[0]]
	right, ok2 := b.ids[texts[1]]
	joined, ok3 := b.ids[texts[0]+strings.TrimPrefix(texts[1], b.prefix)]
	if !ok1 || !ok2 || !ok3 {
		return fmt.Errorf("%.60q is not in the vocabulary", texts)
	}
	pair := [2]int32{left, right}
	if _, ok := b.merges[pair]; !ok {
		b.merges[pair] = merge{rank, joined}
	}
	return nil
}

// mergePair reads a merge: an array of two tokens, or in old files a text of both.
func mergePair(data json.RawMessage) (pair [2]string, err error) {
	var text string
	if json.Unmarshal(data, &text) == nil {
		left, right, ok := strings.Cut(text, " ")
		if !ok || strings.Contains(right, " ") {
			return pair, fmt.Errorf("%.60q is not a pair", text)
		}
		return [2]string{left, right}, nil
	}
	var both []string
	if err := json.Unmarshal(data, &both); err != nil || len(both) != 2 {
		return pair, errors.New("it is not a pair")
	}
	return [2]string{both[0], both[1]}, nil
}

// addedToken is a token that is found before a text is split into words.
type addedToken struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LeftStrip  bool   `json:"lstrip"`
	RightStrip bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
}

// added are added tokens, by their number in all.
type added struct {
	*lexicon
	all []addedToken
}

// setAdded sets the added tokens. work is that of normalizing a byte.
func (t *tokenizer) setAdded(data json.RawMessage, work int) error {
	t.before, t.after = &added{lexicon: newLexicon(0)}, &added{lexicon: newLexicon(0)}
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	total := 0
	err := eachElement(data, maxTokens, maxElement, func(element json.RawMessage) error {
		var a addedToken
		if err := json.Unmarshal(element, &a); err != nil {
			return err
		}
		if a.ID < 0 || a.ID >= maxTokens {
			return fmt.Errorf("token %.60q has the number %d", a.Content, a.ID)
		}
		if err := checkToken(a.Content); err != nil {
			return err
		}
		t.count = max(t.count, int(a.ID)+1)
		if !a.Normalized {
			t.before.append(a.Content, a)
			return nil
		}
		text, longest := t.normalize(a.Content)
		if total += work * longest; total > maxAddedWork {
			return errors.New("there are too many tokens to normalize, for such a normalizer")
		}
		t.after.append(firn.CutText(text, maxToken), a)
		return nil
	})
	t.before.prepare()
	t.after.prepare()
	return err
}

// append adds a token that is found as a text.
func (a *added) append(text string, token addedToken) {
	a.add(text, int32(len(a.all)))
	a.all = append(a.all, token)
}

// next returns the place of the first added token in a text, with the spaces that it takes.
func (a *added) next(text string) (from, to int, id int32, ok bool) {
	if len(a.ids) == 0 {
		return 0, 0, 0, false
	}
	for i := range len(text) {
		n, k, ok := a.longest(text[i:])
		if !ok || a.all[k].SingleWord && !aloneAt(text, i, i+n) {
			continue
		}
		from, to = i, i+n
		if a.all[k].LeftStrip {
			from = len(strings.TrimRightFunc(text[:i], unicode.IsSpace))
		}
		if a.all[k].RightStrip {
			to = len(text) - len(strings.TrimLeftFunc(text[to:], unicode.IsSpace))
		}
		return from, to, int32(a.all[k].ID), true
	}
	return 0, 0, 0, false
}

// aloneAt reports whether no word continues at the ends of a part of a text.
func aloneAt(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return !isWordRune(before) && !isWordRune(after)
}

// tokens returns the numbers of the tokens of a text, at most most.
func (t *tokenizer) tokens(text string, most int) []int32 {
	all := t.cutText(text)
	all = slices.DeleteFunc(all, func(id int32) bool { return id == none || id == t.ignored })
	return all[:min(len(all), most)]
}
