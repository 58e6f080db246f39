import type { RawTx } from "../../chainIndex/rawTx.ts";
import type { BlockRef } from "../../ports/chain.ts";
import { bothEnds } from "./bothEnds.ts";
import { type Claim, knownBy } from "./claims.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { Tracked } from "./scriptViews.ts";
import { majorityOf } from "./serverPool.ts";

/** Transactions read and proven before what they say is written. */
const TXS_PER_WRITE = 500;

/** A transaction with what was found out of it: its block, or null in the mempool. `isOpen`: somebody is still to be asked for the proof of a block. */
type Found = { readonly tx: RawTx; readonly block: BlockRef | null; readonly isOpen?: true };
/**
 * `unproven`: most servers say it is in a block of ours and none could prove it now. `unheard`: too few say anything of it.
 * `ungiven`: nobody gives its bytes now, or none that this node can read. `lost`: one of those who name it went away before it was given, proven or heard of.
 * One that they are lost over again and again counts as not given. `late`: most deny it, and who names it has not answered yet.
 */
export type Finding = Found | "unproven" | "unheard" | "ungiven" | "lost" | "late";
/** What is to be found out, and for which scripts. */
export type Job = { readonly claim: Claim; readonly scripts: readonly Tracked[] };

export const isFound = (finding: Finding): finding is Found => typeof finding === "object";

const isUngiven = (finding: Finding | undefined): boolean => finding === "ungiven" || finding === "lost" || finding === "late";

export function mark(jobs: readonly Job[], findings: readonly Finding[], servers: number, laterMs: number): void {
  for (const [i, job] of jobs.entries()) {
    const { claim, scripts } = job;
    const finding = findings[i];
    for (const tracked of scripts) {
      if (finding !== undefined && isFound(finding)) {
        tracked.done.set(claim.txid, finding.block);
        if (finding.isOpen) tracked.laterMs = laterMs;
        continue;
      }
      tracked.done.delete(claim.txid);
      if (claim.blocks.size === 0 && !isUngiven(finding)) continue;
      // What nobody proves now is asked for again at the next look, whatever is new by then; what most deny, and what nobody gives, some time later.
      if (finding === "ungiven" || finding === "late" || isContested(job, servers)) tracked.laterMs = laterMs;
      else tracked.changed = true;
    }
  }
}

/** Whether most servers tell of the scripts of a claim and do not name it. */
export function isContested({ claim, scripts }: Job, servers: number): boolean {
  const naming = knownBy(claim);
  const without = new Set<RemoteServer>();
  for (const { views } of scripts) {
    for (const [server, { refusal }] of views) if (refusal === null && !naming.includes(server)) without.add(server);
  }
  return without.size >= majorityOf(servers);
}

/**
 * Pieces of work, one after another. What most servers deny, and what nobody gave before, comes last, of each who says it first what it
 * says is in a block: whoever likes can fill a mempool. The rest at a later look, from `laterMs` on.
 */
export function piecesOf(
  jobs: readonly Job[],
  servers: number,
  ungiven: ReadonlySet<string>,
  mayRead: (job: Job) => boolean,
  laterMs: number,
): readonly (readonly Job[])[] {
  const contested = new Set(jobs.filter((job) => ungiven.has(job.claim.txid) || isContested(job, servers)));
  const plain = jobs.filter((job) => !contested.has(job));
  const mined = [...contested].filter(({ claim }) => claim.blocks.size > 0);
  const unmined = [...contested].filter(({ claim }) => claim.blocks.size === 0);
  for (const job of [...bothEnds(mined), ...bothEnds(unmined)]) {
    if (mayRead(job)) continue;
    contested.delete(job);
    for (const tracked of job.scripts) tracked.laterMs = laterMs;
  }
  return [...chunksOf(plain), ...chunksOf([...contested])];
}

const chunksOf = (jobs: readonly Job[]): readonly (readonly Job[])[] =>
  Array.from({ length: Math.ceil(jobs.length / TXS_PER_WRITE) }, (_, i) => jobs.slice(i * TXS_PER_WRITE, (i + 1) * TXS_PER_WRITE));

/** Outputs became known: whatever of the same scripts was worked off before them, and is in no older block than they, may spend them. */
export function reopen(jobs: readonly Job[], from: number): boolean {
  const now = new Set(jobs.map(({ claim }) => claim.txid));
  let any = false;
  for (const tracked of new Set(jobs.flatMap(({ scripts }) => scripts))) {
    for (const [txid, block] of [...tracked.done]) {
      if (!now.has(txid) && (block === null || block.height >= from)) any = tracked.done.delete(txid) || any;
    }
  }
  return any;
}
