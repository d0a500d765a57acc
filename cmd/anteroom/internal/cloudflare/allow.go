package cloudflare

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/continuity"
)

// Allowance is a regression that the operator allows.
type Allowance struct {
	Name, Reason string
	Needed       bool // it has happened
}

const longestReasons = 700 // bytes; Cloudflare keeps 1,000 of a version's message

// ReadAllowances pairs the values of --allow with those of --reason.
func ReadAllowances(names, reasons, known []string) ([]Allowance, error) {
	if len(names) != len(reasons) {
		return nil, fmt.Errorf("got %d --allow and %d --reason (give a reason for each)", len(names), len(reasons))
	}
	list, total := []Allowance{}, 0
	token := strings.TrimSpace(os.Getenv(TokenVariable))
	for i, name := range names {
		reason := strings.TrimSpace(reasons[i])
		total += len(reason)
		switch {
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("--allow %q is none of %s", name, strings.Join(known, ", "))
		case slices.Contains(names[:i], name):
			return nil, fmt.Errorf("--allow %s is given twice", name)
		case reason == "" || total > longestReasons:
			return nil, fmt.Errorf("the --reason of --allow %s is empty, or the reasons have more than %d bytes", name,
				longestReasons)
		case !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl):
			return nil, errors.New("a --reason has control characters, or is not UTF-8 (write it in one line)")
		case cli.SecretKey.MatchString(reason), token != "" && strings.Contains(reason, token):
			return nil, errors.New("a --reason contains a secret, which the version would keep (leave it out)")
		}
		list = append(list, Allowance{Name: name, Reason: reason})
	}
	return list, nil
}

// refuse returns the regressions that are not allowed as an error, and sets Needed.
func refuse(found []continuity.Regression, allowances []Allowance) error {
	var refused []error
	for _, r := range found {
		if i := slices.IndexFunc(allowances, func(a Allowance) bool { return a.Name == string(r.Kind) }); i >= 0 {
			allowances[i].Needed = true
			continue
		}
		text, evidence, forked := strings.Cut(r.What, "\n")
		if r.Hint != "" {
			r.Hint += ", or "
		}
		if forked {
			evidence = "\n" + evidence
		}
		refused = append(refused, fmt.Errorf("%s: %s (%sallow it with --allow %s --reason TEXT)%s", r.Kind, text,
			r.Hint, r.Kind, evidence))
	}
	return errors.Join(refused...)
}

func notes(allowances []Allowance) (text string) {
	for _, a := range allowances {
		if a.Needed {
			text += fmt.Sprintf("; allowed %s (%s)", a.Name, a.Reason)
		}
	}
	return text
}

// Places where D1 creates databases.
var (
	LocationNames     = []string{"wnam", "enam", "weur", "eeur", "apac", "oc"}
	JurisdictionNames = []string{"eu", "us", "fedramp"}
)

// CheckPlace checks the place for the database.
func CheckPlace(location, jurisdiction string) error {
	switch {
	case location != "" && jurisdiction != "":
		return errors.New("--location and --jurisdiction exclude each other")
	case location != "" && !slices.Contains(LocationNames, location):
		return fmt.Errorf("--location %q is none of %s", location, strings.Join(LocationNames, ", "))
	case jurisdiction != "" && !slices.Contains(JurisdictionNames, jurisdiction):
		return fmt.Errorf("--jurisdiction %q is none of %s", jurisdiction, strings.Join(JurisdictionNames, ", "))
	}
	return nil
}
