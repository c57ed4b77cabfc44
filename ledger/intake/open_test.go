package intake_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger/enquiry"
	"formledger/ledger/intake"
)

// signedRequest is a verified webhook with any body.
func signedRequest(body string) request {
	r := request{header: http.Header{}, body: body, now: time.Unix(1, 0)}
	r.header.Set(hubHeader, hexMAC(newSecret, body))
	return r
}

// orders is a form whose webhooks name event, order and customer.
func orders() enquiry.Definition {
	d := shop(enquiry.Webhook{
		Scheme: enquiry.HMAC, Header: hubHeader, EventPath: "type", Events: []string{"order.paid", "order.free"},
		ToPath: "data.object.customer.email",
	})
	d.To = nil
	return d
}

// order is a body with some keys of data.object, as JSON.
func order(event string, members ...string) string {
	return fmt.Sprintf(`{"type":%q,"data":{"object":{%s}}}`, event, strings.Join(members, ","))
}

const (
	orderID  = `"id":"cs_1"`
	customer = `"customer":{"name":"Ada","email":"ada@Example.COM"}`
)

func TestOrder(t *testing.T) {
	h := open(t, orders(), newSecret)
	body := order("order.paid", orderID, customer,
		`"amount":12345678901234567890.10`, `"lines":[{"sku":"A-1"},{"sku":"B-2"}]`, `"tags":["rush",null,7,true]`, `"terms":true`)
	got, err := signedRequest(body).at(h)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != "cs_1" || got.Event != "order.paid" || got.To != "ada@example.com" || got.Ignored {
		t.Errorf("got %+v", got)
	}
	e, problems := form(t, orders()).Check(got.Raw)
	want := []enquiry.Value{
		{Name: "amount", Values: []string{"12345678901234567890.10"}}, {Name: "email", Values: []string{"ada@example.com"}},
		{Name: "first_sku", Values: []string{"A-1"}}, {Name: "name", Values: []string{"Ada"}},
		{Name: "tags", Values: []string{"7", "rush", "true"}}, {Name: "terms", Values: []string{"yes"}},
	}
	if d := cmp.Diff(want, e.Fields); d != "" || len(problems) > 0 {
		t.Errorf("%v (-want +got):\n%s", problems, d)
	}
}

func TestEvents(t *testing.T) {
	h := open(t, orders(), newSecret)
	for body, want := range map[string]string{
		order("order.free", orderID, customer): "cs_1 order.free false",
		order("order.refunded"):                " order.refunded true",
		`{"type":"Order.paid"}`:                " Order.paid true",
		`{"type":7,"data":[]}`:                 " 7 true",
	} {
		got, err := signedRequest(body).at(h)
		if err != nil || fmt.Sprint(got.ID, " ", got.Event, " ", got.Ignored) != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
		if got.Ignored && (got.To != "" || len(got.Raw.Names()) > 0) {
			t.Errorf("%s: %+v is ignored and mapped", body, got)
		}
	}
}

// What is absent, null or behind a value that has no parts is no value.
func TestAbsent(t *testing.T) {
	d := orders()
	d.Webhook.ToPath, d.To = "", enquiry.Recipients{"owner@example.com"}
	h := open(t, d, newSecret)
	for _, members := range []string{
		`"x":1`, `"customer":null`, `"customer":{"name":null}`, `"customer":"cus_1"`, `"customer":["Ada"]`, `"Customer":{"Name":"Ada"}`,
		`"lines":[]`, `"lines":[null]`, `"lines":{"1":{"sku":"A"}}`, `"lines":[[{"sku":"A"}]]`, `"tags":[]`, `"tags":[null]`, `"tags":null`,
	} {
		got, err := signedRequest(order("order.paid", orderID, members)).at(h)
		if err != nil || len(got.Raw.Names()) > 0 || got.To != "" {
			t.Errorf("%s: %+v, %v", members, got, err)
		}
	}
}

// A number in a path is a place in a list, or the name it is in an object.
func TestPathsWithNumbers(t *testing.T) {
	for path, want := range map[string]string{
		"l.0": "a", "l.1": "b", "l.2": "", "l.00": "", "l.-1": "", "l.+1": "", "l.1e0": "", "l.18446744073709551616": "", "o.0": "zero", "o.00": "two zeros",
	} {
		d := shop(enquiry.Webhook{Scheme: enquiry.HMAC, Header: hubHeader, OrderPath: "id"})
		d.Fields = []enquiry.Field{{Name: "x", Kind: enquiry.Text, Path: path}}
		got, err := signedRequest(`{"id":"1","l":["a","b"],"o":{"0":"zero","00":"two zeros"}}`).at(open(t, d, newSecret))
		if err != nil || got.Raw.First("x") != want {
			t.Errorf("%s: %q, %v", path, got.Raw.First("x"), err)
		}
	}
}

var unreadableBodies = map[string]string{
	"empty":                     ``,
	"not JSON":                  `type=order.paid`,
	"cut off":                   `{"type":"order.paid","data":{"object":{"id":"cs_1"`,
	"list":                      `[{"type":"order.paid"}]`,
	"string":                    `"order.paid"`,
	"null":                      `null`,
	"something follows":         order("order.paid", orderID, customer) + ` {}`,
	"a bracket follows":         order("order.paid", orderID, customer) + `}`,
	"byte order mark":           "\ufeff" + order("order.paid", orderID, customer),
	"not UTF-8":                 order("order.paid", orderID, customer, "\"note\":\"\xff\""),
	"comma at the end":          order("order.paid", orderID, customer+","),
	"comments":                  order("order.paid", orderID, customer+"/* */"),
	"NaN":                       order("order.paid", orderID, customer, `"amount":NaN`),
	"single quotes":             `{'type':'order.paid'}`,
	"brackets crossed":          `{"type":"order.paid","data":[}]`,
	"the order twice":           order("order.paid", orderID, customer, `"id":"cs_2"`),
	"the same order twice":      order("order.paid", orderID, customer, orderID),
	"a name twice, escaped":     order("order.paid", orderID, customer, `"\u0069d":"cs_2"`),
	"a name twice, one is null": order("order.paid", `"id":null`, customer, orderID),
	"a name twice, anywhere":    order("order.paid", orderID, customer, `"x":[[{"y":1,"y":1}]]`),
	"halves of names":           order("order.paid", orderID, customer, `"\ud800":1`, `"\udc00":2`),
	"very deep":                 order("order.paid", orderID, customer, `"x":`+strings.Repeat("[", 32)+strings.Repeat("]", 32)),
	"endlessly deep":            strings.Repeat(`{"type":`, 10_000),
	"no event":                  `{"data":{"object":{"id":"cs_1"}}}`,
	"event null":                `{"type":null}`,
	"event empty":               `{"type":""}`,
	"event an object":           `{"type":{"name":"order.paid"}}`,
	"event a boolean":           `{"type":true}`,
	"event very long":           `{"type":"` + strings.Repeat("x", 201) + `"}`,
	"event with a line end":     `{"type":"order.paid\n"}`,
	"no order":                  order("order.paid", customer),
	"order null":                order("order.paid", `"id":null`, customer),
	"order empty":               order("order.paid", `"id":""`, customer),
	"order a boolean":           order("order.paid", `"id":true`, customer),
	"order a list":              order("order.paid", `"id":["cs_1"]`, customer),
	"order an object":           order("order.paid", `"id":{"id":"cs_1"}`, customer),
	"order very long":           order("order.paid", `"id":"`+strings.Repeat("ü", 201)+`"`, customer),
	"order with a NUL":          order("order.paid", `"id":"cs_1\u0000"`, customer),
	"order with a control":      order("order.paid", `"id":"cs_1\u0085"`, customer),
	"order with half a pair":    order("order.paid", `"id":"cs_\ud800"`, customer),
	"no customer":               order("order.paid", orderID),
	"customer null":             order("order.paid", orderID, `"customer":{"email":null}`),
	"customer empty":            order("order.paid", orderID, `"customer":{"email":""}`),
	"customer a number":         order("order.paid", orderID, `"customer":{"email":1}`),
	"customers":                 order("order.paid", orderID, `"customer":{"email":"ada@example.com, eve@example.com"}`),
	"list of customers":         order("order.paid", orderID, `"customer":{"email":["ada@example.com"]}`),
	"customer with a name":      order("order.paid", orderID, `"customer":{"email":"Ada <ada@example.com>"}`),
	"customer with a header":    order("order.paid", orderID, `"customer":{"email":"ada@example.com\r\nBcc: eve@example.com"}`),
	"customer with half a pair": order("order.paid", orderID, `"customer":{"email":"ada\ud800@example.com"}`),
	"field an object":           order("order.paid", orderID, customer, `"amount":{"value":1}`),
	"field a list":              order("order.paid", orderID, customer, `"amount":[1]`),
	"list in a list":            order("order.paid", orderID, customer, `"tags":["rush",["gift"]]`),
	"object in a list":          order("order.paid", orderID, customer, `"tags":[{"name":"gift"}]`),
	"list is an object":         order("order.paid", orderID, customer, `"tags":{"0":"gift"}`),
}

func TestUnreadable(t *testing.T) {
	h := open(t, orders(), newSecret)
	for name, body := range unreadableBodies {
		got, err := signedRequest(body).at(h)
		if !errors.Is(err, intake.ErrUnreadable) || got.ID != "" || got.Ignored {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		tellsNothing(t, err, signedRequest(body))
		forged := signedRequest(body)
		forged.header.Set(hubHeader, hexMAC(strange, body))
		if _, err := forged.at(h); !errors.Is(err, intake.ErrUnverified) || errors.Is(err, intake.ErrUnreadable) {
			t.Errorf("%s, forged: %v", name, err)
		}
	}
}

func TestReadable(t *testing.T) {
	h := open(t, orders(), newSecret)
	for name, body := range map[string]string{
		"white space":        "\r\n\t " + order("order.paid", orderID, customer) + "\n",
		"names by case":      order("order.paid", orderID, customer, `"ID":"cs_2"`),
		"same name below":    order("order.paid", orderID, customer, `"x":{"id":"cs_2"}`),
		"escapes":            order("order.paid", `"\u0069d":"\u0063s_1"`, customer),
		"deep":               order("order.paid", orderID, customer, `"x":`+strings.Repeat("[", 29)+strings.Repeat("]", 29)),
		"half an emoji":      order("order.paid", orderID, customer, `"note":"\ud83d"`),
		"spaces around mail": order("order.paid", orderID, `"customer":{"email":" ada@example.com "}`),
	} {
		if got, err := signedRequest(body).at(h); err != nil || got.ID != "cs_1" || got.To != "ada@example.com" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for literal, id := range map[string]string{
		`12345678901234567890123`: "12345678901234567890123", `1e3`: "1e3", `-0`: "-0", `"` + strings.Repeat("ü", 200) + `"`: strings.Repeat("ü", 200), `" 1"`: " 1",
	} {
		if got, err := signedRequest(order("order.paid", `"id":`+literal, customer)).at(h); err != nil || got.ID != id {
			t.Errorf("%s: %q, %v", literal, got.ID, err)
		}
	}
}
