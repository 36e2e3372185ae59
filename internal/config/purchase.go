package config

import "net/url"

// checkPurchaseTokens refuses purchase tokens that could not be signed, and a proof that nothing asks for.
func (c Config) checkPurchaseTokens(wrong *problems) {
	if secret := c.Order.PurchaseTokenSecret.Reveal(); secret != "" {
		if weak := c.weakness(secret); weak != "" {
			wrong.add("order.purchase_token_secret "+weak+": set your own, or leave it out", "order.purchase_token_secret")
		}
	}
	if c.Order.VerifyURL != "" {
		u, err := url.Parse(c.Order.VerifyURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			wrong.add("order.verify_url must be a URL such as https://captcha.internal/check", "order.verify_url")
		}
		if c.Order.PurchaseToken != "required" {
			wrong.add("order.verify_url is for order.purchase_token required: set that, or leave it out", "order.verify_url", "order.purchase_token")
		}
	}
	if c.Order.PurchaseToken == "required" && c.Order.PurchaseTokenSecret == "" && c.Auth.Secret == "" && !c.Embedded() {
		wrong.add("order.purchase_token required needs a secret to sign with, and auth.secret is empty: set order.purchase_token_secret",
			"order.purchase_token_secret", "order.purchase_token")
	}
}
