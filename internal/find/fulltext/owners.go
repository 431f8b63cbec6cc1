package fulltext

import (
	"context"
	"slices"
)

// holdings lists the keys of an agent's sessions: those the caller may search, and the
// others. The empty key stands for sessions without a key.
type holdings struct {
	agent   string
	may, no []string
}

// ownerFilter returns an expression for the sessions that the caller may search, so that
// other sessions do not use up the search limits. It is empty if all sessions may be
// searched; ok is false if none may.
func (f *finder) ownerFilter(ctx context.Context) (expr string, ok bool, err error) {
	all, err := f.holdings(ctx)
	if err != nil {
		return "", false, err
	}
	var exprs []string
	narrow := false
	for _, h := range all {
		if len(h.may) > 0 {
			exprs = append(exprs, h.expr())
		}
		narrow = narrow || len(h.no) > 0
	}
	switch {
	case len(exprs) == 0:
		return "", false, nil
	case !narrow:
		return "", true, nil
	}
	return join(exprs, "OR"), true, nil
}

// holdings reads the owners of all sessions and asks for each whether the caller may search
// its sessions.
func (f *finder) holdings(ctx context.Context) ([]holdings, error) {
	rows, err := f.db.query(ctx, "select distinct agent, key from sessions order by agent, key")
	if err != nil {
		return nil, explain("list the owners of sessions", err)
	}
	defer rows.Close()
	var all []holdings
	for rows.Next() {
		var agent, key string
		if err := rows.Scan(&agent, &key); err != nil {
			return nil, explain("list the owners of sessions", err)
		}
		if len(all) == 0 || all[len(all)-1].agent != agent {
			all = append(all, holdings{agent: agent})
		}
		h := &all[len(all)-1]
		if f.query.Owners(agent, key) {
			h.may = append(h.may, key)
		} else {
			h.no = append(h.no, key)
		}
	}
	return all, explain("list the owners of sessions", rows.Err())
}

// expr returns an expression for the searchable sessions of an agent. Sessions without a
// key have no key facet, so they are matched by excluding all others.
func (h holdings) expr() string {
	agent := facetExpr([]string{hashed("a", h.agent)})
	keyless := func(key string) bool { return key == "" }
	switch no := slices.DeleteFunc(slices.Clone(h.no), keyless); {
	case len(h.no) == 0:
		return agent
	case slices.ContainsFunc(h.may, keyless):
		return without(agent, []string{facetExpr(hashedAll("k", no))})
	}
	return join([]string{agent, facetExpr(hashedAll("k", h.may))}, "AND")
}
