package cloudflare

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/sha256"
	"anteroom/edge/store/migrations"
)

type Allowance struct {
	Name, Reason string
	Needed       bool // it has happened
}

const longestReasons = 700 // bytes; Cloudflare keeps 1,000 of a version's message

// ReadAllowances pairs each --allow with its --reason.
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
			return nil, fmt.Errorf("--allow: got %q, want one of %s", name, strings.Join(known, ", "))
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
	var allowed []string
	for i := range allowances {
		a := &allowances[i]
		allowed = append(allowed, a.Name)
		a.Needed = a.Needed || slices.ContainsFunc(found, func(r continuity.Regression) bool { return r.Kind == a.Name })
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

func notes(allowances []Allowance) (text string) {
	for _, a := range allowances {
		if a.Needed {
			text += fmt.Sprintf("; allowed %s (%s)", a.Name, a.Reason)
		}
	}
	return text
}

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
		return fmt.Errorf("--location: got %q, want one of %s", location, strings.Join(LocationNames, ", "))
	case jurisdiction != "" && !slices.Contains(JurisdictionNames, jurisdiction):
		return fmt.Errorf("--jurisdiction: got %q, want one of %s", jurisdiction, strings.Join(JurisdictionNames, ", "))
	}
	return nil
}

// Regressions of a rollback that package continuity does not have.
const (
	allowDatabase = "database" // the version keeps its records in another database
	allowUnknown  = "unknown"  // a version has no note
)

// RollbackAllowances lists the regressions that --allow of rollback accepts.
var RollbackAllowances = []string{
	continuity.AsOf, continuity.Key, continuity.Log, continuity.Schema, allowDatabase, allowUnknown,
}

// note describes a version, for PlanRollback: its facts and the allowances.
func (d *Deployment) note() (string, error) {
	all, err := migrations.Missing(nil)
	if err != nil {
		return "", err
	}
	s, size := d.Artifact.Snapshot, int64(0)
	facts, err := continuity.FromFiles(d.Artifact.Files, s)
	if err != nil {
		return "", err
	}
	for _, n := range facts.Trees() {
		size += n
	}
	key := "none"
	if s.CurrentKey != "" {
		key = fmt.Sprintf("%.4x", sha256.Sum([]byte(s.CurrentKey)))
	}
	text := fmt.Sprintf("content %s, as of %s, key %s, log %d, schema %d", s.ShortVersion(), s.AsOf, key, size, len(all))
	return text + notes(d.Allowances), nil
}

var noted = regexp.MustCompile(`^content ([0-9a-f]+), as of ([0-9-]+), key ([0-9a-z]+), log ([0-9]+), schema ([0-9]+)`)

type Version struct {
	ID      string
	Content string // version of the content; "" if unknown
	Note    string

	asOf, key   string
	log, schema int
	database    string
}

func (v *Version) String() string {
	return fmt.Sprintf("version %.8s, %s", v.ID, cmp.Or(v.Note, "without a note"))
}

type Rollback struct {
	Environment string
	From, To    Version
	Backwards   []continuity.Regression // by the names of allowances
}

// deployed is a deployment, as wrangler lists it.
type deployed struct {
	On       time.Time `json:"created_on"`
	Versions []struct {
		ID string `json:"version_id"`
	} `json:"versions"`
}

// PlanRollback plans a rollback to the version with this id or beginning of one; "" is the previous
// version.
func (w *Wrangler) PlanRollback(ctx context.Context, environment, id string) (*Rollback, error) {
	said, err := w.in(ctx, environment, "deployments", "list", "--json")
	if err != nil {
		return nil, err
	}
	var list []deployed
	if err := readJSON(said, &list); err != nil || len(list) == 0 {
		return nil, errors.Join(err, fmt.Errorf("plan a rollback: wrangler lists no deployment of the environment %s",
			environment))
	}
	slices.SortFunc(list, func(a, b deployed) int { return b.On.Compare(a.On) })
	if len(list[0].Versions) != 1 {
		return nil, fmt.Errorf("plan a rollback: %d versions share the requests (finish that deployment where it was begun)",
			len(list[0].Versions))
	}
	from, to := list[0].Versions[0].ID, ""
	for _, deployment := range list {
		for _, v := range deployment.Versions {
			if to == "" && v.ID != from && strings.HasPrefix(v.ID, id) {
				to = v.ID
			}
		}
	}
	switch {
	case to != "":
	case uuid.MatchString(id) && id != from:
		to = id
	case id == "":
		return nil, errors.New("plan a rollback: no version before the live one (name one; wrangler versions list " +
			"shows them)")
	default:
		return nil, fmt.Errorf("plan a rollback: %q is live, or not among the latest deployments (name another; "+
			"wrangler versions list shows them)", id)
	}
	r := &Rollback{Environment: environment}
	if r.From, err = w.version(ctx, environment, from); err != nil {
		return nil, err
	}
	if r.To, err = w.version(ctx, environment, to); err != nil {
		return nil, err
	}
	r.compare()
	return r, nil
}

func readJSON(said string, into any) error {
	at := strings.IndexAny(said, "[{")
	if at < 0 || json.NewDecoder(strings.NewReader(said[at:])).Decode(into) != nil {
		return fmt.Errorf("read wrangler's output: not JSON: %.200q", said)
	}
	return nil
}

func (w *Wrangler) version(ctx context.Context, environment, id string) (Version, error) {
	v := Version{ID: id}
	said, err := w.in(ctx, environment, "versions", "view", id, "--json")
	if err != nil {
		return v, err
	}
	var answer struct {
		Annotations struct {
			Message string `json:"workers/message"`
		} `json:"annotations"`
		Resources struct {
			Bindings []struct {
				Type     string `json:"type"`
				ID       string `json:"id"`
				Database string `json:"database_id"`
			} `json:"bindings"`
		} `json:"resources"`
	}
	if err := readJSON(said, &answer); err != nil {
		return v, err
	}
	v.Note = answer.Annotations.Message
	if m := noted.FindStringSubmatch(v.Note); m != nil {
		v.Content, v.asOf, v.key = m[1], m[2], m[3]
		v.log, _ = strconv.Atoi(m[4])
		v.schema, _ = strconv.Atoi(m[5])
	}
	for _, b := range answer.Resources.Bindings {
		if b.Type == "d1" {
			v.database = cmp.Or(b.Database, b.ID)
		}
	}
	return v, nil
}

func (r *Rollback) compare() {
	say := func(kind, format string, args ...any) {
		r.Backwards = append(r.Backwards, continuity.Regression{Kind: kind, What: fmt.Sprintf(format, args...)})
	}
	from, to := &r.From, &r.To
	if from.database != to.database {
		say(allowDatabase, "its records are in the D1 database %s, the live version's in %s",
			cmp.Or(to.database, "none"), cmp.Or(from.database, "none"))
	}
	for _, v := range []*Version{from, to} {
		if v.Content == "" {
			say(allowUnknown, "version %.8s has no note: anteroom deploy did not deploy it", v.ID)
		}
	}
	if from.Content == "" || to.Content == "" {
		return
	}
	if to.asOf < from.asOf {
		say(continuity.AsOf, "the newest board would have the date %s, and has %s", to.asOf, from.asOf)
	}
	if to.key != from.key && from.key != "none" {
		say(continuity.Key, "it publishes another receipt key: receipts signed since would not verify")
	}
	if to.log < from.log {
		say(continuity.Log, "the public log would have %d entries, and has %d", to.log, from.log)
	}
	if to.schema < from.schema {
		say(continuity.Schema, "it knows %d migrations, the database has %d", to.schema, from.schema)
	}
}

// Refusal returns the regressions that are not allowed, or nil.
func (r *Rollback) Refusal(allowed []Allowance) error {
	return refuse(r.Backwards, allowed)
}

func (r *Rollback) Do(ctx context.Context, w *Wrangler, allowed []Allowance) error {
	if err := r.Refusal(allowed); err != nil {
		return err
	}
	message := "rollback to " + cmp.Or(r.To.Note, r.To.ID) + notes(allowed)
	_, err := w.in(ctx, r.Environment, "rollback", r.To.ID, "--yes", "--message", message)
	return err
}
