import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import type { HeaderRules } from "../../core/proof/headerRules.ts";
import { hasWork } from "../../core/proof/proofOfWork.ts";
import { err, ok } from "../../core/util/result.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { Look } from "./fault.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { majorityOf } from "./serverPool.ts";

/** How far back a block all agree on is looked for. */
const MAX_BACK = 256;

/** A block, and who has it on its best chain. */
export type Agreed = BlockRef & { readonly servers: readonly RemoteServer[] };

async function hashAt(reader: HeaderReader, server: RemoteServer, height: number): Promise<string | null> {
  const { tip } = server;
  if (tip?.height === height) return tip.header.hash;
  const header = await reader.headerOf(server, height);
  return header.ok ? header.value.hash : null;
}

/** The highest block that most servers have. */
export async function agreedBlock(reader: HeaderReader, servers: readonly RemoteServer[]): Promise<Look<Agreed>> {
  const need = majorityOf(servers.length);
  const tips = servers.flatMap((s) => s.tip?.height ?? []).sort((a, b) => b - a);
  // The highest that so many claim to reach. Steps go down from there, however far behind one of them is.
  const highest = tips[need - 1];
  if (highest === undefined) return err({ kind: "moved" });
  const backs = [...tips];
  for (let back = 1; back <= MAX_BACK && highest - back >= 0; back *= 2) backs.push(highest - back);
  const heights = [...new Set(backs)].filter((height) => height <= highest).sort((a, b) => b - a);
  for (const height of heights) {
    const having = servers.filter((s) => s.tip !== null && s.tip.height >= height);
    if (having.length < need) continue;
    const groups = new Map<string, RemoteServer[]>();
    const hashes = await Promise.all(having.map((s) => hashAt(reader, s, height)));
    for (const [i, server] of having.entries()) {
      const hash = hashes[i];
      if (hash) groups.set(hash, [...(groups.get(hash) ?? []), server]);
    }
    for (const [hash, group] of groups) if (group.length >= need) return ok({ height, hash, servers: group });
  }
  return err({ kind: "disagree", what: `the blocks up to ${highest}` });
}

/** Drops servers whose last block shows no work, however many they are. @returns whether there was one */
export function dropWorkless(servers: readonly RemoteServer[], rules: HeaderRules, judged: WeakSet<BlockHeader>): boolean {
  let any = false;
  for (const server of servers) {
    const { tip } = server;
    if (tip === null || judged.has(tip.header)) continue;
    if (hasWork(tip.header, rules)) judged.add(tip.header);
    else {
      server.contradicted(`its block ${tip.height} does not show the work it claims`);
      any = true;
    }
  }
  return any;
}

/** Names servers whose last block is not on the chain most have. */
export function judgeOthers(agreed: Agreed, servers: readonly RemoteServer[]): void {
  for (const server of servers) {
    const { tip } = server;
    if (tip === null) continue;
    if (agreed.servers.includes(server)) {
      server.cleared();
      continue;
    }
    if (tip.height < agreed.height) server.suspect(`it is behind the others, at block ${tip.height}`);
    else server.suspect(`it does not have block ${agreed.height} of the others`);
  }
}

/** Whether some server still has a block on its best chain. */
export async function isHadBy(reader: HeaderReader, block: BlockRef, servers: readonly RemoteServer[]): Promise<boolean> {
  for (const server of servers) {
    const reaches = server.tip !== null && server.tip.height >= block.height;
    if (reaches && (await hashAt(reader, server, block.height)) === block.hash) return true;
  }
  return false;
}
