package tlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
)

// Policy decides which witnesses must have cosigned a checkpoint (C2SP tlog-policy).
type Policy struct {
	Keys      []string // of the logs it names
	Witnesses []Witness
	quorum    torchwood.Policy
}

const (
	maxWitnesses = 100             // of a policy
	maxSkew      = 5 * time.Minute // of the clocks of witnesses
)

// ErrNotWitnessed means that a checkpoint lacks a quorum of witnesses.
var ErrNotWitnessed = errors.New("not witnessed")

// ParsePolicy parses a policy. It refuses a witness key that is listed under two names.
func ParsePolicy(text []byte) (*Policy, error) {
	p := &Policy{}
	var quorum []string // the lines, with the lines of logs left empty
	var seen []string
	for line := range strings.Lines(string(text)) {
		words, _, _ := strings.Cut(line, "#")
		fields := strings.Fields(words)
		if len(fields) > 1 && fields[0] == "log" {
			p.Keys = append(p.Keys, fields[1])
			line = "\n"
		}
		quorum = append(quorum, line)
		if len(fields) < 3 || fields[0] != "witness" {
			continue
		}
		w := Witness{Key: fields[2]}
		if len(fields) > 3 {
			w.URL = fields[3]
		}
		if err := w.Check(); err != nil {
			return nil, fmt.Errorf("read policy: %w", err)
		}
		if len(p.Witnesses) == maxWitnesses {
			return nil, fmt.Errorf("read policy: more than %d witnesses", maxWitnesses)
		}
		parts := strings.SplitN(w.Key, "+", 3)
		if slices.Contains(seen, parts[2]) {
			return nil, fmt.Errorf("read policy: duplicate key of witness %s", w.Name())
		}
		seen, p.Witnesses = append(seen, parts[2]), append(p.Witnesses, w)
	}
	for _, key := range p.Keys {
		if _, err := CheckKey(key); err != nil {
			return nil, fmt.Errorf("read policy: key %.100q: %w", key, err)
		}
	}
	var err error
	if p.quorum, err = torchwood.ParsePolicy([]byte(strings.Join(quorum, ""))); err != nil {
		return nil, fmt.Errorf("read policy: %w (see C2SP tlog-policy)", err)
	}
	return p, nil
}

// PolicyOf returns the policy that requires a cosignature by each of the given witness keys.
func PolicyOf(witnesses []string) (*Policy, error) {
	var text, names strings.Builder
	for i, key := range witnesses {
		fmt.Fprintf(&text, "witness w%d %s\n", i, key)
		fmt.Fprintf(&names, " w%d", i)
	}
	fmt.Fprintf(&text, "group every all%s\nquorum every\n", &names)
	return ParsePolicy([]byte(text.String()))
}

// Check returns an error that wraps ErrNotWitnessed if a checkpoint lacks the quorum of the policy.
// It does not verify the signature of the log.
func (p *Policy) Check(checkpoint []byte) error {
	n, err := note.Open(checkpoint, p.quorum)
	var unverified *note.UnverifiedNoteError
	if errors.As(err, &unverified) {
		n, err = unverified.Note, nil // no known witness has cosigned
	}
	if err == nil {
		err = p.quorum.Check("", n.Sigs)
	}
	for i := 0; err == nil && i < len(n.Sigs); i++ {
		_, err = cosignature(n.Sigs[i])
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotWitnessed, err)
	}
	return nil
}

// checkQuorum checks that the newest checkpoint of all trees has the quorum of the reader's policy.
// It commits the log to everything before it.
func (c *check) checkQuorum() {
	if c.Policy == nil || len(c.trees) == 0 {
		return
	}
	newest := c.trees[len(c.trees)-1]
	if err := c.Policy.Check(newest.text); err != nil {
		c.fault(CheckpointPath(newest.Path()), "lacks the required witnesses: %v", err)
	}
}

func union(a, b []Witness) []Witness {
	all := slices.Clip(a)
	for _, w := range b {
		if !slices.ContainsFunc(a, func(known Witness) bool { return known.Key == w.Key }) {
			all = append(all, w)
		}
	}
	return all
}

// policy returns the published policy of one key: it must have signed, and witnesses may have.
func policy(key string, witnesses []Witness) []byte {
	b := []byte("log " + key + "\n")
	for i, w := range witnesses {
		b = fmt.Appendf(b, "witness w%d %s %s\n", i+1, w.Key, w.URL)
	}
	return append(b, "quorum none\n"...)
}
