package serve

import (
	"net/http"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/wire"
)

// refused checks that the gateway accepts nothing new from an identity.
func (w *withheld) refused(who identity, id firn.ID) {
	w.t.Helper()
	for _, path := range []string{"/turns", "/entries"} {
		if status, text := w.ask(who, "POST", "/v1/sessions/"+string(id)+path, wire.Turn{Text: "probe late " + within}); status != http.StatusUnauthorized {
			w.t.Errorf("%s, %s: %d %s", who.name, path, status, text)
		}
	}
	if status, text := w.ask(who, "GET", "/v1/me", nil); status != http.StatusUnauthorized {
		w.t.Errorf("%s, me: %d %s", who.name, status, text)
	}
}

// asBearer returns an identity that sends its cookie as a bearer token, which gateways
// reject.
func (w *withheld) asBearer(who identity) identity {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), "GET", w.url, nil)
	w.must(err)
	who.show(r)
	if cookies := r.Cookies(); len(cookies) > 0 {
		who.show = bearing(cookies[0].Value)
	}
	return who
}

// TestLogoutKeepsAcceptedMessages checks that after a logout or a new login the browser's
// running turn and queued messages are still answered within its bounds, also after a
// restart, and that its old token accepts nothing new.
func TestLogoutKeepsAcceptedMessages(t *testing.T) {
	for _, way := range []string{"logout", "login"} {
		t.Run(way, func(t *testing.T) {
			w := withhold(t)
			all := w.identities()
			browser, owner := all[2], all[8]
			running, waiting, from := w.session(browser, "running"), w.session(browser, "waiting"), w.model.count()
			w.send(browser, running, wire.Turn{Text: "probe slowly: one " + within, ID: "r1"})
			w.send(owner, waiting, wire.Turn{Text: "slowly: one of the owner", ID: "w1"}) // its answer can be found
			<-w.began
			<-w.began
			w.send(browser, waiting, wire.Turn{Text: "probe two " + within, ID: "w2"})
			w.send(browser, running, wire.Turn{Text: "probe three " + within, ID: "r3", Queue: "followup"})
			body := any(map[string]any{})
			if way == "login" {
				body = wire.Login{Code: w.order(w.made["shop"].Secret)}
			}
			if status, text := w.ask(browser, "POST", "/v1/"+way, body); status != http.StatusOK {
				t.Fatalf("%s: %d %s", way, status, text)
			}
			w.refused(browser, waiting)
			next := w.killed()
			w.release()
			next.house.Gateway.StartRecovery()
			for name, gateway := range map[string]*withheld{"here": w, "after a restart": next} {
				for _, m := range []struct {
					id            firn.ID
					message, text string
				}{{running, "r1", "probe slowly: one " + within}, {running, "r3", "probe three " + within}, {waiting, "w2", "probe two " + within}} {
					if answer, err := gateway.await(m.id, m.message, m.text); err != nil || !strings.Contains(answer.Text, "I was told") {
						t.Errorf("%s, %s: %q, %v", name, m.message, answer.Text, err)
					}
				}
				gateway.refused(w.asBearer(browser), waiting)
			}
			if _, err := w.await(w.session(owner, "free"), "o1", "probe of the owner"); err != nil { // the owner sees everything
				t.Error(err)
			}
			w.holds(browser.may, from)
			tokens, err := w.own.Access.Tokens(t.Context())
			w.must(err)
			ended := 0
			for _, token := range tokens {
				if strings.HasPrefix(token.Name, "browser") && !token.LoggedOut.IsZero() {
					ended++
				}
			}
			if ended != 1 {
				t.Errorf("%d browsers are logged out: %+v", ended, tokens)
			}
		})
	}
}

// TestRevokedTokensStopTheirTurns checks that revoking a token interrupts its turns and
// those of its browsers during a model request, that the reason is recorded, and that
// queued messages are not answered. This includes browsers that logged out before.
func TestRevokedTokensStopTheirTurns(t *testing.T) {
	for _, c := range []struct {
		name   string
		who    int
		logout bool
	}{{"a token", 0, false}, {"a browser of the token", 2, false}, {"a browser that logged out", 2, true}, {"a token without bounds", 6, false}} {
		t.Run(c.name, func(t *testing.T) {
			w := withhold(t)
			all := w.identities()
			who, owner := all[c.who], all[8]
			running, others, from := w.session(who, "running"), w.session(who, "others"), w.model.count()
			w.send(who, running, wire.Turn{Text: "probe slowly: begun " + within, ID: "r1"})
			<-w.began
			w.send(who, running, wire.Turn{Text: "probe two " + within, ID: "r2", Queue: "followup"})
			w.send(owner, others, wire.Turn{Text: "probe slowly: one of the owner", ID: "o1"})
			<-w.began
			w.send(who, others, wire.Turn{Text: "probe three " + within, ID: "o2", Queue: "followup"})
			w.send(owner, others, wire.Turn{Text: "probe four of the owner", ID: "o3", Queue: "followup"})
			if c.logout {
				if status, text := w.ask(who, "POST", "/v1/logout", map[string]any{}); status != http.StatusOK {
					t.Fatalf("log out: %d %s", status, text)
				}
			}
			next := w.killed()
			made := w.made["shop"]
			if c.who == 6 {
				made = w.made["write"]
			}
			for _, gateway := range []*withheld{w, next} {
				_, err := gateway.own.Access.RevokeToken(t.Context(), made.ID)
				w.must(err)
			}
			recorded := func(gateway *withheld) func() bool {
				return func() bool {
					log := transcript(t, gateway.own, wire.Session{ID: running})
					return strings.Contains(log, "revoked") && strings.Contains(log, "firn.unqueued")
				}
			}
			waitFor(t, recorded(w)) // the model is blocked, so only the revocation can end the turn
			w.release()
			next.house.Gateway.StartRecovery()
			waitFor(t, recorded(next))
			for name, gateway := range map[string]*withheld{"here": w, "after a restart": next} {
				if _, err := gateway.await(others, "o3", "probe four of the owner"); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if log := transcript(t, gateway.own, wire.Session{ID: running}); strings.Contains(log, "I was told") {
					t.Errorf("%s it is answered:\n%s", name, log)
				}
				if log := transcript(t, gateway.own, wire.Session{ID: others}); !strings.Contains(log, "firn.unqueued") {
					t.Errorf("%s it is not on record:\n%s", name, log)
				}
				gateway.refused(w.asBearer(who), others)
			}
			w.model.mu.Lock()
			defer w.model.mu.Unlock()
			for _, asked := range w.model.asked[from:] {
				if sent := quotedJSON(asked); strings.Contains(sent, "probe two") || strings.Contains(sent, "probe three") {
					t.Error("the model was called for a revoked token")
				}
			}
		})
	}
}
