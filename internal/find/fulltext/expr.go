package fulltext

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// FTS query expressions. Column t holds the words, x their other forms, f the facets.

// quoteTerm returns an expression that matches consecutive words.
func quoteTerm(column string, prefix bool, words ...string) string {
	s := column + ` : "` + strings.Join(words, " ") + `"`
	if prefix {
		s += " *"
	}
	return s
}

// termExpr returns an expression for a term: its parts as a phrase, or the whole.
func termExpr(t search.Term) string {
	s := quoteTerm("t", t.Prefix, t.Parts...)
	switch {
	case t.Whole == "":
		return s
	case len(t.Parts) == 1 && t.Parts[0] == t.Whole: // a single lookup
		return quoteTerm("{t x}", t.Prefix, t.Whole)
	}
	return "(" + s + " OR " + quoteTerm("x", t.Prefix, t.Whole) + ")"
}

// exprBuilder translates query nodes to FTS expressions. Prefixes that match very many
// words are slow, so they are left out. The resulting expression matches too much, and the
// rows it finds must be checked.
type exprBuilder struct {
	loose func(search.Term) bool
}

// nodeExpr is a translated node. FTS has no unary NOT, so a node may be expressed as a
// condition that must not hold. If anything is true, the node matches every row.
type nodeExpr struct {
	expr     string
	negated  bool
	anything bool
}

func (s exprBuilder) node(n *search.Node) nodeExpr {
	switch n.Op {
	case search.OpTerm:
		if s.loose(n.Term) {
			return nodeExpr{anything: true}
		}
		return nodeExpr{expr: termExpr(n.Term)}
	case search.OpNot:
		kid := s.node(n.Kids[0])
		kid.negated = !kid.negated
		return kid
	case search.OpOr:
		return s.or(n.Kids)
	case search.OpAnd:
		return s.and(n.Kids)
	}
	should, must, not := n.Split()
	kids := slices.Clone(must)
	for _, kid := range not {
		kids = append(kids, &search.Node{Op: search.OpNot, Kids: []*search.Node{kid}})
	}
	if len(should) > 0 {
		any := &search.Node{Op: search.OpOr}
		for _, t := range should {
			any.Kids = append(any.Kids, &search.Node{Op: search.OpTerm, Term: t})
		}
		kids = append(kids, any)
	}
	return s.and(kids)
}

// all translates nodes into conditions that must hold and conditions that must not. It
// reports whether one of them matches every row.
func (s exprBuilder) all(kids []*search.Node) (yes, no []string, anything bool) {
	for _, kid := range kids {
		switch one := s.node(kid); {
		case one.anything:
			anything = true
		case one.negated:
			no = append(no, one.expr)
		default:
			yes = append(yes, one.expr)
		}
	}
	return yes, no, anything
}

func (s exprBuilder) and(kids []*search.Node) nodeExpr {
	switch yes, no, _ := s.all(kids); {
	case len(yes) > 0:
		return nodeExpr{expr: without(join(yes, "AND"), no)}
	case len(no) > 0:
		return nodeExpr{expr: join(no, "OR"), negated: true}
	}
	return nodeExpr{anything: true}
}

// or translates alternatives. If one of them is negated, the result is negated too: its
// negated operands all hold and none of the others does.
func (s exprBuilder) or(kids []*search.Node) nodeExpr {
	yes, no, anything := s.all(kids)
	switch {
	case anything:
		return nodeExpr{anything: true}
	case len(no) == 0:
		return nodeExpr{expr: join(yes, "OR")}
	}
	return nodeExpr{expr: without(join(no, "AND"), yes), negated: true}
}

func without(expr string, no []string) string {
	if len(no) == 0 {
		return expr
	}
	return "(" + expr + " NOT " + join(no, "OR") + ")"
}

func join(exprs []string, op string) string {
	if len(exprs) == 1 {
		return exprs[0]
	}
	return "(" + strings.Join(exprs, " "+op+" ") + ")"
}

// facetExpr returns an expression that matches any of the facets.
func facetExpr(facets []string) string {
	quoted := make([]string, len(facets))
	for i, f := range facets {
		quoted[i] = `"` + f + `"`
	}
	return "f : (" + strings.Join(quoted, " OR ") + ")"
}

// filters returns the expressions of the query's filters, all of which must hold. If ok is
// false, nothing can match.
func (f *finder) filters(ctx context.Context) (exprs []string, ok bool, err error) {
	q := &f.query
	add := func(facets []string) {
		if len(facets) > 0 {
			exprs = append(exprs, facetExpr(facets))
		}
	}
	var roles, toolNames []string
	for _, role := range q.Roles {
		roles = append(roles, "r"+string(role))
	}
	add(roles)
	for _, name := range q.Tools {
		toolNames = append(toolNames, "t"+search.FoldText(name))
	}
	add(toolNames)
	add(hashedAll("a", q.Agents))
	add(hashedAll("k", q.Keys))
	add(hashedAll("o", q.Sources))
	if q.Machines == search.MachinesOnly {
		add([]string{machineFacet})
	}
	if len(q.Sessions) > 0 {
		found, err := f.sessionFacets(ctx)
		if err != nil || len(found) == 0 {
			return nil, false, err
		}
		add(found)
	}
	if q.Owners != nil {
		expr, ok, err := f.ownerFilter(ctx)
		if err != nil || !ok {
			return nil, false, err
		}
		if expr != "" {
			exprs = append(exprs, expr)
		}
	}
	if len(q.Paths) > 0 {
		found, err := f.pathFacets(ctx)
		if err != nil {
			return nil, false, err
		}
		add(found)
	}
	return exprs, true, nil
}

func hashedAll(kind string, names []string) []string {
	facets := make([]string, len(names))
	for i, name := range names {
		facets[i] = hashed(kind, name)
	}
	return facets
}

// mostNamed limits the number of sessions or directories that a filter expands to.
const mostNamed = 500

// sessionFacets returns the facets of the sessions whose IDs have the given prefixes.
func (f *finder) sessionFacets(ctx context.Context) ([]string, error) {
	var facets []string
	for _, name := range f.query.Sessions {
		rows, err := f.db.query(ctx, "select id from sessions where sid >= ? and sid < ? order by sid limit ?", name, name+"\x7f", mostNamed+1)
		if err != nil {
			return nil, explain("find sessions", err)
		}
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				rows.Close()
				return nil, explain("find sessions", err)
			}
			facets = append(facets, "s"+strconv.FormatInt(id, 36))
		}
		if err := rows.Err(); err != nil {
			return nil, explain("find sessions", err)
		}
	}
	if len(facets) > mostNamed {
		return nil, fmt.Errorf("search: %w: session: matches more than %d sessions; give more characters of the id", firn.ErrInvalid, mostNamed)
	}
	return facets, nil
}

// pathFacets returns the facets of the working directories that contain the elements of a
// path, and of the path itself, which matches files in tool call arguments.
func (f *finder) pathFacets(ctx context.Context) ([]string, error) {
	var facets []string
	wanted := make([][]string, len(f.query.Paths))
	for i, path := range f.query.Paths {
		wanted[i] = search.PathNames(path)
		facets = append(facets, "p"+strings.Join(wanted[i], " p"))
	}
	rows, err := f.db.query(ctx, "select distinct cwd from sessions where cwd <> ''")
	if err != nil {
		return nil, explain("find directories", err)
	}
	defer rows.Close()
	for rows.Next() && len(facets) < mostNamed {
		var cwd string
		if err := rows.Scan(&cwd); err != nil {
			return nil, explain("find directories", err)
		}
		names := search.PathNames(cwd)
		if slices.ContainsFunc(wanted, func(want []string) bool { return contains(names, want) }) {
			facets = append(facets, hashed("c", cwd))
		}
	}
	return facets, explain("find directories", rows.Err())
}

// contains reports whether want occurs as a contiguous run in names.
func contains(names, want []string) bool {
	for i := 0; i+len(want) <= len(names); i++ {
		if slices.Equal(names[i:i+len(want)], want) {
			return true
		}
	}
	return false
}
