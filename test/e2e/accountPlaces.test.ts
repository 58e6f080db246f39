import { ALL_PLACES, testTroubles } from "../sim/accountTroubles.ts";

// Every trouble at every place: minutes, where the fast suite takes a few of them.
testTroubles(ALL_PLACES);
