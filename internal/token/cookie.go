package token

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"firn/wire"
)

// A browser sends its cookie with whatever a page asks for, be it our page or
// another. So where a cookie says who asks, the page must be ours: what changes
// something has to bring a header that no foreign page can send, and the
// browser's own word that the page is of our origin. A token in Authorization is
// sent by nobody who was not given it, and needs none of that.

const (
	// PageHeader is what our own pages send. A foreign page that sends such a
	// header is first asked about, and refused.
	PageHeader = "X-Firn"
	// PageWord is what they say in it.
	PageWord = "web"

	cookieName = "firn"
	// lockedPrefix makes browsers keep a cookie to this host and to TLS.
	lockedPrefix = "__Host-"
)

// nameOfCookie is that of the gateway that a request is for. Cookies are not
// kept apart by port, so two gateways of one machine need two names. Gateways
// behind one address have one.
func nameOfCookie(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return cookieName + "-" + port
	}
	return cookieName
}

// Cookie is the secret that a browser sends. One that was set over TLS counts
// more: others cannot have set it.
func Cookie(r *http.Request) (string, bool) {
	for _, name := range []string{lockedPrefix + nameOfCookie(r), nameOfCookie(r)} {
		if cookie, err := r.Cookie(name); err == nil && cookie.Value != "" {
			return cookie.Value, true
		}
	}
	return "", false
}

// SetCookie gives the browser that asks its secret, or takes it away if it lasts
// for less than nothing. It is sent to us only, by our pages only, and no script
// reads it.
func SetCookie(w http.ResponseWriter, r *http.Request, secret string, lasts time.Duration) {
	cookie := &http.Cookie{Name: nameOfCookie(r), Value: secret, Path: "/", MaxAge: int(lasts / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if OverTLS(r) {
		cookie.Name, cookie.Secure = lockedPrefix+cookie.Name, true
	}
	http.SetCookie(w, cookie)
}

// OverTLS reports whether the browser speaks TLS to us, or to who stands in
// front of us. That only makes the cookie stricter, so it may be believed.
func OverTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// FromOurPage says why a request that has a cookie is not from a page of ours.
// Proof is needed of what changes something: then it is not enough that nothing
// speaks against it.
func FromOurPage(r *http.Request, proof bool) error {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	said := false
	for _, origin := range r.Header.Values("Origin") {
		if !sameOrigin(origin, r.Host) {
			return notOurPage("it is of another origin")
		}
		said = true
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && !(site == "none" && reads) {
			return notOurPage("it is of another origin")
		}
		said = said || site == "same-origin"
	}
	if reads {
		return nil
	}
	if !slices.Equal(r.Header.Values(PageHeader), []string{PageWord}) {
		return notOurPage("it lacks the header " + PageHeader + ": " + PageWord)
	}
	if proof && !said {
		return notOurPage("it has neither Origin nor Sec-Fetch-Site")
	}
	return nil
}

func notOurPage(why string) error {
	return &wire.Problem{Kind: wire.NotAllowed, Message: "the request is not from a page of this gateway: " + why, Hint: "programs send a token: Authorization: Bearer"}
}

// sameOrigin reports whether an origin is that of the pages that a host, which
// is known to be us, serves. Allowed foreign origins are not: they have tokens.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, host) &&
		strings.EqualFold(origin, u.Scheme+"://"+u.Host)
}
