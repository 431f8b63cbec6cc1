package model2vec

import (
	"strings"
	"sync"
)

// accented lists base letters, each followed by its accented forms. It is Unicode's canonical
// decomposition (NFD) without the combining marks.
const accented = `
AÀÁÂÃÄÅĀĂĄǍǞǠǺȀȂȦḀẠẢẤẦẨẪẬẮẰẲẴẶÅ CÇĆĈĊČḈ EÈÉÊËĒĔĖĘĚȄȆȨḔḖḘḚḜẸẺẼẾỀỂỄỆ IÌÍÎÏĨĪĬĮİǏȈȊḬḮỈỊ NÑŃŅŇǸṄṆṈṊ
OÒÓÔÕÖŌŎŐƠǑǪǬȌȎȪȬȮȰṌṎṐṒỌỎỐỒỔỖỘỚỜỞỠỢ UÙÚÛÜŨŪŬŮŰŲƯǓǕǗǙǛȔȖṲṴṶṸṺỤỦỨỪỬỮỰ YÝŶŸȲẎỲỴỶỸ aàáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ
cçćĉċčḉ eèéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ iìíîïĩīĭįǐȉȋḭḯỉị nñńņňǹṅṇṉṋ oòóôõöōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ
uùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự yýÿŷȳẏẙỳỵỷỹ DĎḊḌḎḐḒ dďḋḍḏḑḓ GĜĞĠĢǦǴḠ gĝğġģǧǵḡ HĤȞḢḤḦḨḪ hĥȟḣḥḧḩḫẖ JĴ jĵǰ KĶǨḰḲḴK
kķǩḱḳḵ LĹĻĽḶḸḺḼ lĺļľḷḹḻḽ RŔŖŘȐȒṘṚṜṞ rŕŗřȑȓṙṛṝṟ SŚŜŞŠȘṠṢṤṦṨ sśŝşšșṡṣṥṧṩ TŢŤȚṪṬṮṰ tţťțṫṭṯṱẗ WŴẀẂẄẆẈ wŵẁẃẅẇẉẘ
ZŹŻŽẐẒẔ zźżžẑẓẕ ÆǢǼ æǣǽ ƷǮ ʒǯ ØǾ øǿ ʹʹ ΑΆἈἉἊἋἌἍἎἏᾈᾉᾊᾋᾌᾍᾎᾏᾸᾹᾺΆᾼ ΕΈἘἙἚἛἜἝῈΈ ΗΉἨἩἪἫἬἭἮἯᾘᾙᾚᾛᾜᾝᾞᾟῊΉῌ ΙΊΪἸἹἺἻἼἽἾἿῘῙῚΊ
ΟΌὈὉὊὋὌὍῸΌ ΥΎΫὙὛὝὟῨῩῪΎ ΩΏὨὩὪὫὬὭὮὯᾨᾩᾪᾫᾬᾭᾮᾯῺΏῼΩ ιΐίϊἰἱἲἳἴἵἶἷὶίιῐῑῒΐῖῗ αάἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ εέἐἑἒἓἔἕὲέ
ηήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ υΰϋύὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ οόὀὁὂὃὄὅὸό ωώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ ϒϓϔ ЕЀЁӖ ГЃ ІЇ КЌ ИЍЙӢӤ
УЎӮӰӲ ийѝӣӥ еѐёӗ гѓ ії кќ уўӯӱӳ ѴѶ ѵѷ ЖӁӜ жӂӝ АӐӒ аӑӓ ӘӚ әӛ ЗӞ зӟ ОӦ оӧ ӨӪ өӫ ЭӬ эӭ ЧӴ чӵ ЫӸ ыӹ اآأإ وؤ يئ ەۀ
ہۂ ےۓ नऩ रऱ ळऴ कक़ खख़ गग़ जज़ डड़ ढढ़ फफ़ यय़ ডড় ঢঢ় যয় ਲਲ਼ ਸਸ਼ ਖਖ਼ ਗਗ਼ ਜਜ਼ ਫਫ਼ ଡଡ଼ ଢଢ଼ གགྷ ཌཌྷ དདྷ བབྷ ཛཛྷ ཀཀྵ ဥဦ BḂḄḆ bḃḅḇ FḞ fḟ
MḾṀṂ mḿṁṃ PṔṖ pṕṗ VṼṾ vṽṿ XẊẌ xẋẍ ſẛ ρῤῥ ΡῬ かが きぎ くぐ けげ こご さざ しじ すず せぜ そぞ ただ ちぢ つづ てで とど はばぱ ひびぴ ふぶぷ へべぺ ほぼぽ うゔ
ゝゞ カガ キギ クグ ケゲ コゴ サザ シジ スズ セゼ ソゾ タダ チヂ ツヅ テデ トド ハバパ ヒビピ フブプ ヘベペ ホボポ ウヴ ワヷ ヰヸ ヱヹ ヲヺ ヽヾ ייִיּ ײײַ ששׁשׂשּׁשּׂשּ אאַאָאּ בבּבֿ גגּ
דדּ ההּ ווּוֹ זזּ טטּ ךךּ ככּכֿ ללּ ממּ ננּ ססּ ףףּ פפּפֿ צצּ קקּ ררּ תתּ 𑂙𑂚 𑂛𑂜 𑂥𑂫
`

// plainLetters maps letters with accents to those without.
var plainLetters = sync.OnceValue(func() map[rune]rune {
	table := make(map[rune]rune)
	for group := range strings.FieldsSeq(accented) {
		var plain rune
		for i, letter := range group {
			if i == 0 {
				plain = letter
			} else {
				table[letter] = plain
			}
		}
	}
	return table
})

// The composition of Hangul syllables of two or three letters, by Unicode's formula.
const (
	firstSyllable, lastSyllable = 0xac00, 0xd7a3
	leadingLetter               = 0x1100
	vowelLetter                 = 0x1161
	trailingLetter              = 0x11a7
	vowels, trailings           = 21, 28
)

// appendPlain appends a letter without accents. Hangul syllables become their letters, as
// in NFD.
func appendPlain(dst []rune, r rune) []rune {
	if r >= firstSyllable && r <= lastSyllable {
		k := r - firstSyllable
		dst = append(dst, leadingLetter+k/(vowels*trailings), vowelLetter+k/trailings%vowels)
		if t := k % trailings; t > 0 {
			dst = append(dst, trailingLetter+t)
		}
		return dst
	}
	if plain, ok := plainLetters()[r]; ok {
		r = plain
	}
	return append(dst, r)
}
