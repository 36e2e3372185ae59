package faultnet

// AwaitEnds is what Cut returns after.
var AwaitEnds = awaitEnds
