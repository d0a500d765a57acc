package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/health"
	"anteroom/generator"
)

// Options are how to inspect a service. The zero value waits for nothing.
type Options struct {
	// Wait is how long to wait until the service shows the version of the content, and until each
	// document of it is the new one: a CDN that is just being updated gives old and new ones. Without
	// a content it is how long to wait for any answer.
	Wait time.Duration
	// Pause is the time between two looks while waiting, and before a request is sent again that
	// failed in passing. 0 is a second.
	Pause time.Duration
	// Timeout is for one answer. 0 is Timeout.
	Timeout time.Duration
	// Waiting, if set, is called with what is waited for, whenever that changes.
	Waiting func(what string)
	// Now is the time of which ages are. nil is time.Now.
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
	Compared bool    `json:"compared"` // whether there was a content to compare with
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

// Difference is one thing that is not as it is meant to be.
type Difference struct {
	Path string `json:"path"` // "" if it is about no path
	What string `json:"what"` // part of a sentence whose subject is the path
}

// Differences are those of all checks.
func (r *Report) Differences() (all []Difference) {
	for _, c := range r.Checks {
		if c.Status == Differs {
			all = append(all, c.Differences...)
		}
	}
	return all
}

// shownDifferences is how many differences of one check get a line.
const shownDifferences = 10

// Print prints a line for each check, and below it what differs. content is the name of the content.
func (r *Report) Print(t *cli.Terminal, content string) {
	against := "no content was compared"
	if r.Compared {
		against = fmt.Sprintf("compared with %s, %s", content, r.Wanted)
	}
	t.Printf("%s: %s", r.URL, against)
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
func (r *Report) Err(content string) error {
	n := cli.Plural(len(r.Differences()), "difference")
	switch {
	case r.OK:
		return nil
	case !r.Compared:
		return fmt.Errorf("%s does not fit itself: %s (see above; deploy it again)", r.URL, n)
	}
	return fmt.Errorf("%s is not as %s has it: %s (see above; deploy the content, or start its server again)", r.URL, content, n)
}

// The names of the checks, in the order of a report.
const (
	CheckContent   = "content"      // the documents and the endpoints are of the content
	CheckReady     = "readiness"    // what /readyz says
	CheckDocuments = "documents"    // each document, byte for byte
	CheckHeaders   = "headers"      // the header fields of each document
	CheckRewritten = "rewriting"    // that nobody on the way changes pages
	CheckEndpoints = "endpoints"    // what the endpoints answer by the content alone
	CheckBoard     = "board"        // the newest board, and its age
	CheckKey       = "key"          // the key that signs receipts
	CheckContact   = "security.txt" // that it has not expired
	CheckWrite     = "write"        // a write, rehearsed
	CheckSelftest  = "self-test"    // the self-test of the service
	CheckAgents    = "agents"       // programs that say nothing of themselves are let through
	CheckUnknown   = "unknown path" // what is answered if nothing is published there
	CheckRedirects = "redirects"    // where redirects lead to
	CheckPlainHTTP = "plain http"   // that it leads to https
	CheckApex      = "apex"         // the bare domain, which redirects
)

// inspection is one Inspect.
type inspection struct {
	*asker
	output   *generator.Output // nil: there is no content to compare with
	options  Options
	deadline time.Time // until when an old document is asked for again
	unasked  int       // documents of a log that fetch does not ask for
	published
}

// Inspect asks a service for everything that it publishes and compares it with what output would
// be. If output is nil, it compares the service with itself: the documents with the manifest,
// the manifest with the endpoints. The error is for a service that cannot be compared at all, and
// wraps ErrNothing, ErrUnreachable or ErrForeign, or is that of ctx.
func (s *Service) Inspect(ctx context.Context, output *generator.Output, o Options) (*Report, error) {
	if o.Pause == 0 {
		o.Pause = pause
	}
	if o.Timeout == 0 {
		o.Timeout = Timeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Waiting == nil {
		o.Waiting = func(string) {}
	}
	i := &inspection{asker: s.asker(o.Timeout, o.Pause), output: output, options: o, deadline: time.Now().Add(o.Wait)}
	if err := i.await(ctx); err != nil {
		return nil, err
	}
	r := &Report{URL: s.String(), Compared: output != nil, OK: true, Content: i.manifest.Content, AsOf: i.live.AsOf}
	if output != nil {
		r.Wanted = output.Snapshot.ShortVersion()
	}
	r.Checks = i.run(ctx)
	for _, c := range r.Checks {
		r.OK = r.OK && c.Status != Differs
	}
	return r, ctx.Err()
}

// await reads what the service says of itself, and waits until that is of the content.
func (i *inspection) await(ctx context.Context) (err error) {
	said := ""
	for {
		i.published, err = i.identify(ctx)
		waitsFor := i.stale(err)
		if waitsFor == "" || ctx.Err() != nil || errors.Is(err, ErrForeign) && i.options.Wait == 0 || !i.time() {
			return err
		}
		if waitsFor != said {
			said = waitsFor
			i.options.Waiting(waitsFor)
		}
		if !sleep(ctx, i.options.Pause) {
			return ctx.Err()
		}
	}
}

// time reports whether there is time for another look.
func (i *inspection) time() bool { return time.Now().Add(i.options.Pause).Before(i.deadline) }

// stale says why to wait; "" if there is nothing to wait for.
func (i *inspection) stale(err error) string {
	switch {
	case err != nil:
		return err.Error()
	case i.output == nil:
		return ""
	}
	want := i.output.Snapshot.ShortVersion()
	switch {
	case i.manifest.Content != want:
		return fmt.Sprintf("the documents are of content %s, not yet of %s", orNone(i.manifest.Content), want)
	case i.live.Content != want:
		return fmt.Sprintf("the endpoints are of content %s, not yet of %s", orNone(i.live.Content), want)
	}
	return ""
}

func orNone(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// run makes all checks, side by side. Their requests share the slots of the asker.
func (i *inspection) run(ctx context.Context) []Check {
	fetched := sync.OnceValue(func() []fetched { return i.fetch(ctx) })
	all := []struct {
		name  string
		check func(context.Context) Check
	}{
		{CheckContent, i.content},
		{CheckReady, i.ready},
		{CheckDocuments, func(context.Context) Check { return i.documents(fetched()) }},
		{CheckHeaders, func(context.Context) Check { return i.headers(fetched()) }},
		{CheckRewritten, func(context.Context) Check { return i.rewritten(fetched()) }},
		{CheckEndpoints, i.endpoints},
		{CheckBoard, i.board},
		{CheckKey, i.key},
		{CheckContact, i.contact},
		{CheckWrite, i.write},
		{CheckSelftest, i.selftest},
		{CheckAgents, i.agents},
		{CheckUnknown, i.unknown},
		{CheckRedirects, i.redirects},
		{CheckPlainHTTP, i.plainHTTP},
		{CheckApex, i.apex},
	}
	checks := make([]Check, len(all))
	var running sync.WaitGroup
	for n, c := range all {
		running.Go(func() {
			checks[n] = c.check(ctx)
			checks[n].Name = c.name
		})
	}
	running.Wait()
	return checks
}

func ok(format string, args ...any) Check {
	return Check{Status: OK, Detail: fmt.Sprintf(format, args...)}
}

func skipped(format string, args ...any) Check {
	return Check{Status: Skipped, Detail: fmt.Sprintf(format, args...)}
}

// differs is a check with one difference.
func differs(path, format string, args ...any) Check {
	what := fmt.Sprintf(format, args...)
	detail := what
	if path != "" {
		detail = path + " " + what
	}
	return Check{Status: Differs, Detail: detail, Differences: []Difference{{path, what}}}
}

// failed is a check whose request failed. err names the path.
func failed(err error) Check {
	return Check{Status: Differs, Detail: err.Error(), Differences: []Difference{{What: err.Error()}}}
}

// findings are what a check finds.
type findings []Difference

func (f *findings) add(path, format string, args ...any) {
	*f = append(*f, Difference{path, fmt.Sprintf(format, args...)})
}

// of is a check of many things: good if none differs.
func of(differences findings, things int, format string, args ...any) Check {
	if len(differences) == 0 {
		return ok(format, args...)
	}
	c := Check{Status: Differs, Differences: differences}
	if c.Detail = differences[0].Path + " " + differences[0].What; len(differences) > 1 {
		c.Detail = fmt.Sprintf("%d of %d differ", len(differences), things)
	}
	return c
}

// published is what a service says of itself.
type published struct {
	manifest    manifest
	manifestErr error // why there is no manifest
	live        liveness
	liveErr     error // why there is no answer to the check of health
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
	document, err := a.get(ctx, health.Manifest)
	if err != nil && !errors.Is(err, errBroken) {
		return p, err
	}
	if p.manifestErr = err; err == nil {
		if p.manifestErr = object(health.Manifest, document, 200, &p.manifest); p.manifestErr == nil && p.manifest.Content == "" {
			p.manifestErr = fmt.Errorf("%s names no %s", health.Manifest, health.Version)
		}
		if len(p.manifest.Documents) > maxDocuments {
			p.manifestErr, p.manifest = fmt.Errorf("%s lists more than %d documents", health.Manifest, maxDocuments), manifest{}
		}
	}
	answer, err := a.get(ctx, health.Live)
	if err != nil && !errors.Is(err, errBroken) {
		return p, err
	}
	if p.liveErr = err; err == nil {
		if p.liveErr = object(health.Live, answer, 200, &p.live); p.liveErr == nil && (p.live.Status == "" || p.live.Content == "") {
			p.liveErr = fmt.Errorf("%s names no status and content", health.Live)
		}
	}
	switch {
	case p.manifestErr == nil || p.liveErr == nil:
		return p, nil
	case document == nil:
		return p, fmt.Errorf("%w: %w (try again)", p.manifestErr, ErrUnreachable)
	case answer == nil:
		return p, fmt.Errorf("%w: %w (try again)", p.liveErr, ErrUnreachable)
	case document.status >= 300 && document.status < 400:
		to := document.header.Get("Location")
		hint := "name the address that it redirects to"
		if to == a.String()+health.Manifest || to == health.Manifest {
			hint = "it redirects to itself: look at what stands before the service, such as a CDN that speaks plain HTTP to it"
		}
		return p, fmt.Errorf("ask %s: %w: %w (%s)", a, p.manifestErr, ErrForeign, hint)
	case document.failing() || answer.failing():
		return p, fmt.Errorf("ask %s: %w: %w (try again, and look at its log)", a, p.manifestErr, ErrUnreachable)
	case document.status == 404 && answer.status == 404 || document.status == 410:
		return p, fmt.Errorf("ask %s: %w: %w (deploy it, or look at the address)", a, p.manifestErr, ErrNothing)
	}
	return p, fmt.Errorf("ask %s: %w: %w (look at the address)", a, p.manifestErr, ErrForeign)
}
