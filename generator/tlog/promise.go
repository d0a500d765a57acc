package tlog

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Promised is a record, with the service's signed promise to count it. The signature is verified
// already.
type Promised struct {
	Name string // of the file with the answer
	Hash string // of the record: see RecordHash
	By   string // the day, YYYY-MM-DD, by which a verification counts it; "" without a promise
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
	Counted    = "counted"                   // without a promise
	NotCounted = "not counted"
)

// PromiseReport describes how a promise was kept.
type PromiseReport struct {
	Name         string `json:"name"`
	State        string `json:"state"` // one of the states above
	By           string `json:"by"`
	Verification string `json:"verification"` // that counted the record; "" if none has
	Index        int64  `json:"index"`        // of the record's entry; -1 without one
	Kind         string `json:"kind"`         // of the record's entry
	CountsAs     string `json:"counts_as"`    // since its last correction
	SignedBy     string `json:"signed_by"`    // the receipt key
	IssuedBy     string `json:"issued_by"`    // the host
	Why          string `json:"why"`          // the reason if the state is Unverified; otherwise ""
	OtherLog     string `json:"other_log"`    // the origin of the log that the promise names, if it is not this one
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

func (c *check) comparePromises() error {
	for _, p := range c.Promised {
		r := PromiseReport{Name: p.Name, Index: -1, By: p.By, SignedBy: p.Signer, IssuedBy: p.Host}
		c.comparePromise(p, &r)
		c.report.Promises = append(c.report.Promises, r)
	}
	return nil
}

func (c *check) comparePromise(p *Promised, r *PromiseReport) {
	if p.By != "" {
		host, _, _ := strings.Cut(c.report.Origin, "/")
		// A key that the newest verification does not name was revoked.
		keys := slices.Concat(c.ReceiptKeys, c.log.Current().Entry.ReceiptKeys)
		if r.Why = p.Unverified(append(slices.Clip(c.Hosts), host), keys); r.Why != "" {
			r.State = Unverified
			return
		}
	}
	if head := p.Head; head != nil && head.Origin != c.report.Origin {
		r.OtherLog = head.Origin
	} else if head != nil {
		c.compare(CheckpointPath, "the tree that the promise names", head.Size, head.Root, c.text)
	}
	index, counted := c.log.records[p.Hash]
	if !counted {
		switch {
		case p.By == "":
			r.State = NotCounted
		case c.Now.UTC().Format(time.DateOnly) <= p.By:
			r.State = StillTime
		default:
			r.State = Broken
			c.fault(p.Name, fmt.Sprintf("was promised to be counted by %s, and is not (the signed promise proves it)", p.By))
		}
		return
	}
	s := c.log.StageOf(index)
	r.Index, r.Verification, r.Kind, r.CountsAs = index, s.Name, c.log.entries[index].Kind, c.log.CountsAs(index)
	switch {
	case r.Kind == Own:
		r.State = SetApart
	case p.By == "":
		r.State = Counted
	case s.Entry.AsOf > p.By:
		r.State = Late
		c.fault(p.Name, fmt.Sprintf("was promised to be counted by %s, and was by %s", p.By, s.Entry.AsOf))
	default:
		r.State = Kept
	}
}
