import type { Role, SwapTerms } from "../../src/core/swap/events.ts";

/** The one key of everybody in `swapTerms`. */
export const TERMS_KEY = `02${"11".repeat(32)}`;

/** What a swap of 2 DOC for a third of a MARTY starts with, but for what is changed. */
export const swapTerms = (role: Role, change: Partial<SwapTerms> = {}): SwapTerms => ({
  role,
  uuid: "11111111-2222-4333-8444-555555555555",
  myOrderUuid: "99999999-8888-4777-a666-000000000001",
  makerCoin: "DOC",
  takerCoin: "MARTY",
  makerAmount: "2/1",
  takerAmount: "1/3",
  makerUnits: "200000000",
  takerUnits: "33333333",
  makerConfs: 1,
  makerNota: false,
  takerConfs: 1,
  takerNota: false,
  lockDurationSec: 7_800,
  startedAt: 1_700_000_000,
  counterparty: TERMS_KEY,
  myPersistentPub: TERMS_KEY,
  myMakerCoinPub: TERMS_KEY,
  myTakerCoinPub: TERMS_KEY,
  secretSalt: null,
  secretHash: role === "maker" ? "22".repeat(20) : null,
  makerStartHeight: 1,
  takerStartHeight: 1,
  dexFeeUnits: "1287",
  dexBurnUnits: "0",
  dexFeePubkey: TERMS_KEY,
  fees: [],
  gui: null,
  version: "test",
  ...change,
});
