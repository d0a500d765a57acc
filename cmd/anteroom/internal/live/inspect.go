package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge"
	"anteroom/edge/endpoint/health"
	"anteroom/generator/output"
)

// Options configure Inspect. The zero value does not wait.
type Options struct {
	// Wait limits the time until the service, and each document, shows the generated version: a CDN
	// serves old and new ones while it is updated.
	Wait    time.Duration
	Timeout time.Duration     // for one response; 0 is Timeout
	Waiting func(what string) // called when the reason to wait changes; may be nil
}

type Status string

// The statuses. Only Differs makes a report not OK.
const (
	OK      Status = "ok"
	Differs Status = "differs"
	Skipped Status = "skipped" // does not apply to this address
)

type Report struct {
	URL     string  `json:"url"`
	OK      bool    `json:"ok"`      // no check differs
	Content string  `json:"content"` // version of the shown content, or ""
	Wanted  string  `json:"wanted"`
	AsOf    string  `json:"as_of"` // date of its newest board, or ""
	Checks  []Check `json:"checks"`
}

type Check struct {
	Name        string       `json:"name"`
	Status      Status       `json:"status"`
	Detail      string       `json:"detail"`
	Differences []Difference `json:"differences,omitempty"`
}

type Difference struct {
	Path string `json:"path"`
	What string `json:"what"` // a predicate whose subject is the path
}

const shownDifferences = 10 // lines of one check

// Print prints a line for each check, and its differences. folder has the generated documents.
func (r *Report) Print(t *cli.Terminal, folder string) {
	t.Printf("%s: compared with %s, %s; board of %s", r.URL, folder, r.Wanted, cmp.Or(r.AsOf, "unknown"))
	for _, c := range r.Checks {
		t.Printf("%-13s %-8s %s", c.Name, c.Status, c.Detail)
		if len(c.Differences) < 2 { // the detail has it
			continue
		}
		for n, d := range c.Differences {
			if n == shownDifferences {
				t.Printf("%-22s and %d more (--json lists all)", "", len(c.Differences)-n)
				break
			}
			t.Printf("%-22s %s %s", "", d.Path, d.What)
		}
	}
}

func (r *Report) Err(folder string) error {
	if r.OK {
		return nil
	}
	n := 0
	for _, c := range r.Checks {
		n += len(c.Differences)
	}
	return fmt.Errorf("%s differs from %s: %s (see above; deploy it, or reload its server, whose log names what "+
		"it refuses)", r.URL, folder, cli.Plural(n, "difference"))
}

type inspection struct {
	*asker
	artifact  *output.Artifact
	core      *edge.Edge
	generated continuity.Manifest // of the artifact
	options   Options
	deadline  time.Time // for repeated requests
	unasked   int       // documents of a log that are not requested
	published
}

// Inspect sends a service the requests that the artifact and the core can answer too, and compares
// the answers: documents, endpoints, redirects, and refusals. The error is about a service that
// cannot be compared, and wraps ErrNothing, ErrUnreachable or errForeign, or is the error of ctx.
func (s *Service) Inspect(ctx context.Context, artifact *output.Artifact, o Options) (*Report, error) {
	i := &inspection{
		asker: s.asker(cmp.Or(o.Timeout, Timeout)), artifact: artifact, options: o,
		deadline: time.Now().Add(o.Wait),
	}
	r := &Report{URL: s.String(), OK: true, Wanted: artifact.Snapshot.ShortVersion()}
	var err error
	if i.core, err = edge.Load(artifact.Snapshot); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(artifact.File(health.Manifest), &i.generated); err != nil {
		return nil, fmt.Errorf("read the generated %s: %w (run anteroom generate)", health.Manifest, err)
	}
	if err := i.await(ctx); err != nil {
		return nil, err
	}
	r.Content, r.AsOf = i.manifest.Content, i.live.AsOf
	r.Checks = i.run(ctx)
	for _, c := range r.Checks {
		r.OK = r.OK && c.Status != Differs
	}
	return r, ctx.Err()
}

func (i *inspection) await(ctx context.Context) (err error) {
	said := ""
	for {
		i.published, err = i.identify(ctx)
		missing := ""
		if err != nil {
			missing = err.Error()
		} else if older := i.versions(); len(older) > 0 {
			missing = older[0].Path + " " + older[0].What
		}
		if missing == "" || !i.time() {
			return err
		}
		if missing != said && i.options.Waiting != nil {
			i.options.Waiting(missing)
		}
		said = missing
		if !sleep(ctx) {
			return ctx.Err()
		}
	}
}

func (i *inspection) time() bool { return time.Now().Add(pause).Before(i.deadline) }

func (i *inspection) run(ctx context.Context) []Check {
	all := i.requests()
	found := make([][]string, len(all))
	var running sync.WaitGroup
	for n := range all {
		running.Go(func() { found[n] = i.perform(ctx, &all[n]) })
	}
	running.Wait()
	var report []Check
	for _, name := range checks {
		c := Check{Name: name, Status: OK}
		asked := 0
		if name == content {
			asked, c.Differences = 2, i.versions()
		}
		for n := range all {
			if r := &all[n]; r.check == name {
				asked++
				for _, what := range found[n] {
					c.Differences = append(c.Differences, Difference{cmp.Or(r.shown, r.target), what + r.hint})
				}
			}
		}
		switch n := len(c.Differences); {
		case n == 1:
			c.Status, c.Detail = Differs, c.Differences[0].Path+" "+c.Differences[0].What
		case n > 0:
			c.Status, c.Detail = Differs, cli.Plural(n, "difference")
		case asked == 0:
			c.Status, c.Detail = Skipped, "not to be asked at this address"
		default:
			c.Detail = cli.Plural(asked, "answer") + " as generated"
		}
		if name == documents && i.unasked > 0 {
			c.Detail += fmt.Sprintf("; %d more of the log were not requested", i.unasked)
		}
		report = append(report, c)
	}
	return report
}

func (i *inspection) versions() (differences []Difference) {
	want := i.artifact.Snapshot.ShortVersion()
	for _, shown := range []struct{ path, wrong, content string }{
		{health.Manifest, i.manifestWrong, i.manifest.Content},
		{health.Live, i.liveWrong, i.live.Content},
	} {
		what := shown.wrong
		if what == "" && shown.content != want {
			what = fmt.Sprintf("has content %s, want %s", shown.content, want)
		}
		if what != "" {
			differences = append(differences, Difference{shown.path, what})
		}
	}
	return differences
}

type published struct {
	manifest      continuity.Manifest
	manifestWrong string // why it cannot be used, after its path
	live          liveness
	liveWrong     string // why it cannot be used
}

type liveness struct {
	Status  string   `json:"status"`
	Content string   `json:"content"`
	AsOf    string   `json:"as_of"`
	Failing []string `json:"failing"`
}

func (a *asker) identify(ctx context.Context) (p published, err error) {
	read := func(path string, into any) (got *answer, wrong string, err error) {
		got, err = a.get(ctx, path)
		if errors.Is(err, errBroken) {
			return &answer{status: http.StatusBadGateway, header: http.Header{}}, "cannot be read: " + err.Error(), nil
		} else if err != nil {
			return nil, "", err
		}
		return got, got.object(into), nil
	}
	document, wrong, err := read(health.Manifest, &p.manifest)
	if err != nil {
		return p, err
	}
	if wrong == "" && p.manifest.Content == "" {
		wrong = "names no " + health.Version
	}
	p.manifestWrong = wrong
	answer, wrong, err := read(health.Live, &p.live)
	if err != nil {
		return p, err
	}
	if wrong == "" && (p.live.Status == "" || p.live.Content == "") {
		wrong = "names no status and content"
	}
	p.liveWrong = wrong
	if p.manifestWrong == "" || p.liveWrong == "" {
		return p, nil
	}
	why, hint := errForeign, "check the address"
	switch {
	case document.redirects():
		hint = "name the address that it redirects to"
	case document.failing() || answer.failing():
		why, hint = ErrUnreachable, "try again, and look at its log"
	case document.status == http.StatusNotFound && answer.status == http.StatusNotFound,
		document.status == http.StatusGone:
		why, hint = ErrNothing, "deploy it, or check the address"
	}
	return p, fmt.Errorf("ask %s: %s %s: %w (%s)", a, health.Manifest, p.manifestWrong, why, hint)
}
