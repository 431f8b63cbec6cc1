package token

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"firn.dev/wire"
)

// A browser sends its cookie with requests from any page, including foreign ones. A request
// authorized by a cookie must therefore come from our own page: a change requires a header
// that no foreign page can send, and the browser's statement that the page has our origin.
// A token in Authorization is only sent by clients that hold it, and needs no such check.

const (
	// PageHeader is a header that our own pages send. For a foreign page it triggers a CORS
	// preflight, which is rejected.
	PageHeader = "X-Firn"
	// PageValue is the value of PageHeader.
	PageValue = "web"

	cookieName = "firn"
	// lockedPrefix makes browsers restrict a cookie to this host and to TLS.
	lockedPrefix = "__Host-"
)

// nameOfCookie returns the cookie name of the requested gateway. Cookies are not separated
// by port, so two gateways on one machine need different names. Gateways behind one address
// share a name.
func nameOfCookie(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return cookieName + "-" + port
	}
	return cookieName
}

// Cookie returns the secret from a browser's cookie. A cookie set over TLS takes
// precedence, since other hosts cannot set it.
func Cookie(r *http.Request) (string, bool) {
	for _, name := range []string{lockedPrefix + nameOfCookie(r), nameOfCookie(r)} {
		if cookie, err := r.Cookie(name); err == nil && cookie.Value != "" {
			return cookie.Value, true
		}
	}
	return "", false
}

// SetCookie sets the browser's secret, or removes it if lasts is negative. The cookie is
// sent to this host and from our pages only, and is not visible to scripts.
func SetCookie(w http.ResponseWriter, r *http.Request, secret string, lasts time.Duration) {
	cookie := &http.Cookie{Name: nameOfCookie(r), Value: secret, Path: "/", MaxAge: int(lasts / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if OverTLS(r) {
		cookie.Name, cookie.Secure = lockedPrefix+cookie.Name, true
	}
	http.SetCookie(w, cookie)
}

// OverTLS reports whether the browser uses TLS, either to us or to a proxy in front of us.
// The proxy header needs no verification, since TLS only makes the cookie stricter.
func OverTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// FromOurPage returns an error if a request with a cookie is not from one of our pages. If
// proof is true, as for changes, the headers must prove it; otherwise it is enough that
// they do not contradict it.
func FromOurPage(r *http.Request, proof bool) error {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	proven := false
	for _, origin := range r.Header.Values("Origin") {
		if !sameOrigin(origin, r.Host) {
			return notOurPage("it has another origin")
		}
		proven = true
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && !(site == "none" && reads) {
			return notOurPage("it has another origin")
		}
		proven = proven || site == "same-origin"
	}
	if reads {
		return nil
	}
	if !slices.Equal(r.Header.Values(PageHeader), []string{PageValue}) {
		return notOurPage("it lacks the header " + PageHeader + ": " + PageValue)
	}
	if proof && !proven {
		return notOurPage("it has neither Origin nor Sec-Fetch-Site")
	}
	return nil
}

func notOurPage(why string) error {
	return &wire.Problem{Kind: wire.NotAllowed, Message: "the request is not from this gateway's web UI: " + why, Hint: "programs send a token: Authorization: Bearer"}
}

// sameOrigin reports whether origin is the origin of the pages served by host. Allowed
// foreign origins do not count: they use tokens.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, host) &&
		strings.EqualFold(origin, u.Scheme+"://"+u.Host)
}
