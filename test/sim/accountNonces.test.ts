import { afterEach, expect, test, vi } from "vitest";
import { SimEvmChain } from "../../sim/world/evm/simEvmChain.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { signEvmTx } from "../../src/core/evm/signTx.ts";
import { parseSwapCall } from "../../src/core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../src/core/evm/tx.ts";
import { type Books, books, outcomes } from "./accountAudit.ts";
import { onSend, send } from "./accountMeddling.ts";
import { audit } from "./accountRun.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, type Ticker, TOKEN, TOKEN_AT, USDT, UTXO } from "./accountTrade.ts";
import { isOver } from "./audit.ts";
import { diesAtMark, diesOnceAfter } from "./crashPoint.ts";

const SEED = 20_261_124;
const GWEI = 10n ** 9n;
const TIMEOUT_MS = 120_000;
const NO_UTXO = ALL.filter((coin) => coin !== UTXO);

let t: AccountWorld;
let before: Books;
afterEach(() => {
  vi.restoreAllMocks();
  return t.world.close();
});

/** A swap whose maker has signed its claim of the token, which the token would not pay now, so that nothing left. */
async function signedAndWaiting(): Promise<{ readonly uuid: string; readonly sent: SignedEvmTx[]; readonly resume: () => void }> {
  t = await accountWorld({ seed: SEED, pollMs: 15_000 });
  before = books(t);
  const { maker, world } = t;
  const token = world.accountChain(ETH).tokens.get(TOKEN_AT) ?? expect.fail("no token");
  const sent: SignedEvmTx[] = [];
  onSend(maker, "claim", (claim) => sent.push(claim), "before", 100);
  maker.onEvent = (event) => {
    if (event.type !== "tx_signed" || event.slot !== "takerPaymentSpend") return;
    token.isPaused = true;
    maker.onEvent = () => undefined;
  };
  const uuid = await match(t, ETH, TOKEN, "4", "0.5");
  await world.runUntil("it has signed its claim", () => token.isPaused, HOUR_MS);
  return { uuid, sent, resume: () => (token.isPaused = false) };
}

test(
  "a claim whose nonce another wallet used before it left is signed anew, and its secret is shown only in the new one",
  async () => {
    const { uuid, sent, resume } = await signedAndWaiting();
    const { maker, world } = t;
    const chain = world.accountChain(ETH);
    const other = send(t, maker.key, { to: maker.account });
    chain.mine();
    resume();
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    expect(sent.map(({ tx }) => tx.nonce)).toEqual([other.tx.nonce + 1n]);
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "a claim whose nonce another wallet's transaction has in the pools shows its secret only once that one is in a block",
  async () => {
    const { uuid, sent, resume } = await signedAndWaiting();
    const { maker, world } = t;
    const chain = world.accountChain(ETH);
    const other = send(t, maker.key, { to: maker.account });
    chain.held.add(other.txid);
    await world.advance(30_000);
    resume();
    await world.advance(300_000);
    expect([sent, maker.has(uuid, (e) => e.type === "tx_attempted" && e.slot === "takerPaymentSpend")]).toEqual([[], false]);
    chain.held.delete(other.txid);
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    expect(sent.map(({ tx }) => tx.nonce)).toEqual([other.tx.nonce + 1n]);
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "a claim that gives its nonce back while the answer of the store is lost frees it all the same, and is signed anew",
  async () => {
    const { uuid, resume } = await signedAndWaiting();
    const { maker, world } = t;
    let losses = 0;
    maker.storeFault = (_uuid, { event }) => (event.type === "tx_dropped" && losses++ === 0 ? "lose_answer" : undefined);
    await world.advance(60_000);
    expect(losses).toBe(1);
    resume();
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

/** Wei that the maker holds back for what its swaps will still send. */
function held(): bigint {
  const coin = t.maker.node.coins.wallet(ETH);
  if (coin?.family !== "account") throw new Error("no account coin");
  return coin.account.funds.held(null);
}

test(
  "a claim that was signed before a crash and may not leave after it gives its nonce back, and has its gas held from then on",
  async () => {
    const { uuid, resume } = await signedAndWaiting();
    const { maker, world } = t;
    maker.crash();
    await maker.start(ALL);
    const heldWhileSigned = held();
    await world.runUntil("it gives its nonce back", () => maker.has(uuid, (e) => e.type === "tx_dropped"), HOUR_MS);
    expect(held()).toBeGreaterThan(heldWhileSigned);
    resume();
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test.each([
  ["signed once", 0n],
  ["signed again with more gas", 40_000n],
])(
  "a claim that may not leave, %s, gives its nonce back, has its gas held, and holds up no other swap's claim",
  async (_, dataGas) => {
    const { uuid: first, sent, resume } = await signedAndWaiting();
    const { maker, world } = t;
    const heldWhileSigned = held();
    world.accountChain(ETH).dataGas = dataGas;
    const second = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("the second one ends", () => isOver(t, second), 0.5 * HOUR_MS);
    expect([outcomes(t, second), sent.length]).toEqual(["success success", 1]);
    const kinds = maker.events(first).flatMap((e) => ("slot" in e && e.slot === "takerPaymentSpend" ? [e.type] : []));
    expect(kinds).toEqual(["tx_signed", ...(dataGas > 0n ? ["tx_replaced"] : []), "tx_dropped"]);
    expect(held()).toBeGreaterThan(heldWhileSigned);
    resume();
    await world.runUntil("the first one ends", () => isOver(t, first), 10 * HOUR_MS);
    expect(outcomes(t, first)).toBe("success success");
    await audit(t, [first, second], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test.each([
  ["without which it was restarted", false],
  ["that a client disabled", true],
] as const)(
  "a claim that never left, of a swap that waits for the coin %s, gives its nonce back and is signed anew",
  async (_, isDisabled) => {
    t = await accountWorld({ seed: SEED, pollMs: 15_000 });
    before = books(t);
    const { maker, world } = t;
    diesOnceAfter(maker, (event) => !isDisabled && event.type === "tx_signed" && event.slot === "takerPaymentSpend");
    const token = world.accountChain(ETH).tokens.get(TOKEN_AT) ?? expect.fail("no token");
    maker.onEvent = (event) => {
      if (event.type !== "tx_signed" || event.slot !== "takerPaymentSpend") return;
      token.isPaused = isDisabled;
      maker.onEvent = () => undefined;
    };
    const first = await match(t, UTXO, TOKEN, "4", "0.5");
    await world.runUntil("its claim is signed", () => (isDisabled ? token.isPaused : !maker.isRunning), HOUR_MS);
    if (isDisabled) await world.settle(maker.node.coins.disable(UTXO, true));
    else await maker.start(NO_UTXO);
    const second = await match(t, USDT, ETH, "4", "0.5");
    await world.runUntil("the second one ends", () => isOver(t, second), 0.5 * HOUR_MS);
    expect(outcomes(t, second)).toBe("success success");
    token.isPaused = false;
    maker.crash();
    await maker.start(ALL);
    await world.runUntil("the first one ends", () => isOver(t, first), 10 * HOUR_MS);
    expect(outcomes(t, first)).toBe("success success");
    const claims = maker.events(first).flatMap((e) => ("slot" in e && e.slot === "takerPaymentSpend" ? [e.type] : []));
    expect(claims.slice(0, 4)).toEqual(["tx_signed", "tx_dropped", "tx_signed", "tx_attempted"]);
    await audit(t, [first, second], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test.each([
  ["is sent again", false],
  ["and whose nonce another wallet gets then is signed anew", true],
])(
  "a confirmed claim that a reorganisation drops while its swap waits for its other coin %s",
  async (_what, isLost) => {
    t = await accountWorld({ seed: SEED, pollMs: 15_000 });
    before = books(t);
    const { maker, taker, world } = t;
    const chain = world.accountChain(ETH);
    const uuid = await match(t, UTXO, ETH, "4", "0.5");
    const claims = () => maker.events(uuid).filter((e) => "slot" in e && e.slot === "takerPaymentSpend");
    const confirmed = () => claims().find((e) => e.type === "tx_confirmed");
    await world.runUntil("it has claimed", () => confirmed() !== undefined, HOUR_MS);
    const claim = confirmed();
    if (claim?.type !== "tx_confirmed" || !claim.block) throw new Error("no claim");
    maker.crash();
    taker.crash();
    await maker.start(NO_UTXO);
    await world.advance(30_000);
    chain.reorg(chain.tip.height - claim.block.height + 1, { forget: [claim.txid] });
    expect(chain.find(claim.txid)).toBeUndefined();
    if (isLost) send(t, maker.key, { to: maker.account });
    await world.advance(150_000);
    const paid = claims().filter((e) => "txid" in e && chain.find(e.txid)?.receipt?.succeeded);
    expect(paid).not.toEqual([]);
    expect(claims().filter(({ type }) => type === "tx_replaced").length).toBeLessThanOrEqual(2);
    for (const node of [maker, taker]) {
      node.crash();
      await node.start(ALL);
    }
    await world.runUntil("both end", () => isOver(t, uuid), HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "a maker put back to before its payment, which waits behind another own one that pools have forgotten, takes it back once it is in a block",
  async () => {
    t = await accountWorld({ seed: SEED, pollMs: 15_000 });
    before = books(t);
    const { maker, taker, world } = t;
    const chain = world.accountChain(ETH);
    const paid: string[] = [];
    onSend(maker, "payment", ({ txid }) => paid.push(txid) && chain.held.add(txid), "before", 2);
    const hasPaid = (uuid: string) => maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment");
    const first = await match(t, ETH, UTXO, "4", "0.5");
    await world.runUntil("it has paid", () => hasPaid(first));
    let backup: ReturnType<typeof maker.backup> | null = null;
    maker.onEvent = (event) => {
      if (event.type === "tx_received" && backup === null) backup = maker.backup();
    };
    const second = await match(t, ETH, UTXO, "4", "0.5");
    await world.runUntil("it has paid again", () => hasPaid(second));
    for (const node of [maker, taker]) node.crash();
    if (backup === null) throw new Error("no backup");
    await maker.restore(await backup);
    expect([hasPaid(first), hasPaid(second)]).toEqual([true, false]);
    chain.pool.remove(paid[0] ?? "");
    await world.advance(HOUR_MS);
    await maker.start(ALL);
    await world.advance(600_000);
    expect(maker.outcome(second)).toBeNull();
    chain.held.clear();
    await taker.start(ALL);
    await world.runUntil("both end", () => [first, second].every((uuid) => isOver(t, uuid)), 10 * HOUR_MS);
    expect(outcomes(t, second)).toBe("refunded failed");
    await audit(t, [first, second], before);
  },
  TIMEOUT_MS,
);

test(
  "a taker put back to before its payment, which waits behind its fee that pools have forgotten, takes it back once it is in a block",
  async () => {
    t = await accountWorld({ seed: SEED, pollMs: 15_000 });
    before = books(t);
    const { maker, taker, world } = t;
    const chain = world.accountChain(ETH);
    const uuid = await match(t, UTXO, ETH, "4", "0.5");
    let backup: ReturnType<typeof taker.backup> | null = null;
    let fee = "";
    taker.onEvent = (event) => {
      if (event.type === "tx_signed" && event.slot === "fee") fee = event.txid;
      if (event.type === "tx_signed" && (event.slot === "fee" || event.slot === "takerPayment")) chain.held.add(event.txid);
      if (event.type === "tx_confirmed" && event.slot === "makerPayment" && backup === null) backup = taker.backup();
    };
    await world.runUntil("it has paid", () => taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"), HOUR_MS);
    for (const node of [maker, taker]) node.crash();
    if (backup === null) throw new Error("no backup");
    await taker.restore(await backup);
    expect(taker.has(uuid, (e) => e.type === "tx_signed" && e.slot === "takerPayment")).toBe(false);
    chain.pool.remove(fee);
    await world.advance(HOUR_MS);
    await taker.start(ALL);
    await world.advance(600_000);
    expect(taker.outcome(uuid)).toBeNull();
    chain.held.clear();
    await maker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 10 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("refunded refunded");
    await audit(t, [uuid], before);
  },
  TIMEOUT_MS,
);

test(
  "a claim whose nonce another wallet uses while it is being sent is signed anew with the next one",
  async () => {
    t = await accountWorld({ seed: SEED, pollMs: 15_000 });
    before = books(t);
    const { maker, world } = t;
    const chain = world.accountChain(ETH);
    const nonces: bigint[] = [];
    const take = ({ tx }: SignedEvmTx): void => {
      nonces.push(tx.nonce);
      if (nonces.length > 1) return;
      send(t, maker.key, { to: maker.account });
      chain.mine();
    };
    onSend(maker, "claim", take, "before", 100);
    const uuid = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("both end", () => isOver(t, uuid), HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    const [first = 0n, ...later] = nonces;
    expect(later.every((nonce) => nonce === first + 1n) && later.length > 0).toBe(true);
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

/** Another wallet of the maker's takes all it has of the platform coin but for `left` wei, and what its own gas may cost. @returns the nonce of that */
function drain(left: bigint): bigint {
  const { maker, taker, world } = t;
  const chain = world.accountChain(ETH);
  const nonce = chain.pendingNonce(maker.account);
  const [maxFeePerGas, gasLimit] = [50n * GWEI, 21_000n];
  const value = chain.balance(maker.account) - maxFeePerGas * gasLimit - left;
  const bid = { maxFeePerGas, maxPriorityFeePerGas: GWEI, accessList: [] };
  const call = { chainId: chain.chainId, nonce, gasLimit, to: taker.account, value, data: new Uint8Array(0) };
  expect(chain.send(signEvmTx({ type: "eip1559", ...call, ...bid }, maker.key).raw).kind).toBe("taken");
  return nonce;
}

/** A swap whose maker died right after the mark of its claim. @param left wei that its account has at the start; absent: plenty */
async function diedAtMark(rel: Ticker, left?: bigint): Promise<{ readonly uuid: string; readonly sent: SignedEvmTx[] }> {
  t = await accountWorld({ seed: SEED, pollMs: 15_000 });
  if (left !== undefined) {
    drain(left);
    t.world.accountChain(ETH).mine();
    await t.world.advance(30_000);
  }
  before = books(t);
  const sent: SignedEvmTx[] = [];
  onSend(t.maker, "claim", (claim) => sent.push(claim), "before", 100);
  const hasDied = diesAtMark(t.maker);
  const uuid = await match(t, UTXO, rel, "4", "0.5");
  await t.world.runUntil("the mark", hasDied, HOUR_MS);
  return { uuid, sent };
}

test(
  "a claim that was marked before a crash and would lack gas after it is signed with more before it leaves, and holds up no other swap's claim",
  async () => {
    const { uuid: first, sent } = await diedAtMark(TOKEN);
    const { maker, world } = t;
    const token = world.accountChain(ETH).tokens.get(TOKEN_AT) ?? expect.fail("no token");
    token.moreGas = 150_000n;
    await maker.start(ALL);
    const second = await match(t, UTXO, ETH, "4", "0.5");
    await world.runUntil("both swaps end", () => [first, second].every((uuid) => isOver(t, uuid)), 0.5 * HOUR_MS);
    expect([outcomes(t, first), outcomes(t, second)]).toEqual(["success success", "success success"]);
    expect(sent[0]?.tx.gasLimit).toBeGreaterThan(250_000n);
    await audit(t, [first, second], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "one that stays home after it because data is too dear holds nothing up: the account fills its nonce once, and it is signed anew",
  async () => {
    const { uuid, sent } = await diedAtMark(ETH);
    const { maker, world } = t;
    const chain = world.accountChain(ETH);
    chain.dataGas = 2_000_000n;
    const used = chain.nonceOf(maker.account);
    await maker.start(ALL);
    await world.advance(HOUR_MS / 2);
    expect([sent.length, chain.nonceOf(maker.account)]).toEqual([0, used + 1n]);
    chain.dataGas = 300_000n;
    await world.runUntil("both end", () => isOver(t, uuid), HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    expect(sent.every(({ tx }) => tx.nonce === used + 1n)).toBe(true);
    await audit(t, [uuid], before, 20_000_000n);
  },
  TIMEOUT_MS,
);

test.each([
  ["all others", NO_UTXO],
  ["its platform coin alone", [ETH]],
] as const)(
  "while its swap waits for its other coin, with %s, such a claim is signed with enough gas by its account, before its secret is shown",
  async (_, coins) => {
    const { uuid, sent } = await diedAtMark(TOKEN);
    const { maker, world } = t;
    const token = world.accountChain(ETH).tokens.get(TOKEN_AT) ?? expect.fail("no token");
    token.moreGas = 150_000n;
    await maker.start(coins);
    await world.advance(HOUR_MS / 6);
    expect(sent.map(({ tx }) => tx.gasLimit > 250_000n)).toEqual([true]);
    maker.crash();
    await maker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    await audit(t, [uuid], before, 4_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "one that its token asks more gas for than any swap reckons with stays home while its swap waits, and holds up no other swap's claim",
  async () => {
    const { uuid: first, sent } = await diedAtMark(TOKEN);
    const { maker, world } = t;
    const token = world.accountChain(ETH).tokens.get(TOKEN_AT) ?? expect.fail("no token");
    token.moreGas = 3_000_000n;
    await maker.start(NO_UTXO);
    const second = await match(t, USDT, ETH, "4", "0.5");
    await world.runUntil(
      "the second one pays",
      () => maker.has(second, (e) => e.type === "tx_confirmed" && e.slot === "makerPayment"),
      HOUR_MS / 4,
    );
    expect(sent).toEqual([]);
    token.moreGas = 0n;
    maker.crash();
    await maker.start(ALL);
    await world.runUntil("both swaps end", () => [first, second].every((uuid) => isOver(t, uuid)), HOUR_MS);
    expect([outcomes(t, first), outcomes(t, second)]).toEqual(["success success", "success success"]);
    await audit(t, [first, second], before, 20_000_000n);
  },
  TIMEOUT_MS,
);

test(
  "nor is it signed anew, where it lost its nonce, while the account cannot pay for it: no block would take it, and the taker would read its secret",
  async () => {
    const { uuid, sent } = await diedAtMark(TOKEN);
    const { maker, world } = t;
    const chain = world.accountChain(ETH);
    const nonce = drain(0n);
    chain.mine();
    await maker.start(NO_UTXO);
    await world.advance(HOUR_MS / 4);
    expect(sent).toEqual([]);
    chain.payFromFaucet(maker.account, 10n ** 18n);
    await world.advance(HOUR_MS / 12);
    expect(sent.map(({ tx }) => tx.nonce)).toEqual([nonce + 1n]);
    maker.crash();
    await maker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
  },
  TIMEOUT_MS,
);

test(
  "what such a claim is found to need where its token is not there counts for no claim of the platform coin",
  async () => {
    await diedAtMark(TOKEN);
    const { maker, world } = t;
    const token = world.accountChain(ETH).tokens.get(TOKEN_AT) ?? expect.fail("no token");
    token.moreGas = 900_000n;
    await maker.start([ETH]);
    await world.advance(120_000);
    const coin = maker.node.coins.active(ETH) ?? expect.fail("no coin");
    expect(coin.spendSize("claim")).toBeLessThan(250_000);
  },
  TIMEOUT_MS,
);

test(
  "one that a maker comes back to after its limit is not sent with less gas than it needs either, where the account cannot pay for more",
  async () => {
    const { uuid, sent } = await diedAtMark(TOKEN, 27n * 10n ** 15n);
    const { maker, world } = t;
    const chain = world.accountChain(ETH);
    const token = chain.tokens.get(TOKEN_AT) ?? expect.fail("no token");
    token.moreGas = 900_000n;
    await world.advance(1.75 * HOUR_MS);
    chain.spike(3n, HOUR_MS / 6);
    await world.advance(120_000);
    await maker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 3 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
    expect(sent.filter(({ tx }) => tx.gasLimit < 900_000n)).toEqual([]);
  },
  TIMEOUT_MS,
);

test.each([
  ["the swap runs", ALL],
  ["it waits for its other coin", NO_UTXO],
] as const)(
  "nor does one node of two, which may have been given it, keep it here after its limit by saying that it needs more gas than the account can pay for: %s",
  async (_, coins) => {
    const { uuid, sent } = await diedAtMark(TOKEN, 27n * 10n ** 15n);
    const { maker, world } = t;
    const chain = world.accountChain(ETH);
    maker.link(ETH).moreGas = 700_000n;
    await world.advance(1.75 * HOUR_MS);
    chain.spike(3n, HOUR_MS / 2);
    await world.advance(120_000);
    await maker.start(coins);
    // The taker's lock ends soon after.
    await world.advance(HOUR_MS / 3);
    expect(sent.length).toBeGreaterThan(0);
    maker.crash();
    await maker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), 3 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
  },
  TIMEOUT_MS,
);

test(
  "nodes are not asked with the secret whether a claim that nobody has would be paid: while its token stands still that would show it for nothing",
  async () => {
    const { uuid, sent } = await diedAtMark(TOKEN);
    const { maker, world } = t;
    const token = world.accountChain(ETH).tokens.get(TOKEN_AT) ?? expect.fail("no token");
    token.isPaused = true;
    const tried = vi.spyOn(SimEvmChain.prototype, "try");
    await maker.start(NO_UTXO);
    await world.advance(HOUR_MS / 6);
    const claims = tried.mock.calls.filter(([{ data }]) => {
      const call = parseSwapCall(data);
      return call.ok && call.value.kind === "receiverSpend";
    });
    expect([tried.mock.calls.length > 0, claims, sent]).toEqual([true, [], []]);
    token.isPaused = false;
    await world.runUntil("it claims", () => sent.length > 0, HOUR_MS / 6);
    maker.crash();
    await maker.start(ALL);
    await world.runUntil("both end", () => isOver(t, uuid), HOUR_MS);
    expect(outcomes(t, uuid)).toBe("success success");
  },
  TIMEOUT_MS,
);
