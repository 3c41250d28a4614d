package serving

import (
	"net"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestReachable(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "invalid IP",
		"127.0.0.1/8 ::1/128 fe80::1/64":         "invalid IP",
		"127.0.0.1/8 10.0.0.5/24 192.168.1.2/24": "10.0.0.5",
		"2001:db8::1/64 2001:db8::2/64":          "2001:db8::1",
		"fe80::1/64 2001:db8::1/64 10.0.0.5/24":  "10.0.0.5",
		"10.0.0.5/24 2001:db8::1/64":             "10.0.0.5",
	} {
		var list []net.Addr
		for _, one := range strings.Fields(text) {
			ip, network, err := net.ParseCIDR(one)
			must.OK(t, err)
			list = append(list, &net.IPNet{IP: ip, Mask: network.Mask})
		}
		must.Equal(t, reachable(list).String(), want, text)
	}
}
