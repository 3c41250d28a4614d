package mlflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/unravel-ml/unravel/internal/disk"
)

// Server is an MLflow tracking server.
type Server struct {
	URL            string        // http://HOST:PORT or https://HOST, with the path of the server if there is one
	Token          string        // for bearer authentication
	User, Password string        // for basic authentication, which takes precedence over the token
	Wait           time.Duration // time before a request is retried, doubled each time; 0: one second
}

const (
	retries   = 4
	maxWait   = 30 * time.Second
	maxAnswer = 256 << 20 // maximum bytes of a response
	pageSize  = 200       // runs per response
)

// Limits of a request (https://mlflow.org/docs/latest/rest-api.html, Log Batch).
const (
	maxMetrics = 1000
	maxPairs   = 100
	maxBody    = 1_000_000 - 200 // bytes, without the run id
)

// serverError is the error of [Send] for a request that the server rejects, with the reason in Code and Message. If
// Status is 500 or more, Send can be called again.
type serverError struct {
	Server, Request string // address, and for example "POST runs/create"
	Status          int    // HTTP status
	Code, Message   string // MLflow's error code, such as RESOURCE_DOES_NOT_EXIST, and message
}

func (e *serverError) Error() string {
	text := fmt.Sprintf("%s: %s: the server answers %d", e.Server, e.Request, e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if e.Code != "" {
		text += ", " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		text += "; want MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, of a user who may write there"
	}
	return text
}

// CheckAddress returns an error for a text other than the address of a server.
func CheckAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return nil
	case err == nil && (u.Scheme == "http" || u.Scheme == "https"):
		return fmt.Errorf("%s has no host; want the address of a tracking server, such as http://localhost:5000", address)
	}
	return fmt.Errorf("%s is no address; want the address of a tracking server, such as http://localhost:5000; "+
		"Unravel no longer writes folders for MLflow, which refuses them from version 3.13 on", address)
}

type client struct {
	base     *url.URL // without a user
	header   http.Header
	http     *retryablehttp.Client
	answered bool // the server has responded at least once
}

func newClient(s Server) (*client, error) {
	if err := CheckAddress(s.URL); err != nil {
		return nil, err
	}
	base, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	c := &client{base: base, header: http.Header{}, http: retryablehttp.NewClient()}
	if base.User != nil {
		s.User = base.User.Username()
		s.Password, _ = base.User.Password()
		base.User = nil
	}
	base.RawQuery, base.Fragment = "", ""
	if s.User != "" {
		r := http.Request{Header: c.header}
		r.SetBasicAuth(s.User, s.Password)
	} else if s.Token != "" {
		c.header.Set("Authorization", "Bearer "+s.Token)
	}
	c.http.Logger, c.http.RetryMax, c.http.RetryWaitMin, c.http.RetryWaitMax = nil, retries, s.Wait, maxWait
	if s.Wait == 0 {
		c.http.RetryWaitMin = time.Second
	}
	c.http.Backoff = func(shortest, longest time.Duration, attempt int, r *http.Response) time.Duration {
		return min(longest, retryablehttp.DefaultBackoff(shortest, longest, attempt, r)) // a server may request a wait of a day
	}
	c.http.ErrorHandler = retryablehttp.PassthroughErrorHandler
	c.http.CheckRetry = c.checkRetry
	if t, ok := c.http.HTTPClient.Transport.(*http.Transport); ok {
		t.ResponseHeaderTimeout = time.Minute
	}
	c.http.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

func (c *client) name() string { return c.base.String() }

type onceKey struct{} // marks the context of a request that must not be retried blindly

func (c *client) checkRetry(ctx context.Context, r *http.Response, err error) (bool, error) {
	var dial *net.OpError
	if err != nil && !c.answered && errors.As(err, &dial) && dial.Op == "dial" { // the server does not exist
		return false, nil
	}
	c.answered = c.answered || err == nil
	if ctx.Value(onceKey{}) != nil && (err != nil || r.StatusCode >= 500) {
		return false, nil
	}
	return retryablehttp.DefaultRetryPolicy(ctx, r, err)
}

// call sends a request of the tracking API, such as runs/create, and decodes the response.
func (c *client) call(ctx context.Context, method, name string, query url.Values, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	address := c.base.JoinPath("api/2.0/mlflow", name)
	address.RawQuery = query.Encode()
	return c.do(ctx, method, name, address, body, "application/json", out)
}

// put uploads a file of a run to the server's artifact store.
func (c *client) put(ctx context.Context, name string, content []byte) error {
	segments := strings.Split("api/2.0/mlflow-artifacts/artifacts/"+name, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	address := c.base.JoinPath(segments...)
	return c.do(ctx, http.MethodPut, "mlflow-artifacts/artifacts/"+name, address, content, "application/octet-stream", nil)
}

func (c *client) do(ctx context.Context, method, name string, address *url.URL, body []byte, kind string, out any) error {
	request, err := retryablehttp.NewRequestWithContext(ctx, method, address.String(), nil)
	if err != nil {
		return err
	}
	maps.Copy(request.Header, c.header)
	if method != http.MethodGet {
		request.Header.Set("Content-Type", kind)
		if err := request.SetBody(body); err != nil {
			return err
		}
	}
	operation := method + " " + name
	response, err := c.http.Do(request)
	if err != nil {
		var urlErr *url.Error
		if errors.As(err, &urlErr) {
			err = urlErr.Err // without the address, which the message already contains
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%s: %s: %w", c.name(), operation, err)
	}
	defer response.Body.Close()
	text, err := disk.ReadLimited(response.Body, "the answer", maxAnswer)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", c.name(), operation, err)
	}
	if response.StatusCode != http.StatusOK {
		return c.refusal(operation, response, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s: %s: the answer is no JSON of MLflow (%w): %s", c.name(), operation, err, beginning(text))
	}
	return nil
}

func (c *client) refusal(operation string, r *http.Response, text []byte) error {
	e := &serverError{Server: c.name(), Request: operation, Status: r.StatusCode}
	var answer struct {
		Code    string `json:"error_code"`
		Message string `json:"message"`
	}
	switch target, err := r.Location(); {
	case err == nil && r.StatusCode < 400:
		e.Message = "redirects are not followed; want the address " + target.Redacted()
	case json.Unmarshal(text, &answer) == nil && answer.Code != "":
		e.Code, e.Message = answer.Code, beginning([]byte(answer.Message))
	default:
		e.Message = beginning(text)
	}
	return e
}

// beginning returns the first characters of a text on one line.
func beginning(text []byte) string {
	return truncate(string(bytes.Join(bytes.Fields(text), []byte(" "))), 300)
}

// experiment returns the id of an experiment. It creates the experiment if it does not exist.
func (c *client) experiment(ctx context.Context, name string) (id string, deleted bool, err error) {
	var answer struct {
		Experiment struct {
			ID    string `json:"experiment_id"`
			Stage string `json:"lifecycle_stage"`
		}
	}
	query := url.Values{"experiment_name": {name}}
	for range 2 { // another process may create it meanwhile
		err := c.call(ctx, http.MethodGet, "experiments/get-by-name", query, nil, &answer)
		if err == nil && answer.Experiment.ID != "" {
			return answer.Experiment.ID, answer.Experiment.Stage == "deleted", nil
		}
		var refused *serverError
		switch {
		case err == nil:
			err = errors.New("the answer has no experiment_id; want a server of MLflow")
			return "", false, fmt.Errorf("%s: GET experiments/get-by-name: %w", c.name(), err)
		case !errors.As(err, &refused) || refused.Code != "RESOURCE_DOES_NOT_EXIST":
			return "", false, err
		}
		err = c.call(ctx, http.MethodPost, "experiments/create", nil, map[string]string{"name": name}, nil)
		if err != nil && (!errors.As(err, &refused) || refused.Code != "RESOURCE_ALREADY_EXISTS") {
			return "", false, err
		}
	}
	return "", false, fmt.Errorf("%s: GET experiments/get-by-name: there is no experiment %s after it was made",
		c.name(), name)
}

type remoteRun struct {
	Info struct {
		RunID       string `json:"run_id"`
		ArtifactURI string `json:"artifact_uri"`
		Stage       string `json:"lifecycle_stage"`
	}
	Data struct {
		Metrics []latest
		Params  []pair
		Tags    []pair
	}
}

// latest is the last step of a metric.
type latest struct {
	Key  string
	Step integer
}

type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type integer int64 // int64 in JSON, as a number or a string (https://protobuf.dev/programming-guides/json/)

func (i *integer) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(bytes.Trim(text, `"`), (*int64)(i))
}

func mapOf(list []pair) map[string]string {
	values := map[string]string{}
	for _, p := range list {
		values[p.Key] = p.Value
	}
	return values
}

// search calls f for each run of an experiment that Unravel has sent, including deleted runs.
func (c *client) search(ctx context.Context, experiment string, f func(*remoteRun)) error {
	request := map[string]any{"experiment_ids": []string{experiment}, "filter": "tags.`" + runTag + "` LIKE '%'",
		"run_view_type": "ALL", "max_results": pageSize}
	for {
		var page struct {
			Runs []remoteRun
			Next string `json:"next_page_token"`
		}
		if err := c.call(ctx, http.MethodPost, "runs/search", nil, request, &page); err != nil {
			return err
		}
		for i := range page.Runs {
			f(&page.Runs[i])
		}
		if page.Next == "" {
			return nil
		}
		if page.Next == request["page_token"] {
			return fmt.Errorf("%s: POST runs/search: the server names the same page twice", c.name())
		}
		request["page_token"] = page.Next
	}
}

// log sends metrics, parameters and tags, in as many requests as the limits require.
func (c *client) log(ctx context.Context, run string, metrics []point, params, tags map[string]string) error {
	err := logEach(ctx, c, run, "params", pairs(params), maxPairs)
	if err == nil {
		err = logEach(ctx, c, run, "metrics", metrics, maxMetrics)
	}
	if err == nil {
		err = logEach(ctx, c, run, "tags", pairs(tags), maxPairs)
	}
	return err
}

func logEach[T any](ctx context.Context, c *client, run, kind string, list []T, maxItems int) error {
	for len(list) > 0 {
		var part []json.RawMessage
		for size := 0; len(part) < min(maxItems, len(list)); {
			text, err := json.Marshal(list[len(part)])
			if err != nil {
				return err
			}
			if size += len(text) + 1; size > maxBody && len(part) > 0 {
				break
			}
			part = append(part, text)
		}
		body := map[string]any{"run_id": run, kind: part}
		if err := c.call(ctx, http.MethodPost, "runs/log-batch", nil, body, nil); err != nil {
			return err
		}
		list = list[len(part):]
	}
	return nil
}
