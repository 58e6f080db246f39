import type { Node } from "../../src/app/node.ts";
import { contractOf } from "../../src/app/swap/contracts.ts";
import { ownClaim, ownPayment } from "../../src/core/swap/events.ts";
import type { SimNode } from "../world/simNode.ts";
import type { SimWorld } from "../world/simWorld.ts";
import type { FaultLife } from "./carry.ts";
import { ENVELOPE } from "./envelope.ts";
import { chainTickerOf } from "./simAccounts.ts";
import type { SwapSide } from "./swapBook.ts";
import type { Watch } from "./watch.ts";

const MINUTE_MS = 60_000;
/** Of a chain that grows, nodes show no tip older than this. */
const STALE_MS = 10 * MINUTE_MS;
/** What a relay has all this time, who asks for the book has seen. */
const BOOK_MS = 2 * MINUTE_MS;
/** Looks at a node, so long after one another: other faults may befall it, and locks run out later. */
const MAX_LOOKS = 12;

export type CatchUpDeps = {
  readonly world: SimWorld;
  readonly watch: Watch;
  /** Coins that every node has enabled. */
  readonly coins: readonly string[];
  readonly lives: () => readonly FaultLife[];
};

/**
 * Rule "caught up": `ENVELOPE.caughtUpMs` after a node's clock was set right, and nothing else has befallen the node since, nothing that is due waits
 * any more, however long and by how much the clock had been wrong. It has a relay and sees its chains; its orders are on the relays' book, and those of others
 * on its own; what it may take back of its payments is taken back.
 */
export class CatchUp {
  readonly #deps: CatchUpDeps;
  #awaited = 0;

  constructor(deps: CatchUpDeps) {
    this.#deps = deps;
  }

  /** Some node is still to be looked at. */
  get isAwaiting(): boolean {
    return this.#awaited > 0;
  }

  /** A clock was set, and will be right when this is over. */
  expect({ fault, endedMs }: FaultLife): void {
    const { clock } = this.#deps.world;
    if (!("node" in fault) || endedMs === null) return;
    const node = this.#deps.world.node(fault.node);
    this.#awaited++;
    clock.after(endedMs - clock.nowMs(), () => this.#lookLater(node, endedMs, MAX_LOOKS));
  }

  #lookLater(node: SimNode, rightMs: number, left: number): void {
    const { clock } = this.#deps.world;
    const live = node.isRunning ? node.node : null;
    const firstMs = ENVELOPE.caughtUpMs - BOOK_MS;
    clock.after(firstMs, () => {
      const before = live !== null && this.#isCalm(node, live, firstMs) ? this.#orders(live) : null;
      clock.after(BOOK_MS, () => {
        if (before !== null && live !== null && this.#isCalm(node, live, ENVELOPE.caughtUpMs)) this.#look(node, live, before);
        const isDone = left === 1 || (before !== null && !this.#isAnyLocked(node, rightMs));
        if (isDone) this.#awaited--;
        else this.#lookLater(node, rightMs, left - 1);
      });
    });
  }

  /** The same process has run so long, undisturbed. */
  #isCalm(node: SimNode, live: Node, forMs: number): boolean {
    if (!node.isRunning || node.node !== live) return false;
    const isAbout = ({ fault }: FaultLife): boolean =>
      !("server" in fault) && ("node" in fault ? fault.node === node.name : fault.kind === "bad_line");
    return !this.#recent(forMs).some(isAbout);
  }

  /** What lasts, or has ended within so long. */
  #recent(withinMs: number): readonly FaultLife[] {
    const sinceMs = this.#deps.world.clock.nowMs() - withinMs;
    return this.#deps.lives().filter(({ happenedMs, endedMs }) => happenedMs !== null && (endedMs ?? happenedMs) > sinceMs);
  }

  /** Orders that are there before the look, on the relays and as the node's own; it asks for the whole book. */
  #orders(live: Node): ReadonlySet<string> {
    const uuids = new Set<string>();
    for (const { base, rel } of this.#pairs) {
      void live.book.subscribePair(base, rel);
      for (const { item, isMine } of live.book.entries(base, rel)) if (isMine) uuids.add(item.uuid);
      for (const { item } of this.#onRelays(base, rel)) uuids.add(item.uuid);
    }
    return uuids;
  }

  get #pairs(): readonly { readonly base: string; readonly rel: string }[] {
    const { coins } = this.#deps;
    return coins.flatMap((base) => coins.filter((rel) => rel !== base).map((rel) => ({ base, rel })));
  }

  #onRelays(base: string, rel: string) {
    const { world } = this.#deps;
    return world.relays.flatMap((name) => world.node(name).node.book.entries(base, rel));
  }

  #look(node: SimNode, live: Node, before: ReadonlySet<string>): void {
    const { watch, coins } = this.#deps;
    watch.checked("caught up");
    if (node.p2p.relays().length === 0) this.#violate(node, "it has no relay");
    const hit = new Set(this.#recent(ENVELOPE.caughtUpMs).flatMap(({ fault }) => ("coin" in fault ? [fault.coin] : [])));
    for (const coin of coins.filter((ticker) => !hit.has(chainTickerOf(ticker)))) this.#lookAtChain(node, live, coin);
    for (const { base, rel } of this.#pairs) this.#lookAtBook(node, live, base, rel, before);
    for (const swap of watch.book.swaps.values())
      for (const side of Object.values(swap.sides)) {
        const { makerCoin, takerCoin } = side.terms;
        const isHit = [makerCoin, takerCoin].some((coin) => hit.has(chainTickerOf(coin)));
        if (side.node === node.name && !isHit && this.#isOverdue(side)) this.#violate(node, "its payment is still locked", swap.uuid);
      }
  }

  #violate(node: SimNode, text: string, uuid: string | null = null): void {
    const minutes = ENVELOPE.caughtUpMs / MINUTE_MS;
    this.#deps.watch.violate("caught up", `${minutes} min after the clock of ${node.name} was set right ${text}`, uuid);
  }

  #lookAtChain(node: SimNode, live: Node, ticker: string): void {
    const status = live.coins.active(ticker)?.chain.status();
    if (status?.state !== "ready" || status.tip === null) {
      this.#violate(node, `${ticker} is ${status?.state ?? "not enabled"}`);
      return;
    }
    const nextSec = this.#deps.watch.facts(ticker).timeSecAt(status.tip.height + 1) ?? Number.POSITIVE_INFINITY;
    if (nextSec * 1_000 < this.#deps.world.clock.nowMs() - STALE_MS) this.#violate(node, `it does not see the blocks of ${ticker}`);
  }

  #lookAtBook(node: SimNode, live: Node, base: string, rel: string, before: ReadonlySet<string>): void {
    const onRelays = this.#onRelays(base, rel);
    const shown = live.book.entries(base, rel);
    for (const { item, isMine } of shown)
      if (isMine && before.has(item.uuid) && !onRelays.some((o) => o.item.uuid === item.uuid))
        this.#violate(node, `no relay has its order ${item.uuid}`);
    const ofOthers = onRelays.filter(
      ({ item }) => before.has(item.uuid) && !live.book.hasOwn(item.uuid) && !live.peers.isBanned(item.pubkey),
    );
    if (ofOthers.length > 0 && shown.every(({ isMine }) => isMine))
      this.#violate(node, `it sees none of ${ofOthers.length} orders of others for ${base}/${rel}`);
  }

  /** A payment of a side that has nothing for it, which the chain would have let it take back since the clock was right. */
  #isOverdue(side: SwapSide): boolean {
    const slot = ownPayment(side.role);
    if (side.finishedMs !== null || side.state.facts[ownClaim(side.role)]) return false;
    if (!this.#isLocked(side)) return false;
    const facts = this.#deps.watch.facts(side.role === "maker" ? side.terms.makerCoin : side.terms.takerCoin);
    return (facts.nowSec() - contractOf(side.state, slot).lock) * 1_000 > ENVELOPE.caughtUpMs;
  }

  #isLocked({ role, terms, state }: SwapSide): boolean {
    const { txid } = state.facts[ownPayment(role)] ?? state.own[ownPayment(role)] ?? {};
    return txid !== undefined && this.#deps.watch.facts(role === "maker" ? terms.makerCoin : terms.takerCoin).isLocked(txid);
  }

  #isAnyLocked(node: SimNode, rightMs: number): boolean {
    for (const { sides, startedMs } of this.#deps.watch.book.swaps.values())
      for (const side of Object.values(sides))
        if (startedMs < rightMs && side.node === node.name && side.finishedMs === null && this.#isLocked(side)) return true;
    return false;
  }
}
