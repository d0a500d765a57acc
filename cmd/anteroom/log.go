package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"
)

// logTarget holds the flags of a log command.
type logTarget struct {
	content, url, host string
	keys               []string
	policy             string
	witnesses          []string
	receiptKeys        []string
}

func (o *logTarget) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.content, "content", contentFolder,
		"the content `folder` whose keys are trusted without --key, if its host matches")
	flags.StringVar(&o.url, "url", "",
		"the `address` of the service that publishes the log, such as https://www.anteroom.example")
	flags.StringVar(&o.host, "host-header", "", "the host `name` to ask for, if the address has another")
	flags.StringArrayVar(&o.keys, "key", nil, "a `verifier key` of the log that is trusted, "+
		"or the lines of a kept /log/vkey; may be given several times")
	flags.StringVar(&o.policy, "policy", "",
		"the `file` with the witnesses that must have cosigned, and the keys of the log (C2SP tlog-policy)")
	flags.StringArrayVar(&o.witnesses, "witness", nil,
		"the verifier `key` of a witness that must have cosigned; may be given several times")
	cmd.MarkFlagsMutuallyExclusive("policy", "witness")
	for _, name := range []string{"url", "host-header", "policy", "witness"} {
		flags.SetAnnotation(name, cli.OnlyHere, []string{"true"}) // a checkout decides nothing about a check
	}
}

func (o *logTarget) addReceiptKeys(flags *pflag.FlagSet) {
	const name = "receipt-key"
	flags.StringArrayVar(&o.receiptKeys, name, nil, "a `key` that signed promises of the service, in base64, "+
		"with @FIRST..LAST if it was replaced; may be given several times")
	flags.SetAnnotation(name, cli.OnlyHere, []string{"true"})
}

func (o *logTarget) checkReceiptKeys() error {
	var faults []error
	for _, listed := range o.receiptKeys {
		key, _, _ := strings.Cut(listed, "@")
		if public, err := base64.StdEncoding.DecodeString(key); err != nil || len(public) != ed25519.PublicKeySize {
			faults = append(faults, fmt.Errorf("--receipt-key %.60q: not the base64 of an Ed25519 public key", listed))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return cli.Usage(err)
	}
	return nil
}

func (o *logTarget) quorum() (p *tlog.Policy, err error) {
	switch {
	case len(o.witnesses) > 0:
		p, err = tlog.PolicyOf(o.witnesses)
	case o.policy != "":
		var text []byte
		if text, err = cli.ReadText(nil, o.policy, maxLogInput); err == nil {
			p, err = tlog.ParsePolicy(text)
		}
	}
	if err != nil {
		return nil, cli.Unusable("ask for witnesses: %w", err)
	}
	return p, nil
}

// logTrust holds the trusted keys and witnesses of a check. Without keys the published ones are
// used.
type logTrust struct {
	Keys      []string
	Witnesses []tlog.Witness
	Policy    *tlog.Policy      // nil requires no cosignature
	Ends      []tlog.Checkpoint // the last checkpoints of replaced keys
	From      string            // the source of the keys; "" without keys
}

// trust returns the keys of --key and --policy, or the keys of the content if its host matches.
func (o *logTarget) trust() (*logTrust, error) {
	policy, err := o.quorum()
	if err != nil {
		return nil, err
	}
	t, err := o.trusted(policy)
	if err == nil && policy != nil {
		t.Policy, t.Witnesses = policy, append(slices.Clip(t.Witnesses), policy.Witnesses...)
	}
	return t, err
}

func (o *logTarget) trusted(policy *tlog.Policy) (*logTrust, error) {
	given := &logTrust{From: "--key"}
	if policy != nil && len(policy.Keys) > 0 {
		given = &logTrust{From: "--policy", Keys: slices.Clone(policy.Keys)}
	}
	for _, text := range strings.Fields(strings.Join(o.keys, "\n")) {
		key, end, err := tlog.CutEnd(text)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--key %.100q: %w", text, err))
		}
		if given.Keys = append(given.Keys, key); end != nil {
			given.Ends = append(given.Ends, *end)
		}
	}
	if len(given.Keys) > 0 {
		return given, nil
	}
	file := filepath.Join(o.content, serviceFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &logTrust{}, nil
	}
	// Loading the whole content may take longer than the check.
	var s site.Service
	if err == nil {
		err = yaml.Load(text, &s)
	}
	if err != nil {
		return nil, cli.Unusable("read the keys of the log in %s: %w (fix it, or give them with --key)", file, err)
	}
	if len(s.Log.Keys) == 0 || o.url != "" && !o.isFor(&s) {
		return &logTrust{}, nil
	}
	ends, err := o.ends(s.Log.Keys)
	return &logTrust{Keys: s.Log.Keys, Witnesses: s.Log.Witnesses, Ends: ends, From: o.content}, err
}

func (o *logTarget) ends(keys []string) (ends []tlog.Checkpoint, err error) {
	files, err := checkpointsIn(filepath.Join(o.content, "log"))
	if err != nil {
		return nil, err
	}
	last := map[string]tlog.Checkpoint{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if c, err := tlog.Open(text, keys[:len(keys)-1], nil); err == nil && c.Size > last[c.Origin].Size {
			last[c.Origin] = *c
		}
	}
	return slices.Collect(maps.Values(last)), nil
}

// isFor reports whether --url names the service of this content, or this machine.
func (o *logTarget) isFor(s *site.Service) bool {
	address, err := url.Parse(o.url)
	if err != nil {
		return false
	}
	host := strings.ToLower(address.Hostname())
	if o.host != "" {
		host = strings.ToLower(o.host)
	} else if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return true
	}
	return host == s.CanonicalHost || host == s.ApexHost || slices.Contains(s.PreviewHosts, host)
}

func (o *logTarget) service(ctx context.Context) (read tlog.Source, where string, err error) {
	s, err := live.New(o.url)
	if err != nil {
		return nil, "", cli.Usage(err)
	}
	s.Host = o.host
	return func(path string) ([]byte, error) { return s.File(ctx, path) }, s.String(), nil
}

func logFolder(folder string) tlog.Source {
	return func(path string) ([]byte, error) {
		return os.ReadFile(filepath.Join(folder, filepath.FromSlash(path)))
	}
}

func logFiles(folder string) func() ([]string, error) {
	return func() (paths []string, err error) {
		err = fs.WalkDir(os.DirFS(folder), strings.TrimPrefix(tlog.Folder, "/"),
			func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					paths = append(paths, "/"+path)
				}
				return err
			})
		return paths, err
	}
}

func warnTrusted(t *cli.Terminal, keys []string) {
	for _, key := range keys {
		t.Warnf("the key %s is taken on trust from the service itself "+
			"(compare it with the key that others have, and give it with --key)", key)
	}
}

func hintKeys(err error) error {
	if errors.Is(err, tlog.ErrUnknownKey) {
		return fmt.Errorf("%w (each tree has a separate key: give every key you trust with --key)", err)
	}
	return err
}
