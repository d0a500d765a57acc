package apitest

import "net/http"

// wranglersRoutes are calls that wrangler makes and this project does not. They are as strict as
// the others, so that what wrangler deploys can be compared with what this project deploys.
func (s *Server) wranglersRoutes(account func(pattern string, handle handler)) {
	account("GET workers/workers/{worker}", s.getWorker)
	account("POST workers/scripts/{worker}/domains/changeset", s.changeDomains)
	account("PUT workers/scripts/{worker}/domains/records", s.putDomains)
}

// getWorker answers as the newer form of the API does, as far as wrangler reads it.
func (s *Server) getWorker(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	return success(object{"name": r.PathValue("worker"), "subdomain": w.onSubdomain()})
}

// origin is a host name that is to lead to a worker.
type origin struct {
	Hostname string `json:"hostname"`
	ZoneID   string `json:"zone_id"`
	ZoneName string `json:"zone_name"`
	Enabled  *bool  `json:"enabled"`
	Previews *bool  `json:"previews_enabled"`
}

// changeDomains answers what would change for a list of host names.
func (s *Server) changeDomains(r *request) Answer {
	if _, refused := s.workerOf(r); refused != nil {
		return *refused
	}
	if name, is := queried(r, "replace_state"); is {
		return malformed("unknown parameter %q", name)
	}
	var origins []origin
	if err := r.read(&origins); err != nil {
		return malformed("%v", err)
	}
	added, updated := []any{}, []any{}
	for _, o := range origins {
		known := false
		for _, d := range s.domains {
			if d.hostname == o.Hostname {
				known = true
				answer := d.answer()
				answer["modified"] = d.service != r.PathValue("worker")
				updated = append(updated, answer)
			}
		}
		if !known {
			added = append(added, object{"hostname": o.Hostname})
		}
	}
	return success(object{"added": added, "removed": []any{}, "updated": updated, "conflicting": []any{}})
}

// putDomains leads host names to a worker.
func (s *Server) putDomains(r *request) Answer {
	if _, refused := s.workerOf(r); refused != nil {
		return *refused
	}
	var call struct {
		Scope   bool     `json:"override_scope"`
		Origin  bool     `json:"override_existing_origin"`
		Record  bool     `json:"override_existing_dns_record"`
		Origins []origin `json:"origins"`
	}
	if err := r.read(&call); err != nil {
		return malformed("%v", err)
	}
	for _, o := range call.Origins {
		if a := s.bindDomain(o.Hostname, r.PathValue("worker"), o.ZoneID, o.ZoneName, call.Origin, call.Record); a.Status != http.StatusOK {
			return a
		}
	}
	return success(nil)
}
