package fulltext

import (
	"context"
	"slices"
)

// holdings are the keys of the sessions of one agent: those whose sessions may
// be found, and the others. The empty one is that of sessions without a key.
type holdings struct {
	agent   string
	may, no []string
}

// ownerFilter spells whose sessions may be found, so that those of others do
// not take the room of what is looked at. It is empty if all may be, and ok is
// false if none may.
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

// holdings reads who has sessions and asks of each whether they may be found.
func (f *finder) holdings(ctx context.Context) ([]holdings, error) {
	rows, err := f.db.query(ctx, "select distinct agent, key from sessions order by agent, key")
	if err != nil {
		return nil, explain("find out whose sessions there are", err)
	}
	defer rows.Close()
	var all []holdings
	for rows.Next() {
		var agent, key string
		if err := rows.Scan(&agent, &key); err != nil {
			return nil, explain("find out whose sessions there are", err)
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
	return all, explain("find out whose sessions there are", rows.Err())
}

// expr spells the sessions of an agent that may be found. Sessions without a
// key have no facet for that, so they are those without any of the others.
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
