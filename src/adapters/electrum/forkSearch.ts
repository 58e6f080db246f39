import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { ok } from "../../core/util/result.ts";
import type { Look } from "./fault.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";

/**
 * Height of the last block our index shares with one server's chain, which ends at `tipHeight`: first in growing steps down, then halving
 * the last step. Null: it is below all we kept. It is that server's word: only its own headers may be held against it.
 */
export async function forkWith(
  index: ChainIndex,
  reader: HeaderReader,
  server: RemoteServer,
  tipHeight: number,
): Promise<Look<number | null>> {
  const own = index.tipHeader;
  if (own === undefined) return ok(null);
  const isShared = async (height: number): Promise<Look<boolean>> => {
    const header = await reader.headerAt([server], height);
    return header.ok ? ok(header.value.hash === index.headerAt(height)?.hash) : header;
  };
  const bottom = index.windowBottom;
  let above = Math.min(own.height, tipHeight - 1) + 1;
  let shared: number | null = null;
  for (let step = 1; shared === null; step *= 2) {
    const height = Math.max(bottom, above - step);
    if (height >= above) return ok(null);
    const here = await isShared(height);
    if (!here.ok) return here;
    if (here.value) shared = height;
    else above = height;
  }
  while (above - shared > 1) {
    const middle = Math.floor((above + shared) / 2);
    const here = await isShared(middle);
    if (!here.ok) return here;
    if (here.value) shared = middle;
    else above = middle;
  }
  return ok(shared);
}
