package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/assets"
	"anteroom/edge/native/disk"
	"anteroom/edge/turn"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

// longestCheck bounds a check: a hostile service could feed it for ever.
const longestCheck = 10 * time.Minute

// logCheck rebuilds a log and compares it with its files, kept checkpoints and promises.
type logCheck struct {
	out, url, host, logKey, state, maxAge string
	witnesses, receiptKeys                []string
}

func logCheckCommand(t *cli.Terminal) *cobra.Command {
	var o logCheck
	cmd := &cobra.Command{
		Use:  "check [ANSWER...]",
		RunE: func(cmd *cobra.Command, answers []string) error { return o.run(cmd.Context(), t, answers) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.out, "out", publicFolder, "the `folder` of documents")
	flags.StringVar(&o.url, "url", "", "the `address` of a service, instead of --out")
	flags.StringVar(&o.host, "host-header", "", "the host `name` to send, not the address's")
	flags.StringVar(&o.logKey, "log-key", "", "the `verifier key` of the log to trust")
	flags.StringVar(&o.state, "state", "", "the `file` of key and checkpoints seen")
	flags.StringArrayVar(&o.witnesses, "witness", nil, "the `key` of a witness that must have cosigned; may be repeated")
	flags.StringArrayVar(&o.receiptKeys, "receipt-key", nil,
		"a `key` that signed promises, in base64, with @FIRST..LAST if it was replaced; may be repeated")
	flags.StringVar(&o.maxAge, "max-age", "", "the newest verification's `age` limit, as 35d")
	jsonFlag(flags, &t.JSON)
	cmd.MarkFlagsMutuallyExclusive("url", "out")
	for _, name := range []string{"url", "host-header", "log-key", "witness", "receipt-key"} {
		// A checkout's settings must not affect a check, and ANTEROOM_LOG_KEY is the secret key.
		flags.SetAnnotation(name, cli.OnlyHere, []string{"true"})
	}
	return cmd
}

// seenLog is the file of --state.
type seenLog struct {
	Key         string   `json:"key"`
	Checkpoints []string `json:"checkpoints"` // all with a valid signature, even from a faulty log
}

// logReport is the output of log check.
type logReport struct {
	OK       bool   `json:"ok"`
	Log      string `json:"log"`       // the address or folder
	KeysFrom string `json:"keys_from"` // "" if they were taken on trust
	Age      string `json:"age"`       // of the newest verification
	*tlog.Report
}

func (o *logCheck) run(ctx context.Context, t *cli.Terminal, answers []string) error {
	maxAge, err := age(o.maxAge)
	if err != nil {
		return cli.Usage(fmt.Errorf("--max-age %.40q: %w", o.maxAge, err))
	}
	what := tlog.Checking{Now: t.Now(), ReceiptKeys: slices.Clone(o.receiptKeys)}
	r := &logReport{Log: o.out}
	for _, key := range o.witnesses {
		w := tlog.Witness{Key: key}
		if err := w.Check(); err != nil {
			return cli.Usage(fmt.Errorf("--witness: %w", err))
		}
		what.Witnesses = append(what.Witnesses, w)
	}
	for _, key := range o.receiptKeys {
		public, _, _ := strings.Cut(key, "@")
		if raw, err := base64.StdEncoding.DecodeString(public); err != nil || len(raw) != ed25519.PublicKeySize {
			return cli.Usage(errors.New("--receipt-key: want 32 bytes in base64, and perhaps @FIRST..LAST"))
		}
	}
	for _, name := range answers {
		p, err := readPromised(t.In, name)
		if errors.Is(err, errEdited) {
			return err
		} else if err != nil {
			return cli.Unusable("read the answer: %w", err)
		}
		what.Promised = append(what.Promised, p)
	}
	seen, err := o.seen()
	if err != nil {
		return cli.Unusable("read %s: %w (restore it, or start with another file)", o.state, err)
	}
	for _, note := range seen.Checkpoints {
		what.Kept = append(what.Kept, []byte(note))
	}
	if what.Key, r.KeysFrom, err = o.trusted(seen); err != nil {
		return err
	}
	look, cancel := context.WithTimeout(ctx, longestCheck)
	defer cancel()
	if err := o.source(look, &what, r); err != nil {
		return err
	}
	r.Report, err = tlog.Check(what)
	if n := len(r.Verifications); n > 0 {
		as, _ := time.Parse(time.DateOnly, r.Verifications[n-1].AsOf)
		old := t.Now().Sub(as)
		r.Age = cli.Plural(int(old.Hours()/24), "day")
		if maxAge > 0 && old > maxAge {
			r.Faults = append(r.Faults, tlog.PublishFault{
				Path: tlog.BoardPath(r.Verifications[n-1].Name), What: fmt.Sprintf("is the newest, and %s old: more than %s",
					r.Age, o.maxAge),
			})
		}
	}
	r.OK = r.Report.OK()
	if kept := o.keep(seen, r.Report); kept != nil {
		return cli.Unusable("keep the checkpoint in %s: %w", o.state, kept)
	}
	if r.KeysFrom == "" && r.Key != "" {
		t.Warnf("the key %s is taken on trust from the service itself "+
			"(compare it with the key that others have, and give it with --log-key)", r.Key)
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case err != nil && r.OK:
		return cli.Unusable("check the log of %s: %w", r.Log, err)
	case err != nil:
		t.Warnf("check the log of %s: the check is incomplete: %v", r.Log, err)
	}
	if err := t.Answer(r, func() { r.print(t) }); err != nil {
		return err
	}
	return r.err()
}

// source sets where the files come from: a folder, a copy, or the service itself, whose manifest
// then names a receipt key. The service itself is its host, asked by https, or this machine.
func (o *logCheck) source(ctx context.Context, what *tlog.Checking, r *logReport) error {
	if o.url == "" {
		if _, err := os.Stat(o.out); err != nil {
			return cli.Unusable("check log: %w (anteroom generate makes it; --out names another, --url a service)", err)
		}
		what.Read = func(path string) ([]byte, error) {
			return assets.ReadFile(filepath.Join(o.out, path))
		}
		return nil
	}
	host, below := o.url, "" // a log that has ended may be in a folder of the host
	if address, err := url.Parse(o.url); err == nil && address.Host != "" {
		below, address.Path = strings.TrimSuffix(address.Path, "/"), ""
		host = address.String()
	}
	s, err := live.New(host)
	if err != nil {
		return cli.Usage(fmt.Errorf("--url: %w", err))
	}
	s.Host, r.Log = o.host, s.String()+below
	what.Read = func(path string) ([]byte, error) { return s.File(ctx, below+path) }
	local := turn.IsLoopback(s.Base.Hostname())
	if len(what.Promised) == 0 || below != "" || s.Base.Scheme != "https" && !local {
		return nil // no promise to check, or a copy
	}
	text, err := what.Read("/manifest.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a copy of only the log
	}
	var named continuity.Manifest
	if err == nil {
		err = json.Unmarshal(text, &named)
	}
	if err != nil {
		return cli.Unusable("read /manifest.json of %s: %w", r.Log, err)
	}
	if local || strings.EqualFold(s.Base.Hostname(), named.Host) {
		what.Service = named.Host
	}
	if !local || strings.EqualFold(o.host, named.Host) { // anything may listen on loopback
		what.ServiceKey = named.ReceiptKey
	}
	return nil
}

func (o *logCheck) trusted(seen *seenLog) (key, from string, err error) {
	switch {
	case o.logKey != "" && seen.Key != "" && o.logKey != seen.Key:
		return "", "", cli.Usage(fmt.Errorf("--log-key differs from the key in %s", o.state))
	case o.logKey != "":
		if _, err = tlog.CheckKey(o.logKey); err != nil {
			err = cli.Usage(fmt.Errorf("--log-key: %w", err)) // without the text, which may be a secret
		}
		return o.logKey, "--log-key", err
	case seen.Key != "":
		return seen.Key, o.state, nil
	case o.url == "":
		return "", o.out, nil
	}
	return "", "", nil
}

func (o *logCheck) seen() (*seenLog, error) {
	seen := &seenLog{}
	if o.state == "" {
		return seen, nil
	}
	text, err := assets.ReadFile(o.state)
	if errors.Is(err, fs.ErrNotExist) {
		return seen, nil
	}
	if err == nil {
		err = json.Unmarshal(text, seen)
	}
	if err == nil {
		_, err = tlog.CheckKey(seen.Key)
	}
	return seen, err
}

// keep adds the newest checkpoint to the file of --state. One that is validly signed counts,
// whatever else is wrong: a log that is faulty now must be held to it later.
func (o *logCheck) keep(seen *seenLog, r *tlog.Report) error {
	signed := func(note string) string { return note[:strings.Index(note, "\n\n")] } // anyone may add signatures
	if o.state == "" || r.Checkpoint == "" || slices.ContainsFunc(seen.Checkpoints,
		func(note string) bool { return strings.HasPrefix(note, signed(r.Checkpoint)+"\n\n") }) {
		return nil
	}
	seen.Key, seen.Checkpoints = r.Key, append(seen.Checkpoints, r.Checkpoint)
	text, err := json.MarshalIndent(seen, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err = disk.Replace(o.state, text); errors.Is(err, fs.ErrNotExist) {
		err = disk.WriteNew(o.state, text)
	}
	return err
}

func age(text string) (time.Duration, error) {
	days, inDays := strings.CutSuffix(text, "d")
	if n, err := strconv.Atoi(days); inDays && err == nil && n > 0 && n < 1e5 {
		return time.Duration(n) * 24 * time.Hour, nil
	} else if text == "" {
		return 0, nil
	}
	return 0, errors.New("want days, such as 35d")
}

func (r *logReport) err() error {
	if !r.OK {
		return fmt.Errorf("the log of %s has %s: see above (keep the signed notes: they are the evidence)",
			r.Log, cli.Plural(len(r.Faults), "fault"))
	}
	var unclear error
	for _, p := range r.Promises {
		switch p.State {
		case tlog.SetApart, tlog.NotCounted, tlog.Edited:
			return fmt.Errorf("the record of %s: %s", p.Name, p.State)
		case tlog.Unverified:
			unclear = cli.Unusable("the promise in %s is unverified: %s "+
				"(anyone could have made it; --receipt-key names further keys of the service)", p.Name, p.Why)
		case tlog.Revoked:
			unclear = cli.Unusable("the promise in %s is signed by a revoked key: %s", p.Name, p.Why)
		case tlog.Elsewhere:
			unclear = cli.Unusable("the record of %s is not in this copy: %s (check the service itself, with --url)",
				p.Name, p.Why)
		}
	}
	return unclear
}

func (r *logReport) print(t *cli.Terminal) {
	for _, v := range r.Verifications {
		c := v.Counts
		t.Printf("%s: %s: %s, %s, %s, %s, %d of the operator's own%s", v.Name, cli.Plural(v.Size, "entry"),
			cli.Plural(c.Vouched, "verified conversion"), cli.Plural(c.Registrations, "registration"),
			cli.Plural(c.Charters, "charter"), cli.Plural(c.Suggestions, "suggestion"), c.Own, cosignedBy(v.Cosigned))
	}
	for _, p := range r.Promises {
		text := p.Name + ": " + p.State
		if p.Why != "" {
			text += ": " + p.Why
		}
		if p.By != "" {
			text += fmt.Sprintf("; promised to be counted by %s, by %s of %s", p.By, p.SignedBy, p.IssuedBy)
		}
		if p.NamedBy != "" {
			text += ", named by " + p.NamedBy
		}
		if p.Index >= 0 {
			text += fmt.Sprintf("; entry %d, a %s by verification %s", p.Index, p.Kind, p.Verification)
		}
		if p.OtherLog != "" {
			text += "; it names another log, " + p.OtherLog
		}
		if p.CountsAs != p.Kind {
			text += ", which counts as " + p.CountsAs + " now"
		}
		t.Printf("%s", text)
	}
	for _, fault := range r.Faults {
		t.Printf("fault: %s: %s", fault.Path, fault.What)
		for _, note := range fault.Notes {
			t.PrintLines("\n" + note)
		}
	}
	verdict := "ok"
	if !r.OK {
		verdict = "not ok"
	}
	t.Printf("%s: %s: %s of %s, root %s%s; it extends %s", r.Log, verdict,
		cli.Plural(r.Size, "entry"), r.Origin, r.Root, cosignedBy(r.Cosigned), cli.Plural(r.Kept, "kept checkpoint"))
}

func cosignedBy(all []tlog.Cosignature) (text string) {
	for _, s := range all {
		text += ", cosigned at " + s.At.Format(time.RFC3339) + " by " + s.Witness
	}
	return text
}
