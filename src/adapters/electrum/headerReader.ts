import { type BlockHeader, withoutProof } from "../../core/proof/blockHeader.ts";
import type { HeaderRules } from "../../core/proof/headerRules.ts";
import { hasWork } from "../../core/proof/proofOfWork.ts";
import { AskCredit } from "../../core/util/askCredit.ts";
import { dropOldest } from "../../core/util/dropOldest.ts";
import { err, ok } from "../../core/util/result.ts";
import type { Clock } from "../../ports/clock.ts";
import { parseHeaderRun, parseOneHeader, type TipAnswer } from "./answers.ts";
import { answersUntil } from "./answersUntil.ts";
import { type Look, type ServerAnswer, serverFaultText } from "./fault.ts";
import { firstToTell } from "./firstToTell.ts";
import { inTurn } from "./inTurn.ts";
import { Patience } from "./patience.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { majorityOf } from "./serverPool.ts";

/** Headers asked for at once: with Equihash solutions 750 kB. */
const RUN = 500;
/**
 * Headers an answer has at least, where so many are asked for: servers give two thousand. One that gave them one by one, each as late as may
 * be, would hold up a look for hours.
 */
const LEAST = 100;
/** Blocks that an honest server may have taken back and still tell of. */
const MAX_TAKEN_BACK = 100;
/** Last blocks that a server may tell of at once and not show, and the pause for one more, ms: a liar can make up another at each look. */
const MAX_UNSHOWN = 10;
const UNSHOWN_MS = 600_000;
/** Headers kept that were asked for alone, and times of such: a history may have each of its transactions in a block of its own. */
const MAX_KEPT = 1_000;
const MAX_TIMES = 20_000;

/** What servers told of a height so far. */
type Told = readonly (ServerAnswer<BlockHeader> | null)[];
const headersOf = (told: Told): readonly BlockHeader[] => told.flatMap((answer) => (answer?.ok ? [answer.value] : []));

/** Fetches headers from servers that claim to have them. */
export class HeaderReader {
  readonly #rules: HeaderRules;
  /** By hash, oldest use first. */
  readonly #kept = new Map<string, BlockHeader>();
  readonly #times = new Map<string, number>();
  /** With those whose headers do not lead to the block they tell of. */
  readonly #patience: Patience;
  readonly #unshown = new WeakMap<RemoteServer, AskCredit>();
  readonly #clock: Clock;

  constructor(rules: HeaderRules, clock: Clock) {
    this.#rules = rules;
    this.#clock = clock;
    this.#patience = new Patience(() => clock.nowMs());
  }

  /** One server's header at a height. */
  headerOf(server: RemoteServer, height: number): Promise<ServerAnswer<BlockHeader>> {
    return server.ask("blockchain.block.header", [height], (v) => parseOneHeader(v, this.#rules));
  }

  /** The header with a hash that is believed already. */
  async withHash(servers: readonly RemoteServer[], height: number, hash: string): Promise<Look<BlockHeader>> {
    const kept = this.#kept.get(hash);
    if (kept !== undefined) return ok(kept);
    const header = await firstToTell(this.#clock, servers, async (server) => {
      const told = await this.headerOf(server, height);
      return told.ok && told.value.hash === hash ? told.value : null;
    });
    return header === null ? err({ kind: "moved" }) : ok(this.#keep(header));
  }

  /** The time of a block that is believed already; null: nobody gives it now. Of many each of `servers` is asked for a share. */
  async timeOf(servers: readonly RemoteServer[], height: number, hash: string): Promise<number | null> {
    const known = this.#times.get(hash);
    if (known !== undefined) return known;
    const header = await this.withHash(inTurn(servers, height), height, hash);
    return header.ok ? header.value.timeSec : null;
  }

  /** A header from before all that is kept of the chain: what most servers say is there, if it shows the work it claims. */
  async agreedAt(servers: readonly RemoteServer[], height: number): Promise<Look<BlockHeader>> {
    const need = majorityOf(servers.length);
    const agreedIn = (headers: readonly BlockHeader[]): BlockHeader | undefined => {
      const agreed = headers.filter((h) => headers.filter(({ hash }) => hash === h.hash).length >= need);
      // One of them may have left out what shows the work of a merge-mined block.
      return agreed.find((h) => hasWork(h, this.#rules));
    };
    const isEnough = (told: Told): boolean => agreedIn(headersOf(told)) !== undefined;
    const headers = headersOf(await answersUntil(servers, isEnough, (server) => this.headerOf(server, height)));
    const shown = agreedIn(headers);
    if (shown !== undefined) return ok(this.#keep(shown));
    return headers.length < need ? err({ kind: "moved" }) : err({ kind: "disagree", what: `block ${height}` });
  }

  #keep(header: BlockHeader): BlockHeader {
    this.#kept.set(header.hash, withoutProof(header));
    this.#times.set(header.hash, header.timeSec);
    dropOldest(this.#kept, MAX_KEPT);
    dropOldest(this.#times, MAX_TIMES);
    return header;
  }

  /**
   * Headers `from` to `to` of the chain that ends at `end`, from the first server that can give them.
   *
   * @param check gives what is made of them, or the end of a sentence about the server that sent them
   */
  async run<T extends object>(
    end: { readonly height: number; readonly hash: string; readonly servers: readonly RemoteServer[] },
    from: number,
    to: number,
    check: (headers: readonly BlockHeader[]) => T | string,
  ): Promise<Look<{ readonly headers: readonly BlockHeader[]; readonly value: T }>> {
    let refusal: string | null = null;
    const found = await firstToTell(this.#clock, end.servers, async (server, isOver) => {
      const headers = await this.#fetch(server, from, to, isOver);
      if (typeof headers === "string") refusal = headers;
      if (headers === null || typeof headers === "string") return null;
      const isOther = to === end.height && headers.at(-1)?.hash !== end.hash;
      const value = isOther ? "its headers do not lead to the block it told of" : check(headers);
      if (typeof value !== "string") return { headers, value };
      if (!isOther) server.contradicted(value);
      else if (await this.#standsBy(server, end)) this.#doubt(server, end.hash, value);
      return null;
    });
    if (found !== null) return ok(found);
    return refusal === null ? err({ kind: "moved" }) : err({ kind: "missing", what: `headers ${from} to ${to}`, why: refusal });
  }

  /**
   * Null: this server is of no use for it. A sentence: it refuses to give them.
   * @param isOver another one has given them. What this one gives then is judged no more: our chain may be another by now
   */
  async #fetch(server: RemoteServer, from: number, to: number, isOver: () => boolean): Promise<readonly BlockHeader[] | string | null> {
    const headers: BlockHeader[] = [];
    // His last may be short: where nothing follows it, he told of a block that he does not have.
    for (let short = 0; from + headers.length <= to && short < 2; ) {
      const count = Math.min(RUN, to - from - headers.length + 1);
      const part = await server.ask("blockchain.block.headers", [from + headers.length, count], (v) =>
        parseHeaderRun(v, this.#rules, count),
      );
      if (isOver()) return null;
      if (!part.ok) return part.error.kind === "rpc" ? `${server.name}: ${serverFaultText(part.error)}` : null;
      const before = headers.at(-1);
      const [first] = part.value;
      if (first === undefined) {
        const tip = await server.askTip();
        if (tip.ok && tip.value.height >= to) this.#lacks(server, tip.value, from + headers.length);
        return null;
      }
      if (before && before.hash !== first.prevHash) return null;
      if (part.value.length < Math.min(count, LEAST)) short++;
      headers.push(...part.value);
    }
    return from + headers.length > to ? headers : null;
  }

  /** Whether a server still says that its chain has this block: otherwise the chain has just changed. */
  async #standsBy(server: RemoteServer, end: { readonly height: number; readonly hash: string }): Promise<boolean> {
    const tip = await server.askTip();
    return tip.ok && tip.value.height === end.height && tip.value.header.hash === end.hash;
  }

  /** Only what a reorganisation takes back may be missing below the block it tells of. */
  #lacks(server: RemoteServer, told: TipAnswer, height: number): void {
    const why = `it has no header at ${height}, below the block it told of`;
    if (told.height - height < MAX_TAKEN_BACK) this.#doubt(server, told.header.hash, why);
    else server.contradicted(why);
  }

  /** It may have come over to another branch and be about to tell of it. */
  #doubt(server: RemoteServer, told: string, why: string): void {
    const key = `${server.name} ${told}`;
    const isOneTooMany = !this.#patience.has(key) && !this.#mayTellOther(server);
    if (this.#patience.isOver(key) || isOneTooMany) server.contradicted(why);
    else server.suspect(why);
  }

  #mayTellOther(server: RemoteServer): boolean {
    const credit = this.#unshown.get(server) ?? new AskCredit(MAX_UNSHOWN, UNSHOWN_MS);
    this.#unshown.set(server, credit);
    return credit.take(this.#clock.nowMs());
  }
}
