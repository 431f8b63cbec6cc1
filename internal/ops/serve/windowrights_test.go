package serve

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"firn.dev/wire"
)

// TestWindowInjectsOnlyWhatTheCallerMaySee requests the window of a session whose last message
// recalls every planted word. The injected text must be within the bounds of the caller and
// of the author of the message.
func TestWindowInjectsOnlyWhatTheCallerMaySee(t *testing.T) {
	w := withhold(t)
	_, err := w.own.Search(t.Context(), wire.SearchQuery{Query: "marmot"}) // a window is shown without creating the index
	w.must(err)
	for _, who := range w.identities() {
		for _, speaker := range []identity{{name: "the owner"}, who} {
			id := w.session(who, "window-"+strings.ReplaceAll(speaker.name, " ", "-"))
			window := "/v1/sessions/" + string(id) + "/window?as=model"
			found := 0
			for _, p := range everyWord {
				if status, text := w.ask(speaker, "POST", "/v1/sessions/"+string(id)+"/entries", wire.NewEntries{User: "What is the " + p.find + "?"}); status != http.StatusOK {
					t.Fatalf("%s: append: %d %s", speaker.name, status, text)
				}
				may := slices.Contains(who.may, p)
				status, text := w.ask(who, "GET", window, nil)
				if status != http.StatusOK || !strings.Contains(text, `"injected"`) {
					t.Errorf("%s: the window is %d %.300s", who.name, status, text)
				}
				if strings.Contains(text, p.canary) {
					found++
					if !may {
						t.Errorf("%s, message by %s: the window contains the word for %s", who.name, speaker.name, p.find)
					}
				}
				if _, text = w.ask(identity{}, "GET", window, nil); speaker.show != nil && !may && strings.Contains(text, p.canary) {
					t.Errorf("%s: their turn would be sent the word for %s", who.name, p.find)
				}
			}
			if found == 0 && len(who.may) > 0 {
				t.Errorf("%s, message by %s: nothing was recalled of %v", who.name, speaker.name, who.may)
			}
		}
	}
}
