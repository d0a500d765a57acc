package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/inbox"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/store/records"
)

func (p *publication) look(ctx context.Context) (string, error) {
	if err := verification.Resume(p.verify.Content); err != nil {
		return "", err
	}
	s, err := content.Load(p.verify.Content, p.t.Now())
	if err == nil {
		err = verification.Forget(p.verify.Content, s)
	}
	if err != nil {
		return "", err
	}
	p.site = s
	address := p.live
	if address == "" && p.store.remote == "" {
		host, port, err := net.SplitHostPort(p.address)
		if err != nil {
			return "", fmt.Errorf("--addr %q is not of the form HOST:PORT", p.address)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		address = "http://" + net.JoinHostPort(host, port)
	}
	if p.service, err = live.New(cmp.Or(address, s.Service.BaseURL())); err != nil {
		return "", err
	}
	if p.live == "" && p.store.remote != "" {
		p.service = reach(s.Service.CanonicalHost)
	}
	p.verify.Live = p.service.Facts
	inFolder, byService, err := p.verify.Compare(ctx, s)
	if err != nil {
		return "", err
	}
	p.written = !byService && !(p.verify.Offline && inFolder)
	p.verify.Offline = true // verify need not ask again
	r, err := p.store.reader(ctx)
	if err != nil {
		return "", err
	}
	_, after := s.Covered()
	extent, err := records.Measure(ctx, r, after)
	if err == nil {
		err = inbox.Belongs(extent, s, false)
	}
	if err := errors.Join(err, r.Close()); err != nil {
		return "", err
	}
	p.waiting = extent.New
	return cli.Plural(int(p.waiting), "record") + " to be verified", nil
}

func (p *publication) nothing(ctx context.Context) (string, error) {
	if len(p.site.Service.OwnNames) > 0 {
		r, err := p.store.reader(ctx)
		if err != nil {
			return "", err
		}
		found, err := verification.Audit(ctx, r, p.site)
		if err := errors.Join(err, r.Close()); err != nil {
			return "", err
		}
		for _, own := range found.Own {
			p.t.Warnf("%s (anteroom verify proposes to set it apart; then run anteroom publish)", own)
		}
	}
	return "nothing waits (to correct an earlier decision, run anteroom verify and then anteroom publish)", nil
}

// decide verifies what waits, unless a verification is still to be published.
func (p *publication) decide(ctx context.Context) (string, error) {
	before := len(p.site.Verifications)
	_, err := os.Stat(verification.Draft(p.verify.Content))
	switch {
	case p.written && before > 1:
		return p.site.Current().File + " is written, and is published now", nil
	case p.waiting == 0 && err != nil:
		return p.nothing(ctx)
	}
	if err := verification.Run(ctx, p.t, p.verify); err != nil {
		return "", err
	}
	if p.site, err = content.Load(p.verify.Content, p.t.Now()); err != nil {
		return "", err
	}
	if len(p.site.Verifications) == before {
		return "", errors.New("verify: nothing was written")
	}
	return p.site.Current().File + " is written", nil
}
