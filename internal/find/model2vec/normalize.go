package model2vec

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// builder builds the steps that a file describes, and keeps the first error.
type builder struct {
	err error
	// field is the field that is read.
	field       string
	normalizers []func(string) string
	splitters   []func([]string) []string
	// steps is the number of steps, depth that of the sequences around the next one.
	steps, depth int
	// instructions is the number of instructions of all regular expressions.
	instructions int
}

// component is a step of a file: a normalizer or a splitter.
type component struct {
	Type         string   `json:"type"`
	Normalizers  stepList `json:"normalizers"`
	Splitters    stepList `json:"pretokenizers"`
	CleanText    *bool    `json:"clean_text"`
	Chinese      *bool    `json:"handle_chinese_chars"`
	StripAccents *bool    `json:"strip_accents"`
	Lowercase    *bool    `json:"lowercase"`
	Left         *bool    `json:"strip_left"`
	Right        *bool    `json:"strip_right"`
	Pattern      *matcher `json:"pattern"`
	Content      string   `json:"content"`
	Prepend      string   `json:"prepend"`
	Charsmap     string   `json:"precompiled_charsmap"`
	Replacement  string   `json:"replacement"`
	Scheme       string   `json:"prepend_scheme"`
	PrefixSpace  *bool    `json:"add_prefix_space"`
	Split        *bool    `json:"split"`
	UseRegex     *bool    `json:"use_regex"`
	Behavior     string   `json:"behavior"`
	Invert       bool     `json:"invert"`
	Individual   bool     `json:"individual_digits"`
	Delimiter    string   `json:"delimiter"`
}

// component reads a step; nil if there is none or it cannot be used.
func (b *builder) component(data json.RawMessage) *component {
	if b.err != nil || len(data) == 0 || string(data) == "null" {
		return nil
	}
	if len(data) > maxRules {
		b.fail("it is longer than %d MB", maxRules>>20)
		return nil
	}
	if b.depth > maxDepth {
		b.fail("sequences are nested in more than %d others", maxDepth)
		return nil
	}
	if b.steps++; b.steps > maxSteps {
		b.fail("there are more than %d normalizers and pre-tokenizers", maxSteps)
		return nil
	}
	c := &component{}
	if err := json.Unmarshal(data, c); err != nil {
		b.fail("%w", err)
		return nil
	}
	for _, one := range [][2]string{{"content", c.Content}, {"prepend", c.Prepend}, {"replacement", c.Replacement}, {"delimiter", c.Delimiter}} {
		if len(one[1]) > maxInserted {
			b.fail("%.40s: %s: it is longer than %d bytes", c.Type, one[0], maxInserted)
			return nil
		}
	}
	return c
}

func (b *builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("%s: %w", b.field, fmt.Errorf(format, args...))
	}
}

// is returns an optional setting.
func is(value *bool, usual bool) bool {
	if value == nil {
		return usual
	}
	return *value
}

func unchanged(text string) string { return text }

// addNormalizer adds the steps of a normalizer. Texts are assumed to be composed, so NFC
// and NFKC change nothing; NFD matters only with StripAccents, which composes itself.
func (b *builder) addNormalizer(data json.RawMessage) {
	c := b.component(data)
	if c == nil {
		return
	}
	if c.Type == "Sequence" {
		b.depth++
		for _, one := range c.Normalizers {
			b.addNormalizer(one)
		}
		b.depth--
		return
	}
	b.normalizers = append(b.normalizers, b.normalizer(c))
}

// normalizer returns the function of a normalizer that is no sequence.
func (b *builder) normalizer(c *component) func(string) string {
	switch c.Type {
	case "BertNormalizer":
		return c.bert()
	case "Lowercase":
		return strings.ToLower
	case "StripAccents":
		return stripAccents
	case "Strip":
		return c.strip()
	case "Prepend":
		return func(text string) string {
			if text == "" {
				return text
			}
			return c.Prepend + text
		}
	case "Replace":
		return b.replace(c)
	case "Precompiled":
		return b.precompiled(c)
	case "NFC", "NFD", "NFKC", "NFKD":
		return unchanged
	}
	b.fail("the normalizer %.40q is not supported", c.Type)
	return unchanged
}

// replace returns the normalizer that replaces a pattern by a text.
func (b *builder) replace(c *component) func(string) string {
	p, err := b.finder(c.Pattern)
	if err != nil {
		b.fail("the normalizer Replace is not supported: %w", err)
		return unchanged
	}
	return func(text string) string { return p.replace(text, c.Content) }
}

func (c *component) strip() func(string) string {
	return func(text string) string {
		if is(c.Left, true) {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
		if is(c.Right, true) {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		return text
	}
}

// bert returns the normalizer of BERT.
func (c *component) bert() func(string) string {
	clean, chinese, lower := is(c.CleanText, true), is(c.Chinese, true), is(c.Lowercase, true)
	accents := is(c.StripAccents, lower)
	return func(text string) string {
		all := make([]rune, 0, len(text)+8)
		for _, r := range text {
			if clean {
				switch {
				case unicode.IsSpace(r):
					r = ' '
				case r == 0 || r == unicode.ReplacementChar || unicode.In(r, unicode.Other):
					continue
				}
			}
			switch {
			case chinese && isChinese(r):
				all = append(all, ' ', r, ' ')
			case accents && unicode.Is(unicode.Mn, r):
			case accents:
				all = appendPlain(all, r)
			default:
				all = append(all, r)
			}
		}
		if text = string(all); lower {
			text = strings.ToLower(text)
		}
		return text
	}
}

// isChinese reports whether a character is a word of its own.
func isChinese(r rune) bool {
	for _, block := range [...][2]rune{{0x4e00, 0x9fff}, {0x3400, 0x4dbf}, {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff}, {0x2f800, 0x2fa1f}} {
		if r >= block[0] && r <= block[1] {
			return true
		}
	}
	return false
}

func stripAccents(text string) string {
	all := make([]rune, 0, len(text))
	for _, r := range text {
		if !unicode.Is(unicode.Mn, r) {
			all = appendPlain(all, r)
		}
	}
	return string(all)
}

// precompiled returns the normalizer of a compiled table of SentencePiece.
func (b *builder) precompiled(c *component) func(string) string {
	data, err := base64.StdEncoding.DecodeString(c.Charsmap)
	if err == nil && len(data) == 0 {
		return unchanged
	}
	var m *charsmap
	if err == nil {
		m, err = parseCharsmap(data)
	}
	if err != nil {
		b.fail("the normalizer Precompiled: %w", err)
		return unchanged
	}
	return m.normalize
}
