package ab

import (
	"crypto/tls"
	"fmt"
	"strings"
)

// openSSL spells the name of a cipher suite before TLS 1.3 as OpenSSL does: ECDHE-RSA-AES128-GCM-SHA256 is
// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256.
var openSSL = strings.NewReplacer("TLS_RSA_WITH_", "", "TLS_", "", "_WITH_", "-", "AES_128", "AES128", "AES_256", "AES256", "RC4_128", "RC4",
	"3DES_EDE_CBC", "DES-CBC3", "_CBC", "", "POLY1305_SHA256", "POLY1305", "_", "-")

// ciphers reads a list of cipher suites as OpenSSL does, which passes over words that it does not know. Those of TLS 1.3
// are not chosen. Without a list it is what OpenSSL offers: also keys that are sent with RSA, which Go leaves out.
func ciphers(list string) ([]uint16, error) {
	all := append(tls.CipherSuites(), tls.InsecureCipherSuites()...)
	var out []uint16
	if list == "" {
		for _, s := range all {
			if s.SupportedVersions[0] < tls.VersionTLS13 && !strings.Contains(s.Name, "RC4") && !strings.Contains(s.Name, "3DES") {
				out = append(out, s.ID)
			}
		}
		return out, nil
	}
	var names []string
	for _, s := range all {
		if s.SupportedVersions[0] < tls.VersionTLS13 {
			names = append(names, openSSL.Replace(s.Name))
		}
	}
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(":, ", r) }) {
		for _, s := range all {
			if s.SupportedVersions[0] < tls.VersionTLS13 && (word == openSSL.Replace(s.Name) || word == s.Name) {
				out = append(out, s.ID)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("error setting ciphersuite list [%s]: the TLS of Go has %s", list, strings.Join(names, " "))
	}
	return out, nil
}
