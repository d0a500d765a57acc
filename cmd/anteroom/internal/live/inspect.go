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
	"anteroom/edge/api"
	"anteroom/edge/endpoint/health"
	"anteroom/generator/output"
)

// Options configure Inspect. The zero value does not wait.
type Options struct {
	// Wait limits the time until the service, and each document, shows the generated version: a CDN
	// serves old and new ones while it is updated. Without an artifact it waits for any response.
	Wait    time.Duration
	Pause   time.Duration     // between two tries; 0 is a second
	Timeout time.Duration     // for one response; 0 is Timeout
	Waiting func(what string) // called when the reason to wait changes; may be nil
	Now     func() time.Time  // for ages; nil is time.Now
}

type Status string

// The statuses. Only Differs makes a report not OK.
const (
	OK      Status = "ok"
	Differs Status = "differs"
	Warning Status = "warning" // will differ later
	Skipped Status = "skipped" // for the reason in Detail
)

type Report struct {
	URL      string  `json:"url"`
	Compared bool    `json:"compared"` // with generated documents
	OK       bool    `json:"ok"`       // no check differs
	Content  string  `json:"content"`  // version of the shown content, or ""
	Wanted   string  `json:"wanted,omitempty"`
	AsOf     string  `json:"as_of"` // date of its newest board, or ""
	Checks   []Check `json:"checks"`
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

func (c *Check) differs(path, format string, args ...any) {
	c.Differences = append(c.Differences, Difference{path, fmt.Sprintf(format, args...)})
}

func (c *Check) end(status Status, detail string) string {
	c.Status = status
	return detail
}

func (r *Report) Differences() (all []Difference) {
	for _, c := range r.Checks {
		all = append(all, c.Differences...)
	}
	return all
}

const shownDifferences = 10 // lines of one check

// Print prints a line for each check, and its differences. folder has the generated documents.
func (r *Report) Print(t *cli.Terminal, folder string) {
	with := "itself only"
	if r.Compared {
		with = folder + ", " + r.Wanted
	}
	t.Printf("%s: compared with %s", r.URL, with)
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

// Err returns an error if the service differs.
func (r *Report) Err(folder string) error {
	n := cli.Plural(len(r.Differences()), "difference")
	switch {
	case r.OK:
		return nil
	case !r.Compared:
		return fmt.Errorf("%s contradicts itself: %s (see above; deploy it again)", r.URL, n)
	}
	return fmt.Errorf("%s differs from %s: %s (see above; deploy it, or reload its server, whose log names what "+
		"it refuses)", r.URL, folder, n)
}

// PlainHTTP is a check of settings of a CDN or a proxy.
const PlainHTTP = "plain http"

type inspection struct {
	*asker
	artifact  *output.Artifact // nil compares the service with itself
	core      *api.API
	generated manifest // of the artifact
	options   Options
	deadline  time.Time // for repeated requests
	unasked   int       // documents of a log that are not requested
	fetched   func() []document
	published
}

// Inspect compares all published documents of a service with the artifact. If that is nil, it
// compares documents, manifest and endpoints with each other. The error is about a service that
// cannot be compared, and wraps ErrNothing, ErrUnreachable or errForeign, or is the error of ctx.
func (s *Service) Inspect(ctx context.Context, artifact *output.Artifact, o Options) (*Report, error) {
	i := &inspection{
		asker: s.asker(cmp.Or(o.Timeout, Timeout), o.Pause), artifact: artifact, options: o,
		deadline: time.Now().Add(o.Wait),
	}
	r := &Report{URL: s.String(), Compared: artifact != nil, OK: true}
	if i.options.Now == nil {
		i.options.Now = time.Now
	}
	if artifact != nil {
		r.Wanted = artifact.Snapshot.ShortVersion()
		core, err := api.Load(artifact.Snapshot)
		if err != nil {
			return nil, err
		}
		i.core = core
		if err := json.Unmarshal(artifact.File(health.Manifest), &i.generated); err != nil {
			return nil, fmt.Errorf("read the generated %s: %w (run anteroom generate)", health.Manifest, err)
		}
	}
	if err := i.await(ctx, r.Wanted); err != nil {
		return nil, err
	}
	r.Content, r.AsOf = i.manifest.Content, i.live.AsOf
	r.Checks = i.run(ctx)
	for _, c := range r.Checks {
		r.OK = r.OK && c.Status != Differs
	}
	return r, ctx.Err()
}

func (i *inspection) await(ctx context.Context, want string) (err error) {
	said := ""
	for {
		i.published, err = i.identify(ctx)
		missing := ""
		switch {
		case err != nil:
			missing = err.Error()
		case want != "" && i.manifest.Content != want:
			missing = fmt.Sprintf("documents: got content %s, want %s", orNone(i.manifest.Content), want)
		case want != "" && i.live.Content != want:
			missing = fmt.Sprintf("endpoints: got content %s, want %s", orNone(i.live.Content), want)
		}
		if missing == "" || !i.time() {
			return err
		}
		if missing != said && i.options.Waiting != nil {
			i.options.Waiting(missing)
		}
		said = missing
		if !sleep(ctx, i.pause) {
			return ctx.Err()
		}
	}
}

func (i *inspection) time() bool { return time.Now().Add(i.pause).Before(i.deadline) }

func orNone(s string) string { return cmp.Or(s, "unknown") }

func (i *inspection) run(ctx context.Context) []Check {
	i.fetched = sync.OnceValue(func() []document { return i.fetch(ctx) })
	all := []struct {
		name  string
		check func(context.Context, *Check) string
	}{
		{"board", i.board},
		{"content", i.content},
		{"readiness", i.ready},
		{"documents", i.documents},
		{"headers", i.headers},
		{"endpoints", i.endpoints},
		{"key", i.key},
		{"security.txt", i.contact},
		{"write", i.write},
		{"self-test", i.selftest},
		{"agents", i.agents},
		{"unknown path", i.unknown},
		{"Markdown", i.twins},
		{"redirects", i.redirects},
		{PlainHTTP, i.plainHTTP},
		{"apex", i.apex},
	}
	checks := make([]Check, len(all))
	var running sync.WaitGroup
	for n, one := range all {
		running.Go(func() {
			c := &checks[n]
			c.Name, c.Status = one.name, OK
			c.Detail = one.check(ctx, c)
			if len(c.Differences) > 0 {
				c.Status, c.Detail = Differs, cli.Plural(len(c.Differences), "difference")
			}
			if len(c.Differences) == 1 {
				c.Detail = c.Differences[0].Path + " " + c.Differences[0].What
			}
		})
	}
	running.Wait()
	return checks
}

type published struct {
	manifest      manifest
	manifestWrong string // why it cannot be used, after its path
	live          liveness
	liveWrong     string // why it cannot be used
}

type manifest struct {
	Documents []struct {
		Path      string `json:"path"`
		MediaType string `json:"media_type"`
		SHA256    string `json:"sha256"`
	} `json:"documents"`
	ReceiptKey string `json:"receipt_key"`
	Content    string `json:"content_version"`
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
	switch {
	case wrong == "" && p.manifest.Content == "":
		wrong = "names no " + health.Version
	case len(p.manifest.Documents) > maxDocuments:
		wrong, p.manifest = fmt.Sprintf("lists more than %d documents", maxDocuments), manifest{}
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
	switch to := document.header.Get("Location"); {
	case document.redirects() && (to == a.String()+health.Manifest || to == health.Manifest):
		hint = "it redirects to itself: check for a CDN before the service that speaks plain HTTP to it"
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
