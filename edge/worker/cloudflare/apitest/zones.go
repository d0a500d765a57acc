package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Zone is a domain name that the account has, with its settings.
type Zone struct {
	ID, Name string

	settings map[string]any
	bots     object
	records  []Record
	rules    map[string]json.RawMessage // by phase
	purged   []string                   // what was asked to be purged
}

// Record is a DNS record.
type Record struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Name    string `json:"name"`
	Content string `json:"content"`
	Proxied bool   `json:"proxied"`
	TTL     int    `json:"ttl"`
	Meta    object `json:"meta"`
}

// domain is a custom domain of a worker.
type domain struct {
	id, cert          string
	hostname, service string
	zone              *Zone
}

// AddZone adds a zone, with the settings that a new one has.
func (s *Server) AddZone(name string) *Zone {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	z := &Zone{
		ID: newID(), Name: name, rules: map[string]json.RawMessage{},
		settings: map[string]any{
			"always_use_https": "off", "automatic_https_rewrites": "on", "browser_check": "on", "email_obfuscation": "on",
			"hotlink_protection": "off", "min_tls_version": "1.0", "mirage": "off", "polish": "off", "rocket_loader": "off",
			"security_level": "medium", "server_side_exclude": "on", "ssl": "full", "replace_insecure_js": "on",
		},
		bots: object{"fight_mode": false, "enable_js": false, "ai_bots_protection": "disabled", "crawler_protection": "disabled", "is_robots_txt_managed": false, "using_latest_model": true},
	}
	s.zones = append(s.zones, z)
	return z
}

// Set sets a setting of a zone.
func (s *Server) Set(z *Zone, setting string, value any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	z.settings[setting] = value
}

// SetBots sets a member of a zone's bot management.
func (s *Server) SetBots(z *Zone, member string, value any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	z.bots[member] = value
}

// AddRecord adds a DNS record to a zone.
func (s *Server) AddRecord(z *Zone, kind, name, content string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	z.records = append(z.records, Record{ID: newID(), Type: kind, Name: name, Content: content, Proxied: true, TTL: 1, Meta: object{}})
}

// Domains are the custom domains: the worker of each host name.
func (s *Server) Domains() map[string]string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	services := map[string]string{}
	for _, d := range s.domains {
		services[d.hostname] = d.service
	}
	return services
}

// Purged is what was asked to be purged from the caches of a zone: URLs, or "everything".
func (s *Server) Purged(z *Zone) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(z.purged)
}

func (s *Server) zoneAnswer(z *Zone) object {
	return object{
		"id": z.ID, "name": z.Name, "status": "active", "paused": false, "type": "full",
		"account": object{"id": s.Account, "name": "account 1"}, "plan": object{"id": "0feeeeeeeeeeeeeeeeeeeeeeeeeeeeee", "name": "Free Website"},
	}
}

func (s *Server) listZones(r *request) Answer {
	if name, is := queried(r, "name", "account.id", "status", "page", "per_page"); is {
		return malformed("unknown parameter %q", name)
	}
	query := r.URL.Query()
	list := []any{}
	for _, z := range s.zones {
		if (!query.Has("name") || query.Get("name") == z.Name) && (!query.Has("account.id") || query.Get("account.id") == s.Account) {
			list = append(list, s.zoneAnswer(z))
		}
	}
	return paged(r, 20, list)
}

func (s *Server) zoneOf(r *request) (*Zone, *Answer) {
	i := slices.IndexFunc(s.zones, func(z *Zone) bool { return z.ID == r.PathValue("zone") })
	if i < 0 {
		a := refusal(http.StatusNotFound, 7003, "Could not route to "+r.URL.Path+", perhaps your object identifier is invalid?")
		return nil, &a
	}
	return s.zones[i], nil
}

func (s *Server) getZone(r *request) Answer {
	z, refused := s.zoneOf(r)
	if refused != nil {
		return *refused
	}
	return success(s.zoneAnswer(z))
}

func (z *Zone) setting(name string) Answer {
	return success(object{"id": name, "value": z.settings[name], "editable": true, "modified_on": nil})
}

func (s *Server) getZoneSetting(r *request) Answer {
	z, refused := s.zoneOf(r)
	if refused != nil {
		return *refused
	}
	name := r.PathValue("setting")
	if _, known := z.settings[name]; !known {
		return refusal(http.StatusBadRequest, 1006, "Undefined zone setting: "+name)
	}
	return z.setting(name)
}

func (s *Server) patchZoneSetting(r *request) Answer {
	z, refused := s.zoneOf(r)
	if refused != nil {
		return *refused
	}
	name := r.PathValue("setting")
	var call struct {
		Value any `json:"value"`
	}
	if _, known := z.settings[name]; !known {
		return refusal(http.StatusBadRequest, 1006, "Undefined zone setting: "+name)
	}
	if err := r.read(&call); err != nil || fmt.Sprintf("%T", call.Value) != fmt.Sprintf("%T", z.settings[name]) {
		return refusal(http.StatusBadRequest, 1007, "Invalid value for zone setting "+name)
	}
	z.settings[name] = call.Value
	return z.setting(name)
}

func (s *Server) getBots(r *request) Answer {
	z, refused := s.zoneOf(r)
	if refused != nil {
		return *refused
	}
	return success(z.bots)
}

func (s *Server) listRecords(r *request) Answer {
	z, refused := s.zoneOf(r)
	if refused != nil {
		return *refused
	}
	if name, is := queried(r, "name", "name.exact", "type", "page", "per_page"); is {
		return malformed("unknown parameter %q", name)
	}
	query := r.URL.Query()
	list := []any{}
	for _, record := range z.records {
		wanted := query.Get("name.exact") + query.Get("name")
		if (wanted == "" || wanted == record.Name) && (!query.Has("type") || query.Get("type") == record.Type) {
			list = append(list, record)
		}
	}
	return paged(r, 100, list)
}

func (s *Server) getRules(r *request) Answer {
	z, refused := s.zoneOf(r)
	if refused != nil {
		return *refused
	}
	phase := r.PathValue("phase")
	rules, has := z.rules[phase]
	if !has {
		return refusal(http.StatusNotFound, 10003, "could not find entrypoint ruleset in the "+phase+" phase")
	}
	return success(object{"id": newID(), "kind": "zone", "phase": phase, "version": "1", "rules": rules})
}

// putRules replaces all rules of a phase.
func (s *Server) putRules(r *request) Answer {
	z, refused := s.zoneOf(r)
	if refused != nil {
		return *refused
	}
	var call struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Rules       json.RawMessage `json:"rules"`
	}
	var rules []struct {
		Action     string `json:"action"`
		Expression string `json:"expression"`
	}
	if err := r.read(&call); err != nil || json.Unmarshal(call.Rules, &rules) != nil {
		return refusal(http.StatusBadRequest, 20015, "invalid JSON for type") // the code is unknown
	}
	for _, rule := range rules {
		if rule.Action == "" || rule.Expression == "" {
			return refusal(http.StatusBadRequest, 20127, "a rule has no action, or no expression")
		}
	}
	z.rules[r.PathValue("phase")] = call.Rules
	return s.getRules(r)
}

func (s *Server) purge(r *request) Answer {
	z, refused := s.zoneOf(r)
	if refused != nil {
		return *refused
	}
	var call struct {
		Files      []string `json:"files"`
		Hosts      []string `json:"hosts"`
		Everything bool     `json:"purge_everything"`
	}
	err := r.read(&call)
	given := len(call.Files) + len(call.Hosts)
	switch {
	case err != nil || call.Everything == (given > 0) || len(call.Files) > 0 && len(call.Hosts) > 0:
		return refusal(http.StatusBadRequest, 1012, "Request must contain one of purge_everything, files, hosts")
	case given > 30:
		return refusal(http.StatusBadRequest, 1094, "Unable to purge, more than 30 were given")
	case call.Everything:
		z.purged = append(z.purged, "everything")
	}
	z.purged = append(append(z.purged, call.Files...), call.Hosts...)
	return success(object{"id": z.ID})
}

func (d *domain) answer() object {
	return object{
		"id": d.id, "cert_id": d.cert, "hostname": d.hostname, "service": d.service, "environment": "production",
		"zone_id": d.zone.ID, "zone_name": d.zone.Name,
	}
}

func (s *Server) listDomains(r *request) Answer {
	if name, is := queried(r, "zone_id", "zone_name", "service", "hostname", "environment"); is {
		return malformed("unknown parameter %q", name)
	}
	list := []any{}
	for _, d := range s.domains {
		answer := d.answer()
		fits := true
		for name := range maps.Keys(r.URL.Query()) {
			fits = fits && answer[name] == r.URL.Query().Get(name)
		}
		if fits {
			list = append(list, answer)
		}
	}
	return success(list)
}

// putDomain binds a host name to a worker, and makes its DNS record and its certificate.
func (s *Server) putDomain(r *request) Answer {
	var call struct {
		Hostname       string `json:"hostname"`
		Service        string `json:"service"`
		Environment    string `json:"environment"`
		ZoneID         string `json:"zone_id"`
		ZoneName       string `json:"zone_name"`
		OverrideScope  bool   `json:"override_scope"`
		OverrideOrigin bool   `json:"override_existing_origin"`
		OverrideRecord bool   `json:"override_existing_dns_record"`
	}
	if err := r.read(&call); err != nil {
		return malformed("%v", err)
	}
	if call.Hostname == "" || call.Service == "" || call.Environment != "" && call.Environment != "production" {
		return malformed("hostname %q, service %q, environment %q", call.Hostname, call.Service, call.Environment)
	}
	return s.bindDomain(call.Hostname, call.Service, call.ZoneID, call.ZoneName, call.OverrideOrigin, call.OverrideRecord)
}

// bindDomain leads a host name to a worker. zoneID and zoneName are "" where the call names no
// zone.
func (s *Server) bindDomain(host, worker, zoneID, zoneName string, overOrigin, overRecord bool) Answer {
	if s.workers[worker] == nil {
		return refusal(http.StatusNotFound, 10007, "This Worker does not exist on your account.")
	}
	var zone *Zone
	for _, z := range s.zones {
		within := host == z.Name || strings.HasSuffix(host, "."+z.Name)
		if within && (zoneID == "" || zoneID == z.ID) && (zoneName == "" || zoneName == z.Name) && (zone == nil || len(z.Name) > len(zone.Name)) {
			zone = z
		}
	}
	if zone == nil { // the code is unknown
		return refusal(http.StatusBadRequest, 100114, "Hostname '"+host+"' is not in a zone of the account")
	}
	i := slices.IndexFunc(s.domains, func(d *domain) bool { return d.hostname == host })
	if i >= 0 {
		d := s.domains[i]
		if d.service != worker && !overOrigin {
			return refusal(http.StatusConflict, 100116, "Hostname '"+host+"' already in use by other custom domain. Either delete it, try a different hostname, or use the option 'override_existing_origin' to override.")
		}
		d.service = worker
		return success(d.answer())
	}
	taken := func(record Record) bool {
		return record.Name == host && slices.Contains([]string{"A", "AAAA", "CNAME"}, record.Type)
	}
	if slices.ContainsFunc(zone.records, taken) && !overRecord {
		return refusal(http.StatusConflict, 100117, "Hostname '"+host+"' already has externally managed DNS records (A, CNAME, etc). Either delete them, try a different hostname, or use the option 'override_existing_dns_record' to override.")
	}
	zone.records = slices.DeleteFunc(zone.records, taken)
	return success(s.lead(zone, host, worker).answer())
}

// lead makes a custom domain, with its DNS record.
func (s *Server) lead(zone *Zone, host, worker string) *domain {
	zone.records = append(zone.records, Record{
		ID: newID(), Type: "AAAA", Name: host, Content: "100::", Proxied: true, TTL: 1,
		Meta: object{"origin_worker_id": newID(), "read_only": true},
	})
	d := &domain{id: newID(), cert: newUUID(), hostname: host, service: worker, zone: zone}
	s.domains = append(s.domains, d)
	return d
}

// Zone is the zone of a name, nil where there is none.
func (s *Server) Zone(name string) *Zone {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	i := slices.IndexFunc(s.zones, func(z *Zone) bool { return z.Name == name })
	if i < 0 {
		return nil
	}
	return s.zones[i]
}
