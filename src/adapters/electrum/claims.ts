import type { RemoteServer } from "./remoteServer.ts";
import type { Tracked } from "./scriptViews.ts";

/** A branch with more work may be shorter: what was paid above the tip of then stands lower on it. Blocks. */
const LOWER_ON_A_BRANCH = 10;

/** What the servers say of one transaction. */
export type Claim = {
  readonly txid: string;
  /** By the height of the block they name. */
  readonly blocks: Map<number, RemoteServer[]>;
  /** Who has it in the mempool, or in a block above our tip. */
  readonly pool: RemoteServer[];
};

/** Everything told of one script's transactions. Blocks above `tipHeight` are not proven yet and count as mempool. */
export function claimsOf({ views, fromHeight, only }: Tracked, tipHeight: number): readonly Claim[] {
  const claims = new Map<string, Claim>();
  for (const [server, { lines }] of views) {
    for (const { txid, height } of lines) {
      if (only !== null ? !only.has(txid) : height > 0 && height < fromHeight - LOWER_ON_A_BRANCH) continue;
      let claim = claims.get(txid);
      if (claim === undefined) {
        claim = { txid, blocks: new Map(), pool: [] };
        claims.set(txid, claim);
      }
      if (height <= 0 || height > tipHeight) claim.pool.push(server);
      else claim.blocks.set(height, [...(claim.blocks.get(height) ?? []), server]);
    }
  }
  return [...claims.values()];
}

/** Lowest block above our tip that somebody tells of: what he tells is to be looked at again when we are there. Null: nobody does. */
export function aheadOf({ views }: Tracked, tipHeight: number): number | null {
  let lowest: number | null = null;
  for (const { lines } of views.values()) {
    for (const { height } of lines) if (height > tipHeight && (lowest === null || height < lowest)) lowest = height;
  }
  return lowest;
}

/** All who know the transaction. */
export const knownBy = (claim: Claim): readonly RemoteServer[] => [...new Set([...claim.pool, ...[...claim.blocks.values()].flat()])];

/** What one server says of a transaction: in a block it may have another form than in a mempool. Which block, a liar may say anew each time. */
export const namingOf = ({ txid, pool }: Claim, server: RemoteServer): string =>
  `${server.name} ${txid} ${pool.includes(server) ? "waits" : "is in a block"}`;

/** Adds what was told of the same transaction at another script. */
export function merge(into: Claim, from: Claim): void {
  const servers = new Set(into.pool);
  for (const server of from.pool) if (!servers.has(server)) into.pool.push(server);
  for (const [height, claimants] of from.blocks) into.blocks.set(height, [...new Set([...(into.blocks.get(height) ?? []), ...claimants])]);
}
