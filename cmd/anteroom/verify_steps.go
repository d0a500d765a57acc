package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
	"anteroom/generator/site"

	"golang.org/x/mod/sumdb/note"
)

// parseThrough reads a time in UTC. It is zero if text is "".
func parseThrough(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	through, err := time.Parse("2006-01-02T15:04:05Z", text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time such as 2026-11-22T12:00:00Z", text)
	}
	return through, nil
}

// signer reads the key that signs the next stage of the log, nil if the site has no log.
func (o *verifyOptions) signer(t *cli.Terminal, s *site.Site) (note.Signer, error) {
	key, err := o.key.Signer(t, s.Service.Log.Keys, filepath.Join(o.content, serviceFile))
	if err != nil || key == nil {
		return nil, err
	}
	// What a key has signed is out already: another tree would be a fork.
	if err := continuity.CheckLog(filepath.Join(filepath.Dir(o.content), publicFolder), s.Log); err != nil {
		return nil, fmt.Errorf("verify: nothing was signed: %w", err)
	}
	return key, nil
}

// read reads the file of --answers, nil if there is none. through is the time of these answers, of
// those that an editor has left, or of --through; it is zero if none of them names one.
func (o *verifyOptions) read(t *cli.Terminal) (answers *verification.Answers, through time.Time, err error) {
	text, of := "", "the answers go"
	switch {
	case o.answers != "":
		var file []byte
		if file, err = cli.ReadFile(t.In, o.answers, verification.MaxAnswers); err == nil {
			answers, err = verification.ParseAnswers(file)
		}
		if err != nil {
			return nil, through, fmt.Errorf("read answers: %w", err)
		}
		text = answers.Through
	case !o.template && !t.Interactive:
		return nil, through, errors.New("verify: there is no terminal for an editor " +
			"(--template prints what is to be decided, --answers FILE --yes decides)")
	case !o.template:
		of = verification.Draft(o.content) + " goes"
		if text, err = verification.Begun(verification.Draft(o.content)); err != nil {
			return nil, through, err
		}
	}
	if o.through != "" && text != "" && o.through != text {
		return nil, through, fmt.Errorf("--through is %s, and %s through %s", o.through, of, text)
	}
	text = cmp.Or(text, o.through)
	if answers != nil {
		answers.Through = text
	}
	if through, err = parseThrough(text); err != nil {
		err = fmt.Errorf("read answers: through %w", err)
	}
	return answers, through, err
}

// clockAhead is how far this machine's clock may be ahead of the store's.
const clockAhead = time.Minute

// checkRemote refuses the deployed store of another service, and a clock that is ahead of the
// store's: what is recorded next would have a time that the verification covers already.
func checkRemote(ctx context.Context, t *cli.Terminal, r records.Reader, s *site.Site, content string, now time.Time) error {
	deployed, is := r.(*cloudflare.Store)
	if !is {
		return nil
	}
	switch host := deployed.Host(); {
	case host != "" && host != s.Service.CanonicalHost:
		return fmt.Errorf("verify: %s belongs to %s, but %s is for %s (choose another environment with --remote)",
			deployed.Name(), host, content, s.Service.CanonicalHost)
	case host == "" && (len(s.Verifications) == 0 || s.Verifications[len(s.Verifications)-1].Store == ""):
		t.Warnf("cannot tell whether %s belongs to %s (check it, or set a route with custom_domain = true)",
			deployed.Name(), s.Service.CanonicalHost)
	}
	rows, err := r.Read(ctx, turn.Statement{SQL: "SELECT unixepoch()"})
	if err != nil {
		return fmt.Errorf("read the clock of %s: %w", r.Name(), err)
	}
	second, _ := rows[0][0][0].(int64)
	if ahead := now.Sub(time.Unix(second, 0)); ahead > clockAhead {
		return fmt.Errorf("verify: this machine's clock is %s ahead of that of %s (set it)", ahead.Round(time.Second), r.Name())
	}
	return nil
}
