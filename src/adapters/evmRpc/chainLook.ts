import type { EvmAddress } from "../../core/evm/address.ts";
import { dropOldest } from "../../core/util/dropOldest.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { AccountState, AccountTip, AccountTx, PaymentEvent, ShownSecret, SwapPayment, TokenState } from "../../ports/accountChain.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HeaderAnswer } from "./answers.ts";
import { askInTurn } from "./askInTurn.ts";
import { type ChainView, paymentKey } from "./chainView.ts";
import { DataCostWatch } from "./dataCostReader.ts";
import { EVENTS_OF, type EventKind, EventSearch } from "./eventSearch.ts";
import { type LookFault, lookFaultText } from "./fault.ts";
import { eventIn, type FollowedTx, lookAtNamed, lookAtWatched, type TxLook, type WatchedTxs } from "./followedTxs.ts";
import { pricesAfter, readGasPrices } from "./gasReader.ts";
import type { ChosenHead } from "./headChoice.ts";
import type { NodePool } from "./nodePool.ts";
import { readPayments } from "./paymentReader.ts";
import { balanceQuery, blockQuery, nonceQuery, pendingNonceQuery } from "./query.ts";
import { type Quorum, quorumRead, wholeRead } from "./quorum.ts";
import { readTokens, type TokenRead } from "./tokenBalances.ts";
import { Unshown } from "./unshown.ts";
import type { Watches } from "./watches.ts";

export type ChainLookDeps = {
  readonly ticker: string;
  readonly chainId: bigint;
  readonly pool: NodePool;
  readonly watches: Watches;
  readonly clock: Clock;
};

/** What a look brought. `trouble`: one sentence on what is missing in it; everything else is right. */
export type LookResult = { readonly view: ChainView; readonly trouble: string | null };

/** Tips and their parents remembered, to tell nodes that are behind from a chain that went back. */
const MAX_TIPS = 256;
/** Transactions of one account that pools hold; their own limits are far lower. */
const MAX_PENDING = 1_000n;
/** An answer that could not be read may be very large: it is not asked for at every look. Twice as long each time: a swap may have little time left. */
const UNREAD_FIRST_MS = 5_000;
const UNREAD_REST_MS = 60_000;
/** A majority that stays behind so long is right: what was above is gone. */
const BEHIND_MS = 30_000;

/** `readMs`: when. */
type Known = { readonly view: ChainView; readonly version: number; readonly quorum: Quorum; readonly readMs: number };
type Step = "same" | "onward" | "behind" | "reorg";

const NOTHING_SHOWN = { sent: null, spent: null, refunded: null, events: "complete", unshown: null } as const;

const tipOf = ({ header, finalized }: ChosenHead): AccountTip => ({
  height: header.number,
  hash: header.hash,
  timeSec: header.timestamp,
  medianTimePastSec: header.timestamp,
  finalized,
  baseFeePerGas: header.baseFeePerGas,
  gasLimit: header.gasLimit,
});

/** Makes the view: one look after the other, each from the nodes' present answers and what the last one left. */
export class ChainLook {
  readonly #deps: ChainLookDeps;
  readonly #search: EventSearch;
  readonly #dataCost = new DataCostWatch();
  readonly #unshown = new Unshown();
  readonly #tips = new Map<number, string>();
  #known: Known | null = null;
  #followed: ReadonlyMap<string, FollowedTx> = new Map();
  /** Transactions of events found, by payment. */
  #eventTxs = new Map<string, Map<EventKind, string>>();
  /** Watched transactions of which nothing could be read, when they are asked for again, and a sentence on it. */
  readonly #unread = new Map<string, { readonly againAtMs: number; readonly restMs: number; readonly trouble: string }>();
  #behindSinceMs: number | null = null;
  #trouble: string | null = null;
  /** The last look ended with too few that agree: those that rest are asked, too. */
  #wasShort = false;

  constructor(deps: ChainLookDeps) {
    this.#deps = deps;
    this.#search = new EventSearch(deps.clock);
  }

  /** The nodes and the block of the last look; null before the first. */
  get quorum(): Quorum | null {
    return this.#known?.quorum ?? null;
  }

  /** See `EventSearch.shown`. */
  shownSecret(key: string): ShownSecret | null {
    return this.#search.shown(key);
  }

  async take(signal: AbortSignal): Promise<Result<LookResult, LookFault>> {
    const taken = await this.#takeHighest(signal);
    this.#wasShort = !taken.ok || this.#behindSinceMs !== null;
    return taken;
  }

  async #takeHighest(signal: AbortSignal): Promise<Result<LookResult, LookFault>> {
    const chosen = await this.#deps.pool.chooseHead(signal, this.#wasShort);
    if (!chosen.ok) return chosen;
    let taken = await this.#takeAt(chosen.value, signal);
    // Who has the newest block may be one honest node and one that lies, or one machine of the many at an address: what more of them have is
    // looked at before the look fails.
    let head = chosen.value;
    let why = taken.ok ? null : taken.error;
    while (why !== null && isNoAgreement(why)) {
      const lower = await head.lower(why, signal);
      if (lower === null) break;
      const isOfSame = lower.quorum.nodes.length === head.quorum.nodes.length;
      head = lower;
      const tried = await this.#takeAt(lower, signal, isOfSame);
      if (tried.ok || !isNoAgreement(tried.error)) taken = tried;
      why = tried.ok ? null : tried.error;
    }
    return taken;
  }

  /** @param isOlder these nodes have a later block, and gave no answers about it */
  async #takeAt(chosen: ChosenHead, signal: AbortSignal, isOlder = false): Promise<Result<LookResult, LookFault>> {
    const { watches, clock } = this.#deps;
    const { header, quorum } = chosen;
    const { version } = watches;
    const before = this.#known;
    const step = before === null ? ok<Step>("reorg") : await this.#stepFrom(before.view.tip, header, quorum, signal);
    if (!step.ok) return step;
    const gone = { kind: "too_few", what: `block ${before?.view.tip.height}`, have: 0, need: quorum.need, troubles: [] } as const;
    if (before !== null && isOlder && (step.value === "behind" || (step.value === "same" && version === before.version))) {
      // It is no news; the later one may be there to be read in the next look.
      const isWaitedFor = version === before.version && clock.nowMs() - before.readMs < BEHIND_MS;
      return isWaitedFor ? ok({ view: before.view, trouble: this.#lesserTrouble }) : err(gone);
    }
    if (before !== null && step.value === "behind") {
      this.#behindSinceMs ??= clock.nowMs();
      const { tip } = before.view;
      // As long as too few say that they are behind it, the others still have it.
      const isWaitedFor = clock.nowMs() - this.#behindSinceMs < BEHIND_MS;
      if (isWaitedFor || chosen.heads.filter((height) => height < tip.height).length < quorum.need) {
        if (isWaitedFor && version === before.version) return ok({ view: before.view, trouble: this.#lesserTrouble });
        return err(gone);
      }
    }
    this.#behindSinceMs = null;
    // What was read of blocks that are gone may be in others now, above those that are read.
    const mayBeGone = step.value === "reorg" || step.value === "behind";
    if (mayBeGone) this.#search.keepOnly(new Set());
    if (mayBeGone) this.#unshown.reorganised(before?.view.tip.finalized ?? null);
    const isFresh = before === null || step.value !== "same" || version !== before.version;
    const look: TxLook = { quorum, nowMs: clock.nowMs(), known: this.#stillTrue(step.value, before) };
    const made = isFresh ? await this.#whole(chosen, look, signal) : await this.#between(before.view, chosen, look, signal);
    if (!made.ok) return made;
    this.#known = { view: made.value.view, version, quorum, readMs: clock.nowMs() };
    this.#remember(header);
    return made;
  }

  /** Its parent, too: of what is below the first one that is seen nothing else is known, and another machine may be a block behind. */
  #remember({ number, hash, parentHash }: HeaderAnswer): void {
    for (const height of [...this.#tips.keys()]) if (height > number) this.#tips.delete(height);
    this.#tips.set(number - 1, parentHash);
    this.#tips.set(number, hash);
    dropOldest(this.#tips, MAX_TIPS);
  }

  async #stepFrom(tip: AccountTip, header: HeaderAnswer, quorum: Quorum, signal: AbortSignal): Promise<Result<Step, LookFault>> {
    if (header.hash === tip.hash) return ok("same");
    if (header.parentHash === tip.hash) return ok("onward");
    const known = header.number <= tip.height ? this.#tipUpTo(header.number) : tip;
    if (known === null) return ok("reorg");
    if (known.height === header.number) return ok(known.hash === header.hash ? "behind" : "reorg");
    // Where many blocks pass between two looks it may be one of those in between. That it is not shows as soon as there are later ones.
    const there = wholeRead(await quorumRead(quorum, [blockQuery(known.height)], signal));
    if (!there.ok) return there;
    const [at] = there.value;
    // A chain with a later block has one there: another machine was asked, which is behind.
    if (at == null) return err({ kind: "moved" });
    return ok(at.hash !== known.hash ? "reorg" : known === tip ? "onward" : "behind");
  }

  /** The highest tip remembered that is no higher. */
  #tipUpTo(most: number): BlockRef | null {
    const height = Math.max(...[...this.#tips.keys()].filter((at) => at <= most));
    const hash = this.#tips.get(height);
    return hash === undefined ? null : { height, hash };
  }

  /** Transactions in blocks need not be read again while the chain only grows; after a reorg only final ones stay as they are. */
  #stillTrue(step: Step, before: Known | null): ReadonlyMap<string, FollowedTx> {
    if (step === "same" || step === "onward") return this.#followed;
    const final = before?.view.tip.finalized ?? -1;
    return new Map([...this.#followed].map(([id, tx]) => [id, tx.block === null || tx.block.height <= final ? tx : withdrawn(tx)]));
  }

  /** Everything, at a new head or for new watches. */
  async #whole(chosen: ChosenHead, look: TxLook, signal: AbortSignal): Promise<Result<LookResult, LookFault>> {
    const { ticker, chainId, watches } = this.#deps;
    const { quorum, header } = chosen;
    const accounts = await readAccounts(quorum, [...watches.accounts], signal);
    if (!accounts.ok) return accounts;
    const watched = [...watches.payments.values()];
    const read = await readPayments(ticker, quorum, watched, signal);
    if (!read.ok) return read;
    const blank = watched.flatMap((key): SwapPayment[] => {
      const record = read.value.records.get(paymentKey(key));
      const { contract, id } = key;
      return record === undefined ? [] : [{ contract, id, block: quorum.block, ...record, ...NOTHING_SHOWN }];
    });
    const rest = await this.#eventsAndTxs(blank, look, signal);
    if (!rest.ok) return rest;
    const old = this.#known?.view ?? null;
    // Neither of these may keep the facts above from whoever waits for them.
    const tokens = await readTokens(quorum, [...watches.tokens.values()], signal);
    const prices = await readGasPrices(quorum, header, chainId, signal);
    await this.#lookAtData(look, signal);
    const view: ChainView = {
      tip: tipOf(chosen),
      accounts: accounts.value,
      tokens: withUnread(tokens, old?.tokens),
      prices: prices.ok ? prices.value : pricesAfter(old?.prices ?? null, header),
      data: this.#dataCost.cost,
      ...rest.value,
    };
    const lesser = tokens.fault ?? (prices.ok ? null : prices.error);
    this.#trouble = read.value.trouble ?? (lesser && lookFaultText(ticker, lesser));
    return ok({ view, trouble: this.#lesserTrouble });
  }

  async #lookAtData({ quorum, nowMs }: TxLook, signal: AbortSignal): Promise<void> {
    const [from] = this.#deps.watches.accounts;
    if (from !== undefined) await this.#dataCost.look(quorum, from, nowMs, signal);
  }
  /** What a look that went well could not read. */
  get #lesserTrouble(): string | null {
    const { trouble } = this.#dataCost;
    return this.#unreadTrouble ?? this.#trouble ?? (trouble && lookFaultText(this.#deps.ticker, trouble));
  }

  /** What can change while the head stays: what waits in the pools, and searches that go on. */
  async #between(view: ChainView, chosen: ChosenHead, look: TxLook, signal: AbortSignal): Promise<Result<LookResult, LookFault>> {
    const { quorum } = chosen;
    const pending = await pendingNonces(quorum, [...view.accounts.keys()], signal);
    const accounts = new Map(
      [...view.accounts].map(([address, state]): [EvmAddress, AccountState] => {
        const asked = pending.get(address) ?? state.pendingNonce;
        return [address, { ...state, pendingNonce: pendingNonce(state.nonce, asked) }];
      }),
    );
    const rest = await this.#eventsAndTxs([...view.payments.values()], look, signal);
    if (!rest.ok) return rest;
    // Without it nothing is begun, and a chain may have no block before something is.
    if (view.data === null) await this.#lookAtData(look, signal);
    const data = this.#dataCost.cost;
    return ok({ view: { ...view, tip: tipOf(chosen), accounts, data, ...rest.value }, trouble: this.#lesserTrouble });
  }

  async #eventsAndTxs(
    payments: readonly SwapPayment[],
    look: TxLook,
    signal: AbortSignal,
  ): Promise<Result<Pick<ChainView, "txs" | "unread" | "payments">, LookFault>> {
    const { watches } = this.#deps;
    const keys = new Set(payments.map(paymentKey));
    for (const key of [...this.#eventTxs.keys()]) if (!keys.has(key)) this.#eventTxs.delete(key);
    this.#search.keepOnly(keys);
    this.#unshown.keepOnly(keys);
    const named = new Set([...this.#eventTxs.values()].flatMap((events) => [...events.values()]));
    for (const txid of [...this.#unread.keys()]) if (!watches.txs.has(txid)) this.#unread.delete(txid);
    const rests = (txid: string): boolean => (this.#unread.get(txid)?.againAtMs ?? 0) > look.nowMs;
    const looked = await lookAtWatched(
      look,
      [...watches.txs].filter((txid) => !rests(txid)),
      signal,
    );
    if (!looked.ok) return looked;
    this.#noteUnread(looked.value, look.nowMs);
    const resting = [...watches.txs].filter(rests).flatMap((txid) => look.known.get(txid) ?? []);
    const others = await lookAtNamed(
      look,
      [...named].filter((txid) => !looked.value.found.has(txid) || this.#unread.has(txid)),
      signal,
    );
    if (!others.ok) return others;
    const followed = new Map([...resting.map((tx) => [tx.txid, tx] as const), ...looked.value.found, ...others.value]);
    this.#noteEvents(followed.values(), keys);
    const missing = payments.flatMap((payment) => {
      const watch = watches.payments.get(paymentKey(payment));
      const kinds = EVENTS_OF[payment.state].filter((kind) => this.#event(followed, payment, kind) === null);
      if (watch === undefined || kinds.length === 0) return [];
      // Nodes may have named untrue heights when the swap began; what ended a payment is not below its own block.
      const sent = this.#event(followed, payment, "sent");
      const fromHeight = Math.min(watch.fromHeight, sent?.block.height ?? watch.fromHeight);
      return [{ payment: { ...watch, fromHeight, lockTime: payment.lockTime }, kinds }];
    });
    const found = await this.#search.step({ ...look, known: followed }, missing, signal);
    if (!found.ok) return found;
    for (const tx of found.value) followed.set(tx.txid, tx);
    this.#noteEvents(found.value, keys);
    this.#followed = followed;
    return ok({
      unread: new Set([...this.#unread.keys()].filter((txid) => !followed.get(txid)?.block)),
      txs: new Map([...followed].flatMap(([txid, tx]): [string, AccountTx][] => (tx.raw === null ? [] : [[txid, seen(tx, tx.raw)]]))),
      payments: new Map(payments.map((payment) => [paymentKey(payment), this.#withEvents(followed, payment, look.nowMs)])),
    });
  }

  #noteUnread({ found, unread }: WatchedTxs, nowMs: number): void {
    for (const txid of found.keys()) if (!unread.has(txid)) this.#unread.delete(txid);
    for (const [txid, fault] of unread) {
      const trouble = `The receipt of ${txid} could not be read. ${lookFaultText(this.#deps.ticker, fault)}`;
      const before = this.#unread.get(txid)?.restMs;
      const restMs = before === undefined ? UNREAD_FIRST_MS : Math.min(2 * before, UNREAD_REST_MS);
      this.#unread.set(txid, { againAtMs: nowMs + restMs, restMs, trouble });
    }
  }
  get #unreadTrouble(): string | null {
    const [first] = this.#unread.values();
    return first?.trouble ?? null;
  }

  /** Events of watched payments in transactions that are followed anyway need no search. */
  #noteEvents(txs: Iterable<FollowedTx>, keys: ReadonlySet<string>): void {
    for (const { txid, swapLogs } of txs) {
      for (const { contract, id, kind } of swapLogs) {
        const key = `${contract}/${id}`;
        if (!keys.has(key)) continue;
        const events = this.#eventTxs.get(key) ?? new Map<EventKind, string>();
        this.#eventTxs.set(key, events.set(kind, txid));
      }
    }
  }

  #event(followed: ReadonlyMap<string, FollowedTx>, payment: SwapPayment, kind: EventKind): PaymentEvent | null {
    const txid = this.#eventTxs.get(paymentKey(payment))?.get(kind);
    const tx = txid === undefined ? undefined : followed.get(txid);
    return tx === undefined ? null : eventIn(tx, payment.contract, payment.id, kind);
  }

  #withEvents(followed: ReadonlyMap<string, FollowedTx>, payment: SwapPayment, nowMs: number): SwapPayment {
    const expected = EVENTS_OF[payment.state];
    const of = (kind: EventKind): PaymentEvent | null => (expected.includes(kind) ? this.#event(followed, payment, kind) : null);
    const [sent, spent, refunded] = [of("sent"), of("spent"), of("refunded")];
    const have = [sent, spent, refunded].filter((event) => event !== null).length;
    const events = have === expected.length ? "complete" : this.#search.isExhausted(paymentKey(payment)) ? "missing" : "searching";
    const shown = { ...payment, sent, spent, refunded, events } as const;
    return { ...shown, unshown: this.#unshown.sinceBlock(paymentKey(payment), shown, nowMs) };
  }
}

/** What could not be read stays as it was last told. */
function withUnread({ states, unread }: TokenRead, old: ReadonlyMap<string, TokenState> = new Map()): ReadonlyMap<string, TokenState> {
  const kept = [...unread].flatMap((key): [string, TokenState][] => {
    const state = old.get(key);
    return state ? [[key, state]] : [];
  });
  return new Map([...kept, ...states]);
}

/** Too few of those that have a block agree on what it holds, or answer. */
const isNoAgreement = ({ kind }: LookFault): boolean => kind === "disagree" || kind === "too_few";

const withdrawn = (tx: FollowedTx): FollowedTx => ({ ...tx, block: null, receipt: null, swapLogs: [], arrivals: [] });

const seen = ({ txid, seenAtMs, block, receipt }: FollowedTx, raw: Uint8Array): AccountTx => ({ txid, raw, block, seenAtMs, receipt });

async function readAccounts(
  quorum: Quorum,
  watched: readonly EvmAddress[],
  signal: AbortSignal,
): Promise<Result<ReadonlyMap<EvmAddress, AccountState>, LookFault>> {
  if (watched.length === 0) return ok(new Map());
  const read = wholeRead(await quorumRead(quorum, [...watched.map(balanceQuery), ...watched.map(nonceQuery)], signal));
  if (!read.ok) return read;
  const pending = await pendingNonces(quorum, watched, signal);
  const block: BlockRef = quorum.block;
  return ok(
    new Map(
      watched.map((address, i) => {
        const balance = read.value[i] ?? 0n;
        const nonce = read.value[watched.length + i] ?? 0n;
        const asked = pending.get(address) ?? nonce;
        return [address, { block, balance, nonce, pendingNonce: pendingNonce(nonce, asked) }];
      }),
    ),
  );
}

/** A count far above what blocks have is no hint but a mistake: a transaction with that nonce would wait for ever. */
const pendingNonce = (nonce: bigint, asked: bigint): bigint => (asked > nonce && asked - nonce <= MAX_PENDING ? asked : nonce);

/**
 * The least of what as many nodes as must agree have in their pools: one alone cannot name a count that is too high, nor by the others'
 * silence. Accounts that too few answered for are left out.
 */
async function pendingNonces(
  quorum: Quorum,
  watched: readonly EvmAddress[],
  signal: AbortSignal,
): Promise<ReadonlyMap<EvmAddress, bigint>> {
  const told = new Map<EvmAddress, bigint[]>(watched.map((address) => [address, []]));
  const isOpen = (address: EvmAddress): boolean => (told.get(address)?.length ?? 0) < quorum.need;
  const { nodes, need, clock, timeoutMs } = quorum;
  await askInTurn(nodes, { clock, first: need, isDone: () => !watched.some(isOpen) }, signal, async (node, s) => {
    const open = watched.filter(isOpen);
    const list = await node.ask(open.map(pendingNonceQuery), null, timeoutMs, s);
    for (const [i, address] of open.entries()) if (list[i]?.ok) told.get(address)?.push(list[i].value);
  });
  const known = watched.filter((address) => !isOpen(address));
  return new Map(known.map((address) => [address, (told.get(address) ?? []).reduce((a, b) => (a < b ? a : b))]));
}
