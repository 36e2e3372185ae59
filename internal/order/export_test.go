package order

// BatchesAtOnce is how many batches are in progress at most.
const BatchesAtOnce = batchesAtOnce

// WaitingForABatch returns how many attempts no batch has taken yet.
func (s *Service) WaitingForABatch() int {
	waiting, _ := s.batches.Standing()
	return waiting
}

// BatchWorkers returns how many batches are in progress.
func (s *Service) BatchWorkers() int {
	_, batches := s.batches.Standing()
	return batches
}

// PollsKnown returns how many orders polls may wait for.
func (s *Service) PollsKnown() int {
	s.polls.mu.Lock()
	defer s.polls.mu.Unlock()
	return len(s.polls.all)
}

// PollsHeld is how many polls are held now.
func (s *Service) PollsHeld() int { return cap(s.polls.held) - len(s.polls.held) }
