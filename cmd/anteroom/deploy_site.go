package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/worker/deploy"
	"anteroom/generator"
)

// smokeWait is how long a deployed service may take until it shows its content everywhere. A new
// domain waits for its certificate, which takes some minutes at times.
const smokeWait = 5 * time.Minute

// reach is the way to a deployed host. It is a variable so that tests can lead elsewhere.
var reach = func(host string) *live.Service {
	return &live.Service{Base: &url.URL{Scheme: "https", Host: host}}
}

// liveSite looks at the service from outside.
type liveSite struct {
	t      *cli.Terminal
	output *generator.Output
}

// Live asks what a host publishes.
func (s *liveSite) Live(ctx context.Context, host string) (*deploy.Live, error) {
	service := reach(host)
	found, err := service.Regressions(ctx, s.output)
	if errors.Is(err, live.ErrNothing) {
		return &deploy.Live{}, nil
	}
	if err != nil {
		return nil, err
	}
	manifest, _, err := service.Read(ctx, health.Manifest)
	if err != nil {
		return nil, err
	}
	l := &deploy.Live{
		Answers: true, Host: manifest.Get("canonical_host").Text, Content: manifest.Get(health.Version).Text,
		ReceiptKey: manifest.Get("receipt_key").Text, Documents: map[string]string{},
	}
	for _, d := range manifest.Get("documents").Items {
		l.Documents[d.Get("path").Text] = d.Get("sha256").Text
	}
	for _, r := range found {
		l.Regressions = append(l.Regressions, deploy.Regression{Name: r.Name, Text: r.What})
	}
	// A service that has no such check does not say that it signs.
	ready, status, err := service.Read(ctx, health.Ready)
	l.Signs = err == nil && (status == http.StatusOK || status == http.StatusServiceUnavailable)
	if l.Signs {
		for _, failing := range ready.Get("failing").Items {
			l.Signs = l.Signs && failing.Text != health.Key
		}
	}
	return l, ctx.Err()
}

// Smoke inspects a host that was deployed.
func (s *liveSite) Smoke(ctx context.Context, host string) (string, error) {
	report, err := reach(host).Inspect(ctx, s.output, live.Options{Wait: smokeWait, Waiting: func(what string) {
		s.t.Warnf("%s: still waiting: %s", host, what)
	}})
	if err != nil {
		return "", err
	}
	var passed, warnings, faults []string
	for _, check := range report.Checks {
		var differences []string
		for _, d := range check.Differences {
			differences = append(differences, strings.TrimSpace(check.Name+": "+d.Path+" "+d.What))
		}
		switch {
		case check.Status == live.OK:
			passed = append(passed, check.Name)
		case check.Status == live.Warning:
			warnings = append(warnings, check.Name+": "+check.Detail)
		case check.Status != live.Differs:
		case check.Name == live.CheckPlainHTTP: // a setting of the zone, which no deployment changes
			warnings = append(warnings, strings.Join(differences, "; "))
		default:
			faults = append(faults, differences...)
		}
	}
	for _, warning := range warnings {
		s.t.Warnf("%s: %s", host, warning)
	}
	if len(faults) > 0 {
		return "", fmt.Errorf("%s is not as it was deployed:\n%s", host, strings.Join(faults, "\n"))
	}
	return fmt.Sprintf("%s: %s", host, strings.Join(passed, ", ")), nil
}
