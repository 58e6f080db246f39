import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import type { HeaderRules } from "../../core/proof/headerRules.ts";
import { hasWork } from "../../core/proof/proofOfWork.ts";
import { err, ok } from "../../core/util/result.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { Look } from "./fault.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { majorityOf } from "./serverPool.ts";

/** A block, and who has it on its best chain. */
export type Agreed = BlockRef & { readonly servers: readonly RemoteServer[] };
/** The same, with those who have another one there; of others it is not known yet. */
type Voted = Agreed & { readonly others: readonly RemoteServer[] };

async function hashAt(reader: HeaderReader, server: RemoteServer, height: number): Promise<string | null> {
  const { tip } = server;
  if (tip?.height === height) return tip.header.hash;
  const header = await reader.headerOf(server, height);
  return header.ok ? header.value.hash : null;
}

/** Names who does not have the block, or clears who has it. */
function judge(server: RemoteServer, { height, hash }: BlockRef, own: string | null): void {
  if (own === hash) server.cleared();
  else if (server.state === "connected") server.suspect(`it does not have block ${height} of the others`);
}

/**
 * The block that `need` of the servers, more than half of all, have at a height, as soon as so many say so: no other block can have as
 * many, whatever the rest says, and who answers late is judged when he does. Null: there is none.
 */
function votedAt(reader: HeaderReader, having: readonly RemoteServer[], height: number, need: number): Promise<Voted | null> {
  return new Promise((resolve, reject) => {
    const answers = new Map<RemoteServer, string | null>();
    let voted = null as Voted | null;
    const count = (): void => {
      const groups = new Map<string, RemoteServer[]>();
      for (const [server, hash] of answers) if (hash !== null) groups.set(hash, [...(groups.get(hash) ?? []), server]);
      const most = Math.max(0, ...[...groups.values()].map(({ length }) => length));
      for (const [hash, group] of groups) {
        const others = [...answers.keys()].filter((server) => !group.includes(server));
        if (group.length >= need) voted = { height, hash, servers: group, others };
      }
      if (voted !== null || most + having.length - answers.size < need) resolve(voted);
    };
    const told = having.filter(({ tip }) => tip?.height === height);
    for (const server of told) answers.set(server, server.tip?.header.hash ?? null);
    count();
    for (const server of having.filter((s) => !told.includes(s))) {
      hashAt(reader, server, height).then((hash) => {
        answers.set(server, hash);
        if (voted === null) count();
        else judge(server, voted, hash);
      }, reject);
    }
  });
}

/**
 * The highest block that most servers have.
 *
 * @param maxBack so far below their last blocks one is looked for where these differ
 */
export async function agreedBlock(reader: HeaderReader, servers: readonly RemoteServer[], maxBack: number): Promise<Look<Voted>> {
  const need = majorityOf(servers.length);
  const tips = servers.flatMap((s) => s.tip?.height ?? []).sort((a, b) => b - a);
  // The highest that so many claim to reach. Steps go down from there, however far behind one of them is.
  const highest = tips[need - 1];
  if (highest === undefined) return err({ kind: "moved" });
  const backs = [...tips];
  for (let back = 1; back <= maxBack && highest - back >= 0; back *= 2) backs.push(highest - back);
  const heights = [...new Set(backs)].filter((height) => height <= highest).sort((a, b) => b - a);
  for (const height of heights) {
    const having = servers.filter((s) => s.tip !== null && s.tip.height >= height);
    if (having.length < need) continue;
    const voted = await votedAt(reader, having, height, need);
    if (voted !== null) return ok(voted);
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

/**
 * Names servers whose last block is not on the chain most have, and those that have nothing above it where half have more: without these the
 * others are not most, and nobody would say why the chain stands still.
 */
export function judgeOthers(voted: Voted, servers: readonly RemoteServer[]): void {
  const ahead = servers.flatMap(({ tip }) => (tip !== null && tip.height > voted.height ? [tip.height] : []));
  const isHalf = 2 * ahead.length >= servers.length;
  for (const server of servers) {
    const { tip } = server;
    if (tip === null) continue;
    if (isHalf && tip.height <= voted.height)
      server.suspect(`it is behind: at block ${tip.height}, and another at block ${Math.min(...ahead)}`);
    else if (voted.servers.includes(server)) judge(server, voted, voted.hash);
    else if (tip.height < voted.height) server.suspect(`it is behind the others, at block ${tip.height}`);
    else if (voted.others.includes(server)) judge(server, voted, null);
  }
}

/** The same where most agree on nothing and the last block with most work is followed: who shows another one there, or names one above it. */
export function judgeByTip(servers: readonly RemoteServer[], followed: BlockRef): void {
  for (const server of servers) {
    const { tip } = server;
    if (tip !== null && tip.height >= followed.height) judge(server, followed, tip.height === followed.height ? tip.header.hash : null);
  }
}

/** Whether some server still has a block on its best chain. All that may are asked at once, and the first that has it is enough. */
export function isHadBy(reader: HeaderReader, block: BlockRef, servers: readonly RemoteServer[]): Promise<boolean> {
  const reaching = servers.filter(({ tip }) => tip !== null && tip.height >= block.height);
  if (reaching.some(({ tip }) => tip?.header.hash === block.hash)) return Promise.resolve(true);
  return new Promise((resolve, reject) => {
    const asked = reaching.map(async (server) => {
      if ((await hashAt(reader, server, block.height)) === block.hash) resolve(true);
    });
    Promise.all(asked).then(() => resolve(false), reject);
  });
}
