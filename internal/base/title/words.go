package title

import (
	"strings"
	"sync"
)

// isStop reports whether a word carries no meaning of its own in a title.
func isStop(word string) bool {
	low := strings.ToLower(strings.ReplaceAll(word, "’", "'"))
	if stops()[low] {
		return true
	}
	// French elisions: l'erreur is a word, qu'est-ce is not.
	return strings.HasPrefix(low, "qu'") || strings.HasPrefix(low, "est-ce") || strings.HasPrefix(low, "peux-tu") || strings.HasPrefix(low, "pouvez-vous")
}

// stops holds the stop words and the words of polite phrases. Words that are significant in
// one of the languages are left out, such as the German "die" in English: in titles of
// programs that is rare enough.
var stops = set(`
a about across actually after against along among around before behind below between beyond during each every few many most much per quite rather since such through toward towards until upon via while within without yet
about after again all also am an and any anyone are as at be because been being but by can could did do does doing done for from
get give going got had has have having he hello help her here hey hi him his how i i'd i'll i'm i've if in into is it it's its just kindly know let let's like
look make maybe me might mine more my need no not now of off ok okay on one only or our out over please really said say see she should show so some something sure take
tell than thank thanks that that's the their them then there these they thing this those to too trying under up us use using very want wanted was we we're well
were what what's when where where's which who who's why will wish with wonder wondering would you you're your yours there's here's

aber alle als also am an auf aus bei bin bitte bräuchte brauche da damit danke dann das dass dein deine dem den der des dich die dies diese diesem diesen dieser dir
doch du ein eine einem einen einer eines er es etwas für gern gerne guten hab habe haben hallo hast hat ich ihm ihn ihr im in ist ja kann kannst können könnte
könntest könnten ihnen mal man mein meine meinem meinen meiner mich mir mit möchte möchten morgen tag abend nach nicht noch nun nur ob oder sag sagen sein seine sich sie sind
so soll über um und uns unter vom von vor war warum was welche welcher welches wenn wer werden wie wieso will wir wird wo wollen wurde würde würdest zu zum zur zwischen

à ai aide aider aimerais ainsi au aux avec avoir bonjour bonsoir ça ce ceci cela ces cet cette comment dans de des donc du elle elles en est et être
fais faire il ils j'ai j'aimerais je l la le les leur lui ma mais me merci mes moi mon ne nous on ou où par pas peut peux plaît plait plus pour pourquoi
pourrais pourriez pouvez pouvoir qu que quel quelle quelles quels qui s'il sa salut se ses si son sont stp sur svp ta te tes toi ton tu un une veux voudrais vous vouloir y c'est d'accord dire dis

al algo ante antes así ayuda ayudar ayúdame buenas buenos días tardes como cómo con cual cuál cuáles cuando cuándo de del desde donde dónde el ella ellos en
entre era es esa ese eso esta está estas este esto estos favor fue gracias ha hacer hay hola la las le les lo los me mi mis muy necesito no nos o
para pero poder podría podrías por porque porfavor puede puedes puedo que qué quien quién quiero quisiera se sea ser si sí sin sobre son soy su sus te tengo ti tu tú un una unos unas usted y ya yo dime dame
`)

// set returns a function that splits the words on its first call.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := make(map[string]bool)
		for w := range strings.FieldsSeq(words) {
			all[w] = true
		}
		return all
	})
}

// densePrefixes introduce a request in Chinese, Japanese and Korean. Longer ones first.
var densePrefixes = strings.Fields(`
你好 您好 请问一下 请问 請問 请你帮我 请帮我 請幫我 请帮忙 麻烦你帮我 麻烦帮我 麻烦你 麻烦 你能不能帮我 你能帮我 你可以帮我 能不能帮我 可以帮我 能帮我 可不可以 能不能 可以不可以 你能 你可以 帮我 幫我 帮忙 我想要 我想知道 我想 我需要 告诉我 请 請
こんにちは すみませんが すみません おはようございます どうか ちょっと ねえ
안녕하세요 안녕 저기요 혹시 제발 좀`)

// denseSuffixes end a request in these languages.
var denseSuffixes = strings.Fields(`
可以吗 好吗 行吗 吗 呢 嗎 谢谢 謝謝
をお願いします お願いします よろしくお願いします を教えてください 教えてください を教えて 教えて してください してくれますか してもらえますか してほしい ください ですか ますか でしょうか か ありがとう
해주세요 해줘 알려주세요 알려줘 주세요 줘 부탁해요 부탁합니다 인가요 입니까 나요`)

// polite holds the words that introduce a request.
var polite = set(`please can could would will you kindly hi hello hey ok okay so well just tell me
	bitte kannst könntest du mir hallo mal  bonjour salut peux-tu pouvez-vous s'il te vous plaît  hola por favor puedes podrías`)
