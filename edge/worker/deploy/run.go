package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"anteroom/edge/worker/cloudflare"
)

// Site looks at the service from outside, as its callers do.
type Site interface {
	// Live asks what a host serves now. Where nothing is published there yet, that is no error; where
	// nobody knows what is, it is.
	Live(ctx context.Context, host string) (*Live, error)
	// Smoke tests a host that was deployed, and waits until it serves this content. It gives what it
	// tested, in words, or an error that says what is not as it was deployed.
	Smoke(ctx context.Context, host string) (string, error)
}

// Live is what a host serves.
type Live struct {
	Answers     bool              // whether a service answers at all; the other members are of one that does
	Host        string            // what it calls its canonical host
	Content     string            // the version of its content
	ReceiptKey  string            // the public half of the key that it publishes, "" where none
	Signs       bool              // whether it has the secret half, as far as it says
	Documents   map[string]string // SHA-256 in hexadecimal of what it publishes, by path
	Regressions []Regression      // what would go backwards
}

// Regression is something that would go backwards with a deployment.
type Regression struct {
	Name string `json:"name"` // of the allowance that lets it happen
	Text string `json:"text"` // a sentence; evidence follows in further lines, where there is some
}

// Run is one deployment. Survey and then Do are called once each.
type Run struct {
	Plan   *Plan
	Client *cloudflare.Client // Survey gives it an account where it has none
	Site   Site
	Say    func(Step) // is told of each step as it ends

	Zones map[string]*Zone // of custom domains, by host; Survey finds them
	Used  []Allowance      // those without which it would not go on

	states      []*state // of the plan's workers
	live        *Live    // nil where no comparison is made
	accountHost string   // at workers.dev, where a worker is there
	foundID     string   // of the database that stands as a placeholder in wrangler.toml
	sendsKey    bool     // whether the next version brings the receipt key
	key         string   // what the tag of the next version says of its receipt key
	steps       []*work
	changed     []string
	serving     string // what answers now
}

// work is a step with what does it, nil where nothing is to be done.
type work struct {
	Step
	do func(ctx context.Context) (text string, err error)
}

func (r *Run) api() api { return api{r.Client} }

// Steps are the steps of the deployment, in their order, and how far each is.
func (r *Run) Steps() []Step {
	list := make([]Step, len(r.steps))
	for i, w := range r.steps {
		list[i] = w.Step
	}
	return list
}

// Changes are what was changed, in words.
func (r *Run) Changes() []string { return slices.Clone(r.changed) }

// nothing is what answers before a first deployment.
const nothing = "nothing"

// Serving says what answers at the service's hosts now, "" where that is not known.
func (r *Run) Serving() string { return r.serving }

// Stopped is the error of a deployment that did not come to its end.
type Stopped struct {
	Step    string   // that failed
	Serving string   // what answers now
	Changed []string // before
	Next    string   // how to go on
	Err     error
}

func (s *Stopped) Error() string {
	changed := "nothing"
	if len(s.Changed) > 0 {
		changed = strings.Join(s.Changed, "; ")
	}
	return fmt.Sprintf("%s: %v\nlive now: %s\nchanged by this deployment: %s\nnext: %s", s.Step, s.Err, s.Serving, changed, s.Next)
}

func (s *Stopped) Unwrap() error { return s.Err }

// Smoke reports whether all was deployed, and only the test of it failed.
func (s *Stopped) Smoke() bool { return s.Step == smokeStep }

// Do does what is not done, and says each step. Its error is a Stopped.
func (r *Run) Do(ctx context.Context) error {
	for _, w := range r.steps {
		if w.do == nil {
			r.Say(w.Step)
			continue
		}
		err := ctx.Err()
		var text string
		if err == nil {
			text, err = w.do(ctx)
		}
		if err == nil {
			w.Status, w.Text = Done, text
			r.Say(w.Step)
			continue
		}
		next := "run the command again: it goes on, and leaves out what is done"
		if w.Name == smokeStep {
			next = "look at what is wrong; anteroom rollback brings back the version before, and running the command again tests once more"
		}
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		w.Status, w.Text = Failed, err.Error()
		r.lookAgain(ctx)
		return &Stopped{Step: w.Name, Serving: r.serving, Changed: r.changed, Next: next, Err: err}
	}
	return nil
}

// longestLook is how long a deployment that failed asks what answers now.
const longestLook = 15 * time.Second

// lookAgain asks what answers now, after a failure: somebody else may have deployed since the
// survey, and a deployment whose answer was lost may have been made. An interrupt does not end the
// question.
func (r *Run) lookAgain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestLook)
	defer cancel()
	s := r.states[0]
	list, _, err := r.api().deployments(ctx, s.Name)
	switch {
	case err != nil && s.uploaded != "" && r.serving != r.uploadedText():
		r.serving += fmt.Sprintf(", or the new version %.8s: Cloudflare does not say", s.uploaded)
	case err != nil:
		r.serving += ", as far as is known: Cloudflare does not say"
	case len(list) == 0 || s.deployment != nil && list[0].ID == s.deployment.ID:
	case isOf(&list[0], s.uploaded):
		r.serving = r.uploadedText()
	default:
		r.serving = deployedSince(&list[0])
	}
}

const smokeStep = "smoke test"

// arrange makes the steps of what the survey has found.
func (r *Run) arrange() {
	r.steps = []*work{{Step: Step{Name: "account", Status: Already, Text: r.accountText()}}}
	if r.Plan.Environment == Production {
		r.steps = append(r.steps, &work{Step: Step{Name: "comparison", Status: Already, Text: r.comparisonText()}})
	}
	if r.Plan.Database != nil {
		r.steps = append(r.steps, r.databaseStep(), r.migrationsStep())
	}
	for _, s := range r.states {
		r.steps = append(r.steps, r.workerSteps(s)...)
	}
	if host := r.smokeHost(); host != "" {
		r.steps = append(r.steps, &work{
			Step: Step{Name: smokeStep, Status: Would, Text: "test " + host + " as its callers use it"},
			do:   func(ctx context.Context) (string, error) { return r.Site.Smoke(ctx, host) },
		})
	}
}

// devHost is where a worker answers at workers.dev, "" where it does not.
func (r *Run) devHost(s *state) string {
	if !s.Settings.WorkersDev {
		return ""
	}
	return s.Name + "." + r.accountHost
}

// smokeHost is the host that is tested in the end, "" where there is none.
func (r *Run) smokeHost() string {
	first := r.states[0]
	switch {
	case !first.service:
		return ""
	case len(first.Hosts) > 0:
		return first.Hosts[0]
	}
	// Its endpoints answer at a host that the content names.
	if host := r.devHost(first); slices.Contains(r.Plan.source.Facts.PreviewHosts, host) {
		return host
	}
	return ""
}

func (r *Run) accountText() string {
	text := "account " + r.Client.Account
	var names []string
	for _, zone := range r.Zones {
		if !slices.Contains(names, zone.Name) {
			names = append(names, zone.Name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		text += ", zone " + name
	}
	return text
}

func (r *Run) comparisonText() string {
	host := r.Plan.source.Facts.CanonicalHost
	switch {
	case len(r.Used) > 0:
		return "allowed: " + allowances(r.Used)
	case !r.states[0].fresh:
		return "nothing new is to be deployed at " + host
	case !r.live.Answers:
		return "nothing is published at " + host + " yet"
	case r.live.Content == r.Plan.Content:
		return fmt.Sprintf("%s serves this content, %.12s", host, r.live.Content)
	}
	return fmt.Sprintf("nothing of %s goes backwards: content %s follows %.12s", host, r.Plan.Content, r.live.Content)
}

func allowances(list []Allowance) string {
	var texts []string
	for _, a := range list {
		texts = append(texts, fmt.Sprintf("%s (%s)", a.Name, a.Reason))
	}
	return strings.Join(texts, ", ")
}

// message is what a deployment and its version say of themselves.
func (r *Run) message() string {
	text := contentText(r.Plan.Content, r.Plan.source.AsOf)
	if len(r.Used) > 0 {
		text += "; allowed " + allowances(r.Used)
	}
	return text
}

// uploadedText names the version that this deployment uploaded.
func (r *Run) uploadedText() string {
	s := r.states[0]
	return fmt.Sprintf("the new version %.8s of %s (%s)", s.uploaded, s.Name, r.message())
}

// describe names the version that answers.
func describe(s *state) string {
	text := fmt.Sprintf("version %.8s of %s", s.version.ID, s.Name)
	if s.version.Annotations.Message != "" {
		text += fmt.Sprintf(" (%s)", s.version.Annotations.Message)
	}
	return text
}
