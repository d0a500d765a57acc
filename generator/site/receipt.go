package site

import (
	"crypto/ed25519"
	"slices"
	"strings"
	"time"

	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// Files that a folder may lack: a receipt of the service for its front page, and the picture that
// replaces the mark of this program.
const (
	ReceiptFile = "receipt.json"
	iconFile    = "icon.svg"
)

func (l *loader) icon() {
	if !slices.Contains(l.files, iconFile) {
		return
	}
	d := l.site.document(iconFile)
	if l.site.Icon = string(l.read(d)); l.site.Icon != "" && !strings.Contains(l.site.Icon, "<svg") {
		d.report(place{}, "not a picture in SVG", "it replaces the mark on the pages: save it as SVG, or remove the file")
	}
}

// receipt checks the receipt at its own time: a clock that is behind is no fault of the content.
func (l *loader) receipt(service *Service) {
	if !slices.Contains(l.files, ReceiptFile) {
		return
	}
	d := l.site.document(ReceiptFile)
	src := l.read(d)
	if src == nil {
		return
	}
	sent, err := jsondoc.Parse(src)
	keys := service.ReceiptKeys.All()
	if err != nil || len(keys) == 0 {
		d.report(place{}, "not a receipt in JSON, or the service publishes no receipt key", receiptHint)
		return
	}
	issued, _ := time.Parse(time.RFC3339, sent.Get("issued_at").Text)
	verdict := VerifyReceipt(&sent, service.CanonicalHost, keys, issued.Unix())
	switch issuer := sent.Get("issued_by").Text; {
	case !verdict.Get("valid").True:
		d.report(place{}, "not a valid receipt of this service: "+verdict.Get("verdict").Text, receiptHint)
	case issuer != service.CanonicalHost:
		d.report(place{}, "receipt issued by another host: got "+shorten(issuer)+", want "+service.CanonicalHost, receiptHint)
	}
	l.site.Receipt = &sent
}

const receiptHint = "the front page shows it: save a new one as the service returned it, or remove the file"

// VerifyReceipt returns the verdict of the verification endpoint of a host about a receipt, at a
// time in seconds since 1970. keys are the service's public keys, the current one first.
func VerifyReceipt(sent *jsondoc.Value, host string, keys []snapshot.Key, now int64) *jsondoc.Value {
	current := &turn.Turn{
		Now: now, Request: turn.Request{Host: "localhost"},
		Host: turn.HostInfo{PublicKey: keys[0].PublicKey},
	}
	given := input.New([]jsondoc.Member{{Name: receipt.VerifyFields[0].Name, Value: *sent}})
	answer := turn.Run(current, func(current *turn.Turn) turn.Outcome {
		current.Begin(&snapshot.Snapshot{CanonicalHost: host, RetiredKeys: keys[1:]})
		return current.Outcome(receipt.Verify(current, given))
	}, func(effects []turn.Effect) (results []turn.Result) {
		for _, effect := range effects {
			v := effect.(turn.Verify)
			results = append(results, turn.Result{OK: ed25519.Verify(v.PublicKey, v.Message, v.Signature)})
		}
		return results
	})
	verdict, _ := jsondoc.Parse(answer.Body) // of an object the endpoint makes a verdict
	return &verdict
}
