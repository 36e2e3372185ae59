package order

// BatchesAtOnce is how many workers there are.
const BatchesAtOnce = batchesAtOnce

// WaitingForABatch returns how many orders no batch has taken yet.
func (s *Service) WaitingForABatch() int {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	return len(s.batches.waiting)
}

// BatchWorkers returns how many batches are under way.
func (s *Service) BatchWorkers() int {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	return s.batches.workers
}

// PollsKnown returns how many orders polls may wait for.
func (s *Service) PollsKnown() int {
	s.polls.mu.Lock()
	defer s.polls.mu.Unlock()
	return len(s.polls.all)
}

// PollsHeld is how many polls are held now.
func (s *Service) PollsHeld() int { return cap(s.polls.held) - len(s.polls.held) }
