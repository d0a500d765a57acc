package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"anteroom/edge/worker/cloudflare"
)

// firstModule is a worker that has nothing yet. A version that is bound to its own worker needs one
// that is there.
const firstModule = "export default { fetch: () => new Response(null, { status: 503 }) };\n"

// firstMessage is what a worker that has nothing yet says of itself.
const firstMessage = "answers 503 until anteroom deploy is done"

// workerSteps plans what is to be done about a worker.
func (r *Run) workerSteps(s *state) (steps []*work) {
	add := func(name string, todo bool, already, would string, do func(ctx context.Context) (string, error)) {
		if !s.service {
			name = "apex " + name
		}
		w := &work{Step: Step{Name: name, Status: Already, Text: already}}
		if todo {
			w.Status, w.Text, w.do = Would, would, do
		}
		steps = append(steps, w)
	}
	add("worker", !s.exists, s.Name+" is there", "make the worker "+s.Name, func(ctx context.Context) (string, error) { return r.makeWorker(ctx, s) })
	add("log", !s.exists || !covers(s.observability, s.Settings.Observability), "no log holds a query", "set what is logged, so that no log holds a query", func(ctx context.Context) (string, error) {
		return r.setLog(ctx, s)
	})
	wanted := subdomain{s.Settings.WorkersDev, s.Settings.PreviewURLs}
	at := subdomainText(wanted)
	if host := r.devHost(s); host != "" && s.service {
		if at += ": " + host; !slices.Contains(r.Plan.source.Facts.PreviewHosts, host) {
			at += ", which preview_hosts of the content does not name: its endpoints do not answer there"
		}
	}
	add("workers.dev", !s.exists || s.subdomain != wanted, at, "set: "+at, func(ctx context.Context) (string, error) {
		return r.setSubdomain(ctx, s, wanted)
	})

	sendsKey, fresh := s.service && r.sendsKey, s.fresh
	if s.service && r.Plan.source.Key != "" {
		add("receipt key", sendsKey, "the worker has it", "send it with the version", func(context.Context) (string, error) {
			return "goes with the version", nil
		})
	}
	if s.Metadata.Assets != nil {
		add("assets", fresh, plural(len(s.Assets), "document")+", all there", r.assetsText(s), func(ctx context.Context) (string, error) { return r.sendAssets(ctx, s) })
	}
	add("version", fresh, fmt.Sprintf("%.8s has all of it", s.version.ID), fmt.Sprintf("upload %s, %s", plural(len(s.Modules), "module"), byteSize(total(s.Modules))),
		func(ctx context.Context) (string, error) { return r.sendVersion(ctx, s, sendsKey) })
	live := ""
	if s.deployment != nil {
		live = "live since " + since(s.deployment)
	}
	add("deployment", fresh, live, "let the new version answer, in the place of "+orNothing(s), func(ctx context.Context) (string, error) { return r.deployVersion(ctx, s) })

	crons := slices.Sorted(slices.Values(s.Crons))
	if s.service || len(s.crons) > 0 {
		add("cron", !s.exists || !slices.Equal(s.crons, crons), strings.Join(crons, ", "), "set "+strings.Join(crons, ", "), func(ctx context.Context) (string, error) {
			if err := r.api().setCrons(ctx, s.Name, crons); err != nil {
				return "", err
			}
			r.changed = append(r.changed, "the cron of "+s.Name+" was set")
			return strings.Join(crons, ", "), nil
		})
	}
	for _, host := range s.Hosts {
		would := fmt.Sprintf("lead %s to %s", host, s.Name)
		if s.taken[host] != "" {
			would += ", in the place of " + s.taken[host]
		}
		add("domain", !s.own[host], host+" leads to "+s.Name, would, func(ctx context.Context) (string, error) { return r.leadHost(ctx, s, host) })
	}
	return steps
}

func orNothing(s *state) string {
	if s.deployment == nil {
		return nothing
	}
	return describe(s)
}

// makeWorker makes a worker that answers nothing yet. The call would replace one that is there,
// with its secrets: whether one is, is asked again first, as somebody else may have made it.
func (r *Run) makeWorker(ctx context.Context, s *state) (string, error) {
	_, exists, err := r.api().deployments(ctx, s.Name)
	if err != nil {
		return "", err
	}
	if exists {
		return "", fmt.Errorf("the worker %s was made by somebody else in between (look at it with anteroom deployments)", s.Name)
	}
	metadata := Metadata{
		MainModule: s.Metadata.MainModule, Bindings: []Binding{},
		CompatibilityDate: s.Metadata.CompatibilityDate, CompatibilityFlags: s.Metadata.CompatibilityFlags,
		Annotations: map[string]string{"workers/message": firstMessage},
	}
	module := Module{Name: s.Metadata.MainModule, MediaType: moduleTypes[".mjs"], Bytes: []byte(firstModule)}
	if err := r.api().putWorker(ctx, s.Name, metadata, []Module{module}); err != nil {
		return "", err
	}
	r.changed = append(r.changed, "the worker "+s.Name+" was made")
	list, _, err := r.api().deployments(ctx, s.Name)
	if err == nil && len(list) > 0 {
		s.deployment = &list[0]
	}
	if s.service {
		r.serving = "the new worker " + s.Name + ", which answers 503 and is led to by no domain"
	}
	return s.Name + ", which answers nothing yet", err
}

// covers reports whether got has all that is wanted of a setting. What is off as a whole may be
// left out of it.
func covers(got, want any) bool {
	wanted, isTable := want.(map[string]any)
	if !isTable {
		return got == want
	}
	table, _ := got.(map[string]any)
	for name, value := range wanted {
		off := name == "enabled" && value == false && table[name] == nil
		if !off && !covers(table[name], value) {
			return false
		}
	}
	return true
}

// setLog sets what is logged, and reads it back.
func (r *Run) setLog(ctx context.Context, s *state) (string, error) {
	if err := r.api().setObservability(ctx, s.Name, s.Settings.Observability); err != nil {
		return "", err
	}
	r.changed = append(r.changed, "what is logged of "+s.Name+" was set")
	got, _, err := r.api().settings(ctx, s.Name)
	if err == nil && !covers(got.Observability, s.Settings.Observability) {
		err = fmt.Errorf("set what is logged of %s: Cloudflare has %s then, not %s (look at its observability in the dashboard)", s.Name, inJSON(got.Observability), inJSON(s.Settings.Observability))
	}
	return "no log holds a query, read back", err
}

func subdomainText(s subdomain) string {
	onOff := map[bool]string{true: "on", false: "off"}
	return "workers.dev " + onOff[s.Enabled] + ", preview URLs " + onOff[s.Previews]
}

// setSubdomain sets where the worker answers beside its domains, and reads it back.
func (r *Run) setSubdomain(ctx context.Context, s *state, wanted subdomain) (string, error) {
	if err := r.api().setSubdomain(ctx, s.Name, wanted); err != nil {
		return "", err
	}
	r.changed = append(r.changed, fmt.Sprintf("%s has %s", s.Name, subdomainText(wanted)))
	got, err := r.api().subdomain(ctx, s.Name)
	if err == nil && got != wanted {
		err = fmt.Errorf("set whether %s is at workers.dev: Cloudflare has %s then, not %s", s.Name, subdomainText(got), subdomainText(wanted))
	}
	return subdomainText(wanted) + ", read back", err
}

// assetsText says what is to be uploaded, as far as the live manifest tells.
func (r *Run) assetsText(s *state) string {
	text := fmt.Sprintf("upload what is new of %s, %s", plural(len(s.Assets), "document"), byteSize(totalAssets(s.Assets)))
	if r.live == nil || !r.live.Answers {
		return text
	}
	mayLack := r.Plan.source.Unlisted
	var news []string
	unlisted := 0
	for i := range s.Assets {
		asset := &s.Assets[i]
		live, listed := r.live.Documents[asset.Path]
		if !listed && mayLack != nil && mayLack(asset.Path) {
			unlisted++
			continue
		}
		isNew := live != asset.sum
		if asset.New = &isNew; isNew {
			news = append(news, asset.Path)
		}
	}
	text += ": not live are " + cmp.Or(strings.Join(news, ", "), "none")
	if unlisted > 0 {
		text += fmt.Sprintf("; of %s the live manifest does not tell", plural(unlisted, "document"))
	}
	return text
}

// sendAssets uploads those documents that Cloudflare has not got. Its token lives for an hour:
// where it ends before that is done, another one is asked for once.
func (r *Run) sendAssets(ctx context.Context, s *state) (string, error) {
	byHash := map[string]Asset{}
	for _, asset := range s.Assets {
		byHash[asset.Hash] = asset
	}
	sent, sentBytes := 0, 0
	for try := 1; ; try++ {
		jwt, buckets, err := r.api().assetSession(ctx, s.Name, s.Assets)
		if err != nil {
			return "", err
		}
		completed := ""
		if len(slices.Concat(buckets...)) == 0 {
			completed = jwt
		}
		for _, bucket := range buckets {
			var assets []Asset
			for _, hash := range bucket {
				asset, known := byHash[hash]
				if !known {
					return "", fmt.Errorf("upload assets: Cloudflare asks for %q, which is none of them", hash)
				}
				assets = append(assets, asset)
			}
			if len(assets) == 0 {
				continue
			}
			var token string
			if token, err = r.api().sendAssets(ctx, jwt, assets); err != nil {
				break
			}
			if token != "" {
				completed = token
			}
			sent, sentBytes = sent+len(assets), sentBytes+totalAssets(assets)
		}
		var failed *cloudflare.Failure
		if expired := errors.As(err, &failed) && (failed.Status == http.StatusUnauthorized || failed.Status == http.StatusForbidden); expired && try == 1 {
			continue
		}
		if err == nil && completed == "" {
			err = errors.New("upload assets: all were sent, and Cloudflare does not say that it has them")
		}
		if err != nil {
			return "", err
		}
		s.assetsJWT = completed
		return fmt.Sprintf("sent %d of %s, %s", sent, plural(len(s.Assets), "document"), byteSize(sentBytes)), nil
	}
}

// sendVersion uploads the worker as a version that is not live yet.
func (r *Run) sendVersion(ctx context.Context, s *state, withKey bool) (string, error) {
	metadata := s.Metadata
	key := unknownKey
	if s.service {
		key = r.key
	}
	metadata.Annotations = map[string]string{"workers/message": r.message(), "workers/tag": s.tag(key)}
	if metadata.Assets != nil {
		metadata.Assets = &AssetsMetadata{JWT: s.assetsJWT, Config: metadata.Assets.Config}
	}
	metadata.Bindings = slices.Clone(metadata.Bindings)
	// The version has the secrets of the one that is live, and not those of the latest, which may
	// be somebody's who deploys at the same time, or never deployed.
	for _, name := range s.version.secrets() {
		if !withKey || name != receiptKey {
			metadata.Bindings = append(metadata.Bindings, Binding{Name: name, Type: "inherit", Version: s.version.ID})
		}
	}
	secrets := []string{s.assetsJWT}
	if withKey {
		// In the same version as the content that publishes its public half: at no time there is
		// one without the other.
		metadata.Bindings = append(metadata.Bindings, Binding{Name: receiptKey, Type: "secret_text", Text: r.Plan.source.Key})
		secrets = append(secrets, r.Plan.source.Key)
	}
	id, err := r.api().newVersion(ctx, s.Name, metadata, s.Modules, secrets...)
	if err != nil {
		return "", err
	}
	s.uploaded = id
	r.changed = append(r.changed, fmt.Sprintf("version %.8s of %s was uploaded", id, s.Name))
	return fmt.Sprintf("%.8s: %s, %s", id, plural(len(s.Modules), "module"), byteSize(total(s.Modules))), nil
}

// deployVersion lets the version that was uploaded answer, unless somebody else has deployed since
// the survey.
func (r *Run) deployVersion(ctx context.Context, s *state) (string, error) {
	list, _, err := r.api().deployments(ctx, s.Name)
	if err != nil {
		return "", err
	}
	if len(list) > 0 && (s.deployment == nil || list[0].ID != s.deployment.ID) {
		return "", fmt.Errorf("another deployment of %s came in between, on %s (look at it; version %.8s was uploaded and is not live)", s.Name, since(&list[0]), s.uploaded)
	}
	// An interrupt ends neither the call, which may be done all the same, nor the question whether.
	whole := context.WithoutCancel(ctx)
	if err := r.api().deploy(whole, s.Name, s.uploaded, r.message(), false); err != nil && !(isUnsure(whole, err) && r.isLive(whole, s)) {
		return "", err
	}
	r.changed = append(r.changed, fmt.Sprintf("version %.8s of %s was deployed", s.uploaded, s.Name))
	if s == r.states[0] {
		r.serving = r.uploadedText()
	}
	// Cloudflare cannot be told to deploy in the place of one deployment alone.
	list, _, err = r.api().deployments(whole, s.Name)
	if err == nil && len(list) > 1 && isOf(&list[0], s.uploaded) && (s.deployment == nil || list[1].ID != s.deployment.ID) {
		return "", fmt.Errorf("another deployment of %s was made at the same moment, on %s, and this one took its place (look at anteroom deployments, and roll back to it where it is the newer one)",
			s.Name, since(&list[1]))
	}
	return fmt.Sprintf("version %.8s answers all requests", s.uploaded), nil
}

// isLive asks whether the version that was uploaded is deployed, after a call whose answer was
// lost.
func (r *Run) isLive(ctx context.Context, s *state) bool {
	list, _, err := r.api().deployments(ctx, s.Name)
	return err == nil && len(list) > 0 && isOf(&list[0], s.uploaded)
}

// leadHost makes a host a custom domain of the worker.
func (r *Run) leadHost(ctx context.Context, s *state, host string) (string, error) {
	override := s.taken[host] != "" && r.allowed(AllowDNS) != nil
	if err := r.api().setDomain(ctx, domain{Hostname: host, Service: s.Name, ZoneID: r.Zones[host].ID}, override); err != nil {
		return "", err
	}
	r.changed = append(r.changed, host+" was led to "+s.Name)
	return host + " leads to " + s.Name, nil
}

func total(modules []Module) (size int) {
	for _, m := range modules {
		size += m.Size
	}
	return size
}

func totalAssets(assets []Asset) (size int) {
	for _, a := range assets {
		size += a.Size
	}
	return size
}

// plural writes a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// byteSize writes a number of bytes for people.
func byteSize(n int) string {
	switch {
	case n < 1000:
		return plural(n, "byte")
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1000*1000))
}
