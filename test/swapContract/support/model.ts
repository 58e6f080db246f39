import { bytesToHex } from "@noble/hashes/utils.js";
import { type Mover, type Terms, ZERO_ADDRESS } from "./swapChain.ts";

/** How the misbehaving token behaves; the others are always `fair`. */
export type TokenMood = "fair" | "answers false" | "keeps a fee" | "takes more" | "moves nothing";

/** What the contract should do, written down a second time and without its code: rules of swap-protocol.md 5.1 and of ADR 24. */
export type Model = {
  readonly balances: Map<string, bigint>;
  readonly payments: Map<string, { readonly terms: Terms; state: 1 | 2 | 3 }>;
  readonly swap: string;
  readonly hostile: string;
  mood: TokenMood;
  /** The party that is a contract, and whether it takes native coins just now. */
  readonly puppet: string;
  puppetAccepts: boolean;
};

const key = (token: string, holder: string): string => `${token} ${holder}`;
const same = (a: Uint8Array, b: Uint8Array): boolean => bytesToHex(a) === bytesToHex(b);

export const balanceOf = (m: Model, token: string, holder: string): bigint => m.balances.get(key(token, holder)) ?? 0n;

function add(m: Model, token: string, holder: string, amount: bigint): void {
  m.balances.set(key(token, holder), balanceOf(m, token, holder) + amount);
}

/** What a token keeps of an amount, and what it takes on top of it. */
const feeOf = (m: Model, token: string): { readonly kept: bigint; readonly extra: bigint } => ({
  kept: token === m.hostile && m.mood === "keeps a fee" ? 1n : 0n,
  extra: token === m.hostile && m.mood === "takes more" ? 1n : 0n,
});
const isMood = (m: Model, token: string, mood: TokenMood): boolean => token === m.hostile && m.mood === mood;

/** Applies a payment by `terms.sender`; the error's name, or null when it is made. */
export function pay(m: Model, terms: Terms): string | null {
  const { id, amount, token, sender, receiver } = terms;
  if (amount === 0n) return "ZeroAmount";
  if (receiver === ZERO_ADDRESS || receiver === m.swap) return "ReceiverRefused";
  if (m.payments.has(bytesToHex(id))) return "IdUsed";
  if (isMood(m, token, "moves nothing")) return "TokenAmountDiffers";
  const { kept, extra } = feeOf(m, token);
  if (token !== ZERO_ADDRESS && balanceOf(m, token, sender) < amount + extra) return "TokenRefused";
  if (isMood(m, token, "answers false")) return "TokenRefused";
  if (kept > 0n) return "TokenAmountDiffers";
  add(m, token, sender, -amount - extra);
  add(m, token, m.swap, amount);
  m.payments.set(bytesToHex(id), { terms, state: 1 });
  return null;
}

/** Applies a spend or refund with `terms` as its arguments, at a time in seconds; the error's name, or null when it is done. */
export function move(m: Model, mover: Mover, caller: string, terms: Terms, atSec: number): string | null {
  const isSpend = mover === "receiverSpend" || mover === "spendFor";
  const sender = mover === "senderRefund" ? caller : terms.sender;
  const receiver = mover === "receiverSpend" ? caller : terms.receiver;
  const found = m.payments.get(bytesToHex(terms.id));
  if (found?.state !== 1) return "NotOpen";
  const agreed = found.terms;
  const isRight =
    agreed.amount === terms.amount &&
    agreed.token === terms.token &&
    agreed.sender === sender &&
    agreed.receiver === receiver &&
    same(agreed.secret, terms.secret);
  if (!isRight) return "WrongTerms";
  if (!isSpend && atSec < Number(agreed.lockTime)) return "TooEarly";
  const refusal = payOut(m, agreed.token, isSpend ? receiver : sender, agreed.amount);
  if (refusal === null) found.state = isSpend ? 2 : 3;
  return refusal;
}

function payOut(m: Model, token: string, to: string, amount: bigint): string | null {
  if (token === ZERO_ADDRESS && to === m.puppet && !m.puppetAccepts) return "PayoutRefused";
  if (isMood(m, token, "answers false")) return "TokenRefused";
  const { kept, extra } = feeOf(m, token);
  if (extra > 0n) return balanceOf(m, token, m.swap) < amount + extra ? "TokenRefused" : "TokenAmountDiffers";
  if (isMood(m, token, "moves nothing")) return null;
  add(m, token, m.swap, -amount);
  add(m, token, to, amount - kept);
  return null;
}
