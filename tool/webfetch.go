package tool

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"firn.dev"
)

// FetchOptions configures web_fetch.
type FetchOptions struct {
	// Hosts are the hosts that may be fetched, as names or as *.example.org; empty means
	// all.
	Hosts []string
	// Private allows addresses of this machine and of private networks.
	Private bool
	// Timeout limits one call; zero means 30 seconds.
	Timeout time.Duration
}

const (
	maxFetched   = 5 << 20
	maxRedirects = 5
)

type fetchArguments struct {
	URL string `json:"url" desc:"The address of the page, with http:// or https://."`
}

// fetchDetails is the machine-readable result of web_fetch.
type fetchDetails struct {
	// URL is the address after redirects.
	URL    string `json:"url"`
	Status int    `json:"status"`
	Type   string `json:"type,omitempty"`
	Bytes  int    `json:"bytes"`
}

// WebFetch returns the tool web_fetch, which reads a page of the web: HTML as text, other
// text as it is, and images. It sends no cookies and no credentials. Addresses of this
// machine and of private networks are refused after name resolution, also in redirects,
// unless Private is set.
func WebFetch(o FetchOptions) Tool {
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	f := &fetcher{o: o}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: f.control}
	f.client = &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return f.check(req.URL)
		},
	}
	return New("web_fetch", "Reads a page of the web and shows it as text, or an image. At most 5 MB are read.", f.fetch)
}

type fetcher struct {
	o      FetchOptions
	client *http.Client
}

// errPrivate means that an address is not public.
var errPrivate = errors.New("the address is in a private network")

// control refuses connections to addresses that are not public. It sees the address after
// name resolution.
func (f *fetcher) control(_, address string, _ syscall.RawConn) error {
	if f.o.Private {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || !public(at.Addr().Unmap()) {
		return fmt.Errorf("%s: %w", address, errPrivate)
	}
	return nil
}

// reserved are the ranges that netip does not classify: this network, shared address space,
// benchmarks, protocol assignments, class E, NAT64 and 6to4, which embed IPv4 addresses.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

// public reports whether an address is of the public Internet.
func public(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast() &&
		!slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// check returns an error if an address may not be fetched.
func (f *fetcher) check(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("%w address: http:// or https:// and a host are needed", firn.ErrInvalid)
	}
	if u.User != nil {
		return fmt.Errorf("%w address: it contains a user name", firn.ErrInvalid)
	}
	host := strings.ToLower(u.Hostname())
	if len(f.o.Hosts) > 0 && !slices.ContainsFunc(f.o.Hosts, func(h string) bool { return hostFits(strings.ToLower(h), host) }) {
		return fmt.Errorf("the host %s is not among those that may be fetched: %s (%w)", display(host), strings.Join(f.o.Hosts, ", "), firn.ErrUnsupported)
	}
	return nil
}

// hostFits reports whether a host matches a name or a pattern such as *.example.org.
func hostFits(pattern, host string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasPrefix(suffix, ".") && strings.HasSuffix(host, suffix) || pattern == "*"
	}
	return host == pattern
}

func (f *fetcher) fetch(ctx context.Context, a fetchArguments) (Result, error) {
	u, err := url.Parse(strings.TrimSpace(a.URL))
	if err != nil {
		return Result{}, fmt.Errorf("%w address %s", firn.ErrInvalid, display(ellipsis(a.URL, 200)))
	}
	if err := f.check(u); err != nil {
		return Result{}, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, f.o.Timeout, errTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, u.String(), nil)
	if err != nil {
		return Result{}, fmt.Errorf("fetch %s: %w", display(u.String()), err)
	}
	req.Header.Set("User-Agent", "firn web_fetch")
	req.Header.Set("Accept", "text/html, text/*, application/json, image/*;q=0.8, */*;q=0.1")
	resp, err := f.client.Do(req)
	if err != nil {
		return Result{}, fetchError(u, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFetched+1))
	if err != nil {
		return Result{}, fetchError(u, err)
	}
	return fetched(resp, body)
}

// fetchError converts an error of a request to a sentence.
func fetchError(u *url.URL, err error) error {
	if errors.Is(err, errPrivate) {
		return fmt.Errorf("fetch %s: the address is of this machine or a private network (%w)", display(u.Host), firn.ErrUnsupported)
	}
	var failure *url.Error
	if errors.As(err, &failure) {
		err = failure.Err
	}
	return fmt.Errorf("fetch %s: %w", display(u.Host), err)
}

// fetched returns the result of a response.
func fetched(resp *http.Response, body []byte) (Result, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	details := fetchDetails{URL: resp.Request.URL.String(), Status: resp.StatusCode, Type: kind, Bytes: len(body)}
	cut := len(body) > maxFetched
	body = body[:min(len(body), maxFetched)]
	r := Result{Details: quote(details), IsError: resp.StatusCode >= 400}
	head := fmt.Sprintf("[%s, status %d, %s]", display(details.URL), resp.StatusCode, size(int64(len(body))))
	if image := imageType(body); image != "" && len(body) <= maxImage {
		r.Parts = []firn.Part{firn.Text{Text: head}, firn.Image{MimeType: image, Data: base64.StdEncoding.EncodeToString(body)}}
		return r, nil
	}
	if why := isBinary(body[:min(len(body), sniffLength)]); why != "" {
		return Result{}, fmt.Errorf("%s is a binary file%s, %s: it cannot be shown as text (%w)", display(details.URL), why, kind, firn.ErrUnsupported)
	}
	text := string(body)
	if kind == "text/html" || kind == "application/xhtml+xml" {
		text = htmlText(body)
	}
	clean, _ := firn.CleanText(text)
	if cut {
		clean = onLine(clean, "[the rest was left out]", "")
	}
	r.Parts = TextResult(onLine(head, clean, "")).Parts
	return r, nil
}
