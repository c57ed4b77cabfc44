package desk

import (
	"errors"
	"net"
	"net/http"
	"net/textproto"
	"strconv"

	"formledger/relay/netcause"
)

// oneRequest is a client that makes the one request that it is told to: a fresh
// connection, no redirect, and no proxy that the environment names. Any answer but
// a 2xx is an *AlertError.
func oneRequest() *http.Client {
	return &http.Client{
		Timeout:       alertTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: taken{&http.Transport{
			DialContext:            (&net.Dialer{Timeout: alertTime}).DialContext,
			TLSHandshakeTimeout:    alertTime,
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: longestHeader,
		}},
	}
}

// taken makes an error of every answer but a 2xx, so that no caller can take one
// of them for a success.
type taken struct{ http.RoundTripper }

func (t taken) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		answer.Body.Close()
		return nil, &AlertError{codeRefused, "the receiver answered " + strconv.Itoa(answer.StatusCode)}
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, longestHeader)
	return answer, nil
}

// alertError names why an alert failed. The text of any other error may hold the
// address, a token, or what the other side said.
func alertError(err error) *AlertError {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*AlertError](err); ok {
		return known
	}
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		return &AlertError{codeRefused, "the mail server answered " + strconv.Itoa(answer.Code)}
	}
	switch code := netcause.Of(err); code {
	case "":
		return &AlertError{codeUnreachable, "the receiver could not be told"}
	case netcause.Timeout:
		return tooLate()
	default:
		return &AlertError{code, "the receiver could not be reached (" + code + ")"}
	}
}

func tooLate() *AlertError {
	return &AlertError{netcause.Timeout, "the receiver did not answer in time; it may have the alert all the same"}
}
