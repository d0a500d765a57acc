package cloudflare

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/sha256"
	"anteroom/edge/store/migrations"
)

type Allowance struct{ Name, Reason string }

const longestReasons = 700 // bytes; Cloudflare keeps 1,000 of a version's message

func ReadAllowances(names, reasons []string) ([]Allowance, error) {
	if len(names) != len(reasons) {
		return nil, fmt.Errorf("got %d --allow and %d --reason (give a reason for each)", len(names), len(reasons))
	}
	list, total := []Allowance{}, 0
	for i, name := range names {
		reason := strings.TrimSpace(reasons[i])
		total += len(reason)
		if !slices.Contains(Allowances, name) {
			return nil, fmt.Errorf("--allow: got %q, want one of %s", name, strings.Join(Allowances, ", "))
		}
		if reason == "" || total > longestReasons || strings.ContainsFunc(reason, unicode.IsControl) {
			return nil, fmt.Errorf("the --reason of --allow %s is empty or more than one line, or the reasons have more "+
				"than %d bytes", name, longestReasons)
		}
		list = append(list, Allowance{Name: name, Reason: reason})
	}
	return list, nil
}

func refuse(found []continuity.Regression, allowances []Allowance) error {
	var allowed []string
	for _, a := range allowances {
		allowed = append(allowed, a.Name)
	}
	refused := slices.Clone(found)
	for i := range refused {
		r := &refused[i]
		r.What = r.Kind + ": " + r.What
		if r.Hint != "" {
			r.Hint += ", or "
		}
		r.Hint += "allow it with --allow " + r.Kind + " --reason TEXT"
	}
	return continuity.Refuse(refused, allowed...)
}

var (
	LocationNames     = []string{"wnam", "enam", "weur", "eeur", "apac", "oc"}
	JurisdictionNames = []string{"eu", "us", "fedramp"}
)

func (d *Deployment) note() (string, error) {
	all, err := migrations.Missing(nil)
	if err != nil {
		return "", err
	}
	s := d.Artifact.Snapshot
	facts, err := continuity.FromFiles(d.Artifact.Files, s)
	if err != nil {
		return "", err
	}
	key := "none"
	if s.CurrentKey != "" {
		key = fmt.Sprintf("%.4x", sha256.Sum([]byte(s.CurrentKey)))
	}
	text := fmt.Sprintf("content %s, as of %s, key %s, log %d, schema %d", s.ShortVersion(), s.AsOf, key, facts.LogSize(), len(all))
	for _, a := range d.Allowances {
		text += fmt.Sprintf("; allowed %s (%s)", a.Name, a.Reason)
	}
	return text, nil
}
