import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { err, ok } from "../../core/util/result.ts";
import type { Look } from "./fault.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** Headers asked for at once on the way down: most branches leave ours within the first of these. */
const STEPS_AT_ONCE = 4;
/** Parts that what is left is split into at once: one answer decides between two, and each round takes as long as an answer. */
const PARTS = 16;

/**
 * Height of the last block our index shares with one server's chain, which ends at `tipHeight`: first in growing steps down, some at
 * once, then splitting the last step. Null: it is below all we kept. It is that server's word: only its own headers may be held against it.
 */
export async function forkWith(
  index: Pick<ChainIndex, "tipHeader" | "windowBottom" | "headerAt">,
  reader: Pick<HeaderReader, "headerOf">,
  server: RemoteServer,
  tipHeight: number,
): Promise<Look<number | null>> {
  const own = index.tipHeader;
  if (own === undefined) return ok(null);
  const bottom = index.windowBottom;
  const top = Math.min(own.height, tipHeight - 1) + 1;
  let above = top;
  let shared: number | null = null;
  /** Moves `shared` to the highest of the heights that is, and `above` to the lowest over it that is not. @param heights descending */
  const narrow = async (heights: readonly number[]): Promise<Look<undefined>> => {
    const headers = await Promise.all(heights.map((height) => reader.headerOf(server, height)));
    for (const [i, height] of heights.entries()) {
      const header = headers[i];
      if (!header?.ok) return err({ kind: "moved" });
      if (header.value.hash === index.headerAt(height)?.hash) {
        shared = height;
        break;
      }
      above = height;
    }
    return ok(undefined);
  };
  for (let reach = 1; shared === null; reach *= 2 ** STEPS_AT_ONCE) {
    const steps = Array.from({ length: STEPS_AT_ONCE }, (_, i) => Math.max(bottom, top - (reach * 2 ** (i + 1) - 1)));
    const heights = [...new Set(steps)].filter((height) => height < above);
    if (heights.length === 0) return ok(null);
    const looked = await narrow(heights);
    if (!looked.ok) return looked;
  }
  for (let low: number = shared; above - low > 1; low = shared) {
    const gap = above - low;
    const cuts = Array.from({ length: PARTS - 1 }, (_, i) => low + Math.floor((gap * (PARTS - 1 - i)) / PARTS));
    const looked = await narrow([...new Set(cuts)].filter((height) => height > low));
    if (!looked.ok) return looked;
  }
  return ok(shared);
}
