package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/inbox"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/store/records"
)

func (p *publication) look(ctx context.Context) (string, error) {
	s, unlock, err := verification.Begin(p.verify.Content, p.t.Now())
	if err != nil {
		return "", err
	}
	p.close = append(p.close, func() error { unlock(); return nil })
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
	if p.public, err = p.verify.Compare(ctx, s); err != nil {
		return "", err
	}
	p.written = !p.public.ByService && !(p.verify.Offline && p.public.InFolder)
	if p.records, err = p.store.reader(ctx); err != nil {
		return "", err
	}
	p.close = append(p.close, p.records.Close)
	_, after := s.Covered()
	extent, err := records.Measure(ctx, p.records, after)
	if err == nil {
		err = inbox.Belongs(extent, s, false)
	}
	if err != nil {
		return "", err
	}
	p.waiting = extent.New
	return cli.Plural(int(p.waiting), "record") + " to be verified", nil
}

func (p *publication) nothing(ctx context.Context) (string, error) {
	if len(p.site.Service.OwnNames) > 0 {
		found, err := verification.Audit(ctx, p.records, p.site)
		if err != nil {
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
	verified, err := p.verify.Make(ctx, p.t, p.site, p.public)
	if err != nil {
		return "", err
	}
	if verified == nil {
		return "", errors.New("verify: nothing was written")
	}
	p.site, p.changed = verified, true
	return p.site.Current().File + " is written", nil
}
