package receive

import (
	"net/http"

	"github.com/hone-perf/hone/internal/fleet/connect"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/store"
)

// pushRequest is push.v1.PushRequest of Pyroscope.
type pushRequest struct {
	Series []rawSeries `pb:"1" json:"series"`
}

type rawSeries struct {
	Labels  []labelPair `pb:"1" json:"labels"`
	Samples []rawSample `pb:"2" json:"samples"`
}

type labelPair struct {
	Name  string `pb:"1" json:"name"`
	Value string `pb:"2" json:"value"`
}

type rawSample struct {
	Raw []byte `pb:"1" json:"rawProfile"`
	ID  string `pb:"2" json:"ID"`
}

type pushResponse struct{}

// push is push.v1.PusherService, which Alloy uses.
func (s *Server) push(w http.ResponseWriter, r *http.Request) {
	form, ok := connect.Accept(w, r)
	if !ok {
		return
	}
	if r.URL.Path != "/push.v1.PusherService/Push" {
		if _, err := s.opt.Gate.Allow(r, token.Write); err != nil {
			connect.Fail(w, err)
			return
		}
		connect.Fail(w, connect.Errorf(connect.Unimplemented, "there is no such call; push.v1.PusherService has Push here"))
		return
	}
	if err := s.pushed(w, r, form); err != nil {
		connect.Fail(w, err)
		return
	}
	form.Answer(w, r, &pushResponse{})
}

func (s *Server) pushed(w http.ResponseWriter, r *http.Request, form connect.Form) error {
	req, done, err := s.begin(w, r, false)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.keep(r.Context(), req, func() ([]sent, error) { return parsePush(form, req.data, req.limits) })
	return err
}

// parsePush returns the profiles of a call of Push.
func parsePush(form connect.Form, data []byte, limits Limits) ([]sent, error) {
	var m pushRequest
	if err := form.Decode(data, &m, limits.ofMessage()); err != nil {
		return nil, err
	}
	var out []sent
	for _, series := range m.Series {
		var base sent
		for _, l := range series.Labels {
			switch l.Name {
			case "__name__":
				base.kind = l.Value
			case "__delta__":
				// The sender has subtracted what it sent before, so nobody else is to.
				if l.Value == "false" {
					base.sums = deltas
				}
			default:
				base.labels = append(base.labels, store.Label{Name: l.Name, Value: l.Value})
			}
		}
		for _, sample := range series.Samples {
			if len(sample.Raw) == 0 {
				return nil, connect.Errorf(connect.InvalidArgument, "a sample has no profile")
			}
			one := base
			one.raw = sample.Raw
			out = append(out, one)
		}
	}
	if len(out) > maxProfiles {
		return nil, connect.Errorf(connect.InvalidArgument, "there are %d profiles, more than %d", len(out), maxProfiles)
	}
	return out, nil
}

// maxProfiles is how many there may be in one body.
const maxProfiles = 10_000
