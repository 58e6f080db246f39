import fc from "fast-check";
import type { TokenMood } from "./model.ts";
import type { Mover } from "./swapChain.ts";

export const FUNDS = 10n ** 20n;
export const IDS = 10;

// Who takes part: three accounts and one contract trade; two thieves only ever call what others have at stake.
export const PARTIES = ["alice", "bob", "carol", "puppet"] as const;
export const THIEVES = ["thief", "miner"] as const;
export const ASSETS = ["native", "plain", "silent", "hostile"] as const;
const MOODS: readonly TokenMood[] = ["fair", "fair", "answers false", "keeps a fee", "takes more", "moves nothing"];
export const MOVERS: readonly Mover[] = ["receiverSpend", "spendFor", "senderRefund", "refundFor"];

type Party = (typeof PARTIES)[number];
export type Caller = Party | (typeof THIEVES)[number];
export type Pay = {
  readonly do: "pay";
  readonly id: number;
  /** Take the next id that was never used, if there is one. */
  readonly isNew: boolean;
  readonly asset: (typeof ASSETS)[number];
  readonly from: Party;
  readonly to: Party | "nobody" | "the contract";
  readonly secret: number;
  readonly amount: bigint;
  readonly lockInSec: number;
};
export type Move = {
  readonly do: "move";
  readonly id: number;
  /** Take an open payment, the `id`-th, if there is one. */
  readonly isOpen: boolean;
  readonly mover: Mover;
  /** `owner`: whom the interface means. */
  readonly caller: Caller | "owner";
  /** Which argument is not that of the payment. */
  readonly wrong: "nothing" | "amount" | "secret" | "token" | "sender" | "receiver";
  /** When: soon, or around the lock time. */
  readonly when: "soon" | "before lock" | "at lock" | "after lock";
};
export type Command = Pay | Move | { readonly do: "mood"; readonly mood: TokenMood } | { readonly do: "puppet"; readonly accepts: boolean };

const aPay: fc.Arbitrary<Command> = fc.record({
  do: fc.constant("pay" as const),
  id: fc.nat(IDS - 1),
  isNew: fc.constantFrom(true, true, true, false),
  asset: fc.constantFrom(...ASSETS, "native", "hostile", "hostile"),
  from: fc.constantFrom(...PARTIES),
  to: fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...PARTIES) },
    { weight: 1, arbitrary: fc.constantFrom("nobody" as const, "the contract" as const) },
  ),
  secret: fc.nat(3),
  amount: fc.oneof({ weight: 1, arbitrary: fc.constantFrom(0n, 1n, 2n, FUNDS + 1n) }, { weight: 3, arbitrary: fc.bigInt(1n, FUNDS / 4n) }),
  lockInSec: fc.constantFrom(-100, 1, 3, 20, 20, 1_000),
});
const aMove: fc.Arbitrary<Command> = fc.record({
  do: fc.constant("move" as const),
  id: fc.nat(IDS - 1),
  isOpen: fc.constantFrom(true, true, true, true, false),
  mover: fc.constantFrom(...MOVERS),
  caller: fc.oneof(fc.constant("owner" as const), fc.constantFrom<Caller>(...PARTIES, ...THIEVES)),
  wrong: fc.oneof(
    { weight: 3, arbitrary: fc.constant("nothing" as const) },
    fc.constantFrom("amount", "secret", "token", "sender", "receiver"),
  ),
  when: fc.constantFrom("soon", "soon", "before lock", "at lock", "after lock"),
});
export const aCommand: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: aPay },
  { weight: 10, arbitrary: aMove },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("mood" as const), mood: fc.constantFrom(...MOODS) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("puppet" as const), accepts: fc.boolean() }) },
);
