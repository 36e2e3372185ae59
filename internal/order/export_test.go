package order

// BatchesAtOnce is how many workers there are.
const BatchesAtOnce = batchesAtOnce

// WaitingForABatch returns how many orders no batch has taken yet.
func (s *Service) WaitingForABatch() int {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	return len(s.batches.waiting)
}
