import { ALL_PLACES, testTroubles } from "./accountTroubles.ts";

// An approval, a payment and a claim, in both roles; the slow suite takes them all.
testTroubles(ALL_PLACES.filter((_place, i) => [1, 3, 6].includes(i)));
