package title

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOf(t *testing.T) {
	for prompt, want := range map[string]string{
		"Can you please help me to fix the flaky lock test in the wal package?":   "Fix flaky lock test wal package",
		"can you please tell me what is in the file README.md":                    "File README.md",
		"What is the capital of France?":                                          "Capital of France",
		"How do I write a regex for emails?":                                      "Write a regex for emails",
		"Hi! I have a problem. My tests fail with unexpected EOF.":                "My tests fail with unexpected EOF",
		"hello, could you look at main.go and explain the loop":                   "main.go and explain the loop",
		"which files are here, I wonder?":                                         "Which files are here",
		"please tell me the time":                                                 "The time",
		"hi":                                                                      "Hi",
		"what is this?":                                                           "What is this",
		"Plan a birthday trip.":                                                   "Plan a birthday trip",
		"```go\nfunc main() {}\n```\nWhy does this not compile?":                  "Why does this not compile",
		"```\npanic: nil map\n```":                                                "Panic nil map",
		"Kannst du mir bitte erklären, wie die Funktion parseEntry funktioniert?": "Erklären wie die Funktion parseEntry funktioniert",
		"Hallo! Ich möchte eine Reise nach Oslo planen.":                          "Reise nach Oslo planen",
		"Peux-tu m'expliquer comment fonctionne le ramasse-miettes de Go ?":       "Expliquer comment fonctionne le ramasse-miettes de Go",
		"Bonjour, je voudrais traduire une lettre en allemand s'il vous plaît":    "Traduire une lettre en allemand",
		"¿Puedes ayudarme a escribir una carta al ayuntamiento?":                  "Ayudarme a escribir una carta al ayuntamiento",
		"Hola, ¿cuál es la capital de Noruega?":                                   "Capital de Noruega",
		"请帮我写一个排序算法，谢谢":                                                           "写一个排序算法",
		"你好，能不能帮我解释一下这段代码？":                                                       "解释一下这段代码",
		"今日の天気を教えてください。東京です。明日の天気も教えてください。": "今日の天気",
		"파이썬으로 정렬 알고리즘을 작성해주세요":             "파이썬으로 정렬 알고리즘을 작성",
		"": "", "…": "", "   \n": "",
	} {
		if got := Of(prompt); got != want {
			t.Errorf("Of(%q) = %q, want %q", prompt, got, want)
		}
	}
}

// FuzzOf checks that a title is short and on one line.
func FuzzOf(f *testing.F) {
	for _, seed := range []string{"What is the capital of France?", strings.Repeat("word ", 2000), strings.Repeat("天", 500), "a\xff b", "```", "e.g. x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		got := Of(prompt)
		if n := utf8.RuneCountInString(got); n > maxChars {
			t.Errorf("a title of %d characters: %q", n, got)
		}
		if strings.ContainsAny(got, "\n\r\t") {
			t.Errorf("title contains a line break or tab: %q", got)
		}
	})
}
