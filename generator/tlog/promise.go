package tlog

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Promised is a record, with the service's promise to count it. Its texts match their hashes.
type Promised struct {
	Name string
	Kind string
	Hash string // of the record: see RecordHash
	By   string // the day, YYYY-MM-DD, by which a verification counts it; "" without a promise
	// Head is the newest checkpoint when the promise was made; nil if the service kept no log.
	Head *Checkpoint

	Signer     string // the receipt key that the promise names, in base64
	Signed     bool   // whether that key has signed it
	Host       string // that issued it
	RecordedAt string // the time of the record (RFC 3339)
}

const (
	Kept       = "kept"
	StillTime  = "still time"
	Late       = "late"
	Broken     = "broken"
	SetApart   = "the operator's own record" // counted as own: neither kept nor broken
	Edited     = "edited"                    // not signed by the key it names
	Unverified = "unverified"                // evidence of nothing
	Revoked    = "revoked"                   // signed by a key that the service has revoked
	Elsewhere  = "not in this copy"          // the log was read from a copy that is too old
	Counted    = "counted"                   // without a promise
	NotCounted = "not counted"
)

type PromiseReport struct {
	Name         string `json:"name"`
	State        string `json:"state"`
	By           string `json:"by"`
	Verification string `json:"verification"` // that counted the record; "" if none has
	Index        int64  `json:"index"`        // of the record's entry; -1 without one
	Kind         string `json:"kind"`         // of the record's entry
	CountsAs     string `json:"counts_as"`    // since its last correction
	SignedBy     string `json:"signed_by"`
	NamedBy      string `json:"named_by"` // that the key is the service's: a verification, for example
	IssuedBy     string `json:"issued_by"`
	Why          string `json:"why"`       // the reason for Edited, Unverified, Revoked or Elsewhere
	OtherLog     string `json:"other_log"` // the origin of the log that the promise names, if it is not this one
}

// countsOn reports whether a receipt key counts for the records of a day. keys have the form of the
// verify kit: KEY, or KEY@FIRST..LAST with the days of a replaced key, either of which may be
// unknown.
func countsOn(keys []string, key, day string) bool {
	return slices.ContainsFunc(keys, func(listed string) bool {
		name, days, _ := strings.Cut(listed, "@")
		first, last, _ := strings.Cut(days, "..")
		return name == key && first <= day && (last == "" || day <= last)
	})
}

func (s *Stage) names(key string) bool {
	return slices.ContainsFunc(s.Entry.ReceiptKeys, func(listed string) bool {
		name, _, _ := strings.Cut(listed, "@")
		return name == key
	})
}

// judge decides whether a promise is evidence: anyone can sign one. Its key must count for the day
// of the record according to the newest verification, the reader or, if it was asked itself, the
// service. A mirror can publish any manifest.json, so a copy's does not count.
func (c *check) judge(p *Promised, r *PromiseReport) {
	day, _, _ := strings.Cut(p.RecordedAt, "T")
	host, _, _ := strings.Cut(c.report.Origin, "/")
	at := len(c.log.Stages) - 1
	for at >= 0 && !countsOn(c.log.Stages[at].Entry.ReceiptKeys, p.Signer, day) {
		at--
	}
	state := ""
	r.State = Unverified
	switch {
	case p.Host != host && p.Host != c.Service:
		r.Why = fmt.Sprintf("issued by %.100q, want %s", p.Host, host)
		return
	case p.RecordedAt > c.Now.UTC().Add(maxSkew).Format(time.RFC3339):
		r.Why = "recorded in the future, at " + p.RecordedAt
		return
	case at == len(c.log.Stages)-1:
		r.NamedBy = "verification " + c.log.Stages[at].Name
	case at >= 0 && !c.log.Current().names(p.Signer):
		r.NamedBy, state = "verification "+c.log.Stages[at].Name, Revoked
		for c.log.Stages[at].names(p.Signer) {
			at++
		}
		r.Why = fmt.Sprintf("%s names its key, and verification %s revoked it", r.NamedBy, c.log.Stages[at].Name)
	case countsOn(c.ReceiptKeys, p.Signer, day):
		r.NamedBy = "--receipt-key"
	case c.Service == host && p.Signer == c.ServiceKey:
		r.NamedBy = "/manifest.json of " + host
	default:
		r.Why = fmt.Sprintf("signed by %.100s, which no verification names for %s", p.Signer, day)
		return
	}
	if r.State = state; !p.Signed {
		r.State, r.Why = Edited, "its signature is not by "+p.Signer
	}
}

func (c *check) comparePromises() error {
	for _, p := range c.Promised {
		r := PromiseReport{Name: p.Name, Index: -1, By: p.By, SignedBy: p.Signer, IssuedBy: p.Host}
		if p.By != "" {
			c.judge(p, &r)
		}
		if r.State == "" {
			c.comparePromise(p, &r)
		}
		c.report.Promises = append(c.report.Promises, r)
	}
	return nil
}

func (c *check) comparePromise(p *Promised, r *PromiseReport) {
	newest, itself := c.log.Current(), c.Service != "" && c.Service == p.Host
	switch head := p.Head; {
	case head == nil:
	case head.Origin != c.report.Origin:
		r.OtherLog = head.Origin
	case head.Size <= newest.Size || itself: // a copy may be older
		c.compare(CheckpointPath, "the tree that the promise names", head.Size, head.Root, c.text)
	}
	index, counted := c.log.records[p.Hash]
	if !counted {
		due := c.Now.UTC().Format(time.DateOnly) > p.By
		switch {
		case p.By == "":
			r.State = NotCounted
		case newest.Entry.AsOf > p.By || due && itself:
			r.State = Broken
			c.fault(p.Name, fmt.Sprintf("was promised to be counted by %s, but is not (the signed promise proves it)", p.By))
		case due:
			r.State, r.Why = Elsewhere, "its newest verification is of "+newest.Entry.AsOf
		default:
			r.State = StillTime
		}
		return
	}
	s := c.log.StageOf(index)
	r.Index, r.Verification, r.Kind, r.CountsAs = index, s.Name, c.log.entries[index].Kind, c.log.CountsAs(index)
	switch {
	case r.Kind == Own:
		r.State = SetApart
	case r.Kind != p.Kind:
		r.State = NotCounted
		c.fault(p.Name, fmt.Sprintf("is a %s, but the log has it as a %s", p.Kind, r.Kind))
	case p.By == "":
		r.State = Counted
	case s.Entry.AsOf > p.By:
		r.State = Late
		c.fault(p.Name, fmt.Sprintf("was promised to be counted by %s, but was counted by %s", p.By, s.Entry.AsOf))
	default:
		r.State = Kept
	}
}
