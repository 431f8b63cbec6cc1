package search

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Fold appends the letters and digits of a text to dst, without case and accents.
func Fold(dst []byte, text string) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			switch {
			case c >= 'A' && c <= 'Z':
				dst = append(dst, c+'a'-'A')
			case wordByte(c):
				dst = append(dst, c)
			case c == '\'' && possessive(text[i+1:]):
				return dst
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == '’' && possessive(text[i+size:]) {
			return dst
		}
		dst = foldRune(dst, r)
		i += size
	}
	return dst
}

// possessive reports whether the text after an apostrophe is a possessive s.
func possessive(rest string) bool { return rest == "s" || rest == "S" }

// foldRune folds a non-ASCII character.
func foldRune(dst []byte, r rune) []byte {
	if r >= 0xff01 && r <= 0xff5e { // full width forms of ASCII
		return Fold(dst, string(r-0xfee0))
	}
	if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
		if unicode.IsMark(r) && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Devanagari, unicode.Bengali, unicode.Tamil) {
			return utf8.AppendRune(dst, r) // vowels, not accents
		}
		return dst
	}
	r = unicode.ToLower(r)
	if plain, ok := plainLetters()[r]; ok {
		return append(dst, plain...)
	}
	return utf8.AppendRune(dst, r)
}

// plainLetters maps letters with accents and ligatures to plain letters.
var plainLetters = sync.OnceValue(func() map[rune]string {
	table := make(map[rune]string)
	for line := range strings.FieldsSeq(`
		a=àáâãäåāăąǎǟǡǻȁȃȧạảấầẩẫậắằẳẵặª ae=æǣǽ b=ḃḅ c=çćĉċč d=ďđḋḍð e=èéêëēĕėęěȅȇȩẹẻẽếềểễệ
		f=ḟƒ g=ĝğġģǧǵ h=ĥħḣḥ i=ìíîïĩīĭįıǐȉȋỉị ij=ĳ j=ĵǰ k=ķǩḱḳ l=ĺļľŀłḷ m=ḿṁṃ n=ñńņňŉŋǹṅṇ
		o=òóôõöøōŏőǒǫǭǿȍȏȫȭȯȱọỏốồổỗộơớờởỡợº oe=œ p=ṗ r=ŕŗřȑȓṙṛ s=śŝşšșṡṣſ ss=ßẞ t=ţťŧțṫṭ th=þ
		u=ùúûüũūŭůűųưǔǖǘǚǜȕȗụủứừửữự v=ṽṿ w=ŵẁẃẅẇẉ x=ẋẍ y=ýÿŷȳẏẙỳỵỷỹ z=źżžẑẓ
		α=ά ε=έ η=ή ι=ίϊΐ ο=ό υ=ύϋΰ ω=ώ σ=ς е=ёѐ и=ѝ fi=ﬁ fl=ﬂ ff=ﬀ`) {
		plain, letters, _ := strings.Cut(line, "=")
		for _, r := range letters {
			table[r] = plain
		}
	}
	return table
})
