import { Aborted, type Clock } from "../../ports/clock.ts";
import { withParents } from "../../ports/withParents.ts";
import type { EvmNode } from "./evmNode.ts";

/** Nodes answer within some hundred milliseconds; whoever takes longer than this is not waited for where others will do. */
const SOON_MS = 2_000;

export type AskHow = {
  readonly clock: Clock;
  /** How many are asked at once. */
  readonly first: number;
  /** Whether enough have answered. */
  readonly isDone: () => boolean;
  /** Whoever was asked gets a moment more once enough have answered. */
  readonly waitsForMore?: boolean;
};

/**
 * Asks the best nodes, and further ones, one at a time, where these have not done when they have answered, or after a moment: one that leaves a
 * question open until its deadline must not have everybody wait for as long. What is still open at the end is given up. Rejects with the
 * first failure of a question.
 * @param ask notes by itself what it brings
 */
export function askInTurn(
  nodes: readonly EvmNode[],
  { clock, first, isDone, waitsForMore = false }: AskHow,
  signal: AbortSignal,
  ask: (node: EvmNode, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const queue = [...nodes].sort((a, b) => a.cost - b.cost);
  const ended = new AbortController();
  return withParents([signal, ended.signal], async (given) => {
    let open = 0;
    let failed: { readonly cause: unknown } | null = null;
    let wake: () => void = () => undefined;
    const begin = (node: EvmNode): void => {
      open++;
      ask(node, given)
        .catch((cause: unknown) => {
          failed ??= { cause };
        })
        .finally(() => {
          open--;
          wake();
        });
    };
    /** Until all have answered, or enough, or for a moment. */
    const pause = async (isEnough: () => boolean): Promise<void> => {
      if (open > 0) {
        await new Promise<void>((resolve) => {
          const cancel = clock.after(SOON_MS, resolve);
          wake = () => {
            if (open > 0 && !failed && !isEnough()) return;
            cancel();
            resolve();
          };
        });
      }
      if (failed) throw failed.cause;
    };
    try {
      for (const node of queue.splice(0, isDone() ? 0 : first)) begin(node);
      while (!isDone() && (open > 0 || queue.length > 0)) {
        await pause(isDone);
        if (!isDone()) for (const node of queue.splice(0, 1)) begin(node);
      }
      if (waitsForMore) await pause(() => false);
    } finally {
      ended.abort(new Aborted("others have answered"));
    }
  });
}
