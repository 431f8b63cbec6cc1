package model2vec

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"firn.dev"
)

// builder builds the steps that a file describes, and keeps the first error.
type builder struct {
	err          error
	steps, depth int
}

// component is a step of a file: a normalizer or a splitter.
type component struct {
	Type         string            `json:"type"`
	Normalizers  []json.RawMessage `json:"normalizers"`
	Splitters    []json.RawMessage `json:"pretokenizers"`
	CleanText    *bool             `json:"clean_text"`
	Chinese      *bool             `json:"handle_chinese_chars"`
	StripAccents *bool             `json:"strip_accents"`
	Lowercase    *bool             `json:"lowercase"`
	Left         *bool             `json:"strip_left"`
	Right        *bool             `json:"strip_right"`
	Pattern      *matcher          `json:"pattern"`
	Content      string            `json:"content"`
	Prepend      string            `json:"prepend"`
	Charsmap     string            `json:"precompiled_charsmap"`
	Replacement  string            `json:"replacement"`
	Scheme       string            `json:"prepend_scheme"`
	PrefixSpace  *bool             `json:"add_prefix_space"`
	Split        *bool             `json:"split"`
	UseRegex     *bool             `json:"use_regex"`
	Behavior     string            `json:"behavior"`
	Invert       bool              `json:"invert"`
	Individual   bool              `json:"individual_digits"`
	Delimiter    string            `json:"delimiter"`
}

// matcher is a text or a regular expression.
type matcher struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// compile returns the regular expression of a matcher.
func (m *matcher) compile() (*regexp.Regexp, error) {
	switch {
	case m == nil:
		return nil, errors.New("it has no pattern")
	case m.String != nil:
		return regexp.Compile(regexp.QuoteMeta(*m.String))
	case m.Regex != nil:
		return regexp.Compile(*m.Regex)
	}
	return nil, errors.New("its pattern is neither a text nor a regular expression")
}

// component reads a step; nil if there is none or it cannot be used.
func (b *builder) component(data json.RawMessage) *component {
	if b.err != nil || len(data) == 0 || string(data) == "null" {
		return nil
	}
	if b.steps++; b.steps > maxSteps || b.depth > maxDepth {
		b.fail("it has more than %d steps, or they are nested in more than %d others", maxSteps, maxDepth)
		return nil
	}
	c := &component{}
	if err := json.Unmarshal(data, c); err != nil {
		b.fail("%w", err)
		return nil
	}
	return c
}

func (b *builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
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

// normalizer returns the function of a normalizer. Texts are assumed to be composed, so NFC
// and NFKC change nothing; NFD matters only with StripAccents, which composes itself.
func (b *builder) normalizer(data json.RawMessage) func(string) string {
	c := b.component(data)
	if c == nil {
		return unchanged
	}
	switch c.Type {
	case "Sequence":
		var all []func(string) string
		b.depth++
		for _, one := range c.Normalizers {
			all = append(all, b.normalizer(one))
		}
		b.depth--
		return func(text string) string {
			for _, f := range all {
				text = firn.CutText(f(text), maxGrown)
			}
			return text
		}
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

// maxGrown is the length that a text may reach when it is normalized.
const maxGrown = 64 << 10

func (b *builder) replace(c *component) func(string) string {
	if c.Pattern != nil && c.Pattern.String != nil && *c.Pattern.String != "" {
		old := *c.Pattern.String
		return func(text string) string {
			if n := strings.Count(text, old); n == 0 || len(text)+n*len(c.Content) > maxGrown {
				return text
			}
			return strings.ReplaceAll(text, old, c.Content)
		}
	}
	pattern, err := c.Pattern.compile()
	if err != nil {
		b.fail("the normalizer Replace is not supported: %w", err)
		return unchanged
	}
	return func(text string) string {
		if (len(text)+1)*len(c.Content)+len(text) > 1000*maxGrown {
			return text
		}
		return firn.CutText(pattern.ReplaceAllLiteralString(text, c.Content), maxGrown)
	}
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
