package tlog

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Promised is a service's signed promise to count a record. Its signature is verified already.
type Promised struct {
	Hash string // of the record: see RecordHash
	By   string // the day, YYYY-MM-DD, by which a verification counts it
	// Head is the newest checkpoint when the promise was made; nil if the service kept no log.
	Head *Checkpoint

	Signer     string // the receipt key that signed it, in base64
	Host       string // that issued it
	RecordedAt string // the time of the record (RFC 3339)
}

// The states of a promise.
const (
	Kept       = "kept"
	StillTime  = "still time"
	Late       = "late"
	Broken     = "broken"
	SetApart   = "the operator's own record" // counted as own: neither kept nor broken
	Unverified = "unverified"                // evidence of nothing
)

// PromiseReport describes how a promise was kept.
type PromiseReport struct {
	State        string `json:"state"` // Kept, StillTime, Late, Broken, SetApart or Unverified
	By           string `json:"by"`
	Verification string `json:"verification"` // that counted the record; "" if none has
	Kind         string `json:"kind"`         // of the record's entry
	SignedBy     string `json:"signed_by"`    // the receipt key
	IssuedBy     string `json:"issued_by"`    // the host
	Why          string `json:"why"`          // the reason if the state is Unverified; otherwise ""
}

// CountsOn reports whether a receipt key counts for a receipt or a record of a day. keys have the
// form of the verify kit: KEY, or KEY@FIRST..LAST with the days of a replaced key, either of which
// may be unknown.
func CountsOn(keys []string, key, day string) bool {
	return slices.ContainsFunc(keys, func(listed string) bool {
		name, days, _ := strings.Cut(listed, "@")
		first, last, _ := strings.Cut(days, "..")
		return name == key && first <= day && (last == "" || day <= last)
	})
}

// Unverified returns the reason why a promise is no evidence, or "". Anyone can sign a promise, so
// it counts only if one of the hosts issued it, under one of the keys, in the form of CountsOn,
// that counts for the day of the record.
func (p *Promised) Unverified(hosts, keys []string) string {
	day, _, _ := strings.Cut(p.RecordedAt, "T")
	switch {
	case !slices.Contains(hosts, p.Host):
		return fmt.Sprintf("issued by %.100q, want %s", p.Host, strings.Join(slices.Compact(hosts), " or "))
	case !CountsOn(keys, p.Signer, day):
		return fmt.Sprintf("signed by %.100s, which the service does not name for %s", p.Signer, day)
	}
	return ""
}

// hosts returns the host names of a service by the names of its log keys, after known ones.
func hosts(known, logKeys []string) []string {
	all := slices.Clip(known)
	for _, key := range logKeys {
		host, _, _ := strings.Cut(key, "/")
		all = append(all, host)
	}
	return all
}

func (c *check) comparePromise(p *Promised) error {
	r := &PromiseReport{State: Broken, By: p.By, SignedBy: p.Signer, IssuedBy: p.Host}
	c.report.Promise = r
	keys := c.ReceiptKeys
	if last := c.log.Current(); last != nil { // a key that is missing there was revoked
		keys = slices.Concat(keys, last.Entry.ReceiptKeys)
	}
	if r.Why = p.Unverified(hosts(c.Hosts, c.report.Keys), keys); r.Why != "" {
		r.State = Unverified
		return nil
	}
	if head := p.Head; head != nil {
		i := slices.IndexFunc(c.trees, func(t *checkedTree) bool { return t.Origin == head.Origin })
		path := CheckpointPath(pathOf(head.Origin))
		switch {
		case i < 0:
			c.fault(path, "is not published, but the promise names its tree of %d entries", head.Size)
		case head.Size > c.trees[i].Size():
			c.fault(path, "has %d entries, but the promise names its tree of %d", c.trees[i].Size(), head.Size)
		default:
			root, err := c.trees[i].Root(head.Size)
			if err != nil {
				return err
			}
			if root != head.Root {
				c.fault(path, "does not begin with the %d entries that the promise names (keep both: they prove it)",
					head.Size)
			}
		}
	}
	index, counted := c.log.Find(map[string]bool{p.Hash: true})[p.Hash]
	if !counted {
		if c.Now.UTC().Format(time.DateOnly) <= p.By {
			r.State = StillTime
			return nil
		}
		c.fault(LookupPath(p.Hash), "lacks the record that was promised to be counted by %s "+
			"(the signed promise proves it)", p.By)
		return nil
	}
	s := c.log.Stages[slices.IndexFunc(c.log.Stages, func(s Stage) bool { return index < s.Tree.First+s.Size })]
	e, err := ParseEntry(s.Tree.Entry(index - s.Tree.First))
	if err != nil {
		return err
	}
	r.State, r.Verification, r.Kind = Kept, s.Name, e.Kind
	switch {
	case e.Kind == Own:
		r.State = SetApart
	case s.Entry.AsOf > p.By:
		r.State = Late
		c.fault(BoardPath(s.Name), "is dated %s, but the record was promised to be counted by %s", s.Entry.AsOf, p.By)
	}
	return nil
}
