import { FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import { longSpent } from "../../chainIndex/longSpent.ts";
import { err, ok } from "../../core/util/result.ts";
import type { StoredWatch } from "../../ports/chainStore.ts";
import type { Answer } from "./daemonCalls.ts";
import type { SyncContext } from "./syncContext.ts";

/** The first block's coinbase cannot be spent and is in no UTXO set. */
const FIRST_BLOCK = 1;

/**
 * Reads old blocks for watches that want them, together where their ranges meet, one bounded step at a time, up to
 * the tip the index follows. New blocks are matched against every watch from its first moment, so the two meet.
 */
export async function backfillStep(ctx: SyncContext, pending: readonly StoredWatch[]): Promise<Answer<undefined>> {
  const tip = ctx.index.tipHeader;
  if (tip === undefined || pending.length === 0) return ok(undefined);
  const nextOf = (w: StoredWatch): number => Math.max(FIRST_BLOCK, w.nextHeight ?? FIRST_BLOCK);
  const from = Math.min(...pending.map(nextOf));
  if (from > tip.height) {
    await ctx.commit({ watches: pending.map((w) => ({ ...w, nextHeight: null })) });
    return ok(undefined);
  }
  const blocks = await ctx.reader.read(from, tip.height - from + 1, (height) => ctx.index.headerAt(height)?.hash);
  if (!blocks.ok) return blocks;
  const txs = blocks.value.flatMap(({ block }) => block.txs);
  const facts = new FactsBuilder(ctx.index, ctx.clock.nowMs(), await longSpent(ctx.index, ctx.store, txs));
  for (const { height, hash, block } of blocks.value) {
    const ours = ctx.index.headerAt(height);
    if (ours && ours.hash !== hash) return err({ kind: "moved" });
    facts.add(block.txs, { height, hash });
  }
  const reached = blocks.value.at(-1)?.height ?? from;
  const watches = pending
    .filter((w) => nextOf(w) <= reached + 1)
    .map((w) => ({ ...w, nextHeight: reached >= tip.height ? null : reached + 1 }));
  const found = facts.newOutputs();
  await ctx.commit({ ...facts.facts(), watches });
  ctx.outputsFound(found);
  return ok(undefined);
}
