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

// Options are how to inspect a service. The zero value waits for nothing.
type Options struct {
	// Wait is how long to wait until the service shows what was generated, and until each document
	// is the new one: a CDN that is being updated gives old and new ones. If nothing is compared it
	// is how long to wait for any answer.
	Wait time.Duration
	// Pause is the time between two looks while waiting, and before a request that failed
	// temporarily is sent again. 0 is a second.
	Pause time.Duration
	// Timeout is for one answer. 0 is Timeout.
	Timeout time.Duration
	// Waiting, if set, is called with what is waited for, whenever that changes.
	Waiting func(what string)
	// Now is the time from which ages are counted. nil is time.Now.
	Now func() time.Time
}

// Status is what a check found.
type Status string

// The statuses. Only Differs makes a report not OK.
const (
	OK      Status = "ok"
	Differs Status = "differs"
	Warning Status = "warning" // all right for now
	Skipped Status = "skipped" // it could not be looked at, for the reason in Detail
)

// Report is what Inspect found.
type Report struct {
	URL      string  `json:"url"`
	Compared bool    `json:"compared"` // whether the service was compared with what was generated
	OK       bool    `json:"ok"`       // whether no check differs
	Content  string  `json:"content"`  // version of the content that the service shows; "" if it shows none
	Wanted   string  `json:"wanted,omitempty"`
	AsOf     string  `json:"as_of"` // date of its newest board; "" if it shows none
	Checks   []Check `json:"checks"`
}

// Check is one thing that was looked at.
type Check struct {
	Name        string       `json:"name"`
	Status      Status       `json:"status"`
	Detail      string       `json:"detail"`
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is one thing that is not as it should be.
type Difference struct {
	Path string `json:"path"`
	What string `json:"what"` // part of a sentence whose subject is the path
}

func (c *Check) differs(path, format string, args ...any) {
	c.Differences = append(c.Differences, Difference{path, fmt.Sprintf(format, args...)})
}

func (c *Check) end(status Status, detail string) string {
	c.Status = status
	return detail
}

// Differences are those of all checks.
func (r *Report) Differences() (all []Difference) {
	for _, c := range r.Checks {
		all = append(all, c.Differences...)
	}
	return all
}

// shownDifferences is how many differences of one check get a line.
const shownDifferences = 10

// Print prints a line for each check, and below it what differs. folder has what was generated.
func (r *Report) Print(t *cli.Terminal, folder string) {
	with := "itself only"
	if r.Compared {
		with = folder + ", " + r.Wanted
	}
	t.Printf("%s: compared with %s", r.URL, with)
	for _, c := range r.Checks {
		t.Printf("%-13s %-8s %s", c.Name, c.Status, c.Detail)
		if len(c.Differences) < 2 { // the detail says it all
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

// Err is an error if something differs.
func (r *Report) Err(folder string) error {
	n := cli.Plural(len(r.Differences()), "difference")
	switch {
	case r.OK:
		return nil
	case !r.Compared:
		return fmt.Errorf("%s does not fit itself: %s (see above; deploy it again)", r.URL, n)
	}
	return fmt.Errorf("%s is not as %s has it: %s (see above; deploy it, or restart its server)", r.URL, folder, n)
}

// PlainHTTP is the check whose differences are settings of a CDN or a proxy.
const PlainHTTP = "plain http"

// inspection is one Inspect.
type inspection struct {
	*asker
	artifact  *output.Artifact // nil: the service is compared with itself
	core      *api.API
	generated manifest // of the artifact
	options   Options
	deadline  time.Time // until when an old document is asked for again
	unasked   int       // documents of a log that are not asked for
	fetched   func() []document
	published
}

// Inspect asks a service for everything that it publishes and compares it with the artifact. If
// that is nil, it compares the service with itself: the documents with the manifest, the manifest
// with the endpoints. The error is for a service that cannot be compared at all, and wraps
// ErrNothing, ErrUnreachable or ErrForeign, or is that of ctx.
func (s *Service) Inspect(ctx context.Context, artifact *output.Artifact, o Options) (*Report, error) {
	i := &inspection{asker: s.asker(cmp.Or(o.Timeout, Timeout), o.Pause), artifact: artifact, options: o, deadline: time.Now().Add(o.Wait)}
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

// await reads what the service says of itself, and waits until it names the wanted version.
func (i *inspection) await(ctx context.Context, want string) (err error) {
	said := ""
	for {
		i.published, err = i.identify(ctx)
		missing := ""
		switch {
		case err != nil:
			missing = err.Error()
		case want != "" && i.manifest.Content != want:
			missing = fmt.Sprintf("the documents are of content %s, not yet of %s", orNone(i.manifest.Content), want)
		case want != "" && i.live.Content != want:
			missing = fmt.Sprintf("the endpoints are of content %s, not yet of %s", orNone(i.live.Content), want)
		}
		if missing == "" || !i.time() {
			return err
		}
		if missing != said && i.options.Waiting != nil {
			i.options.Waiting(missing)
		}
		if said = missing; !sleep(ctx, i.pause) {
			return ctx.Err()
		}
	}
}

func (i *inspection) time() bool { return time.Now().Add(i.pause).Before(i.deadline) }

func orNone(s string) string { return cmp.Or(s, "unknown") }

// run makes all checks, side by side. Their requests share the slots of the asker. A check adds
// what differs, and returns what to say if nothing does.
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

// published is what a service says of itself.
type published struct {
	manifest      manifest
	manifestWrong string // why there is no manifest, after its path; "" if there is one
	live          liveness
	liveWrong     string // why there is no answer to the check of health
}

// manifest is the part of manifest.json that is looked at.
type manifest struct {
	Documents []struct {
		Path      string `json:"path"`
		MediaType string `json:"media_type"`
		SHA256    string `json:"sha256"`
	} `json:"documents"`
	ReceiptKey string `json:"receipt_key"`
	Content    string `json:"content_version"`
}

// liveness is the answer to a check of health.
type liveness struct {
	Status  string   `json:"status"`
	Content string   `json:"content"`
	AsOf    string   `json:"as_of"`
	Failing []string `json:"failing"`
}

// identify asks a service whether it is one, by the two things that every one has. One of the two
// is enough: what is wrong with the other is a difference.
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
	if p.liveWrong = wrong; p.manifestWrong == "" || p.liveWrong == "" {
		return p, nil
	}
	why, hint := ErrForeign, "check the address"
	switch to := document.header.Get("Location"); {
	case document.redirects() && (to == a.String()+health.Manifest || to == health.Manifest):
		hint = "it redirects to itself: check what is before the service, such as a CDN that speaks plain HTTP to it"
	case document.redirects():
		hint = "name the address that it redirects to"
	case document.failing() || answer.failing():
		why, hint = ErrUnreachable, "try again, and look at its log"
	case document.status == http.StatusNotFound && answer.status == http.StatusNotFound, document.status == http.StatusGone:
		why, hint = ErrNothing, "deploy it, or check the address"
	}
	return p, fmt.Errorf("ask %s: %s %s: %w (%s)", a, health.Manifest, p.manifestWrong, why, hint)
}
