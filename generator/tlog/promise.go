package tlog

import (
	"slices"
	"time"
)

// Promised is a service's signed promise to count a record.
type Promised struct {
	Hash string // of the record: see RecordHash
	By   string // the day, YYYY-MM-DD, by which a verification counts it
	// Head is the newest checkpoint when the promise was made; nil if the service kept no log.
	Head *Checkpoint
}

// The states of a promise.
const (
	Kept      = "kept"
	StillTime = "still time"
	Late      = "late"
	Broken    = "broken"
)

// PromiseReport describes how a promise was kept.
type PromiseReport struct {
	State        string `json:"state"` // Kept, StillTime, Late or Broken
	By           string `json:"by"`
	Verification string `json:"verification"` // that counted the record; "" if none has
	Kind         string `json:"kind"`         // of the record's entry
}

func (c *check) comparePromise(p *Promised) error {
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
				c.fault(path, "does not begin with the %d entries that the promise names (keep both: they prove it)", head.Size)
			}
		}
	}
	r := &PromiseReport{State: Broken, By: p.By}
	c.report.Promise = r
	index, counted := c.log.Find(map[string]bool{p.Hash: true})[p.Hash]
	if !counted {
		if c.Now.UTC().Format(time.DateOnly) <= p.By {
			r.State = StillTime
			return nil
		}
		c.fault(LookupPath(p.Hash), "lacks the record that was promised to be counted by %s (the signed promise "+
			"proves it)", p.By)
		return nil
	}
	s := c.log.Stages[slices.IndexFunc(c.log.Stages, func(s Stage) bool { return index < s.Tree.First+s.Size })]
	e, err := ParseEntry(s.Tree.Entry(index - s.Tree.First))
	if err != nil {
		return err
	}
	r.State, r.Verification, r.Kind = Kept, s.Name, e.Kind
	if s.Entry.AsOf > p.By {
		r.State = Late
		c.fault(BoardPath(s.Name), "is dated %s, but the record was promised to be counted by %s", s.Entry.AsOf, p.By)
	}
	return nil
}
