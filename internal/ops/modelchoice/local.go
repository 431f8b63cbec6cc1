package modelchoice

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Local asks the servers on this machine for their models, all at once. A server that does
// not answer within the limit has none. Servers elsewhere are never asked.
func (t Table) Local(ctx context.Context, limit time.Duration) []Offer {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found := make([][]Offer, len(t.Servers))
	var group sync.WaitGroup
	for i, s := range t.Servers {
		if !isLoopback(s.URL) {
			continue
		}
		group.Go(func() {
			names, err := s.list(ctx)
			if err != nil {
				return // absent
			}
			for _, name := range names {
				found[i] = append(found[i], t.localOffer(s.Provider+"/"+name))
			}
		})
	}
	group.Wait()
	var all []Offer
	for _, offers := range found {
		all = append(all, offers...)
	}
	return all
}

// localOffer returns the offer of a model that a local server lists, with what is known of it.
func (t Table) localOffer(id string) Offer {
	for _, o := range t.Offers {
		if o.ID == id {
			o.Local, o.Ready = true, true
			return o
		}
	}
	return Offer{ID: id, Local: true, Ready: true}
}

// isLoopback reports whether a URL is on this machine.
func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// maxList limits the size of a list of models, in bytes.
const maxList = 1 << 20

// loopback sends requests without a proxy and without following redirects to other machines.
var loopback = &http.Client{
	Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// list returns the names of a server's models.
func (s Server) list(ctx context.Context) ([]string, error) {
	address := strings.TrimRight(s.URL, "/") + "/models"
	if s.Tags {
		address = strings.TrimSuffix(strings.TrimRight(s.URL, "/"), "/v1") + "/api/tags"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := loopback.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // only read
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxList))
	if err != nil {
		return nil, err
	}
	return parseList(body)
}

// parseList reads the names in a list of OpenAI's form, or of Ollama's.
func parseList(body []byte) (names []string, err error) {
	var list struct {
		Data   []struct{ ID string }
		Models []struct{ Name, Model string }
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	for _, m := range list.Data {
		names = appendName(names, m.ID)
	}
	for _, m := range list.Models {
		if m.Model == "" {
			m.Model = m.Name
		}
		names = appendName(names, m.Model)
	}
	return names, nil
}

// maxNames limits the models of one server.
const maxNames = 500

// appendName adds a name that can be part of a model ID.
func appendName(names []string, name string) []string {
	if name == "" || len(name) > 200 || len(names) >= maxNames || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd }) {
		return names
	}
	return append(names, name)
}
