package config

import "net/url"

// checkPurchaseTokens refuses purchase tokens that could not be signed, and a proof that nothing asks for.
func (c Config) checkPurchaseTokens(wrong *problems) {
	if secret := c.Order.TokenSecret.Reveal(); secret != "" {
		if weak := c.weakness(secret); weak != "" {
			wrong.add("order.token_secret "+weak+": set your own, or leave it out", "order.token_secret")
		}
	}
	if c.Order.ProofURL != "" {
		u, err := url.Parse(c.Order.ProofURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			wrong.add("order.proof_url must be a URL such as https://captcha.internal/check", "order.proof_url")
		}
		if c.Order.Token != "required" {
			wrong.add("order.proof_url is for order.token required: set that, or leave it out", "order.proof_url", "order.token")
		}
	}
	if c.Order.Token == "required" && c.Order.TokenSecret == "" && c.Auth.Secret == "" && !c.Embedded() {
		wrong.add("order.token required needs a secret to sign with, and auth.secret is empty: set order.token_secret",
			"order.token_secret", "order.token")
	}
}
