package serve

import (
	"cmp"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/approve"
	"firn.dev/internal/disk/sealfs"
)

// ApprovedRule is a rule that a user added with an answer: for a session, or for the project
// in a directory.
type ApprovedRule struct {
	Session firn.ID `json:"session,omitempty"`
	Project string  `json:"project,omitempty"`
	Rule    string  `json:"rule"`
}

// ApprovedRules returns the rules in a home, by session and project.
func ApprovedRules(home string) ([]ApprovedRule, error) {
	t, err := (&approvedRules{fs: sealfs.Home(home), home: home}).read()
	if err != nil {
		return nil, err
	}
	all := []ApprovedRule{}
	for id, rules := range t.sessions {
		for _, r := range rules {
			all = append(all, ApprovedRule{Session: firn.ID(id), Rule: r})
		}
	}
	for dir, rules := range t.projects {
		for _, r := range rules {
			all = append(all, ApprovedRule{Project: dir, Rule: r})
		}
	}
	slices.SortFunc(all, func(a, b ApprovedRule) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Rule, b.Rule))
	})
	return all, nil
}

// ChangeApprovedRule adds a rule to a home, or removes it. A rule for a tool that does not
// exist is not added. Gateways read the rules for each
// question.
func ChangeApprovedRule(home string, r ApprovedRule, remove bool) error {
	rules := &approvedRules{fs: sealfs.Home(home), home: home}
	if remove {
		return rules.remove(r)
	}
	rule, err := approve.ParseRule(r.Rule)
	if err == nil {
		err = rule.CheckTool()
	}
	if err != nil {
		return err
	}
	if r.Session != "" {
		return rules.AddForSession(r.Session, rule)
	}
	return rules.AddForProject(r.Project, rule)
}

// remove removes a rule. A rule that cannot be parsed can be removed too.
func (a *approvedRules) remove(r ApprovedRule) error {
	find := func(t *approvedTable) (map[string][]string, string, int) {
		rows, name := t.projects, r.Project
		if r.Session != "" {
			rows, name = t.sessions, string(r.Session)
		}
		return rows, name, slices.Index(rows[name], r.Rule)
	}
	missing := fmt.Errorf("the rule %s was %w", firn.CutText(r.Rule, 200), firn.ErrNotFound)
	t, err := a.read()
	if err != nil {
		return err
	}
	if _, _, i := find(t); i < 0 {
		return missing // and the home is not touched
	}
	return a.change(func(t *approvedTable) error {
		rows, name, i := find(t)
		if i < 0 {
			return missing
		}
		if rows[name] = slices.Delete(rows[name], i, i+1); len(rows[name]) == 0 {
			delete(rows, name)
		}
		return nil
	})
}
