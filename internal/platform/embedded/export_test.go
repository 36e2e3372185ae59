package embedded

// KeyCount counts the keys without a command, so that nothing expires because
// somebody looked.
func (s *Stores) KeyCount() int { return len(s.redis.Keys()) }
